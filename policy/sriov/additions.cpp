#include "policy/sriov/additions.h"

#include <vector>

#include "policy/entry_validation.h"
#include "policy/sriov/selection.h"

namespace sliced::policy {

ConfigAdditions::ConfigAdditions(const Inputs& inputs, const VfAttributes& own, Notes& notes)
    : in_(inputs),
      own_(own),
      notes_(notes),
      resource_name_key_(inputs.settings.sriov_driver + "/" + std::string(kResourceNameId)) {}

bool ConfigAdditions::names_resource(const std::string& key) const {
  return key == kMultusResourceName || key == resource_name_key_;
}

const Additions& ConfigAdditions::of(const Verdict& verdict) {
  const auto [at, fresh] = joined_.try_emplace({verdict.policy, verdict.config});
  if (fresh) {
    const SriovPolicy& policy = in_.policies->sriov[static_cast<size_t>(verdict.policy)];
    at->second = join(policy, policy.configs[static_cast<size_t>(verdict.config)]);
  }
  return at->second;
}

Additions ConfigAdditions::join(const SriovPolicy& policy, const ResourceConfig& config) {
  Additions out;
  join_objects(policy, config, out);
  if (!config.resource_name.empty()) out.attributes[resource_name_key_] = config.resource_name;
  make_room(policy, out);
  out.is_valid = kube::validate_device({.name = "x", .attributes = out.attributes}).empty();
  return out;
}

void ConfigAdditions::join_objects(const SriovPolicy& policy, const ResourceConfig& config, Additions& out) {
  for (const DeviceAttributes* one : attributes_for(*in_.policies, policy, config)) {
    const DeviceAttributes& object = *one;
    for (const auto& [key, why] : object.refused)
      if (names_resource(key)) out.refusal = "DeviceAttributes " + object.id.name + ": " + key + " " + why;
    for (const auto& [key, value] : object.attributes) {
      if (!kube::is_list(value) || in_.settings.list_attributes)
        out.attributes[key] = value;
      else
        notes_.add("policy " + text_of(policy.id) + ": attribute " + key.str() + " of DeviceAttributes " +
                   object.id.name +
                   " omitted: the API server does not support list attributes, or this is not known yet");
    }
  }
}

// The entry's own attributes have precedence. Others that do not fit are dropped from the end of the
// alphabet.
void ConfigAdditions::make_room(const SriovPolicy& policy, Additions& out) {
  const size_t room = kube::kAttributesAndCapacitiesMax - (own_.keys().size() - VfAttributes::kYielding);
  std::vector<std::string> droppable;
  for (const auto& [key, value] : out.attributes)
    if (!names_resource(key)) droppable.push_back(key);
  for (; out.attributes.size() > room && !droppable.empty(); droppable.pop_back()) {
    out.attributes.erase(droppable.back());
    notes_.add("policy " + text_of(policy.id) + ": attribute " + droppable.back() +
               " left out: a device entry holds at most " +
               std::to_string(kube::kAttributesAndCapacitiesMax) + " attributes, " + std::to_string(room) +
               " of them from DeviceAttributes");
  }
}

}  // namespace sliced::policy
