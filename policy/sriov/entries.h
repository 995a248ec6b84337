#pragma once
// Device entries of VFs, as SriovResourcePolicies offer them.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "policy/gates/gate.h"
#include "policy/inputs.h"
#include "policy/notes.h"
#include "policy/sriov/attributes.h"

namespace sliced::policy {

/// Makes the entries of one decision.
class SriovEntries {
 public:
  /// notes: what is left out, and why. Both outlive this.
  SriovEntries(const Inputs& inputs, Notes& notes);
  /// verdict: which policy and config take the VF.
  Draft make(const hotplug::HostDevice& vf, const std::string& name, const Verdict& verdict);

 private:
  // Attributes that a config adds to each of its entries, joined once per config.
  struct Additions {
    kube::Attributes attributes;
    std::string refusal;         // not empty: the entries are held back, and why
    bool is_acceptable = false;  // the API server takes each of the attributes
  };
  const Additions& additions_of(const Verdict& verdict);
  Additions join(const SriovPolicy& policy, const ResourceConfig& config);
  void join_objects(const SriovPolicy& policy, const ResourceConfig& config, Additions& out);
  void make_room(const SriovPolicy& policy, Additions& out);
  bool names_resource(const std::string& key) const;
  const hotplug::HostDevice* pf_of(const hotplug::HostDevice& vf);

  const Inputs& in_;
  Notes& notes_;
  const VfAttributes own_;
  const std::string resource_name_key_;
  std::map<std::pair<int32_t, int32_t>, Additions> additions_;  // by policy and config
  std::map<hotplug::PciAddress, const hotplug::HostDevice*> pfs_;
};

}  // namespace sliced::policy
