#pragma once
// Why each device is offered or is not, as `explain` and `/verdicts` say it: what was decided, and whether slices hold it.
// Pure, over what was known at one moment.
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

namespace sliced::cli {

/// One moment of a daemon: nothing of it changes any more, so that workers may read it. Copies are cheap.
struct VerdictSnapshot {
  std::shared_ptr<const policy::Decision> decision;             // never null
  std::shared_ptr<const std::vector<std::string>> published{};  // names of entries in own slices, sorted
};
/// Of one that has decided (Daemon::decision()). Costs a copy of the names.
VerdictSnapshot snapshot_of(const daemon::Daemon& daemon);

/// id: of one of the decision's verdicts. What the policies allow may still be missing at the API server: no
///     daemon runs, or the server refused the entry.
policy::Explanation explain_as_published(const VerdictSnapshot& snapshot, const std::string& id,
                                         size_t rules_max = policy::kRulesMax);
/// Rules of each, where all devices are explained: 50,000 together, but at least 10 of each, so that the list
/// fits into memory.
size_t rules_max_of_all(const policy::Decision& decision);

/// A policy that is not used because of a mistake in it.
struct UnreadablePolicy {
  std::string policy, field, problem;  // "SriovResourcePolicy NAMESPACE/NAME"; field: path in the object
  std::string place;   // "spec.configs[0]" where that config alone is not used; "" the whole policy
  size_t devices = 0;  // that the kind of policy is asked about: VFs, or all devices of the host
};
/// One for each mistake, in the order of the policies.
std::vector<UnreadablePolicy> unreadable_policies(const policy::Decision& decision);
/// As lines for people: "SriovResourcePolicy ns/p is unreadable and offers none of 12 devices: FIELD: PROBLEM".
std::string text_of(const std::vector<UnreadablePolicy>& policies);
/// Where all devices are explained, what unreadable_policies() says is said once, as the list's "unreadablePolicies", and
/// not with each device.
void leave_out_unreadable(policy::Explanation& explanation);
/// The List of these items; without the member where there are none.
kube::Json explanations_list(std::vector<kube::Json> items, const policy::Decision& decision);

/// The same List that `explain -o json` prints, in pieces of some 32 KiB. "" at the end. Threads: one at a
/// time, whichever it is.
class VerdictList {
 public:
  explicit VerdictList(VerdictSnapshot snapshot) : snapshot_(std::move(snapshot)) {}
  std::string next();

 private:
  const VerdictSnapshot snapshot_;
  size_t at_ = 0;  // of the verdicts
  bool is_begun_ = false, is_over_ = false;
};

}  // namespace sliced::cli
