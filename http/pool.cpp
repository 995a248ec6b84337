#include "http/pool.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "http/http1_connection.h"
#include "http/http2_connection.h"

namespace sliced::http {

using reactor::net::ByteStream;

class Pool::Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(Pool& pool, TargetPtr target)
      : scheduler_(pool.scheduler_), pool_(pool.weak_from_this()), target_(std::move(target)) {}

  void begin(const Dial& dial, Millis deadline) {
    dialing_ = dial_target(scheduler_, dial, target_, deadline,
                           [this](Result<std::unique_ptr<ByteStream>> wire) { on_wire(std::move(wire)); });
  }
  void join(std::weak_ptr<Waiter> waiter) { waiters_.push_back(std::move(waiter)); }
  const TargetPtr& target() const { return target_; }
  bool is_finished() const { return dialing_ == nullptr; }

 private:
  void on_wire(Result<std::unique_ptr<ByteStream>> wire) {
    const auto self = shared_from_this();
    const auto over = std::move(dialing_);
    const auto waiters = std::exchange(waiters_, {});
    const std::optional<Error> failure = wire ? std::nullopt : std::optional<Error>(wire.error());
    ConnectionPtr connection = wire ? make(*std::move(wire)) : nullptr;
    for (const auto& weak : waiters) {
      const auto waiter = weak.lock();
      if (!waiter) continue;
      if (failure) {
        waiter->on_no_connection(*failure);
        continue;
      }
      waiter->on_connection(connection);
      if (connection && !connection->is_multiplexed()) connection.reset();  // the others dial their own
    }
  }

  ConnectionPtr make(std::unique_ptr<ByteStream> wire) {
    const auto pool = pool_.lock();
    const bool is_http2 = target_->has_prior_knowledge || wire->protocol() == "h2";
    const auto connection =
        is_http2 ? make_http2_connection(scheduler_, std::move(wire), pool ? pool->streams_max_ : 1)
                 : make_http1_connection(std::move(wire));
    if (!pool || pool->current_target_ != target_) return connection;  // only for the exchanges that wait
    pool->is_http1_ = !is_http2;
    pool->adopt(connection);
    return connection;
  }

  reactor::Scheduler& scheduler_;
  const std::weak_ptr<Pool> pool_;
  const TargetPtr target_;
  std::unique_ptr<reactor::net::Connecting> dialing_;
  std::vector<std::weak_ptr<Waiter>> waiters_;
};

Pool::Pool(reactor::Scheduler& scheduler, Dial dial, PoolBounds bounds)
    : scheduler_(scheduler), dial_(std::move(dial)), bounds_(bounds) {}
Pool::~Pool() = default;

ConnectionPtr Pool::find(const TargetPtr& target, bool for_long) {
  retire_other_targets(target);
  const auto first = std::find_if(entries_.begin(), entries_.end(),
                                  [](const Entry& entry) { return !entry.connection->is_draining(); });
  const Connection* const shared = first == entries_.end() ? nullptr : first->connection.get();
  // The newest first: of idle connections it is the least likely to have been closed meanwhile.
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    const Connection& connection = *entry->connection;
    const bool is_reserved = for_long && connection.is_multiplexed() && &connection == shared;
    if (connection.streams() + (is_reserved ? 1 : 0) < connection.streams_max()) return entry->connection;
  }
  return nullptr;
}

std::shared_ptr<Pool::Attempt> Pool::connect(const TargetPtr& target, Millis deadline,
                                             std::weak_ptr<Waiter> waiter) {
  auto dialing = shared_.lock();
  if (dialing && dialing->target() == target && !dialing->is_finished()) {
    dialing->join(std::move(waiter));
    return dialing;
  }
  const auto attempt = std::make_shared<Attempt>(*this, target);
  attempt->join(std::move(waiter));
  attempt->begin(dial_, deadline);
  const bool may_be_http2 = target->has_prior_knowledge || (target->url.tls && !is_http1_);
  if (may_be_http2) shared_ = attempt;
  return attempt;
}

void Pool::retire_other_targets(const TargetPtr& target) {
  if (current_target_ == target) return;
  current_target_ = target;
  is_http1_ = false;
  streams_max_ = kHttp2StreamsAssumed;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    entry->is_leaving = true;
    entry->connection->drain(false);
    if (entry->connection->streams() == 0) entries_.erase(entry);
    entry = next;
  }
}

void Pool::adopt(const ConnectionPtr& connection) {
  connection->on_change([weak = weak_from_this(), at = connection.get()] {
    if (const auto pool = weak.lock()) pool->on_change(at);
  });
  expire(entries_.insert(entries_.end(), {connection}));
}

void Pool::on_change(const Connection* changed) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& at) { return at.connection.get() == changed; });
  if (entry == entries_.end()) return;
  const ConnectionPtr connection = entry->connection;
  const bool is_draining = connection->is_draining(), is_empty = connection->streams() == 0;
  if (connection->is_closed() || (is_draining && is_empty)) {
    entries_.erase(entry);
  } else if (is_draining) {
    if (!std::exchange(entry->is_leaving, true)) drain_others_now(changed);
  } else {
    if (connection->is_multiplexed())
      streams_max_ = std::clamp(connection->streams_max(), size_t{1}, kHttp2StreamsAssumed);
    if (is_empty) keep_idle(entry);
  }
}

// At most one drains while another serves: a server that closes every connection must not accumulate them.
void Pool::drain_others_now(const Connection* draining) {
  std::vector<ConnectionPtr> others;
  for (const Entry& entry : entries_)
    if (entry.is_leaving && entry.connection.get() != draining) others.push_back(entry.connection);
  for (const ConnectionPtr& other : others) other->drain(true);
}

void Pool::keep_idle(Entries::iterator entry) {
  if (!entry->connection->is_multiplexed()) entries_.splice(entries_.end(), entries_, entry);
  expire(entry);
  if (idle() <= bounds_.idle_max) return;
  entries_.erase(std::find_if(entries_.begin(), entries_.end(),
                              [](const Entry& at) { return at.connection->streams() == 0; }));
}

// The list owns the ticket, so the task does not run after the entry is removed.
void Pool::expire(Entries::iterator entry) {
  entry->expiry = scheduler_.after(bounds_.idle_timeout, [this, entry] {
    const auto over = std::move(entry->expiry);
    if (entry->connection->streams() == 0) entries_.erase(entry);
  });
}

size_t Pool::idle() const {
  return static_cast<size_t>(std::count_if(
      entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.connection->streams() == 0; }));
}

}  // namespace sliced::http
