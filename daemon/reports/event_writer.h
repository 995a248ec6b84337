#pragma once
// Events (events.k8s.io/v1) of what is worth one: told when it becomes so, and not again while it lasts. What ends and begins
// again is the same Event with a series; after an hour without it the next is another Event. What every node of a fleet finds
// alike (ReportedEvent::is_of_fleet) is one Event of the node that comes first; the others read that it is there, and write nothing.
//
// Pace:      of policies 10 at once and 30 an hour at most, so many again of the Node, and of pods, which no writer of policies uses
//            up; of one series at most one write in 6 minutes. What there is no room for is counted and lost: events are for people who
//            look, and the report has what is so.
// Failure:   counted, and said once while it lasts. What was to be told is not tried again.
// Fields:    reportingController is dra.networking/sliced, reportingInstance the node, action Offer (of pods: Prepare).
// Names:     of the policy's name, or the node's, and a hash of what happens, and of the node where it is not
//            of the fleet: after a restart, and on each node of the fleet, the Event that is there is found.
//            A policy made anew (another uid) has others.
// Bounds:    as k8s.io/api/events/v1 has them: a note of 1,000 bytes, reportingInstance of 128. All are of
//            type Warning.
// Permissions: get, create and patch on events, in the namespaces of policies and pods, and in `default` for what has none.
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
    /// All three are asked while an Event is made. The uids are those by which `kubectl describe` finds an
    /// object's Events.
    std::function<std::string()> node_uid;
    std::function<std::string(const PolicyRef&)> object_uid;  // of a policy or a pod; "" not known
    std::function<std::string()> now;                         // "2026-11-21T00:17:41.296000Z"
  };
  struct Counters {
    /// Writes that the server took or did not, and what was not told for want of room.
    uint64_t taken = 0, failed = 0, left_out = 0;
  };
  static constexpr Millis kSeriesEvery{360'000}, kSeriesEndsAfter{3'600'000};
  static constexpr size_t kSeriesMax = 128;  // of policies; so many again of the Node, and of pods

  EventWriter(kube::Ports ports, Settings settings);
  /// By who has the interlock. Without it nothing is told, and nothing new remembered to be told.
  void permit(bool writes);
  /// Everything that is so now; what was said before and is not in it has ended. May write before it returns.
  /// Without permit(true) it is forgotten.
  void look(const ReportedEvents& now);
  const Counters& counters() const { return counters_; }

 private:
  using Key = std::tuple<std::string, PolicyRef, std::string>;
  struct Series {
    ReportedEvent last;
    bool is_now = false, is_due = false;
    std::string name, namespace_;  // of its Event; "" none yet
    int64_t count = 0;
    TimePoint seen_at{}, written_at{};
  };

  // Whose room it takes.
  enum class Subject { kPolicies, kNode, kPods };
  static Subject subject_of(const Key& key);
  bool is_full(const Key& key) const;
  void forget_old();
  void next();
  void name(Series& series) const;
  // False: there is none.
  bool take_room(Series& series);
  void write(const Key& key, kube::WriteRequest request);
  // False: there was no room.
  bool create(Series& series);
  bool add_to_series(Series& series);
  void look_for(const Series& series);
  void on_found(const Key& key, std::string_view object);
  void on_failure(const Key& key, const kube::Failure& failure);
  kube::Json event_of(const Series& series) const;
  kube::Json regarding(const PolicyRef& policy) const;
  void ended();

  kube::Ports ports_;
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
