#pragma once
// Selects the SriovResourcePolicies of a node.
#include <cstdint>
#include <map>
#include <vector>

#include "kube/objects/selector.h"
#include "policy/inputs.h"
#include "policy/problem.h"

namespace sliced::policy {

/// Returns the valid policies that select the node, in order of evaluation, as indices into the set.
std::vector<int32_t> policies_for_node(const PolicySet& policies, const kube::NodeView& node);

/// Returns those whose work is within the budget, and adds a problem for each other.
std::vector<int32_t> policies_within_budget(const Inputs& inputs, std::map<int32_t, Problem>& problems);

/// Returns the objects in the policy's namespace that the config selects, by name; the last one that sets an
/// attribute has precedence. Empty without a selector. Valid as long as the set.
std::vector<const DeviceAttributes*> attributes_for(const PolicySet& policies, const SriovPolicy& policy,
                                                    const ResourceConfig& config);

}  // namespace sliced::policy
