#pragma once
// Leader election by a Lease (coordination.k8s.io/v1), like client-go
// (k8s.io/client-go/tools/leaderelection). The holder renews it every 5 s; a process that sees no change of
// its spec for 15 s, by its own clock, takes it. Clocks of different processes are not compared.
//
// Two holders at the same time are excluded only if clocks run at the same rate: writes that need more use
// preconditions.
//
// Lease:     holderIdentity, leaseDurationSeconds (15), acquireTime, renewTime and leaseTransitions of its
//            spec are written. resign() leaves holderIdentity "" and a duration of 1 s.
// Failure:   logged once and retried after 2 to 2.5 s. A holder without a successful write for kGiveUpAfter
//            loses the election, well before others may take the Lease.
// A missing Lease is created. Loop thread only.
#include <cstdint>
#include <functional>
#include <string>

#include "kube/client/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/rate_limited_log.h"

namespace sliced::aggregate {

class Election {
 public:
  struct Settings {
    std::string namespace_, name;      // of the Lease
    std::string identity;              // unique
    std::function<std::string()> now;  // "2026-11-21T00:17:41.296000Z", for readers of the Lease
  };
  static constexpr Millis kDuration{15'000}, kRenewEvery{5'000}, kGiveUpAfter{10'000}, kLookEvery{2'000};

  /// on_change: called in a turn of the scheduler, or from resign().
  /// Permissions: get, create and update on leases in that namespace.
  Election(kube::ClusterPorts ports, Settings settings, std::function<void(bool elected)> on_change);

  /// Starts; call once.
  void start() { look(); }
  bool is_elected() const { return is_elected_; }
  /// Returns the last known holder; "": none, or not read yet.
  const std::string& holder() const { return holder_; }
  /// Returns the error of the last read or write; "": none.
  const std::string& last_failure() const { return failure_.text(); }
  /// Releases the Lease, so that others need not wait for kDuration, and calls `done` after the answer or
  /// failure; immediately if this process is not elected.
  void resign(std::function<void()> done);

 private:
  void look();
  void look_after(Millis delay);
  void on_lease(std::string_view object);
  void on_failure(const kube::Failure& failure);
  void write(kube::Verb verb);
  void on_written(std::string_view object);
  void set_elected(bool elected);
  void check_deadline();
  kube::Json lease() const;

  kube::ClusterPorts ports_;
  const Settings settings_;
  const std::function<void(bool)> on_change_;
  bool is_elected_ = false, is_over_ = false, is_reading_ = false;
  std::string resource_version_, holder_, acquired_;
  int64_t transitions_ = 0;
  std::string observed_spec_;  // spec of the Lease
  TimePoint seen_at_{};        // time of its last change
  TimePoint renewed_at_{};     // start of the last successful write
  TimePoint asked_at_{};
  LastMessage failure_;
  kube::CallPtr call_;
  reactor::Ticket timer_, deadline_;
};

}  // namespace sliced::aggregate
