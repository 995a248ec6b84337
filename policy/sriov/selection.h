#pragma once
// Which SriovResourcePolicies are asked on a node.
#include <cstdint>
#include <map>
#include <vector>

#include "kube/objects/selector.h"
#include "policy/inputs.h"
#include "policy/problem.h"

namespace sliced::policy {

/// Those that select the node and can be understood, in order of evaluation, as indices into the set.
std::vector<int32_t> policies_for_node(const PolicySet& policies, const kube::NodeView& node);

/// Of those, the ones whose work is within the budget; of the others a problem each.
std::vector<int32_t> policies_within_budget(const Inputs& inputs, std::map<int32_t, Problem>& problems);

/// Of the set, those in the policy's namespace that the config selects, by name: of several that give one attribute the last
/// counts. None where it selects none. Valid as long as the set.
std::vector<const DeviceAttributes*> attributes_for(const PolicySet& policies, const SriovPolicy& policy,
                                                    const ResourceConfig& config);

}  // namespace sliced::policy
