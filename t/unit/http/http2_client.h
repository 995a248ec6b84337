#pragma once
// A client of HTTP/2 whose every frame a test writes, against a server in a stepped world.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "t/fake/http2_frames.h"
#include "t/unit/http/server_world.h"

namespace sliced::http {

inline fake::Fields request_fields(const std::string& path = "/x", const std::string& method = "POST") {
  return {{":method", method}, {":scheme", "http"}, {":authority", "h"}, {":path", path}};
}

struct Http2Client {
  /// greets: sends the preface and empty settings, and acknowledges the server's.
  explicit Http2Client(ServerWorld& world_in, bool greets = true)
      : world(world_in), wire(world.connect("h2")) {
    server.has_preface = true;  // servers have none
    if (!greets) return;
    say(NGHTTP2_CLIENT_MAGIC + fake::settings_frame() + fake::settings_ack());
  }
  void say(std::string bytes) {
    if (!wire.is_gone) wire.say(std::move(bytes));
    look();
  }
  void look() {
    world.settle();
    server.read(wire.sent);
  }
  /// So much time passes, and each PING is answered.
  void live(Millis time) {
    for (; time > Millis{0}; time -= Millis{20'000}) {
      world.pass(std::min(time, Millis{20'000}));
      say(fake::ping_frame(true));
    }
  }
  /// Of the last frame of that type, on that stream: its code. -1: there is none.
  int64_t code_of(int type, uint32_t stream) const {
    int64_t code = -1;
    for (const auto& frame : server.frames) {
      if (frame.type != type || frame.stream != stream) continue;
      const size_t at = type == NGHTTP2_GOAWAY ? 4 : 0;
      code = 0;
      for (size_t i = at; i < at + 4; ++i) code = code << 8 | static_cast<uint8_t>(frame.payload.at(i));
    }
    return code;
  }
  int64_t goaway() const { return code_of(NGHTTP2_GOAWAY, 0); }
  int64_t reset(uint32_t stream) const { return code_of(NGHTTP2_RST_STREAM, stream); }
  std::string status(uint32_t stream) const {
    const auto at = server.requests.find(stream);
    return at == server.requests.end() ? "" : at->second.field(":status");
  }
  const fake::ClientFrames::Request& answer(uint32_t stream) { return server.requests[stream]; }

  ServerWorld& world;
  fake::WireEnd& wire;
  fake::ClientFrames server;  // the frames that it has sent
};

}  // namespace sliced::http
