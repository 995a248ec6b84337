#pragma once
// Finds the policy that would offer the devices a pod waits for, if nodes have devices that no policy
// selects. Pure. Each named policy was evaluated by the daemon's own code, over the devices of the nodes'
// reports, and its entries by the selectors of the request.
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/reports/node_report.h"
#include "kube/objects/selector.h"
#include "kubectl/fleet/fleet_policies.h"
#include "kubectl/why/selectors.h"
#include "kubectl/why/why.h"

namespace sliced::kubectl {

/// Devices of a whole fleet that no policy selects; nodes with equal devices are kept once. Bounds:
/// kShapesMax kinds of nodes; further nodes are counted. Interfaces of pods (type virtual) are omitted.
class UnmatchedDevices {
 public:
  struct Shape {
    reports::NodeReport report;  // of one of the nodes, with only its unmatched groups
    std::string namespace_;      // of the SriovResourcePolicies that its daemon uses; "" if its report does
                                 // not contain it
    std::vector<std::string> nodes;
  };
  void add(const reports::NodeReport& report);
  /// Devices of the fleet's nodes that a new policy must not select: those with a policy, and those that the
  /// host uses.
  struct Taken {
    /// By namespace of the SriovResourcePolicies that the node's daemon uses ("" if unknown), then by name
    /// and by address of the PF: numbers of VFs.
    std::map<std::string, std::map<std::string, std::set<int>>> vfs;
    std::set<std::string> interfaces;  // of devices other than VFs
  };
  const Taken& taken() const { return taken_; }
  void clear() { *this = {}; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  /// Number of such devices by node, including nodes that are not kept.
  const std::map<std::string, int64_t>& counts() const { return counts_; }

 private:
  std::vector<Shape> shapes_;
  std::map<std::string, size_t> by_facts_;
  std::map<std::string, int64_t> counts_;
  Taken taken_;
};
inline constexpr size_t kShapesMax = 64;

/// The result of missing_policies(). Requests are "claim, request".
struct MissingPolicies {
  std::vector<std::string>
      causes;  // policies that were probably intended, and why they offer nothing: before all other lines
  std::vector<std::string> remedies;
  std::set<std::string>
      enough;  // requests for which one of the named policies alone offers enough devices on a node
};

/// Returns lines for people: for each request with too few devices on every node, the existing policies that
/// would offer some after a change, with field, found and expected value; if there are none, the smallest new
/// policy, as an object for `kubectl apply`.
///  - nodes: of the cluster, by name; a missing one has no known labels.
///  - policies: by namespace. namespace_: for nodes whose report has none.
///  - selectors: with the work budget for expressions; when it is used up nothing is found.
///  - hidden: requests ("net") with devices that a policy selects and that are hidden. No policy is proposed
///    for them: the reason of the hiding must change.
///  - elsewhere: SriovResourcePolicies of namespaces that no daemon reads, by namespace. One that would offer
///    the devices is a cause, and no new policy is proposed then. So are policies with an error.
/// A new policy selects only devices of the kind that the request describes: VFs, by a fact of the device;
/// other types only if the request names the type, the interface or the address, or shares of them for a
/// plugin that creates links on them. An exclusion ("type != ...") is not a description. It never selects
/// devices that the host uses, or that have a policy on any node. In doubt none is proposed.
/// Bounds: kPolicyTriesMax decisions, two existing policies per request.
MissingPolicies missing_policies(const why::Answer& answer, const UnmatchedDevices& devices,
                                 const std::map<std::string_view, const kube::NodeView*>& nodes,
                                 const std::map<std::string, FleetPolicies>& policies,
                                 const FleetDrivers& drivers, const std::string& namespace_,
                                 why::Selectors& selectors, const std::set<std::string>& hidden = {},
                                 const std::map<std::string, FleetPolicies>& elsewhere = {});
inline constexpr size_t kPolicyTriesMax = 1'000;

/// Returns the requests of the answer with too few free devices on each node to which the pod may go: "claim,
/// request".
std::vector<std::string> short_requests(const why::Answer& answer);

}  // namespace sliced::kubectl
