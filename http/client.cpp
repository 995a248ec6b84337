#include "http/client.h"

#include <optional>
#include <utility>

namespace sliced::http {
namespace {

using reactor::Ticket;

constexpr int kRefusalsMax = 5;
constexpr Millis kAfterRefusal{100};  // doubling, from the second one on
constexpr Millis kMoveWithin{30'000};

}  // namespace

// One request and its response. Kept alive by its Handle and, while a callback runs, by that callback.
class Client::Running final : public Receiver, public Waiter, public std::enable_shared_from_this<Running> {
 public:
  Running(const std::shared_ptr<Pool>& pool, reactor::Random random, TargetPtr target, Options options,
          Handlers handlers)
      : scheduler_(pool->scheduler()),
        pool_(pool),
        random_(std::move(random)),
        target_(std::move(target)),
        options_(options),
        handlers_(std::move(handlers)) {
    ++pool->exchanges;
  }
  ~Running() { leave(); }

  void start(Result<OutgoingRequestPtr> request) {
    soon_ = scheduler_.after(Millis{0}, [this, self = weak_from_this(), request = std::move(request)] {
      const auto alive = self.lock();  // held until the end of the task
      if (!alive) return;
      if (!request) return fail(request.error());
      request_ = *request;
      begin();
    });
  }
  /// The owner has dropped it, possibly from a handler of this exchange.
  void cancel() { release(); }
  void pause();
  void resume();

 private:
  bool is_lasting() const { return handlers_.on_moved != nullptr; }
  void begin();
  void connect();
  void wait_for_connection();
  void send(const ConnectionPtr& connection);
  void retry_later();
  void finish(const std::function<void()>& notify);
  void fail(Error error);
  void release();
  void leave();
  void watch_the_clock(Millis patience, std::string phase);
  void on_clock();

  // Waiter
  void on_connection(const ConnectionPtr& connection) override;
  void on_no_connection(const Error& error) override;
  // Receiver
  void on_head(const Head& head) override;
  void on_body(std::string_view bytes) override;
  void on_trailers(const Headers& trailers) override;
  void on_end() override;
  void on_loss(const Loss& loss) override;
  void on_drain(bool at_once) override;

  reactor::Scheduler& scheduler_;
  const std::weak_ptr<Pool> pool_;
  const reactor::Random random_;
  const TargetPtr target_;
  const Options options_;
  const Handlers handlers_;
  OutgoingRequestPtr request_;  // until its head, it may be sent again
  std::shared_ptr<Pool::Attempt> attempt_;
  std::unique_ptr<Stream> stream_;
  Ticket soon_, clock_, move_;
  TimePoint last_progress_{};
  Millis patience_{0};
  std::string patience_text_;
  int refusals_ = 0;
  bool is_connecting_ = false, reused_ = false, repeated_ = false, paused_ = false, has_left_pool_ = false;
};

void Client::Running::begin() {
  soon_.reset();
  const auto pool = pool_.lock();
  const ConnectionPtr found = pool ? pool->find(target_, is_lasting()) : nullptr;
  if (!found) return connect();
  reused_ = true;
  send(found);
}

void Client::Running::connect() {
  const auto pool = pool_.lock();
  if (!pool) return fail({Errc::kCanceled, "client closed"});
  reused_ = false;
  wait_for_connection();
  attempt_ = pool->connect(target_, options_.connect_max, weak_from_this());
}

// The limit covers all attempts.
void Client::Running::wait_for_connection() {
  if (!std::exchange(is_connecting_, true)) watch_the_clock(options_.connect_max, "no connection");
}

void Client::Running::on_connection(const ConnectionPtr& connection) {
  if (!attempt_) return;  // ended meanwhile
  const auto self = shared_from_this();
  const auto over = std::move(attempt_);
  if (!connection) return begin();
  const size_t others = connection->streams(), max = connection->streams_max();
  const bool is_reserved = is_lasting() && connection->is_multiplexed() && max > 1;
  if (others + (is_reserved ? 1 : 0) < max) return send(connection);
  if (others == 0)  // another exchange was first, or the server accepts none
    retry_later();
  else
    begin();
}

void Client::Running::on_no_connection(const Error& error) {
  if (!attempt_) return;
  const auto self = shared_from_this();
  fail(error);
}

void Client::Running::send(const ConnectionPtr& connection) {
  is_connecting_ = false;
  stream_ = connection->send(request_, options_.limits, *this);
  watch_the_clock(options_.head_max, "no response");
  if (paused_) stream_->pause();
}

void Client::Running::retry_later() {
  if (++refusals_ > kRefusalsMax) return fail({Errc::kBusy, "the server takes no request, again and again"});
  const Millis wait = refusals_ == 1 ? Millis{0} : kAfterRefusal * (1 << (refusals_ - 2));
  wait_for_connection();
  soon_ = scheduler_.after(wait, [this] {
    const auto self = shared_from_this();
    begin();
  });
}

void Client::Running::on_head(const Head& head) {
  const auto self = shared_from_this();
  request_.reset();  // it will not be sent again
  watch_the_clock(options_.silence_max, "no more of the response");
  handlers_.on_head(head);
}

void Client::Running::on_body(std::string_view bytes) {
  const auto self = shared_from_this();
  last_progress_ = scheduler_.now();
  handlers_.on_body(bytes);
}

void Client::Running::on_trailers(const Headers& trailers) {
  const auto self = shared_from_this();
  if (handlers_.on_trailers) handlers_.on_trailers(trailers);
}

void Client::Running::on_end() {
  const auto self = shared_from_this();
  finish(handlers_.on_done);
}

void Client::Running::on_loss(const Loss& loss) {
  const auto self = shared_from_this();
  const Error why = loss.error;  // may live in the connection
  stream_.reset();
  move_.reset();
  const bool is_at_hand = request_ != nullptr;
  if (loss.fate == Loss::Fate::kUnprocessed && is_at_hand) return retry_later();
  // A server may close a kept connection at the very moment a request is on its way to it.
  const bool may_repeat =
      is_at_hand && reused_ && options_.repeatable && loss.fate == Loss::Fate::kUnanswered;
  if (!may_repeat || std::exchange(repeated_, true)) return fail(why);
  connect();
}

void Client::Running::on_drain(bool at_once) {
  if (!is_lasting()) return;
  // All clients of the server move at the same time, so each adds a random delay.
  const double share = at_once ? 0 : random_();
  const Millis delay{static_cast<int64_t>(share * static_cast<double>(kMoveWithin.count()))};
  move_ = scheduler_.after(delay, [this] {
    const auto self = shared_from_this();
    finish(handlers_.on_moved);
  });
}

void Client::Running::pause() {
  paused_ = true;
  if (stream_) stream_->pause();
}

void Client::Running::resume() {
  paused_ = false;
  last_progress_ = scheduler_.now();
  if (stream_) stream_->resume();
}

void Client::Running::finish(const std::function<void()>& notify) {
  release();
  notify();
}

void Client::Running::fail(Error error) {
  release();
  if (target_->proxy) error = std::move(error).in("through " + describe(*target_->proxy));
  handlers_.on_failure(std::move(error).in(encode_url(target_->url)));
}

void Client::Running::release() {
  soon_.reset();
  clock_.reset();
  move_.reset();
  attempt_.reset();
  stream_.reset();
  leave();
}

void Client::Running::leave() {
  if (std::exchange(has_left_pool_, true)) return;
  if (const auto pool = pool_.lock()) --pool->exchanges;
}

// One timer for a whole phase: progress only moves a time stamp, so that a busy stream costs no timers.
void Client::Running::watch_the_clock(Millis patience, std::string phase) {
  patience_ = patience;
  patience_text_ = std::move(phase);
  last_progress_ = scheduler_.now();
  clock_ = scheduler_.after(patience, [this] { on_clock(); });
}

void Client::Running::on_clock() {
  const auto self = shared_from_this();
  const auto over = std::move(clock_);
  if (paused_ && !request_) last_progress_ = scheduler_.now();
  const Millis quiet = scheduler_.now() - last_progress_;
  if (quiet < patience_) {
    clock_ = scheduler_.after(patience_ - quiet, [this] { on_clock(); });
    return;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience_).count();
  fail({Errc::kTimeout, patience_text_ + " within " + std::to_string(seconds) + " s"});
}

class Client::Handle final : public Exchange {
 public:
  explicit Handle(std::shared_ptr<Running> running) : running_(std::move(running)) {}
  ~Handle() override { running_->cancel(); }
  void pause() override { running_->pause(); }
  void resume() override { running_->resume(); }

 private:
  const std::shared_ptr<Running> running_;
};

Client::Client(reactor::Scheduler& scheduler, Dial dial, reactor::Random random, Bounds bounds)
    : pool_(std::make_shared<Pool>(scheduler, std::move(dial), bounds)), random_(std::move(random)) {}
Client::~Client() = default;

ExchangePtr Client::start(TargetPtr target, Request request, Options options, Handlers handlers) {
  const size_t max = pool_->bounds().exchanges_max;
  auto outgoing = pool_->exchanges < max
                      ? prepare_request(target->url, std::move(request))
                      : Error{Errc::kBusy, "more than " + std::to_string(max) + " requests at once"};
  auto running = std::make_shared<Running>(pool_, random_, std::move(target), options, std::move(handlers));
  running->start(std::move(outgoing));
  return std::make_unique<Handle>(std::move(running));
}

}  // namespace sliced::http
