#include "policy/sriov/selection.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sliced::policy {
namespace {

using hotplug::DeviceType;

// Keeps the policies whose known needs are within the budget.
struct Share {
  const std::vector<uint64_t>& entries;  // by policy
  uint64_t times;                        // number of evaluations of each
  Budget budget;
  const char *what, *remedy;
};
void erase_too_large(std::vector<int32_t>& left, const Share& share, std::map<int32_t, Problem>& problems) {
  std::vector<uint64_t> needs;
  for (const int32_t one : left) needs.push_back(share.times * share.entries[static_cast<size_t>(one)]);
  const std::vector<bool> fits = fitting(needs, share.budget);
  std::vector<int32_t> kept;
  for (size_t i = 0; i < left.size(); ++i) {
    if (fits[i])
      kept.push_back(left[i]);
    else
      problems[left[i]] = {
          "spec.configs",
          "needs more work than allowed: " + std::to_string(share.entries[static_cast<size_t>(left[i])]) +
              " " + share.what + " (limits: " + std::to_string(share.budget.each) + " for a policy, " +
              std::to_string(share.budget.all) + " for all policies of a node); " + share.remedy};
  }
  left = std::move(kept);
}

}  // namespace

std::vector<int32_t> policies_for_node(const PolicySet& policies, const kube::NodeView& node) {
  std::vector<int32_t> selected;
  for (size_t i = 0; i < policies.sriov.size(); ++i)
    if (policies.sriov[i]->problems.empty() &&
        kube::match_node(policies.sriov[i]->node_selector, node).matched)
      selected.push_back(static_cast<int32_t>(i));
  return selected;
}

std::vector<int32_t> policies_within_budget(const Inputs& in, std::map<int32_t, Problem>& problems) {
  std::vector<int32_t> selected = policies_for_node(*in.policies, in.node);
  const auto& devices = in.inventory->devices;
  const auto vfs = static_cast<uint64_t>(std::count_if(
      devices.begin(), devices.end(), [](const auto& one) { return one.second.type == DeviceType::kVf; }));
  erase_too_large(selected,
                  {in.policies->filter_entries, vfs, in.settings.budgets.filters,
                   "entries of filters for each VF of this node", "name ranges or PFs instead of single VFs"},
                  problems);
  erase_too_large(selected,
                  {in.policies->attribute_entries, 1, in.settings.budgets.attributes,
                   "labels and attributes of DeviceAttributes for its deviceAttributesSelectors",
                   "use fewer configs with a deviceAttributesSelector, or fewer DeviceAttributes"},
                  problems);
  return selected;
}

std::vector<const DeviceAttributes*> attributes_for(const PolicySet& policies, const SriovPolicy& policy,
                                                    const ResourceConfig& config) {
  std::vector<const DeviceAttributes*> out;
  if (!config.attributes_selector) return out;
  for (const DeviceAttributes& object : policies.attributes)
    if (object.id.namespace_ == policy.id.namespace_ &&
        kube::matches(*config.attributes_selector, object.labels))
      out.push_back(&object);
  return out;
}

}  // namespace sliced::policy
