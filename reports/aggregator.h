#pragma once
// `.status` of every policy kept as the reports of all nodes say it, by the one process that is elected:
//
//   NodeDeviceReports, policies of both kinds ─▶ sum_up, status_of ─▶ of all that differs, one merge of /status at a time
//
// Pace:      what changes is looked at a second later, and reports are summed up once a second at most, however much is to be
//            written; a policy's status is written at most every 10 s. A policy that fails waits 10 s to 5 min and no other waits
//            for it; a server that cannot be reached, or is busy, is asked again after 1 s to 5 min.
// Nothing is written before all of it has been listed. Who decides is the nodes: without this there is no status, and
// nothing else is different.
// Memory:    of each report what it says of policies; of policies whether they can be understood.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/said_once.h"
#include "reports/policy_status.h"
#include "watchers/watched_source.h"

namespace sliced::reports {

class Aggregator {
 public:
  struct Settings {
    std::string namespace_;            // of SriovResourcePolicies
    std::function<std::string()> now;  // RFC 3339, in seconds
  };
  static constexpr Millis kEvery{10'000}, kLookAfter{1'000};

  /// Ownership: ports outlive this. Dropping it ends everything; a write that is under way may still happen.
  Aggregator(kube::Ports ports, Settings settings);
  ~Aggregator();
  void start();
  /// What has not been listed yet and why, or is not installed; "" nothing.
  std::string waits_for() const;
  uint64_t writes() const { return writes_; }

 private:
  /// As the server has it.
  struct Policy {
    std::string uid;
    JudgedPolicy judged;
    PolicyStatus held;
  };
  using PolicyWatcher = watchers::WatchedSource<Policy>;
  using ReportWatcher = watchers::WatchedSource<NodeWords>;
  struct Kept {
    Policy policy;
    reactor::Backoff backoff;
    TimePoint not_before{};
  };
  using Policies = std::map<PolicyRef, Kept>;

  std::unique_ptr<PolicyWatcher> watch(const kube::Resource& kind, const std::string& namespace_,
                                       std::function<JudgedPolicy(const kube::Json&)> judge);
  void on_policies(const kube::Resource& kind, const SourceEvent<PolicyWatcher::Item>& event);
  void put(const kube::Resource& kind, const PolicyWatcher::Item& item);
  void on_reports(const SourceEvent<ReportWatcher::Item>& event);
  void mark(Millis delay);
  void look();
  void sum_up_all();
  bool write_next();
  void write(const PolicyRef& policy, const PolicyStatus& status);
  void on_written(const PolicyRef& policy, const PolicyStatus& status);
  void on_failure(const PolicyRef& policy, const kube::Failure& failure);

  kube::Ports ports_;
  const Settings settings_;
  SharedWords shared_;
  std::map<std::string, NodeWords> nodes_;
  Policies policies_;
  std::vector<std::pair<PolicyRef, PolicyStatus>> to_write_;  // the last first
  TimePoint not_before_{}, sum_not_before_{};
  std::optional<TimePoint> due_;
  uint64_t writes_ = 0;
  reactor::Backoff backoff_;  // of the server
  SaidLast failure_;
  PolicyRef failed_;  // whose that is
  kube::CallPtr call_;
  reactor::Ticket timer_;
  ReportWatcher reports_;
  std::unique_ptr<PolicyWatcher> sriov_, exposures_;
};

}  // namespace sliced::reports
