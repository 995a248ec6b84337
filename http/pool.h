#pragma once
// Inside http/client.cpp: the connections that exchanges share, and who waits for one.
//
// A server of HTTP/2 has one connection, which is dialed once however many wait for it. A second one is
// dialed when the first has no room: its last place is kept from what lasts (watches), so that a write need
// not wait for them. A server of HTTP/1.1 has as many as there are exchanges at once, and keeps some.
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "http/connection.h"
#include "http/dialer.h"
#include "http/http2_session.h"
#include "reactor/scheduler.h"

namespace sliced::http {

/// exchanges_max: of all servers together; who asks for one more is told kBusy.

struct PoolBounds {
  size_t exchanges_max = 64;
  size_t idle_max = 4;       // connections kept for later
  Millis idle_keep{60'000};  // API servers close after 90 s and more
};

/// Who waits for a connection. Held weakly: whoever is dropped is not called.
/// Each is told once by the attempt that it joined, in the order of joining.
class Waiter {
 public:
  /// Not one that is known to have room: somebody else may have been first. Null: look again.
  virtual void on_connection(const ConnectionPtr& connection) = 0;
  virtual void on_no_connection(const Error& error) = 0;

 protected:
  ~Waiter() = default;
};

/// Ownership: connections live as long as an exchange or the pool holds them. Loop thread only.
/// Reentry:   waiters are called when a dial is over, and may ask the pool again from there.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  /// A connection on its way. Goes on as long as one of those who wait holds it.
  class Attempt;

  Pool(reactor::Scheduler& scheduler, Dial dial, PoolBounds bounds);
  ~Pool();

  /// With room for one more exchange, or null. Connections to other targets drain.
  /// The newest that has room. for_long: for what lasts (a watch), which leaves the last place of a shared
  /// connection free.
  ConnectionPtr find(const TargetPtr& target, bool for_long);
  /// Joins a dial to the same target that is under way, if what comes of it may be shared (HTTP/2); an
  /// attempt whose last holder goes is given up. Each dial has the deadline of whoever began it.
  std::shared_ptr<Attempt> connect(const TargetPtr& target, Millis deadline, std::weak_ptr<Waiter> waiter);

  reactor::Scheduler& scheduler() const { return scheduler_; }
  const PoolBounds& bounds() const { return bounds_; }
  /// Connections without an exchange, which are kept for idle_keep, and at most idle_max of them.
  size_t idle() const;

  size_t exchanges = 0;  // under way: their owners count

 private:
  struct Entry {
    ConnectionPtr connection;
    reactor::Ticket expiry = nullptr;  // looks whether it is idle
    bool is_leaving = false;           // known to drain
  };
  using Entries = std::list<Entry>;
  // Another target (a changed certificate) makes all connections of before drain; those that carry nothing go
  // at once.
  void leave_others(const TargetPtr& target);
  // Into the list, and told of whatever changes: a connection that was dialed for a target of before is not.
  void adopt(const ConnectionPtr& connection);
  // By its address only: it may be gone from the list, and then means nothing.
  void on_change(const Connection* changed);
  // One may drain while another serves, and no third.
  void hurry_others(const Connection* draining);
  // An exchange has ended on it and none goes on: its time begins, and the oldest one goes where there are
  // too many.
  void keep_for_later(Entries::iterator entry);
  void expire(Entries::iterator entry);

  reactor::Scheduler& scheduler_;
  const Dial dial_;
  const PoolBounds bounds_;
  Entries entries_;
  std::weak_ptr<Attempt> shared_;  // the one to join
  TargetPtr asked_;                // the last target, and what is known of it
  bool is_http1_ = false;
  size_t streams_known_ = kHttp2StreamsAssumed;
};

}  // namespace sliced::http
