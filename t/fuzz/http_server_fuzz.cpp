// What a client says to our server, over HTTP/1.1 and HTTP/2, whole and cut into pieces, with pauses.
#include <algorithm>
#include <list>
#include <memory>

#include "http/server.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/fake_wire.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::http_server_target {

namespace {

constexpr size_t kBodyMax = 2048;
constexpr std::string_view kHttp2Start("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0\0\0\0\4\1\0\0\0\0",
                                       42);

struct Served {
  std::string method, target, authority, body;
  http::Headers headers, trailers;
  int ends = 0, losses = 0;
  bool is_over = false;
  bool does(std::string_view what) const { return target.ends_with(what); }
};

// Answers whole requests; does to the others what their target says.
class Handler final : public http::Call {
 public:
  Handler(Served& served, http::Response& response) : served_(served), response_(response) {
    if (served_.does("early")) response_.answer(200, "early");
    if (served_.does("pause")) response_.pause_request();
    if (served_.does("half")) response_.send_head({.status = 200});
  }
  ~Handler() override { served_.is_over = true; }
  void on_body(std::string_view bytes) override {
    fuzz::must(is_open() && !bytes.empty(), "a body comes before its end");
    served_.body += bytes;
    if (served_.does("echo")) response_.send_body(std::string(bytes));
  }
  void on_trailers(const http::Headers& trailers) override {
    fuzz::must(is_open() && !trailers.empty(), "trailers come before the end");
    served_.trailers = trailers;
  }
  void on_end() override {
    fuzz::must(is_open(), "one end");
    ++served_.ends;
    response_.send_head({.status = 200, .headers = {{"a", "b"}}});
    response_.send_body(std::string(100'000, 'x'));
    response_.finish({{"t", "u"}});
  }
  void on_loss(const Error& why) override {
    fuzz::must(++served_.losses == 1, "one loss");
    fuzz::check(why);
    response_.answer(200, "too late");
  }

 private:
  bool is_open() const { return served_.ends == 0 && served_.losses == 0; }
  Served& served_;
  http::Response& response_;
};

void play(std::string_view bytes, size_t piece, uint8_t way, std::list<Served>& all) {
  fake::FakeScheduler time;
  http::Server server(time,
                      [&](const http::RequestHead& head, http::Response& response) {
                        fuzz::must(!head.method.empty() && !head.target.empty() && head.method != "CONNECT",
                                   "a request");
                        for (const http::Header& header : head.headers)
                          fuzz::must(http::is_writable(header), "headers cannot break the framing of others");
                        all.push_back({.method = head.method,
                                       .target = head.target,
                                       .authority = head.authority,
                                       .headers = head.headers});
                        return std::make_unique<Handler>(all.back(), response);
                      },
                      {.bounds = {.request = {.head_bytes_max = 1024, .body_bytes_max = kBodyMax}},
                       .on_trouble = [](const reactor::net::Peer&, const Error& why) { fuzz::check(why); }});
  const auto end = std::make_shared<fake::WireEnd>();
  server.take(std::make_unique<fake::FakeWire>(end), {.name = "fuzz"});
  if ((way & 1) != 0) end->say(std::string(kHttp2Start));
  while (!bytes.empty() && !end->is_gone) {
    end->say(std::string(bytes.substr(0, piece)));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    time.advance(Millis{0});
    fuzz::must(end->sent.size() < 64u << 20, "answers are bounded");
  }
  for (int i = 0; i < 200 && (way & 2) != 0; ++i) time.advance(Millis{1000});  // nobody says more
  const bool has_pause =
      std::any_of(all.begin(), all.end(), [](const Served& one) { return one.does("pause"); });
  if ((way & 2) != 0 && !has_pause) fuzz::must(end->is_gone, "who says nothing is not kept");
}

}  // namespace

FUZZ_TARGET(http_server) {
  fuzz::Input input(data, size);
  const size_t piece = 1 + input.byte() % 64;
  const uint8_t way = input.byte();
  std::list<Served> whole, cut;
  play(input.rest, input.rest.size() + 1, way, whole);
  play(input.rest, piece, way, cut);
  // An early answer ends a connection of HTTP/1.1 where the request is not whole by then; what a client of
  // HTTP/2 may still say hangs on what it has been told.
  const bool is_free = std::any_of(whole.begin(), whole.end(),
                                   [](const Served& one) { return one.does("early") || one.does("pause"); });
  const bool is_http1 = (way & 1) == 0 && !input.rest.starts_with('P');
  if (is_http1 && !is_free) fuzz::must(whole.size() == cut.size(), "cuts change nothing");
  for (const Served& one : whole) {
    fuzz::must(one.is_over, "each call is dropped");
    fuzz::must(one.body.size() <= kBodyMax, "a body is bounded");
  }
  return 0;
}

}  // namespace sliced::fuzz::http_server_target
