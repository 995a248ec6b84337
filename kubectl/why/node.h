#pragma once
// The fields of Node and Pod (core/v1) that affect the scheduling of a pod with claims.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/selector.h"
#include "kubectl/why/claim.h"
#include "reactor/base/result.h"

namespace sliced::why {

/// Conditions and resources (cpu, memory) are not read: other plugins of the scheduler use them.
struct Node {
  kube::NodeView view;              // name and labels
  std::vector<kube::Taint> taints;  // of the node; an unschedulable one has a taint for it
  /// status.allocatable of names with a slash, from device plugins.
  std::map<std::string, int64_t> extended;
  bool is_known = true;  // false: only its name, from a ResourceSlice; Nodes could not be read
  bool operator==(const Node&) const = default;
};

/// One of spec.resourceClaims: a claim by name, or a template with the claim that was created from it, if it
/// exists. A PodClaim whose entry in status.resourceClaimStatuses has no name is omitted: it requires no
/// claim.
struct PodClaim {
  std::string name;  // in the pod
  std::string claim, template_;
  bool operator==(const PodClaim&) const = default;
};

/// The resource requests of a container.
struct Container {
  std::string name;
  bool is_init = false, is_sidecar = false;  // a sidecar: an init container with restartPolicy Always
  /// resources.requests, and limits without a request, as by the API server's defaulting. Whole numbers;
  /// others (cpu: 500m) are 0.
  std::map<std::string, int64_t> resources;
  bool ends() const { return is_init && !is_sidecar; }
  bool operator==(const Container&) const = default;
};

/// A pod as kube-scheduler reads it.
struct Pod {
  std::string namespace_, name, uid;
  std::string node_name;     // its node; "" if pending
  std::string scheduled_at;  // RFC 3339: time of the condition PodScheduled, or of creation; "" if unknown
  std::string phase;
  std::string reason, message;  // of status, if the pod has failed
  bool is_deleted = false;      // metadata.deletionTimestamp is set
  kube::Labels node_selector;
  std::optional<kube::NodeSelector> affinity;  // required, of nodes
  std::vector<Toleration> tolerations;
  std::vector<PodClaim> claims;
  std::vector<Container> containers;  // init containers first, each in the pod's order
  std::string extended_claim;         // status.extendedResourceClaimStatus.resourceClaimName; "" if none
  std::vector<std::string> gates;     // schedulingGates
  std::string scheduler;              // "" or default-scheduler
  std::string id() const { return namespace_ + "/" + name; }
  bool operator==(const Pod&) const = default;
};

/// Errors: as in claim.h. An unschedulable node without the taint node.kubernetes.io/unschedulable:NoSchedule
/// gets it, as from the node lifecycle controller.
Result<Node> decode_node(const kube::Json& object);
Result<Pod> decode_pod(const kube::Json& object);

/// Returns why the pod cannot go to the node regardless of its claims; "" if name, labels, affinity and
/// taints permit it (resources, ports, volumes and spreading are not checked). Returns the first reason in
/// the order taints, nodeSelector, affinity.
std::string scheduling_obstacle(const Pod& pod, const Node& node);

}  // namespace sliced::why
