#pragma once
// Writes Events (events.k8s.io/v1) for reportable conditions: when a condition begins, and not again while it
// lasts. A condition that ends and returns is the same Event with a series; after an hour without it the next
// is another Event. For a condition that every node of a fleet finds (ReportedEvent::is_of_fleet) the first
// node writes the Event; the others read it, and write nothing.
//
// Pace:      for policies 10 in a burst and 30 an hour; the same again for the Node, and for pods, so that
//            policies cannot use up their share; for one series at most one write in 6 minutes. Further ones
//            are counted and dropped: the report contains the current state.
// Failure:   counted, and logged once while it lasts. A failed Event is not retried.
// Fields:    reportingController is dra.networking/sliced, reportingInstance the node, action Offer (for
//            pods: Prepare).
// Names:     the policy's name, or the node's, and a hash of the condition, and of the node unless it is of
//            the fleet. So an existing Event is found after a restart, and on each node of the fleet. A
//            policy that was created again (another uid) has other names.
// Bounds:    those of k8s.io/api/events/v1: a note of 1,000 bytes, reportingInstance of 128. All Events have
//            type Warning.
// Permissions: get, create and patch on events, in the namespaces of policies and pods, and in `default` for
//            cluster-scoped objects.
// Threads:   the loop's.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "daemon/reports/reported_event.h"
#include "kube/client/ports.h"
#include "reactor/base/rate_limited_log.h"
#include "watchers/token_bucket.h"

namespace sliced::reports {

class EventWriter {
 public:
  struct Settings {
    std::string node;
    /// All three are called while an Event is built. `kubectl describe` finds an object's Events by these
    /// uids.
    std::function<std::string()> node_uid;
    std::function<std::string(const PolicyRef&)> object_uid;  // of a policy or a pod; "" if unknown
    std::function<std::string()> now;                         // "2026-11-21T00:17:41.296000Z"
  };
  struct Counters {
    /// Successful and failed writes, and conditions dropped for lack of room.
    uint64_t succeeded = 0, failed = 0, left_out = 0;
  };
  static constexpr Millis kSeriesEvery{360'000}, kSeriesEndsAfter{3'600'000};
  static constexpr size_t kSeriesMax = 128;  // for policies; the same again for the Node, and for pods

  EventWriter(kube::ClusterPorts ports, Settings settings);
  /// Called by the owner of the interlock. Without it nothing is written or remembered.
  void permit(bool writes);
  /// now: all current conditions; an earlier condition that is not in it has ended. May write before it
  /// returns. Ignored without permit(true).
  void look(const ReportedEvents& now);
  const Counters& counters() const { return counters_; }

 private:
  using Key = std::tuple<std::string, PolicyRef, std::string>;
  struct Series {
    ReportedEvent last;
    bool is_now = false, is_due = false;
    std::string name, namespace_;  // of its Event; "" if none yet
    int64_t count = 0;
    TimePoint seen_at{}, written_at{};
  };

  // The budget that it counts against.
  enum class Subject { kPolicies, kNode, kPods };
  static Subject subject_of(const Key& key);
  bool is_full(const Key& key) const;
  void forget_old();
  void next();
  void name(Series& series) const;
  // Returns false if there is no room.
  bool use_budget(Series& series);
  void write(const Key& key, kube::WriteRequest request);
  // Returns false if there was no room.
  bool create(Series& series);
  bool add_to_series(Series& series);
  void look_for(const Series& series);
  void on_found(const Key& key, std::string_view object);
  void on_failure(const Key& key, const kube::Failure& failure);
  kube::Json event_of(const Series& series) const;
  kube::Json regarding(const PolicyRef& policy) const;
  void ended();

  kube::ClusterPorts ports_;
  const Settings settings_;
  bool is_permitted_ = false;
  std::map<Key, Series> series_;
  std::map<Subject, watchers::TokenBucket> room_;
  Counters counters_;
  LastMessage failure_;
  kube::CallPtr call_;
  reactor::Ticket timer_;
};

}  // namespace sliced::reports
