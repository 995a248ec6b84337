// A response's bytes, whole and cut into pieces: the cuts must not show.
#include "http/http1_codec.h"
#include "kube/client/api_status.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::http_response_target {

namespace {

struct Seen {
  std::vector<http::Head> heads;
  std::string body;
  bool is_good = true, is_complete = false, keep_alive = false;
  bool operator==(const Seen&) const = default;
};

Seen decode(std::string_view bytes, size_t piece) {
  Seen seen;
  http::ResponseDecoder decoder({.head_bytes_max = 4096, .body_bytes_max = 4096},
                                {[&](const http::Head& head) {
                                   seen.heads.push_back(head);
                                   return true;
                                 },
                                 [&](std::string_view body) {
                                   fuzz::must(!body.empty(), "a piece of a body is never empty");
                                   seen.body += body;
                                   return true;
                                 }});
  while (seen.is_good && !decoder.complete() && !bytes.empty()) {
    const auto fed = decoder.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    if (!fed) fuzz::check(fed.error());
    seen.is_good = fed.ok();
  }
  if (seen.is_good) seen.is_good = decoder.finish().ok();
  seen.is_complete = seen.is_good && decoder.complete();
  // What follows the response, wherever it is cut, spoils the connection.
  seen.keep_alive = seen.is_complete && decoder.keep_alive() && bytes.empty();
  return seen;
}

}  // namespace

FUZZ_TARGET(http_response) {
  fuzz::Input input(data, size);
  const size_t piece = 1 + input.byte() % 64;
  const Seen whole = decode(input.rest, input.rest.size() + 1), cut = decode(input.rest, piece);
  fuzz::must(whole.is_good == cut.is_good && whole.is_complete == cut.is_complete, "cuts decide nothing");
  if (whole.is_good) fuzz::must(whole == cut, "cuts change nothing");
  fuzz::must(whole.body.size() <= 4096, "a body is bounded");
  for (const http::Head& head : whole.heads) {
    if (const auto wait = http::decode_retry_after(head, Millis{60'000}))
      fuzz::must(*wait >= Millis{0} && *wait <= Millis{60'000}, "Retry-After is bounded");
    for (const std::string& warning : http::decode_warnings(head)) fuzz::check_text(escaped(warning, 512));
    fuzz::check_text(kube::decode_refusal("list things", head, whole.body).what);
  }
  return 0;
}

}  // namespace sliced::fuzz::http_response_target
