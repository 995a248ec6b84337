#pragma once
// Writes `.status` of every policy from the reports of all nodes, in the elected process:
//
//   NodeDeviceReports, policies of both kinds ─▶ Summing, status_of ─▶ one apply of /status at a time
//
// Pace:      changes are processed after a second, and reports are summed up at most once a second, in
// portions, so that no turn of the loop takes long. A policy's status is written at most every 10 s. A write
// that fails is retried after 10 s to 5 min, without delaying other policies. An unreachable or busy server
// is retried after 1 s to 5 min.
// Conflicts: fields and conditions of other writers stay (server-side apply of this controller's fields
// only). Several controllers may write the status of a DeviceExposurePolicy, as releases in two namespaces
// do. The status of one that precedes this one (precedes()) is not changed while it agrees with the reports,
// and for 5 min if it disagrees. If that writer returns later, it gets twice as long each time, at most a
// day.
// Start:     nothing is written before all kinds have been listed. Nodes decide without this controller; only
// the status is missing then. A policy that is deleted and created again during a write has the old status
// until the next round.
// Memory:    the parts of each report about policies; whether each policy is valid.
// Bounds:    256 KiB for a report as stored by the server, 256 MiB for a list (50,000 nodes with typical
// reports); policies as in watchers/policy_watcher.h. A larger or unreadable report is ignored.
// Permissions: list and watch on the three kinds, patch on /status of both kinds of policies, as field
// manager sliced-aggregate; and those of silent_nodes.h and unread_policies.h.
// Threads:   the loop thread.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/aggregate/policy_status.h"
#include "controller/aggregate/silent_nodes.h"
#include "controller/aggregate/summing.h"
#include "controller/aggregate/unread_policies.h"
#include "kube/client/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/rate_limited_log.h"
#include "watchers/watched_source.h"

namespace sliced::aggregate {

class Aggregator {
 public:
  struct Settings {
    std::string namespace_;                        // of SriovResourcePolicies
    std::function<std::string()> now;              // returns the time in RFC 3339, in seconds
    std::function<std::string()> event_time = {};  // with microseconds, for Events; empty: `now`
    std::string version;                           // of this program, for PolicyStatus::writer
    // Limits of one turn of the loop: policy reports of nodes (0.4 ms; about 8 ms if each node has its own
    // generations), and compared policies.
    size_t reports_per_turn = 20'000, policies_per_turn = 500;
  };
  /// kEvery: interval between writes of one policy. kYieldFor, kYieldMax: first and maximum time for which a
  /// preceding writer's status is kept.
  static constexpr Millis kEvery{10'000}, kLookAfter{1'000};
  static constexpr Millis kYieldFor{300'000}, kYieldMax{86'400'000};

  struct Counters {
    uint64_t sums = 0;                 // of all reports
    uint64_t written = 0, failed = 0;  // statuses that the server accepted or refused
  };

  /// Requires: ports outlive this object. Destroying it cancels everything; a write in progress may still
  /// take effect.
  Aggregator(kube::ClusterPorts ports, Settings settings);
  ~Aggregator();
  /// Starts watching and writing. Called once.
  void start();
  /// Returns the sources that are not listed yet with the cause, or are not installed; "" if none. A kind of
  /// policies that is not installed counts as empty.
  std::string waits_for() const;
  const Counters& counters() const { return counters_; }
  /// Returns the number of nodes with a readable report.
  size_t nodes() const { return nodes_.size(); }
  /// By kind, both kinds. Policies that are too large are not counted.
  std::map<std::string, size_t> policies() const;
  /// By kind: policies with a problem of their own, or that a node does not use as written.
  std::map<std::string, size_t> invalid_policies() const;
  /// Returns the number of statuses of the last sum that differ and are not written yet, without those left
  /// to a preceding writer.
  size_t pending() const { return to_write_.size() + (call_ != nullptr ? 1 : 0); }
  /// Returns the number of those left to a preceding writer, in the last sum.
  size_t yielded() const { return yielded_; }
  /// Returns the number of pairs of node and policy in the last sum whose report is not of the policy's
  /// present generation.
  size_t outdated() const { return outdated_; }
  /// Nodes whose daemon does not renew its Lease.
  const SilentNodes& silent_nodes() const { return silent_nodes_; }
  /// Number of nodes by the reported state of their kubelet plugin ("on", "off", "waiting"). Reports of older
  /// daemons lack it.
  std::map<std::string, size_t> kubelet_plugins() const;
  /// Returns the number of reported policies in namespaces that no daemon reads.
  size_t unread_policies() const { return unread_.count(); }

 private:
  /// A policy as stored in the server.
  struct Policy {
    JudgedPolicy judged;
    PolicyStatus held;
  };
  using PolicyWatcher = watchers::WatchedSource<Policy>;
  struct ReadReport {
    NodePolicyReportsPtr words;
    bool is_marked_silent = false;
    std::string kubelet_plugin = {};
  };
  using ReportWatcher = watchers::WatchedSource<ReadReport>;
  struct Kept {
    Policy policy;
    reactor::Backoff backoff;
    TimePoint not_before{};
    // A differing status of a preceding writer, and the time until which it is kept while it is unchanged.
    std::optional<PolicyStatus> disputed = std::nullopt;
    TimePoint yields_until{};
    Millis patience = kYieldFor;
    bool has_overwritten = false;
  };
  using Policies = std::map<reports::PolicyRef, Kept>;
  /// One pass in portions: first the nodes, then the policies.
  struct Round {
    FleetSum sum;
    std::string time;
    bool is_summed = false;
    std::optional<reports::PolicyRef> next = std::nullopt;  // next policy to compare
    std::optional<TimePoint> later = std::nullopt;          // earliest write of a differing status
    size_t yielded = 0, outdated = 0;
  };

  std::unique_ptr<PolicyWatcher> watch(const kube::Resource& kind, const std::string& namespace_,
                                       std::function<JudgedPolicy(const kube::Json&)> judge);
  void on_policies(const kube::Resource& kind, const SourceEvent<PolicyWatcher::Item>& event);
  void put(const kube::Resource& kind, const PolicyWatcher::Item& item);
  void on_reports(const SourceEvent<ReportWatcher::Item>& event);
  NodePolicyReportsPtr shared_reports(const reports::NodeReport& report);
  void on_change();
  void mark(Millis delay);
  void look();
  bool sum_portion();
  std::set<std::string> reported_namespaces() const;
  void compare(const reports::PolicyRef& policy, Kept& kept, Round& round);
  Writer own_writer() const { return {settings_.version, settings_.namespace_}; }
  // Records that a preceding writer wrote a differing status, which is kept for a while.
  void count_dispute(Kept& kept);
  TimePoint may_write_from(const Kept& kept) const;
  bool write_next();
  void write(const reports::PolicyRef& policy, const PolicyStatus& status);
  void report_takeover(const reports::PolicyRef& policy, const Writer& from) const;
  // before: the status in the server when the write began.
  void on_written(const reports::PolicyRef& policy, const PolicyStatus& status, const PolicyStatus& before);
  void on_failure(const reports::PolicyRef& policy, const kube::Failure& failure);

  kube::ClusterPorts ports_;
  const Settings settings_;
  std::map<std::string, std::string> plugins_;  // state of the kubelet plugin by node
  SharedReportValues shared_;
  PolicyReportsByNode nodes_;
  Policies policies_;
  std::vector<std::pair<reports::PolicyRef, PolicyStatus>> to_write_;  // in reverse order
  TimePoint not_before_{}, sum_not_before_{};
  std::optional<TimePoint> due_;
  std::unique_ptr<Round> round_;  // in progress
  bool has_changed_ = false;      // since the round began
  size_t yielded_ = 0, outdated_ = 0;
  Counters counters_;
  reactor::Backoff backoff_;  // of requests to the server
  LastMessage failure_;
  reports::PolicyRef failed_;  // the policy of failure_
  kube::CallPtr call_;
  reactor::Ticket timer_;
  SilentNodes silent_nodes_;
  UnreadPolicies unread_;
  ReportWatcher reports_;
  std::unique_ptr<PolicyWatcher> sriov_, exposures_;
};

}  // namespace sliced::aggregate
