#pragma once
// Device entries of VFs, as SriovResourcePolicies offer them: the attributes of the VF, and beside them those that
// its config adds. An entry that the API server would refuse is made all the same, with the reason: the gate
// quarantine holds it back.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "policy/entry_memory.h"
#include "policy/inputs.h"
#include "policy/notes.h"
#include "policy/same_facts.h"
#include "policy/sriov/additions.h"
#include "policy/sriov/attributes.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// Makes the entries of one decision, each when it is asked for: most devices of a large node are as they were, and
/// their entries are taken from the decision before (entry_memory.h).
class SriovEntries {
 public:
  /// notes: what is left out, and why. All outlive this.
  SriovEntries(const Inputs& inputs, const SameFacts& same, Notes& notes);
  /// verdict: which policy and config take the VF. Valid as long as this.
  const Draft& of(const hotplug::HostDevice& vf, const std::string& name, const Verdict& verdict);
  /// published_resource() of what that config offers.
  std::string resource_of(const Verdict& verdict) { return additions_.resource_of(verdict); }
  /// What the next decision need not make again.
  KeptEntries kept() { return std::move(kept_); }

 private:
  // nullptr where the facts, the policy, or anything that entries are made under has changed, or making it
  // left something to say: then it is said again.
  const KeptEntries::Kept* former(const hotplug::HostDevice& vf, const std::string& name,
                                  const Verdict& verdict);
  // False when something was left out: an entry that is not plain is made anew each time, so that its notes
  // are.
  bool make(const hotplug::HostDevice& vf, const std::string& name, const Verdict& verdict, Draft& out);
  const hotplug::HostDevice* pf_of(const hotplug::HostDevice& vf);

  const Inputs& in_;
  const SameFacts& same_;
  Notes& notes_;
  const VfAttributes own_;
  ConfigAdditions additions_;
  std::map<hotplug::PciAddress, const hotplug::HostDevice*> pfs_;
  FormerEntries before_;
  KeptEntries kept_;
};

}  // namespace sliced::policy
