#pragma once
// Device entries of VFs for SriovResourcePolicies: the attributes of the VF, and those that its config adds.
// An entry that the API server would refuse is created with the reason, and the gate quarantine withholds it.
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

/// Creates the entries of one decision on demand. Entries of unchanged devices come from the previous
/// decision (entry_memory.h).
class SriovEntries {
 public:
  /// notes: attributes that are left out, with reasons. Requires: all arguments outlive this object.
  SriovEntries(const Inputs& inputs, const SameFacts& same, Notes& notes);
  /// verdict: the policy and config of the VF. The reference is valid as long as this object.
  const Draft& of(const hotplug::HostDevice& vf, const std::string& name, const Verdict& verdict);
  /// Returns published_resource() of the config.
  std::string resource_of(const Verdict& verdict) { return additions_.resource_of(verdict); }
  /// Returns the memory for the next decision.
  KeptEntries kept() { return std::move(kept_); }

 private:
  // Returns nullptr if facts, policy or settings changed, or if creating the entry left a note, which is then
  // added again.
  const KeptEntries::Kept* former(const hotplug::HostDevice& vf, const std::string& name,
                                  const Verdict& verdict);
  // Returns false if an attribute was left out: such an entry is created in each decision, so that its notes
  // are added.
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
