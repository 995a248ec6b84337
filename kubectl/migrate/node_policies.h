#pragma once
// Reads from SriovNetworkNodePolicies of sriov-network-operator which devices the operator's device plugin
// offers. The operator keeps creating and binding the VFs; that part of a policy is not converted. Pure.
// Source: api/v1 and controllers/sriovnetworknodepolicy_controller.go (249e20012).
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/node_states.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

bool is_node_policy(const kube::Json& object);
/// Returns the API group of a SriovNetworkNodePolicy of another group than sriovnetwork.openshift.io, "" for
/// any other object. Such policies (sriovnetwork.k8s.cni.cncf.io of Google Distributed Cloud and Alauda) are
/// not read.
std::string group_of_unknown_node_policy(const kube::Json& object);
bool is_nic_ids(const kube::Json& object);
/// Adds the entries of the ConfigMap supported-nic-ids to `out`. Each is "VENDOR PF VF", four hexadecimal
/// digits each; another form is an error. The first entry for a PF id counts.
void read_nic_ids(const kube::Json& object, const std::string& file, VfIds& out, Complaints& complaints);

/// Input of the operator beside its policies.
struct OperatorFacts {
  VfIds ids;  // from the ConfigMap supported-nic-ids, or without it from the node states
  bool are_ids_of_states = false;
  std::vector<NodeInterfaces> states;
};

/// Sets the ids from the node states if no ConfigMap has given any.
/// REQUIRES: all files are read.
void take_ids_of_states(OperatorFacts& facts);

/// Adds a configuration for the policy. The policy named default is skipped, as by the operator. A policy
/// with netFilter, or with alternative names of interfaces, becomes one configuration for each node whose
/// state is among the facts.
/// prefix: prefix of the resource name, usually "openshift.io".
/// Fields of spec that are used: nodeSelector, priority, resourceName, deviceType, isRdma, needVhostNet,
/// linkType, nicSelector, and numVfs to interpret deviceID (with 0 VFs it is the PF's own id). vdpaType is an
/// error, and so are unknown fields and wrong types.
void read_node_policy(const kube::Json& object, const std::string& file, const std::string& prefix,
                      const OperatorFacts& facts, std::vector<Config>& out, Complaints& complaints);
/// Sorts the configurations in the order in which the operator evaluates them on each node. If a resource has
/// several policies, the operator evaluates all of them at the position of the first; if that changes the
/// order, priorities are renumbered.
/// Compares policies that share a resource and may share a node. The operator merges their selectors field by
/// field, which gives the same devices only if they differ in one field. Other differences are errors or
/// warnings.
void order_node_policies(std::vector<Config>& configs, Complaints& complaints);

/// Returns the configuration that the operator gives its plugin on the node: policies that share a resource
/// become one selector with all their values. Without a policy for the node it has no resources.
/// REQUIRES: configs are in the order of order_node_policies().
Config operators_config(const std::vector<Config>& configs, const kube::NodeView& node);

}  // namespace sliced::migrate
