#include "kubelet/nri/server.h"

#include <algorithm>
#include <utility>

#include "kubelet/nri/frames.h"
#include "reactor/base/text.h"

namespace sliced::nri {
namespace {

constexpr size_t kCallsMax = 64;
constexpr Millis kTimeoutUnsaid{2'000};

}  // namespace

struct Server::State {
  struct Call {
    reactor::Ticket timer;
  };

  State(reactor::Scheduler& on, std::map<std::string, Method, std::less<>> all, Send then)
      : scheduler(on), methods(std::move(all)), send(std::move(then)) {}

  void say(uint32_t stream, const Response& response) {
    std::string data = encode_response(response);
    if (data.size() > kFrameDataMax)
      data = encode_response({.status = {Code::kResourceExhausted, "the answer is larger than a frame"}});
    send(encode_frame({.stream = stream, .type = FrameType::kResponse, .data = std::move(data)}));
  }
  void refuse(uint32_t stream, Code code, std::string why) {
    say(stream, {.status = {code, std::move(why)}});
  }
  // Returns false if the call has ended already.
  bool end(uint32_t stream, const Response& response) {
    if (calls.erase(stream) == 0) return false;
    say(stream, response);
    return true;
  }
  void begin(const std::shared_ptr<State>& self, const Frame& frame);
  void take(const std::shared_ptr<State>& self, const Frame& frame);

  reactor::Scheduler& scheduler;
  std::map<std::string, Method, std::less<>> methods;
  Send send;
  Millis timeout = kTimeoutUnsaid;
  FrameReader reader;
  uint32_t last_stream = 0;
  size_t ignored = 0;
  std::map<uint32_t, Call> calls;
  bool gone = false;
};

struct Answer::Pending {
  std::weak_ptr<Server::State> server;
  uint32_t stream = 0;
  TimePoint deadline{};

  bool end(const Response& response) {
    const auto state = server.lock();
    server.reset();
    return state && !state->gone && state->end(stream, response);
  }
};

Answer::Answer(std::shared_ptr<Pending> owed) : pending_(std::move(owed)) {}
Answer::Answer(Answer&&) noexcept = default;
Answer& Answer::operator=(Answer&& other) noexcept {
  std::swap(pending_, other.pending_);
  return *this;
}
Answer::~Answer() {
  if (pending_) pending_->end({.status = {Code::kInternal, "the call was given up"}});
}
bool Answer::give(std::string payload) { return pending_ && pending_->end({.payload = std::move(payload)}); }
bool Answer::refuse(Code code, std::string why) {
  return pending_ && pending_->end({.status = {code, std::move(why)}});
}
TimePoint Answer::deadline() const { return pending_ ? pending_->deadline : TimePoint{}; }

void Server::State::take(const std::shared_ptr<State>& self, const Frame& frame) {
  if (frame.too_large)
    return refuse(frame.stream, Code::kResourceExhausted,
                  "a message of more than " + std::to_string(kFrameDataMax) + " bytes");
  if (frame.type == FrameType::kResponse) {  // this side sends no requests
    ++ignored;
    return;
  }
  if (frame.type != FrameType::kRequest)
    return refuse(frame.stream, Code::kInvalidArgument, "no stream is open, and none can be opened");
  if (frame.stream % 2 != 1 || frame.stream <= last_stream)
    return refuse(frame.stream, Code::kInvalidArgument,
                  "a client's streams are odd and each larger than the last");
  last_stream = frame.stream;
  if (frame.flags != 0)
    return refuse(frame.stream, Code::kUnimplemented, "only calls with one request and one response");
  if (calls.size() >= kCallsMax)
    return refuse(frame.stream, Code::kResourceExhausted, "too many concurrent calls");
  begin(self, frame);
}

void Server::State::begin(const std::shared_ptr<State>& self, const Frame& frame) {
  const auto request = decode_request(frame.data);
  if (!request) return refuse(frame.stream, Code::kInvalidArgument, request.error().what);
  const auto method = methods.find(request->service + "/" + request->method);
  if (method == methods.end())
    return refuse(frame.stream, Code::kUnimplemented,
                  "no method " + escaped(request->service) + "/" + escaped(request->method));
  const Millis given = request->timeout > Millis{0} ? request->timeout : timeout;
  const Millis ours = given - given / 10;
  const uint32_t stream = frame.stream;
  calls[stream].timer = scheduler.after(ours, [this, stream, ours] {
    end(stream, {.status = {Code::kAborted, "not done within " + std::to_string(ours.count()) + " ms"}});
  });
  auto owed = std::make_shared<Answer::Pending>();
  owed->server = self;
  owed->stream = stream;
  owed->deadline = scheduler.now() + ours;
  const Method call = method->second;
  call(request->payload, Answer(std::move(owed)));
}

Server::Server(reactor::Scheduler& scheduler, std::map<std::string, Method, std::less<>> methods, Send send)
    : state_(std::make_shared<State>(scheduler, std::move(methods), std::move(send))) {}

Server::~Server() {
  state_->gone = true;
  state_->calls.clear();
}

void Server::receive(std::string_view bytes) {
  const auto state = state_;  // a method may destroy this object
  state->reader.add(bytes);
  while (!state->gone) {
    const auto frame = state->reader.next();
    if (!frame) return;
    state->take(state, *frame);
  }
}

size_t Server::ignored() const { return state_->ignored; }

void Server::set_timeout(Millis timeout) { state_->timeout = timeout; }

}  // namespace sliced::nri
