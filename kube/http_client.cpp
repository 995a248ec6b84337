#include "kube/http_client.h"

#include <list>
#include <optional>
#include <utility>

#include "kube/http_tunnel.h"
#include "reactor/net/tls_stream.h"

namespace sliced::kube {

using reactor::Ticket;
using reactor::net::ByteStream;
using reactor::net::Connecting;
using reactor::net::Endpoint;

// What outlives the exchanges: the idle connections. Exchanges hold it weakly.
struct HttpClient::Pool {
  struct Idle {
    HttpServerPtr server;
    std::unique_ptr<ByteStream> stream;
    Ticket expiry;
  };
  Pool(reactor::Scheduler& scheduler_in, Dial dial_in, Bounds bounds_in)
      : scheduler(scheduler_in), dial(std::move(dial_in)), bounds(bounds_in) {}

  /// The connection used last, since it is the least likely to have been closed by the server meanwhile.
  std::unique_ptr<ByteStream> take(const HttpServerPtr& server);
  void put(const HttpServerPtr& server, std::unique_ptr<ByteStream> stream);
  void forget_other_servers(const HttpServerPtr& server);

  reactor::Scheduler& scheduler;
  const Dial dial;
  const Bounds bounds;
  std::list<Idle> idle;
  size_t exchanges = 0;
  uint64_t opened = 0;
};

std::unique_ptr<ByteStream> HttpClient::Pool::take(const HttpServerPtr& server) {
  if (idle.empty()) return nullptr;
  forget_other_servers(server);
  if (idle.empty()) return nullptr;
  auto stream = std::move(idle.back().stream);
  idle.pop_back();
  return stream;
}

void HttpClient::Pool::forget_other_servers(const HttpServerPtr& server) {
  idle.remove_if([&](const Idle& entry) { return entry.server != server; });
}

void HttpClient::Pool::put(const HttpServerPtr& server, std::unique_ptr<ByteStream> stream) {
  if (bounds.idle_max == 0) return;
  if (idle.size() >= bounds.idle_max) idle.pop_front();
  const auto at = idle.insert(idle.end(), Idle{server, std::move(stream), nullptr});
  // The list owns the stream and the ticket, so neither callback can come once the entry is gone.
  const auto drop = [this, at](const auto&...) { idle.erase(at); };  // ends the lambda itself: its last act
  at->expiry = scheduler.after(bounds.idle_keep, drop);
  at->stream->receive({.on_data = drop, .on_end = drop, .on_error = drop});
}

// One request and its response. Kept alive by its Handle and, while a callback runs, by that callback.
class HttpClient::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::shared_ptr<Pool> pool, HttpServerPtr server, HttpOptions options, HttpHandlers handlers)
      : scheduler_(pool->scheduler),
        pool_(pool),
        server_(std::move(server)),
        options_(options),
        handlers_(std::move(handlers)) {
    ++pool->exchanges;
  }
  ~Exchange() { leave(); }

  void start(Result<std::string> request) {
    soon_ = scheduler_.after(Millis{0}, [this, self = weak_from_this(), request = std::move(request)] {
      const auto alive = self.lock();  // held until the end of the task
      if (alive) begin(request);
    });
  }
  /// The owner went away, from any place, a handler of this exchange included.
  void cancel() {
    ended_ = true;
    release();
  }
  void refuse(Error error) { refusal_ = std::move(error); }

 private:
  void begin(const Result<std::string>& request);
  void dial();
  void on_dialed(Result<std::unique_ptr<ByteStream>> plain);
  void on_connected(Result<std::unique_ptr<ByteStream>> stream);
  void send();
  void on_data(std::string_view bytes);
  void on_end();
  void on_error(const Error& error);
  void finish();
  void fail(Error error);
  bool again(bool got_bytes);
  void release();
  void leave();
  void watch_the_clock(Millis patience, std::string what);
  void on_clock();
  std::unique_ptr<HttpResponseDecoder> make_decoder();

  reactor::Scheduler& scheduler_;
  const std::weak_ptr<Pool> pool_;
  const HttpServerPtr server_;
  const HttpOptions options_;
  const HttpHandlers handlers_;
  std::optional<Error> refusal_;
  std::string request_;
  std::unique_ptr<Connecting> connecting_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<HttpResponseDecoder> decoder_;
  Ticket soon_, clock_;
  TimePoint last_progress_{};
  Millis patience_{0};
  std::string patience_text_;
  bool ended_ = false, reused_ = false, repeated_ = false, got_bytes_ = false, left_ = false;
};

void HttpClient::Exchange::begin(const Result<std::string>& request) {
  if (refusal_) return fail(*refusal_);
  if (!request) return fail(request.error());
  request_ = *request;
  if (const auto pool = pool_.lock()) stream_ = pool->take(server_);
  if (!stream_) return dial();
  reused_ = true;
  send();
}

void HttpClient::Exchange::dial() {
  const auto pool = pool_.lock();
  if (!pool) return fail({Errc::kCanceled, "the client is gone"});
  ++pool->opened;
  watch_the_clock(options_.connect_max, "no connection");
  const Endpoint target{server_->url.host, server_->url.port};
  const auto on_way = [this](Result<std::unique_ptr<ByteStream>> plain) { on_dialed(std::move(plain)); };
  const auto& proxy = server_->proxy;
  if (!proxy) {
    connecting_ = pool->dial(target, options_.connect_max, on_way);
    return;
  }
  connecting_ = pool->dial({proxy->host, proxy->port}, options_.connect_max,
                           [this, target, on_way](Result<std::unique_ptr<ByteStream>> to_proxy) {
                             const auto self = shared_from_this();
                             const auto over = std::move(connecting_);
                             if (!to_proxy) return on_connected(std::move(to_proxy));
                             connecting_ = open_tunnel(scheduler_, *std::move(to_proxy), *server_->proxy,
                                                       target, on_way);
                           });
}

void HttpClient::Exchange::on_dialed(Result<std::unique_ptr<ByteStream>> plain) {
  const auto self = shared_from_this();
  const auto over = std::move(connecting_);
  if (!plain || !server_->url.tls) return on_connected(std::move(plain));
  const std::string& name = server_->tls_server_name.empty() ? server_->url.host : server_->tls_server_name;
  connecting_ = reactor::net::connect_tls(
      scheduler_, *std::move(plain), server_->tls, name, options_.connect_max,
      [this](Result<std::unique_ptr<ByteStream>> stream) { on_connected(std::move(stream)); });
}

void HttpClient::Exchange::on_connected(Result<std::unique_ptr<ByteStream>> stream) {
  const auto self = shared_from_this();
  const auto over = std::move(connecting_);
  if (!stream) return fail(std::move(stream.error()));
  stream_ = *std::move(stream);
  send();
}

void HttpClient::Exchange::send() {
  got_bytes_ = false;
  decoder_ = make_decoder();
  stream_->receive({.on_data = [this](std::string_view bytes) { on_data(bytes); },
                    .on_end = [this] { on_end(); },
                    .on_error = [this](const Error& error) { on_error(error); }});
  stream_->write(request_);
  watch_the_clock(options_.head_max, "no response");
}

std::unique_ptr<HttpResponseDecoder> HttpClient::Exchange::make_decoder() {
  return std::make_unique<HttpResponseDecoder>(
      options_.limits, HttpResponseDecoder::Handlers{.on_head =
                                                         [this](const HttpHead& head) {
                                                           patience_ = options_.silence_max;
                                                           patience_text_ = "no more of the response";
                                                           request_ = {};  // it cannot be needed again
                                                           handlers_.on_head(head);
                                                           return !ended_;
                                                         },
                                                     .on_body =
                                                         [this](std::string_view bytes) {
                                                           handlers_.on_body(bytes);
                                                           return !ended_;
                                                         }});
}

void HttpClient::Exchange::on_data(std::string_view bytes) {
  const auto self = shared_from_this();
  got_bytes_ = true;
  // Before the head only the head counts as progress: drops of it do not buy time.
  if (decoder_->has_head()) last_progress_ = scheduler_.now();
  const bool had_head = decoder_->has_head();
  const auto fed = decoder_->feed(bytes);
  if (ended_) return;
  if (!fed) return fail(fed.error());
  if (!had_head && decoder_->has_head()) watch_the_clock(patience_, patience_text_);
  if (decoder_->complete()) finish();
}

void HttpClient::Exchange::on_end() {
  const auto self = shared_from_this();
  if (again(got_bytes_)) return;
  const auto finished = decoder_->finish();
  if (ended_) return;
  if (!finished) return fail(finished.error());
  finish();
}

void HttpClient::Exchange::on_error(const Error& error) {
  const auto self = shared_from_this();
  const Error kept = error;  // dies with the stream
  if (!again(got_bytes_)) fail(kept);
}

// A server may close a kept connection at the very moment a request is on its way to it.
bool HttpClient::Exchange::again(bool got_bytes) {
  if (!reused_ || repeated_ || got_bytes || !options_.repeatable) return false;
  repeated_ = true;
  reused_ = false;
  stream_.reset();
  dial();
  return true;
}

void HttpClient::Exchange::finish() {
  ended_ = true;
  const auto pool = pool_.lock();
  // A server that answers before it has read all of the request leaves the rest of it on the connection.
  const bool usable = decoder_->keep_alive() && stream_->unsent_bytes() == 0;
  if (pool && usable) pool->put(server_, std::move(stream_));
  release();
  handlers_.on_done();
}

void HttpClient::Exchange::fail(Error error) {
  ended_ = true;
  release();
  if (server_->proxy) error = std::move(error).in("through " + describe(*server_->proxy));
  handlers_.on_failure(std::move(error).in(encode_url(server_->url)));
}

void HttpClient::Exchange::release() {
  soon_.reset();
  clock_.reset();
  connecting_.reset();
  stream_.reset();
  leave();
}

void HttpClient::Exchange::leave() {
  if (std::exchange(left_, true)) return;
  if (const auto pool = pool_.lock()) --pool->exchanges;
}

// One timer for a whole phase: progress only moves a time stamp, so that a busy stream costs no timers.
void HttpClient::Exchange::watch_the_clock(Millis patience, std::string what) {
  patience_ = patience;
  patience_text_ = std::move(what);
  last_progress_ = scheduler_.now();
  clock_ = scheduler_.after(patience, [this] { on_clock(); });
}

void HttpClient::Exchange::on_clock() {
  const auto self = shared_from_this();
  const auto over = std::move(clock_);
  const Millis quiet = scheduler_.now() - last_progress_;
  if (quiet < patience_) {
    clock_ = scheduler_.after(patience_ - quiet, [this] { on_clock(); });
    return;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience_).count();
  fail({Errc::kTimeout, patience_text_ + " within " + std::to_string(seconds) + " s"});
}

class HttpClient::Handle final : public Call {
 public:
  explicit Handle(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Handle() override { exchange_->cancel(); }

 private:
  const std::shared_ptr<Exchange> exchange_;
};

HttpClient::HttpClient(reactor::Scheduler& scheduler, Dial dial, Bounds bounds)
    : pool_(std::make_shared<Pool>(scheduler, std::move(dial), bounds)) {}
HttpClient::~HttpClient() = default;

CallPtr HttpClient::start(HttpServerPtr server, HttpRequest request, HttpOptions options,
                          HttpHandlers handlers) {
  const bool full = pool_->exchanges >= pool_->bounds.exchanges_max;
  auto bytes = encode_http_request(server->url, request);
  auto exchange = std::make_shared<Exchange>(pool_, std::move(server), options, std::move(handlers));
  if (full)
    exchange->refuse(
        {Errc::kBusy, "more than " + std::to_string(pool_->bounds.exchanges_max) + " requests at once"});
  exchange->start(std::move(bytes));
  return std::make_unique<Handle>(std::move(exchange));
}

size_t HttpClient::idle_connections() const { return pool_->idle.size(); }
uint64_t HttpClient::connections_opened() const { return pool_->opened; }

}  // namespace sliced::kube
