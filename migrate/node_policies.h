#pragma once
// SriovNetworkNodePolicies of sriov-network-operator: what of them says which devices the operator has its device plugin
// offer. VFs are made and bound by the operator as before; of that nothing is carried over. Pure.
// Source: api/v1 and controllers/sriovnetworknodepolicy_controller.go (249e20012).
#include <map>
#include <string>
#include <vector>

#include "kube/json.h"
#include "migrate/pool.h"

namespace sliced::migrate {

/// VF device ids by PF device id: what the operator's ConfigMap supported-nic-ids says.
using VfIds = std::map<std::string, std::string>;

bool is_node_policy(const kube::Json& object);
bool is_nic_ids(const kube::Json& object);
/// Adds to `out`; a line that is none is an error: "VENDOR PF VF", four hexadecimal digits each. Of one PF id
/// the first line counts.
void read_nic_ids(const kube::Json& object, const std::string& file, VfIds& out, Complaints& complaints);

/// Adds a configuration for the policy; the one that is named default is none, as the operator has it.
/// prefix: of the resource, "openshift.io" as a rule.
/// Of spec are read nodeSelector, priority, resourceName, deviceType, isRdma, needVhostNet, linkType,
/// vdpaType (an error), nicSelector, and numVfs for what deviceID means: with 0 VFs it is the PF's own.
void read_node_policy(const kube::Json& object, const std::string& file, const std::string& prefix,
                      const VfIds& ids, std::vector<Config>& out, Complaints& complaints);
/// Puts them in the order in which the operator asks them, and looks at those that share a resource: it makes one selector
/// of theirs, field by field, which is not the same unless they differ in one.
void order_node_policies(std::vector<Config>& configs, Complaints& complaints);

/// What the operator gives its plugin on that node: of those that share a resource, one selector with all
/// their values. Without resources: nothing. configs: in order.
Config operators_config(const std::vector<Config>& configs, const kube::NodeView& node);

}  // namespace sliced::migrate
