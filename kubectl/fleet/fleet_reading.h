#pragma once
// A fleet read through a cluster, in pages; of an object nothing is kept but what is counted.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/reports/node_report.h"
#include "kube/objects/resource_slice.h"
#include "kubectl/fleet/cluster_objects.h"
#include "kubectl/fleet/fleet.h"
#include "kubectl/fleet/fleet_policies.h"
#include "reactor/base/result.h"

namespace sliced::cli {

/// Nodes, slices, reports, claims, Leases of daemons and policies. What cannot be read as what it is goes to `unread`, in words, at
/// most kUnreadMax of it, and so does each kind that may not be listed, with what is not known for want of it.
/// namespace_: of the Leases and of SriovResourcePolicies.
/// Errors: the list that failed, and why; kDenied where neither nodes, slices nor reports may be listed. Nodes that may not be listed are
///         those that have slices, or reports.
/// Permissions: list on nodes (metadata), resourceslices, nodedevicereports, resourceclaims and deviceexposurepolicies of the whole
///              cluster, on leases and sriovresourcepolicies in that namespace.
Result<Unit> read_fleet(ClusterObjects& objects, const std::string& namespace_, Fleet& fleet,
                        std::vector<std::string>& unread);
/// Leases of daemons in that namespace, and the clock by which they are judged. Where they may not be listed, none is silent, and
/// `unread` says so.
Result<Unit> read_leases(ClusterObjects& objects, const std::string& namespace_, Fleet& fleet,
                         std::vector<std::string>& unread);
/// What cannot be told of a fleet without permission to list the kind: "ALLOCATED and FREE are unknown".
std::string_view lack_without(const kube::Resource& kind);
/// Claims that are allocated; of those that wait nothing is counted.
Result<Unit> read_claims(ClusterObjects& objects, Fleet& fleet, std::vector<std::string>& unread);
/// NodeDeviceReports; where the kind is not installed, or may not be read, there are none, and the second is
/// said in `unread`. on_anew: the list begins anew, as ListTold has it.
Result<Unit> read_reports(ClusterObjects& objects,
                          const std::function<void(reports::NodeReport report)>& on_report,
                          const std::function<void()>& on_anew, std::vector<std::string>& unread);
/// Slices of one node.
kube::Scope slices_of(const std::string& node);
/// Whole slices of one node, of any driver. Those of other nodes, which a proxy may send that drops
/// selectors, are dropped.
Result<std::vector<kube::ResourceSlice>> read_slices_of(ClusterObjects& objects, const std::string& node,
                                                        std::vector<std::string>& unread);

/// Policies of both kinds and attributes; kinds that are not installed have none.
/// unlisted: where it is given, kinds that may not be listed go there, and to `unread`; else they are an error.
Result<Unit> read_policies(ClusterObjects& objects, const std::string& namespace_, FleetPolicies& policies,
                           std::vector<std::string>& unread, std::set<std::string>* unlisted = nullptr);
using NodeViews = std::map<std::string, kube::NodeView>;
/// Names and labels.
Result<Unit> read_node_views(ClusterObjects& objects, NodeViews& nodes, std::vector<std::string>& unread);
/// report: nullptr where there is none, and why_none says so: one that cannot be read does not say whose it is.
using VisitNode = std::function<void(const kube::NodeView& node, const reports::NodeReport* report,
                                     std::string_view why_none)>;
/// Each node once: with its report as it comes, then those without. Reports of other nodes are passed over.
/// nodes: nullptr, they may not be listed: those that report are visited, without labels.
Result<Unit> visit_nodes(ClusterObjects& objects, const NodeViews* nodes, std::vector<std::string>& unread,
                         const VisitNode& visit);

inline constexpr size_t kUnreadMax = 20;

}  // namespace sliced::cli
