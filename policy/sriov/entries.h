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
  std::string resource_of(const Verdict& verdict) {
    return published_resource(additions_of(verdict).attributes, in_.settings.sriov_driver);
  }
  /// What the next decision need not make again.
  KeptEntries kept() { return std::move(kept_); }

 private:
  // Attributes that a config adds to each of its entries, joined once per config.
  // resourceName of the config goes before one of DeviceAttributes; of several objects that give one key the
  // last by name.
  struct Additions {
    kube::Attributes attributes;
    std::string refusal;    // not empty: the entries are held back, and why
    bool is_valid = false;  // the API server takes each of the attributes
  };
  // nullptr where the facts, the policy, or anything that entries are made under has changed, or making it
  // left something to say: then it is said again.
  const KeptEntries::Kept* former(const hotplug::HostDevice& vf, const std::string& name,
                                  const Verdict& verdict);
  // False when something was left out: an entry that is not plain is made anew each time, so that its notes
  // are.
  bool make(const hotplug::HostDevice& vf, const std::string& name, const Verdict& verdict, Draft& out);
  // Joined when it is first asked for; valid as long as this.
  const Additions& additions_of(const Verdict& verdict);
  Additions join(const SriovPolicy& policy, const ResourceConfig& config);
  // List attributes only where the server takes them, with a note.
  void join_objects(const SriovPolicy& policy, const ResourceConfig& config, Additions& out);
  // From the end of the alphabet; never the VF's own attributes, nor resourceName.
  void make_room(const SriovPolicy& policy, Additions& out);
  // The attributes by which claims of dra-driver-sriov's users select: without them an entry would be
  // another.
  bool names_resource(const std::string& key) const;
  const hotplug::HostDevice* pf_of(const hotplug::HostDevice& vf);

  const Inputs& in_;
  const SameFacts& same_;
  Notes& notes_;
  const VfAttributes own_;
  const std::string resource_name_key_;
  std::map<std::pair<int32_t, int32_t>, Additions> additions_;  // by policy and config
  std::map<hotplug::PciAddress, const hotplug::HostDevice*> pfs_;
  FormerEntries before_;
  KeptEntries kept_;
};

}  // namespace sliced::policy
