#pragma once
// Finds the policy that would offer the devices a pod waits for, if nodes have devices that no policy selects. Pure.
//
// Each policy that is named was decided with, by the daemon's own code, over the devices of the nodes' reports, and its entries
// were asked by the selectors of the request.
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

namespace sliced::cli {

/// Devices that no policy selects, of a whole fleet: nodes whose devices look alike to policies are kept once.
/// Bounds: kShapesMax kinds of nodes; nodes beyond are counted. Interfaces of pods (type virtual) are not among them.
class UnmatchedDevices {
 public:
  struct Shape {
    reports::NodeReport report;  // of one of the nodes, with its unmatched groups alone
    std::string namespace_;      // whose SriovResourcePolicies its daemon obeys; "" its report does not say
    std::vector<std::string> nodes;
  };
  void add(const reports::NodeReport& report);
  /// What the fleet's nodes have and a new policy must leave alone: devices that a policy speaks of already, and those that the host uses.
  struct Taken {
    /// By namespace whose SriovResourcePolicies the node's daemon obeys ("" not known), then by name and by address of the PF: numbers
    /// of VFs.
    std::map<std::string, std::map<std::string, std::set<int>>> vfs;
    std::set<std::string> interfaces;  // of devices other than VFs
  };
  const Taken& taken() const { return taken_; }
  void clear() { *this = {}; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  /// Nodes with such devices by their count, also of those that are not kept.
  const std::map<std::string, int64_t>& counts() const { return counts_; }

 private:
  std::vector<Shape> shapes_;
  std::map<std::string, size_t> by_facts_;
  std::map<std::string, int64_t> counts_;
  Taken taken_;
};
inline constexpr size_t kShapesMax = 64;

/// What missing_policies() finds. Requests are "claim, request".
struct MissingPolicies {
  std::vector<std::string>
      causes;  // policies that were probably meant, and why they offer nothing: before all other lines
  std::vector<std::string> remedies;
  std::set<std::string>
      enough;  // for which one of the named policies alone offers as many devices on a node as they ask for
};

/// Lines for people: for each request that has too few devices on every node, the existing policies that would offer some if they
/// were changed, with field, value found and value wanted; and where there is none, the smallest policy to write, as an object
/// that `kubectl apply` takes.
/// nodes: of the cluster, by name; one that is not there has no labels that are known. policies: by namespace. namespace_: of nodes
///        that do not say theirs.
/// selectors: bounds what expressions take; once it is spent nothing is found.
/// hidden: requests ("net") for which nodes have devices that a policy selects and that are hidden. No policy is named for them: what
///         hides the devices has to change.
/// elsewhere: SriovResourcePolicies of namespaces that no daemon reads, by namespace. One that would offer the devices is a cause, and no
/// new policy is proposed then. Policies that have a mistake are causes, too.
/// A new policy selects only devices of the kind that the request means: VFs that it describes by a fact of the device; other types only
/// where it names the type, the interface or the address, or shares of them for a plugin that makes links on them. What it rules out
/// ("type != ...") is not asked for: the request says no to the device with another value of what it asks for. It never selects
/// devices that
/// the host uses, or that a policy speaks of on any node. In doubt there is none.
/// Bounds: kPolicyTriesMax decisions, two existing policies a request.
MissingPolicies missing_policies(const allocation::Answer& answer, const UnmatchedDevices& devices,
                                 const std::map<std::string_view, const kube::NodeView*>& nodes,
                                 const std::map<std::string, FleetPolicies>& policies,
                                 const FleetDrivers& drivers, const std::string& namespace_,
                                 allocation::Selectors& selectors, const std::set<std::string>& hidden = {},
                                 const std::map<std::string, FleetPolicies>& elsewhere = {});
inline constexpr size_t kPolicyTriesMax = 1'000;

/// Requests of the answer that have too few free devices on each node to which the pod may go: "claim, request".
std::vector<std::string> short_requests(const allocation::Answer& answer);

}  // namespace sliced::cli
