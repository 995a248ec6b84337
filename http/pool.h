#pragma once
// Private to http/client.cpp: the connections that exchanges share, and the exchanges that wait for one. An
// HTTP/2 server has one connection, which is dialed once for all waiting exchanges. A second one is dialed if
// the first has no room: its last stream is reserved from long exchanges (watches), so that a write need not
// wait. An HTTP/1.1 server has one connection per concurrent exchange, and some are kept.
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

/// exchanges_max: for all servers together; a further exchange gets kBusy.

struct PoolBounds {
  size_t exchanges_max = 64;
  size_t idle_max = 4;          // connections kept for later
  Millis idle_timeout{60'000};  // API servers close after 90 s and more
};

/// Waits for a connection. Held weakly: a destroyed one is not called. Called once by the attempt that it
/// joined, in the order of joining.
class Waiter {
 public:
  /// The connection may have no room left. Null: call find() again.
  virtual void on_connection(const ConnectionPtr& connection) = 0;
  virtual void on_no_connection(const Error& error) = 0;

 protected:
  ~Waiter() = default;
};

/// Ownership: connections live as long as an exchange or the pool holds them. Loop thread only. Reentry:
/// waiters are called at the end of a dial, and may call the pool.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  /// A dial in progress. Continues as long as a waiter holds it.
  class Attempt;

  Pool(reactor::Scheduler& scheduler, Dial dial, PoolBounds bounds);
  ~Pool();

  /// Returns the newest connection with room for one more exchange, or null. Connections to other targets
  /// drain. for_long: for a long exchange (a watch), which leaves the last stream of a shared connection
  /// free.
  ConnectionPtr find(const TargetPtr& target, bool for_long);
  /// Joins a dial to the same target in progress if its connection may be shared (HTTP/2), otherwise starts
  /// one. An attempt ends with its last holder. The first caller's deadline applies.
  std::shared_ptr<Attempt> connect(const TargetPtr& target, Millis deadline, std::weak_ptr<Waiter> waiter);

  reactor::Scheduler& scheduler() const { return scheduler_; }
  const PoolBounds& bounds() const { return bounds_; }
  /// Returns the number of connections without an exchange. They are kept for idle_timeout, at most idle_max of
  /// them.
  size_t idle() const;

  size_t exchanges = 0;  // in progress: their owners count

 private:
  struct Entry {
    ConnectionPtr connection;
    reactor::Ticket expiry = nullptr;  // checks whether it is idle
    bool is_leaving = false;           // known to drain
  };
  using Entries = std::list<Entry>;
  // After a change of the target (a certificate) all earlier connections drain; unused ones are closed
  // immediately.
  void retire_other_targets(const TargetPtr& target);
  // Adds the connection and watches it; not if it was dialed for an earlier target.
  void adopt(const ConnectionPtr& connection);
  // Looks it up by its address only: it may have been removed.
  void on_change(const Connection* changed);
  // At most one connection may drain while another serves.
  void drain_others_now(const Connection* draining);
  // The last exchange on it has ended: starts its idle time, and closes the oldest one if there are too many.
  void keep_idle(Entries::iterator entry);
  void expire(Entries::iterator entry);

  reactor::Scheduler& scheduler_;
  const Dial dial_;
  const PoolBounds bounds_;
  Entries entries_;
  std::weak_ptr<Attempt> shared_;  // the one to join
  TargetPtr current_target_;       // the last target, and the known facts about it
  bool is_http1_ = false;
  size_t streams_max_ = kHttp2StreamsAssumed;
};

}  // namespace sliced::http
