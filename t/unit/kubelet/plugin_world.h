#pragma once
// A kubelet's connection to methods of gRPC in a stepped world, and a Preparer that a test answers for.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "http/grpc/framing.h"
#include "http/grpc/server.h"
#include "kubelet/preparer_port.h"
#include "t/unit/http/http2_client.h"

namespace sliced::kubelet {

struct AskedPreparer final : Preparer {
  struct Prepare {
    std::string driver;
    PrepareRequest claim;
    std::function<void(PrepareAnswer)> done;
  };
  struct Unprepare {
    std::string driver;
    PrepareRequest claim;
    std::function<void(std::string)> done;
  };
  void prepare(const std::string& driver, PrepareRequest claim,
               std::function<void(PrepareAnswer)> done) override {
    prepares.push_back({driver, std::move(claim), std::move(done)});
  }
  void unprepare(const std::string& driver, PrepareRequest claim,
                 std::function<void(std::string)> done) override {
    unprepares.push_back({driver, std::move(claim), std::move(done)});
  }
  std::vector<Prepare> prepares;
  std::vector<Unprepare> unprepares;
};

struct KubeletWorld : http::ServerWorld {
  /// The kubelet's first call of a method makes the connection.
  void serve(grpc::Methods methods) {
    server = std::make_unique<http::Server>(time, grpc::serve_methods(time, std::move(methods)),
                                            http::ServerOptions{.bounds = grpc::patient_bounds()});
    client = std::make_unique<http::Http2Client>(*this);
  }
  /// Returns its stream.
  uint32_t call(const std::string& path, const std::string& message, const std::string& timeout = "45S") {
    const uint32_t stream = std::exchange(next_stream, next_stream + 2);
    client->say(fake::headers_frame(stream, {{":method", "POST"},
                                             {":scheme", "http"},
                                             {":path", path},
                                             {":authority", "localhost"},
                                             {"content-type", "application/grpc"},
                                             {"grpc-timeout", timeout}}) +
                fake::data_frame(stream, grpc::frame(message), true));
    return stream;
  }
  /// "0", "13 why"; "" until it ends.
  std::string status(uint32_t stream) {
    client->look();
    const auto& answer = client->answer(stream);
    const std::string message = grpc::percent_decoded(answer.field("grpc-message"));
    return answer.field("grpc-status") + (message.empty() ? "" : " " + message);
  }
  /// The messages of its answer up to now.
  std::vector<std::string> messages(uint32_t stream) {
    client->look();
    std::vector<std::string> all;
    grpc::Deframer deframer("", 64u << 20);
    EXPECT_TRUE(
        deframer.feed(client->answer(stream).body, [&](std::string_view one) { all.emplace_back(one); })
            .is_ok());
    return all;
  }
  std::unique_ptr<http::Http2Client> client;
  uint32_t next_stream = 1;
};

// Messages of protobuf by hand, so that a test may write wrong ones.
inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7f));
  return out + static_cast<char>(value);
}
inline std::string field(int number, std::string_view bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string field(int number, uint64_t value) {
  return varint(static_cast<uint64_t>(number) << 3) + varint(value);
}
inline std::string claim(std::string_view space, std::string_view uid, std::string_view name) {
  return field(1, field(1, space) + field(2, uid) + field(3, name));
}

}  // namespace sliced::kubelet
