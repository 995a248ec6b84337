#pragma once
// SriovNetworkNodePolicies of sriov-network-operator: what of them says which devices the operator has its device plugin
// offer. VFs are made and bound by the operator as before; of that nothing is carried over. Pure.
// Source: api/v1 and controllers/sriovnetworknodepolicy_controller.go (249e20012).
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/node_states.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

bool is_node_policy(const kube::Json& object);
/// Returns the API group of a SriovNetworkNodePolicy of another operator than sriovnetwork.openshift.io; "" of any other
/// object. Such policies (sriovnetwork.k8s.cni.cncf.io of Google Distributed Cloud and Alauda) are not read.
std::string group_of_unknown_node_policy(const kube::Json& object);
bool is_nic_ids(const kube::Json& object);
/// Adds to `out`; a line that is none is an error: "VENDOR PF VF", four hexadecimal digits each. Of one PF id
/// the first line counts.
void read_nic_ids(const kube::Json& object, const std::string& file, VfIds& out, Complaints& complaints);

/// What the operator knows beside its policies.
struct OperatorFacts {
  VfIds ids;  // of its ConfigMap supported-nic-ids, or reported by the states where there is no ConfigMap
  bool are_ids_of_states = false;
  std::vector<NodeInterfaces> states;
};

/// Takes the ids that the states report where no ConfigMap has given any. Call it once all files are read.
void take_ids_of_states(OperatorFacts& facts);

/// Adds a configuration for the policy; the one that is named default is none, as the operator has it. A policy with
/// netFilter, or with alternative names of interfaces, becomes a configuration for each node whose state is among the facts.
/// prefix: of the resource, "openshift.io" as a rule.
/// A field that the operator's API does not know, and one of a wrong type, are errors.
/// Of spec are used nodeSelector, priority, resourceName, deviceType, isRdma, needVhostNet, linkType,
/// vdpaType (an error), nicSelector, and numVfs for what deviceID means: with 0 VFs it is the PF's own.
void read_node_policy(const kube::Json& object, const std::string& file, const std::string& prefix,
                      const OperatorFacts& facts, std::vector<Config>& out, Complaints& complaints);
/// Puts them in the order in which the operator asks them on each node. Where a resource has several policies the operator
/// asks all of them where the first is; if that changes the order, priorities are numbered again.
/// Compares those that share a resource and may share a node: the operator makes one selector of theirs, field by field,
/// which is not the same unless they differ in one.
void order_node_policies(std::vector<Config>& configs, Complaints& complaints);

/// What the operator gives its plugin on that node: of those that share a resource, one selector with all
/// their values. Without resources: nothing. configs: in order.
Config operators_config(const std::vector<Config>& configs, const kube::NodeView& node);

}  // namespace sliced::migrate
