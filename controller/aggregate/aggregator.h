#pragma once
// `.status` of every policy kept as the reports of all nodes say it, by the one process that is elected:
//
//   NodeDeviceReports, policies of both kinds ─▶ Summing, status_of ─▶ of all that differs, one apply of /status at a time
//
// Pace:      what changes is looked at a second later, and reports are summed up once a second at most, however much is to be
//            written, and in portions, so that no turn of the loop takes long; a policy's status is written at most every 10 s. A
//            policy that fails waits 10 s to 5 min and no other waits for it; a server that cannot be reached, or is busy, is asked
//            again after 1 s to 5 min.
// Others:    what others have written into a status stays: fields and conditions of other types (server-side apply, of ours alone).
//            Several of these may look at one policy, as releases in two namespaces do at DeviceExposurePolicies: whose writing
//            precedes ours (precedes()) is left alone as long as it follows what nodes report, and for 5 min where it does not; whoever
//            then turns out to be there all the same is given twice as long each time, a day at most.
// Nothing is written before all of it has been listed. Who decides is the nodes: without this there is no status, and
// nothing else is different. A policy that is deleted and made anew while its status is being written has that of the one before until
// the next round.
// Memory:    of each report what it says of policies; of policies whether they can be understood.
// Bounds:    a report of 256 KiB as the server stores it, a list of 256 MiB (50,000 nodes with reports of usual
//            size); policies as watchers/policy_watcher.h. A report that is larger, or cannot be read, says nothing.
// Permissions: list and watch on the three kinds, patch on the /status of both kinds of policies, as field
//              manager sliced-aggregate; and those of controller/aggregate/silent_nodes.h and controller/aggregate/unread_policies.h, which it keeps beside.
// Threads:   the loop's.
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
    std::function<std::string()> now;              // RFC 3339, in seconds
    std::function<std::string()> event_time = {};  // with microseconds, of Events; empty: now
    std::string version;                           // of this program: PolicyStatus::writer
    // Of a turn of the loop: words of nodes (0.4 ms; some 8 ms where each node speaks of generations of its own), and policies
    // that are compared.
    size_t words_a_turn = 20'000, policies_a_turn = 500;
  };
  /// kEvery: between two writes of one policy. kYieldFor, kYieldMax: how long one that precedes us is given,
  ///         at first and at most.
  static constexpr Millis kEvery{10'000}, kLookAfter{1'000};
  static constexpr Millis kYieldFor{300'000}, kYieldMax{86'400'000};

  struct Counters {
    uint64_t sums = 0;                 // of all reports
    uint64_t written = 0, failed = 0;  // statuses that the server took, or did not
  };

  /// Ownership: ports outlive this. Dropping it ends everything; a write that is under way may still happen.
  Aggregator(kube::Ports ports, Settings settings);
  ~Aggregator();
  /// Once. Nothing is watched, and nothing written, before.
  void start();
  /// What has not been listed yet and why, or is not installed; "" nothing. A kind of policies that is not
  /// installed is an answer: there are none.
  std::string waits_for() const;
  const Counters& counters() const { return counters_; }
  /// Those of which a report could be read.
  size_t nodes() const { return nodes_.size(); }
  /// By kind, both of them; those too large to be judged are none of it.
  std::map<std::string, size_t> policies() const;
  /// By kind: of those, that have a problem of their own, or that a node does not use as they are written.
  std::map<std::string, size_t> invalid_policies() const;
  /// Statuses that differ and have not been written yet, of the last sum; those whose writer is given time are none of them.
  size_t pending() const { return to_write_.size() + (call_ != nullptr ? 1 : 0); }
  /// Those; of the last sum.
  size_t yielded() const { return yielded_; }
  /// Of the last sum, over all policies: nodes that report a policy and have not decided by its present generation.
  size_t outdated() const { return outdated_; }
  /// Nodes whose daemons are gone.
  const SilentNodes& silent_nodes() const { return silent_nodes_; }
  /// By state ("on", "off", "waiting"): nodes by what they report of their kubelet plugin. Reports of older daemons do not say.
  std::map<std::string, size_t> kubelet_plugins() const;
  /// Policies in namespaces that no daemon reads, as far as they were reported.
  size_t unread_policies() const { return unread_.count(); }

 private:
  /// As the server has it.
  struct Policy {
    JudgedPolicy judged;
    PolicyStatus held;
  };
  using PolicyWatcher = watchers::WatchedSource<Policy>;
  struct ReadReport {
    NodeWordsPtr words;
    bool is_marked_silent = false;
    std::string kubelet_plugin = {};
  };
  using ReportWatcher = watchers::WatchedSource<ReadReport>;
  struct Kept {
    Policy policy;
    reactor::Backoff backoff;
    TimePoint not_before{};
    // What one that precedes us wrote and we would write otherwise: until when that is left alone, as long as it is the same.
    std::optional<PolicyStatus> disputed = std::nullopt;
    TimePoint yields_until{};
    Millis patience = kYieldFor;
    bool has_overwritten = false;
  };
  using Policies = std::map<reports::PolicyRef, Kept>;
  /// A look at everything: first the nodes, then the policies, in portions.
  struct Round {
    Summing sum;
    std::string time;
    bool is_summed = false;
    std::optional<reports::PolicyRef> next = std::nullopt;  // policy
    std::optional<TimePoint> later = std::nullopt;          // when something that differs may be written
    size_t yielded = 0, outdated = 0;
  };

  std::unique_ptr<PolicyWatcher> watch(const kube::Resource& kind, const std::string& namespace_,
                                       std::function<JudgedPolicy(const kube::Json&)> judge);
  void on_policies(const kube::Resource& kind, const SourceEvent<PolicyWatcher::Item>& event);
  void put(const kube::Resource& kind, const PolicyWatcher::Item& item);
  void on_reports(const SourceEvent<ReportWatcher::Item>& event);
  NodeWordsPtr shared_words(const reports::NodeReport& report);
  void on_change();
  void mark(Millis delay);
  void look();
  bool sum_portion();
  std::set<std::string> reported_namespaces() const;
  void compare(const reports::PolicyRef& policy, Kept& kept, Round& round);
  Writer own_writer() const { return {settings_.version, settings_.namespace_}; }
  // Somebody who precedes us has written it: a while begins in which it is theirs.
  void count_dispute(Kept& kept);
  TimePoint may_write_from(const Kept& kept) const;
  bool write_next();
  void write(const reports::PolicyRef& policy, const PolicyStatus& status);
  void report_takeover(const reports::PolicyRef& policy, const Writer& from) const;
  // before: as it was held when the write began.
  void on_written(const reports::PolicyRef& policy, const PolicyStatus& status, const PolicyStatus& before);
  void on_failure(const reports::PolicyRef& policy, const kube::Failure& failure);

  kube::Ports ports_;
  const Settings settings_;
  std::map<std::string, std::string> plugins_;  // by node
  SharedWords shared_;
  NodesWords nodes_;
  Policies policies_;
  std::vector<std::pair<reports::PolicyRef, PolicyStatus>> to_write_;  // the last first
  TimePoint not_before_{}, sum_not_before_{};
  std::optional<TimePoint> due_;
  std::unique_ptr<Round> round_;  // that goes on
  bool has_changed_ = false;      // since it began
  size_t yielded_ = 0, outdated_ = 0;
  Counters counters_;
  reactor::Backoff backoff_;  // of the server
  LastMessage failure_;
  reports::PolicyRef failed_;  // whose that is
  kube::CallPtr call_;
  reactor::Ticket timer_;
  SilentNodes silent_nodes_;
  UnreadPolicies unread_;
  ReportWatcher reports_;
  std::unique_ptr<PolicyWatcher> sriov_, exposures_;
};

}  // namespace sliced::aggregate
