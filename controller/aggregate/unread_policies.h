#pragma once
// Reports SriovResourcePolicies in namespaces that no daemon reads, which have no effect, in the log and as
// an Event of the policy. Runs in the elected process:
//
//   SriovResourcePolicies (metadata), namespaces in node reports ─▶ unread for kAfter ─▶ log, Event
//
// Evidence:  a namespace is read if it is this release's own, or if the report of any node contains a policy
// of it: other releases with their own daemons may use other namespaces.
// Limits:    at most kReportedMax policies are reported at a time, by namespace and name. Events are limited
// by EventWriter.
// Permissions: list and watch on sriovresourcepolicies in all namespaces; get, create and patch on events in
// all namespaces. Without the first there is one warning, and policies of other namespaces are not found.
// Threads:   the loop thread.
#include <functional>
#include <map>
#include <set>
#include <string>

#include "daemon/reports/event_writer.h"
#include "kube/client/ports.h"
#include "reactor/base/rate_limited_log.h"
#include "watchers/watched_source.h"

namespace sliced::aggregate {

class UnreadPolicies {
 public:
  struct Settings {
    std::string namespace_;            // namespace of this release's policies
    std::function<std::string()> now;  // RFC 3339, with microseconds
  };
  /// A starting daemon, or a release that is being installed, reports within this time.
  static constexpr Millis kAfter{60'000};
  static constexpr size_t kReportedMax = 25;

  /// on_change: called when look() may have another result. Requires: ports outlive this object.
  UnreadPolicies(kube::ClusterPorts ports, Settings settings, std::function<void()> on_change);
  /// Called once.
  void start() { watcher_.start(); }
  /// read: namespaces of the SriovResourcePolicies in node reports. Requires: all reports have been listed.
  void look(const std::set<std::string>& read);
  /// Returns the number of policies that the last look() reported.
  size_t count() const { return reported_.size(); }

 private:
  struct Meta {
    std::string uid;
  };
  using Watcher = watchers::WatchedSource<Meta>;
  struct Unread {
    std::string uid;
    TimePoint since{};
    bool is_unread = false;
  };

  void on_policies(const SourceEvent<Watcher::Item>& event);
  void on_sync_state(const watchers::SyncState& sync);
  std::string note_of(const std::string& namespace_) const;

  kube::ClusterPorts ports_;
  const Settings settings_;
  const std::function<void()> on_change_;
  std::map<Watcher::Item::Id, Unread> policies_;  // in other namespaces
  std::set<Watcher::Item::Id> reported_;
  LastMessage denied_;
  reports::EventWriter events_;
  reactor::Ticket timer_;
  Watcher watcher_;
};

}  // namespace sliced::aggregate
