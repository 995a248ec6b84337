#pragma once
// Node and Pod (core/v1) as far as they decide where a pod with claims can go.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/selector.h"
#include "kubectl/why/claim.h"
#include "reactor/base/result.h"

namespace sliced::allocation {

/// Conditions and room (cpu, memory) are not read: they are for other plugins of the scheduler to judge.
struct Node {
  kube::NodeView view;              // name and labels
  std::vector<kube::Taint> taints;  // of the node; an unschedulable one has a taint for it
  /// status.allocatable of names with a slash: what device plugins provide.
  std::map<std::string, int64_t> extended;
  bool is_known = true;  // false: only its name, from a ResourceSlice; Nodes could not be read
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

/// A container as far as it asks for resources.
struct Container {
  std::string name;
  bool is_init = false, is_sidecar = false;  // a sidecar: an init container with restartPolicy Always
  /// resources.requests, and limits of which there is no request, as the API server's defaulting has it. Whole numbers;
  /// what is none (cpu: 500m) is 0.
  std::map<std::string, int64_t> resources;
  bool ends() const { return is_init && !is_sidecar; }
  bool operator==(const Container&) const = default;
};

/// A pod as kube-scheduler reads it.
struct Pod {
  std::string namespace_, name, uid;
  std::string node_name;  // where it is bound to; "" pending
  std::string
      scheduled_at;  // RFC 3339: since when (condition PodScheduled), or since when it exists; "" not known
  std::string phase;
  std::string reason, message;  // of status, where the pod has failed
  bool is_deleted = false;      // metadata.deletionTimestamp is set
  kube::Labels node_selector;
  std::optional<kube::NodeSelector> affinity;  // required, of nodes
  std::vector<Toleration> tolerations;
  std::vector<PodClaim> claims;
  std::vector<Container> containers;  // init containers first, each in the pod's order
  std::string extended_claim;         // status.extendedResourceClaimStatus.resourceClaimName; "" none
  std::vector<std::string> gates;     // schedulingGates
  std::string scheduler;              // "" or default-scheduler
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
