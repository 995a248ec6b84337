#pragma once
// SriovResourcePolicies in namespaces that no daemon reads: they have no effect, and nothing else says so. Reported in the log and as an
// Event of the policy, by the one process that is elected:
//
//   SriovResourcePolicies of all namespaces (metadata) and namespaces that nodes report ─▶ unread for kAfter ─▶ one log line, one Event
//
// Evidence:  a namespace is read when it is this release's own, or when the report of any node names a policy in it: other releases,
//            with daemons of their own, may use other namespaces.
// Limits:    at most kReportedMax policies are reported at one time, in order of namespace and name. Events keep the pace of EventWriter.
// Permissions: list and watch on sriovresourcepolicies in all namespaces; get, create and patch on events in all namespaces. Without
//            the first there is one warning in the log, and policies of other namespaces are not seen.
// Threads:   the loop's.
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
    std::string namespace_;            // whose policies this release's daemons use
    std::function<std::string()> now;  // RFC 3339, with microseconds
  };
  /// A daemon that starts, or a release that is being installed, reports within that time.
  static constexpr Millis kAfter{60'000};
  static constexpr size_t kReportedMax = 25;

  /// on_change: look() may find something else. Ownership: ports outlive this.
  UnreadPolicies(kube::Ports ports, Settings settings, std::function<void()> on_change);
  /// Once.
  void start() { watcher_.start(); }
  /// read: namespaces of the SriovResourcePolicies that nodes report, once all reports have been listed.
  void look(const std::set<std::string>& read);
  /// Reported by the last look().
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

  kube::Ports ports_;
  const Settings settings_;
  const std::function<void()> on_change_;
  std::map<Watcher::Item::Id, Unread> policies_;  // of other namespaces
  std::set<Watcher::Item::Id> reported_;
  LastMessage denied_;
  reports::EventWriter events_;
  reactor::Ticket timer_;
  Watcher watcher_;
};

}  // namespace sliced::aggregate
