#pragma once
// Reads a fleet through a cluster, in pages, and keeps only counts.
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

namespace sliced::kubectl {

/// Reads nodes, slices, reports, claims, Leases of daemons and policies. Objects that cannot be decoded are
/// added to `unread` as texts, at most kUnreadMax, and so is each kind that may not be listed, with the
/// consequence. namespace_: of the Leases and of SriovResourcePolicies.
/// Errors: the list that failed, and the reason; kDenied if neither nodes, slices nor reports may be listed.
/// If nodes may not be listed, they are those with slices or reports.
/// Permissions: list on nodes (metadata), resourceslices, nodedevicereports, resourceclaims and
/// deviceexposurepolicies of the whole cluster, on leases and sriovresourcepolicies in that namespace.
Result<Unit> read_fleet(ClusterObjects& objects, const std::string& namespace_, Fleet& fleet,
                        std::vector<std::string>& unread);
/// Reads the daemons' Leases in that namespace, and the clock for them. If they may not be listed, no daemon
/// counts as silent, and `unread` has the reason.
Result<Unit> read_leases(ClusterObjects& objects, const std::string& namespace_, Fleet& fleet,
                         std::vector<std::string>& unread);
/// Returns the information that is unknown if the kind may not be listed: "ALLOCATED and FREE are unknown".
std::string_view lack_without(const kube::Resource& kind);
/// Reads allocated claims; waiting ones are not counted.
Result<Unit> read_claims(ClusterObjects& objects, Fleet& fleet, std::vector<std::string>& unread);
/// Reads NodeDeviceReports. There are none if the kind is not installed or may not be read; the latter is
/// added to `unread`. on_restart: the list restarts, as in ListHandlers.
Result<Unit> read_reports(ClusterObjects& objects,
                          const std::function<void(reports::NodeReport report)>& on_report,
                          const std::function<void()>& on_restart, std::vector<std::string>& unread);
/// The slices of one node.
kube::Scope slices_of(const std::string& node);
/// Reads the slices of one node, of any driver. Drops those of other nodes, which a proxy that ignores
/// selectors may return.
Result<std::vector<kube::ResourceSlice>> read_slices_of(ClusterObjects& objects, const std::string& node,
                                                        std::vector<std::string>& unread);

/// Reads policies of both kinds and attributes; a kind that is not installed has none. unlisted: if given,
/// kinds that may not be listed are added to it, and to `unread`; otherwise they are an error.
Result<Unit> read_policies(ClusterObjects& objects, const std::string& namespace_, FleetPolicies& policies,
                           std::vector<std::string>& unread, std::set<std::string>* unlisted = nullptr);
using NodeViews = std::map<std::string, kube::NodeView>;
/// Names and labels.
Result<Unit> read_node_views(ClusterObjects& objects, NodeViews& nodes, std::vector<std::string>& unread);
/// report: nullptr if there is none, with the reason in why_none: one that cannot be decoded does not name
/// its node.
using VisitNode = std::function<void(const kube::NodeView& node, const reports::NodeReport* report,
                                     std::string_view why_none)>;
/// Visits each node once: with its report when that is read, then those without. Ignores reports of other
/// nodes. nodes: nullptr if they may not be listed: then nodes with a report are visited, without labels.
Result<Unit> visit_nodes(ClusterObjects& objects, const NodeViews* nodes, std::vector<std::string>& unread,
                         const VisitNode& visit);

inline constexpr size_t kUnreadMax = 20;

}  // namespace sliced::kubectl
