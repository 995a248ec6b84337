// What a server of HTTP/2 says to four requests, whole and cut into pieces: the cuts must not show.
#include <algorithm>
#include <array>

#include "http/http2_session.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::http2_session_target {

namespace {

constexpr std::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);
constexpr size_t kBodyMax = 2048;

struct Heard final : http::Receiver {
  http::Head head;
  std::string body;
  http::Headers trailers;
  int heads = 0, ends = 0, losses = 0;
  Errc code = Errc::kIo;
  http::Loss::Fate fate = http::Loss::Fate::kCut;

  void on_head(const http::Head& told) override {
    fuzz::must(++heads == 1 && is_open(), "one head, before the end");
    fuzz::must(told.status >= 200 && told.status <= 999, "a final status");
    head = told;
  }
  void on_body(std::string_view bytes) override {
    fuzz::must(heads == 1 && is_open() && !bytes.empty(), "a body is behind its head");
    body += bytes;
  }
  void on_trailers(const http::Headers& told) override {
    fuzz::must(heads == 1 && is_open(), "trailers are behind a head");
    trailers = told;
  }
  void on_end() override { fuzz::must(heads == 1 && is_open() && ++ends == 1, "one end"); }
  void on_loss(const http::Loss& loss) override {
    fuzz::must(is_open() && ++losses == 1, "one loss");
    fuzz::check(loss.error);
    code = loss.error.code;
    fate = loss.fate;
  }
  void on_drain(bool) override {}
  bool is_open() const { return ends == 0 && losses == 0; }
  // How much is heard of a body before it is too large, or longer than its length, depends on the cuts.
  bool operator==(const Heard& other) const {
    return head == other.head && (body == other.body || losses > 0) && trailers == other.trailers &&
           heads == other.heads && ends == other.ends && losses == other.losses && code == other.code &&
           fate == other.fate;
  }
};

struct Seen {
  std::array<Heard, 4> heard;
  bool is_good = true, is_going_away = false;
  bool operator==(const Seen&) const = default;
};

// Bit i of `paused`: stream i is paused until the end.
void play(std::string_view bytes, size_t piece, uint8_t paused, Seen& seen) {
  http::Http2Session session(TimePoint{});
  (void)session.feed(kSettings, TimePoint{});
  std::array<http::Http2Session::StreamId, 4> ids{};
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string body(i * 100, 'x');
    const auto request = http::prepare_request(
        {.host = "kube"}, {.method = body.empty() ? "GET" : "PUT", .path = "/x", .body = body});
    ids[i] = session.send(*request, {.head_bytes_max = 1024, .body_bytes_max = kBodyMax}, seen.heard[i]);
    if ((paused >> i & 1) != 0) session.pause(ids[i]);
  }
  (void)session.take_outgoing();
  while (seen.is_good && !bytes.empty()) {
    const auto fed = session.feed(bytes.substr(0, piece), TimePoint{});
    bytes.remove_prefix(std::min(piece, bytes.size()));
    (void)session.take_outgoing();
    if (!fed) fuzz::check(fed.error());
    seen.is_good = fed.ok();
  }
  for (const auto id : ids) session.resume(id);
  session.deliver();
  seen.is_going_away = session.is_going_away();
  fuzz::check_text(session.farewell());
  session.fail_all({Errc::kIo, "the end"});
  fuzz::must(session.streams() == 0, "nothing is left");
}

}  // namespace

FUZZ_TARGET(http2_session) {
  fuzz::Input input(data, size);
  const size_t piece = 1 + input.byte() % 64;
  const uint8_t paused = input.byte();
  Seen whole, cut;
  play(input.rest, input.rest.size() + 1, paused, whole);
  play(input.rest, piece, paused, cut);
  fuzz::must(whole == cut, "cuts change nothing");
  for (const Heard& heard : whole.heard) {
    fuzz::must(!heard.is_open(), "each exchange has an end");
    fuzz::must(heard.body.size() <= kBodyMax, "a body is bounded");
  }
  return 0;
}

}  // namespace sliced::fuzz::http2_session_target
