#pragma once
// Node and Pod (core/v1) as far as they decide where a pod with claims can go.
#include <optional>
#include <string>
#include <vector>

#include "allocation/claim.h"
#include "kube/json.h"
#include "kube/selector.h"
#include "reactor/base/result.h"

namespace sliced::allocation {

/// Room and conditions are not read: they are for other plugins of the scheduler to judge.
struct Node {
  kube::NodeView view;              // name and labels
  std::vector<kube::Taint> taints;  // of the node; an unschedulable one has a taint for it
  bool operator==(const Node&) const = default;
};

/// One of spec.resourceClaims: the claim that it names, the one that was made for it, or the template that it is
/// still to be made of. One of the names is set; both are while the claim is there.
/// Of status.resourceClaimStatuses an entry without a name says that no claim is needed: such a PodClaim is left out.
struct PodClaim {
  std::string name;  // in the pod
  std::string claim, template_;
  bool operator==(const PodClaim&) const = default;
};

/// A pod as kube-scheduler reads it. Extended resources are those of containers and init containers, of
/// requests and limits alike.
struct Pod {
  std::string namespace_, name;
  std::string node_name;  // where it is bound to; "" pending
  std::string phase;
  kube::Labels node_selector;
  std::optional<kube::NodeSelector> affinity;  // required, of nodes
  std::vector<Toleration> tolerations;
  std::vector<PodClaim> claims;
  std::vector<std::string> extended_resources;  // that its containers ask for: names with a slash
  std::vector<std::string> gates;               // schedulingGates
  std::string scheduler;                        // "" or default-scheduler
  std::string id() const { return namespace_ + "/" + name; }
  bool operator==(const Pod&) const = default;
};

/// Errors: as in claim.h.
/// An unschedulable node without the taint node.kubernetes.io/unschedulable:NoSchedule gets it, as the node
/// lifecycle controller gives it.
Result<Node> decode_node(const kube::Json& object);
Result<Pod> decode_pod(const kube::Json& object);

/// Why the pod cannot go to the node, whatever its claims: "" when nothing that is looked at keeps it away (name, labels,
/// affinity, taints: not room, ports, volumes or spreading).
/// Looked at in the order taints, nodeSelector, affinity; the first that keeps it away is told.
std::string keeps_away(const Pod& pod, const Node& node);

}  // namespace sliced::allocation
