#include "kubectl/migrate/comparing.h"

#include <algorithm>
#include <map>
#include <memory>

#include "kube/objects/kinds.h"
#include "kubectl/migrate/plugin_rules.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/decode_policy.h"
#include "policy/sriov/policy.h"

namespace sliced::migrate {
namespace {

std::string text_of(const kube::Attributes& attributes, const std::string& key) {
  const auto found = attributes.find(key);
  const std::string* text = found != attributes.end() ? std::get_if<std::string>(&found->second) : nullptr;
  return text != nullptr ? *text : "";
}

// Returns the resource name of each published entry, by PCI address.
std::map<std::string, std::string> resources_of(const policy::Decision& decision) {
  std::map<std::string, std::string> out;
  for (const auto& [driver, pools] : decision.pools)
    for (const policy::DesiredPool& pool : pools)
      for (const kube::DevicePtr& device : pool.devices) {
        const kube::Attributes& attributes = (*device).attributes;
        const std::string name = text_of(attributes, driver + "/resourceName");
        out[text_of(attributes, driver + "/pciAddress")] = name.empty() ? std::string(kNoName) : name;
      }
  return out;
}

}  // namespace

policy::PolicySet policies_among(const std::vector<ConvertedObject>& objects, const Target& target) {
  std::vector<policy::SriovPolicy> sriov;
  std::vector<policy::DeviceAttributes> attributes;
  std::vector<policy::ExposurePolicy> exposures;
  for (const ConvertedObject& made : objects) {
    const std::string_view kind = made.object.text("kind");
    if (kind == kube::kSriovResourcePolicies.kind)
      sriov.push_back(policy::decode_sriov_policy(made.object));
    else if (kind == kube::kDeviceAttributes.kind)
      attributes.push_back(policy::decode_device_attributes(made.object, target.sriov_driver));
    else if (kind == kube::kDeviceExposurePolicies.kind)
      exposures.push_back(policy::decode_exposure_policy(made.object, target.exposure_driver));
  }
  return policy::make_policy_set(policy::share(std::move(sriov)), policy::share(std::move(attributes)),
                                 policy::share(std::move(exposures)));
}

OfferedResources offered_resources(policy::PolicySet policies, const hotplug::InventoryPtr& inventory,
                                   const kube::NodeView& node, const Target& target) {
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->inventory = inventory;
  inputs->policies = std::make_shared<const policy::PolicySet>(std::move(policies));
  inputs->node = node;
  inputs->settings.sriov_driver = target.sriov_driver;
  inputs->settings.exposure_driver = target.exposure_driver;
  OfferedResources offered{policy::decide(std::move(inputs)), {}};
  offered.resources = resources_of(offered.decision);
  return offered;
}

Before by_plugin(const std::vector<Config>& configs, const kube::NodeView& node) {
  Config its;
  const auto found = std::find_if(configs.begin(), configs.end(),
                                  [&](const Config& one) { return one.nodes.selects(node); });
  if (found != configs.end()) its = *found;
  return [its = std::move(its)](const hotplug::HostDevice& device) {
    const Resource* resource = plugin_resource_of(its, device);
    return resource != nullptr ? resource->name : std::string();
  };
}

std::vector<ComparedDevice> compare(const Before& before, const std::vector<ConvertedObject>& objects,
                                    const hotplug::InventoryPtr& inventory, const kube::NodeView& node,
                                    const Target& target) {
  const OfferedResources offered =
      offered_resources(policies_among(objects, target), inventory, node, target);
  const auto& after = offered.resources;
  std::vector<ComparedDevice> out;
  for (const auto& [id, device] : inventory->devices) {
    const auto found = after.find(id);
    ComparedDevice one{.device = id,
                       .interface = device.netdev ? device.netdev->name : "",
                       .before = before(device),
                       .after = found != after.end() ? found->second : ""};
    if (one.before.empty() && one.after.empty()) continue;
    if (!one.is_same()) one.why = policy::explain(offered.decision, id).summary;
    out.push_back(std::move(one));
  }
  return out;
}

void mark_lost_uio_nodes(std::vector<ComparedDevice>& rows, const hotplug::Inventory& inventory) {
  for (ComparedDevice& row : rows) {
    const hotplug::HostDevice* device = inventory.devices.find(row.device);
    // Source: GetDefaultInfoProvider in the plugin's pkg/factory.
    if (device == nullptr || (device->driver != "uio" && device->driver != "igb_uio") || !row.is_same())
      continue;
    row.loses_nodes = true;
    row.why = "the plugin gives pods its /dev/uio node (driver " + device->driver +
              "), and sliced does not: bind it to vfio-pci";
  }
}

}  // namespace sliced::migrate
