#include "reactor/net/tcp_stream.h"

#include <netdb.h>
#include <sys/socket.h>
#include <uv.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "reactor/base/text.h"
#include "reactor/loop.h"
#include "reactor/net/uv_stream.h"
#include "reactor/turn_watch.h"

namespace sliced::reactor::net {
namespace {

constexpr size_t kAddressesMax = 16;

struct Lookup {
  std::string host;
  std::string port;
  int code = 0;  // EAI_*
  std::vector<sockaddr_storage> addresses;

  void resolve(int flags) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    code = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
    if (code != 0) return;
    for (const addrinfo* at = list; at != nullptr && addresses.size() < kAddressesMax; at = at->ai_next) {
      if (at->ai_addrlen > sizeof(sockaddr_storage)) continue;
      std::memcpy(&addresses.emplace_back(), at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(list);
  }
};

std::string numeric(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  uv_ip_name(reinterpret_cast<const sockaddr*>(&address), text, sizeof text);
  return text;
}

class TcpConnect final : public Connecting {
 public:
  TcpConnect(Loop& loop, Executor& executor, Endpoint endpoint, Millis deadline, OnConnected on_connected)
      : loop_(loop),
        executor_(executor),
        endpoint_(std::move(endpoint)),
        deadline_(deadline),
        on_connected_(std::move(on_connected)),
        alive_(std::make_shared<TcpConnect*>(this)) {
    overall_ = loop_.scheduler().after(deadline_, [this] { time_out(); });
    step_ = loop_.scheduler().after(Millis{0}, [this] { look_up(); });
    ends_ = loop_.now() + deadline_;
  }

 private:
  struct Request {
    uv_connect_t request{};
    std::weak_ptr<TcpConnect*> owner;
    size_t attempt = 0;
  };

  std::string name() const { return endpoint_.host + ":" + std::to_string(endpoint_.port); }
  void look_up();
  void on_addresses(const std::shared_ptr<Lookup>& lookup);
  void try_next();
  void attempt_failed(Error error);
  void time_out();
  void connected();
  void finish(Result<std::unique_ptr<ByteStream>> outcome);
  static void on_connect(uv_connect_t* done, int status) noexcept;

  Loop& loop_;
  Executor& executor_;
  const Endpoint endpoint_;
  const Millis deadline_;
  OnConnected on_connected_;
  std::shared_ptr<TcpConnect*> alive_;
  TimePoint ends_;
  Ticket overall_;
  Ticket step_;  // from the start; later the share of the present address
  std::unique_ptr<Job> job_;
  std::vector<sockaddr_storage> addresses_;
  size_t attempt_ = 0;  // addresses tried, the present one included
  Handle<uv_tcp_t> handle_;
  Error last_{Errc::kTimeout, ""};
};

void TcpConnect::look_up() {
  if (endpoint_.host.find('\0') != std::string::npos || endpoint_.host.empty())
    return finish(Error{Errc::kInvalid, "connect: bad host name " + in_quotes(endpoint_.host)});
  auto lookup =
      std::make_shared<Lookup>(Lookup{.host = endpoint_.host, .port = std::to_string(endpoint_.port)});
  lookup->resolve(AI_NUMERICHOST);  // an address needs no lookup and no thread
  if (lookup->code == 0) return on_addresses(lookup);
  job_ = executor_.run(
      [lookup] { lookup->resolve(0); }, deadline_,
      [this, lookup](bool finished) {
        if (finished)
          on_addresses(lookup);
        else
          finish(Error{Errc::kTimeout, "connect " + name() + ": the name lookup does not answer"});
      });
}

void TcpConnect::on_addresses(const std::shared_ptr<Lookup>& lookup) {
  if (lookup->code != 0 || lookup->addresses.empty()) {
    const bool unknown = lookup->code == EAI_NONAME || lookup->code == EAI_NODATA || lookup->code == 0;
    return finish(Error{unknown ? Errc::kNotFound : Errc::kIo,
                        "connect " + name() + ": name lookup: " + gai_strerror(lookup->code)});
  }
  addresses_ = lookup->addresses;
  try_next();
}

void TcpConnect::try_next() {
  if (attempt_ == addresses_.size())
    return finish(Error{last_.code, "connect " + name() + ": " + last_.what});
  const sockaddr_storage& address = addresses_[attempt_++];
  // A silent address must leave time for the following ones.
  const size_t left = addresses_.size() - attempt_ + 1;
  const Millis share = std::max((ends_ - loop_.now()) / static_cast<int64_t>(left), Millis{1});
  step_ = left == 1
              ? nullptr
              : loop_.scheduler().after(share, [this] { attempt_failed({Errc::kTimeout, "no answer"}); });
  handle_ = Handle<uv_tcp_t>::open([&](uv_tcp_t* raw) { return uv_tcp_init(loop_.raw(), raw); }).value();
  auto* request = new Request{.owner = alive_, .attempt = attempt_};
  const int code = uv_tcp_connect(&request->request, handle_.get(),
                                  reinterpret_cast<const sockaddr*>(&address), &on_connect);
  if (code == 0) return;
  delete request;
  attempt_failed(uv_error(code));
}

void TcpConnect::on_connect(uv_connect_t* done, int status) noexcept {
  uv_loop_t* loop = done->handle->loop;
  const std::unique_ptr<Request> request(reinterpret_cast<Request*>(done));
  const auto owner = request->owner.lock();
  if (!owner || (*owner)->attempt_ != request->attempt || status == UV_ECANCELED) return;
  const TurnSpan span(loop, "connection", typeid(TcpConnect));
  if (status == 0)
    (*owner)->connected();
  else
    (*owner)->attempt_failed(uv_error(status));
}

void TcpConnect::attempt_failed(Error error) {
  last_ = std::move(error).in(numeric(addresses_[attempt_ - 1]));
  handle_ = {};
  try_next();
}

void TcpConnect::time_out() {
  const std::string waited = "no answer within " + std::to_string(deadline_.count()) + " ms";
  const std::string at = attempt_ == 0 ? "name lookup" : numeric(addresses_[attempt_ - 1]);
  finish(Error{Errc::kTimeout, "connect " + name() + ": " + at + ": " + waited});
}

void TcpConnect::connected() {
  set_tcp_options(handle_.get());
  std::unique_ptr<ByteStream> stream =
      owned(loop_.scheduler(), std::make_unique<UvStream>(loop_.scheduler(), std::move(handle_), name()));
  finish(std::move(stream));
}

void TcpConnect::finish(Result<std::unique_ptr<ByteStream>> outcome) {
  overall_.reset();
  step_.reset();
  job_.reset();
  handle_ = {};
  step_ = complete(loop_.scheduler(), on_connected_, std::move(outcome));
}

}  // namespace

std::unique_ptr<Connecting> connect_tcp(Loop& loop, Executor& executor, Endpoint endpoint, Millis deadline,
                                        OnConnected on_connected) {
  return std::make_unique<TcpConnect>(loop, executor, std::move(endpoint), deadline, std::move(on_connected));
}

}  // namespace sliced::reactor::net
