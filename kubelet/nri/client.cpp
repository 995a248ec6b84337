#include "kubelet/nri/client.h"

#include <utility>

namespace sliced::nri {
namespace {

Result<std::string> outcome_of(const Frame& frame) {
  if (frame.too_large) return Error{Errc::kTooLarge, "the answer is larger than a frame"};
  auto response = decode_response(frame.data);
  if (!response) return std::move(response.error());
  const Status& status = response->status;
  if (status.code == Code::kOk) return std::move(response->payload);
  return Error{
      status.code == Code::kUnknown || status.code == Code::kInvalidArgument ? Errc::kInvalid : Errc::kIo,
      "refused with code " + std::to_string(static_cast<int32_t>(status.code)) + ": " + status.message};
}

}  // namespace

void Client::call(std::string service, std::string method, std::string payload, Millis timeout,
                  OnAnswer on_answer) {
  const uint32_t stream = next_stream_;
  next_stream_ += 2;
  pending_[stream] = {
      method, std::move(on_answer), scheduler_.after(timeout, [this, stream, timeout] {
        end(stream, Error{Errc::kTimeout, "no answer within " + std::to_string(timeout.count()) + " ms"});
      })};
  send_(encode_frame({.stream = stream,
                      .type = FrameType::kRequest,
                      .data = encode_request({.service = std::move(service),
                                              .method = std::move(method),
                                              .payload = std::move(payload),
                                              .timeout = timeout})}));
}

bool Client::end(uint32_t stream, Result<std::string> outcome) {
  auto found = pending_.extract(stream);
  if (found.empty()) return false;
  const Pending call = std::move(found.mapped());
  if (!outcome) outcome = std::move(outcome.error()).in(call.method);
  call.on_answer(std::move(outcome));  // last, because the owner may drop this object
  return true;
}

void Client::receive(std::string_view bytes) {
  reader_.add(bytes);
  const std::weak_ptr<bool> alive = alive_;
  while (auto frame = reader_.next()) {
    const bool is_answer = frame->type == FrameType::kResponse && end(frame->stream, outcome_of(*frame));
    if (alive.expired()) return;
    if (!is_answer) ++ignored_;
  }
}

}  // namespace sliced::nri
