#pragma once
// The verdict of each device for `explain` and `/verdicts`: the decision, and whether slices contain the
// entry. Pure, over one snapshot.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/daemon.h"
#include "kube/objects/json.h"
#include "policy/decision.h"
#include "policy/explain.h"
#include "policy/explanation.h"

namespace sliced::daemon {

/// A snapshot of a daemon: immutable, so that workers may read it. Copies are cheap.
struct VerdictSnapshot {
  std::shared_ptr<const policy::Decision> decision;             // never null
  std::shared_ptr<const std::vector<std::string>> published{};  // names of entries in own slices, sorted
};
/// Requires: the daemon has decided (Daemon::decision()). Copies the names.
VerdictSnapshot snapshot_of(const Daemon& daemon);

/// id: of one of the decision's verdicts. An entry that the policies allow may be missing at the API server:
/// no daemon runs, or the server refused the entry.
policy::Explanation explain_as_published(const VerdictSnapshot& snapshot, const std::string& id,
                                         size_t rules_max = policy::kRulesMax);
/// Limit of rules per device if all devices are explained: 50,000 in total, but at least 10 each, so that the
/// list fits into memory.
size_t rules_max_of_all(const policy::Decision& decision);

/// A policy that is not used because of an error in it.
struct UnreadablePolicy {
  std::string policy, field, problem;  // "SriovResourcePolicy NAMESPACE/NAME"; field: path in the object
  std::string place;   // "spec.configs[0]" if only that config is not used; "" the whole policy
  size_t devices = 0;  // to which the kind of policy applies: VFs, or all devices of the host
};
/// Returns one for each error, in the order of the policies.
std::vector<UnreadablePolicy> unreadable_policies(const policy::Decision& decision);
/// Returns lines for people: "SriovResourcePolicy ns/p is unreadable and offers none of 12 devices: FIELD:
/// PROBLEM".
std::string text_of(const std::vector<UnreadablePolicy>& policies);
/// Removes the problems of unreadable_policies() from an explanation: the list contains them once, as
/// "unreadablePolicies".
void leave_out_unreadable(policy::Explanation& explanation);
/// Returns the List of these items, with "unreadablePolicies" if there are any.
kube::Json explanations_list(std::vector<kube::Json> items, const policy::Decision& decision);

/// The List of `explain -o json`, in pieces of about 32 KiB, "" at the end. Threads: one at a time, any
/// thread.
class VerdictList {
 public:
  explicit VerdictList(VerdictSnapshot snapshot) : snapshot_(std::move(snapshot)) {}
  std::string next();

 private:
  const VerdictSnapshot snapshot_;
  size_t at_ = 0;  // of the verdicts
  bool is_begun_ = false, is_over_ = false;
};

}  // namespace sliced::daemon
