#pragma once
// One of several processes does what only one may do: by a Lease (coordination.k8s.io/v1), as client-go's leaderelection
// does it (k8s.io/client-go/tools/leaderelection). Who holds it says so every 5 s; who sees by its own clock that nobody has said anything
// in its spec for 15 s takes it. No clocks are compared.
//
// It keeps two from working at a time only as well as their clocks run alike: who depends on more than that writes with
// preconditions.
//
// Lease:     holderIdentity, leaseDurationSeconds (15), acquireTime, renewTime and leaseTransitions of its
//            spec are written. Who resigns leaves holderIdentity "" and a duration of 1 s.
// Failure:   said in the log once while it lasts, and tried again after 2 to 2.5 s. Whoever is elected and
//            has had no write taken for kGiveUpAfter is not any more: well before others may take it.
// Absent:    a Lease that is not there is created.
// Threads:   the loop's.
#include <cstdint>
#include <functional>
#include <string>

#include "kube/client/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/rate_limited_log.h"

namespace sliced::reports {

class Election {
 public:
  struct Settings {
    std::string namespace_, name;      // of the Lease
    std::string identity;              // who this is; no two are the same
    std::function<std::string()> now;  // "2026-11-21T00:17:41.296000Z", for people who read the Lease
  };
  static constexpr Millis kDuration{15'000}, kRenewEvery{5'000}, kGiveUpAfter{10'000}, kLookEvery{2'000};

  /// on_change: on a turn of the scheduler's, never from within a call but resign(). May destroy nothing of this.
  /// Permissions: get, create and update on leases in that namespace.
  Election(kube::Ports ports, Settings settings, std::function<void(bool elected)> on_change);

  /// Once. Whether it is elected is known after an answer of the server's at the earliest.
  void start() { look(); }
  bool is_elected() const { return is_elected_; }
  /// As it was read last; "" nobody, or it was not read yet.
  const std::string& holder() const { return holder_; }
  /// Why the Lease could not be read or written when it last was tried; "" it could.
  const std::string& last_failure() const { return failure_.text(); }
  /// Ends it, and tells the others that they need not wait; done once that was answered, or could not be. Who
  /// was not elected has nothing to tell: done is called at once. Dropped without it, others wait for kDuration.
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

  kube::Ports ports_;
  const Settings settings_;
  const std::function<void(bool)> on_change_;
  bool is_elected_ = false, is_over_ = false, is_reading_ = false;
  std::string resource_version_, holder_, acquired_;
  int64_t transitions_ = 0;
  std::string said_;        // the Lease's spec
  TimePoint seen_at_{};     // when that was seen to be another one
  TimePoint renewed_at_{};  // when a write of ours that was taken began
  TimePoint asked_at_{};
  LastMessage failure_;
  kube::CallPtr call_;
  reactor::Ticket timer_, deadline_;
};

}  // namespace sliced::reports
