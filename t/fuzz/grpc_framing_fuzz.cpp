// The body of a call of gRPC, whole and cut into pieces, and its headers: encoding, timeout, message.
#include <algorithm>
#include <vector>

#include "http/grpc/deadline.h"
#include "http/grpc/framing.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::grpc_framing_target {

namespace {

constexpr size_t kMessageMax = 300;

struct Heard {
  std::vector<std::string> messages;
  grpc::Status status, end;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view body, const std::string& encoding, size_t piece) {
  Heard heard;
  grpc::Deframer deframer(encoding, kMessageMax);
  while (!body.empty()) {
    heard.status = deframer.feed(body.substr(0, piece), [&](std::string_view message) {
      fuzz::must(heard.status.is_ok(), "nothing comes behind what is broken");
      fuzz::must(message.size() <= kMessageMax, "a message is bounded");
      heard.messages.emplace_back(message);
    });
    body.remove_prefix(std::min(piece, body.size()));
  }
  heard.end = deframer.end();
  fuzz::check_text(heard.end.message);
  return heard;
}

}  // namespace

FUZZ_TARGET(grpc_framing) {
  fuzz::Input input(data, size);
  const size_t piece = 1 + input.byte() % 64;
  const std::string encoding(input.until('\n'));
  const std::string timeout(input.until('\n'));
  if (const auto time = grpc::decode_timeout(timeout)) fuzz::must(time->count() >= 0, "time passes forwards");
  fuzz::must(grpc::percent_decoded(grpc::percent_encoded(encoding)) == encoding,
             "what is encoded comes back");
  for (const http::Header& header : grpc::encode_status({grpc::Code::kInternal, timeout}))
    fuzz::must(http::is_writable(header), "a status breaks no framing");
  const Heard whole = hear(input.rest, encoding, input.rest.size() + 1);
  fuzz::must(whole == hear(input.rest, encoding, piece), "cuts change nothing");
  if (!whole.end.is_ok()) return 0;
  std::string again;
  for (const std::string& message : whole.messages) again += grpc::frame(message);
  fuzz::must(again == input.rest, "what is understood is written the same way");
  return 0;
}

}  // namespace sliced::fuzz::grpc_framing_target
