#pragma once
// Reads the cluster for `why`, in pages.
#include <set>
#include <string>
#include <vector>

#include "kubectl/fleet/cluster_objects.h"
#include "kubectl/why/hidden_devices.h"
#include "kubectl/why/why.h"
#include "reactor/base/result.h"

namespace sliced::kubectl {

/// Reads nodes, classes, slices, claims of all namespaces, and taint rules. namespace_: of objects without
/// one, and of the claims to read if those of all namespaces may not be read. All kinds that may not be read
/// are added to out.denied. Errors: the list that failed for another reason; without taint rules it
/// continues.
Result<Unit> read_allocation(ClusterObjects& objects, const std::string& namespace_, why::Cluster& out);

/// Reads the states of the pods that hold devices which the claims of a pending answer could use, and sets
/// them in the cluster's claims, for at most kUsersNamespacesMax namespaces. Returns whether the answer has
/// changed, because some of them do not run. If pods may not be listed, they count as running, and
/// cluster.unread has the reason.
bool read_users(ClusterObjects& objects, const why::Answer& answer, why::Cluster& cluster);
inline constexpr size_t kUsersNamespacesMax = 16;

/// Returns the attributes that sliced publishes for suitable devices, as full keys.
std::set<std::string> publishable_attributes(const FleetDrivers& drivers);

/// Adds configurations of the pod's claims that no node uses unchanged to answer.notes, a sentence each: for
/// an allocated claim those that the kubelet plugin ignores, for another one the findings of validate.
void judge_configs(ClusterObjects& objects, const FleetDrivers& drivers, const why::Cluster& cluster,
                   why::Answer& answer);

/// Adds to answer.notes why the containers of a pod on a node do not start: the state of daemon and kubelet
/// plugin from the node's report, if a claim of the pod is of one of the drivers, with the remedy; then the
/// last warning (Event) of this pod, with its age. A warning is superseded by the pod's binding, or by a
/// later event that containers are created. A Running pod only gets ignored configurations
/// (ConfigurationIgnored), unless judge_configs() has added the same. Read failures are added to
/// answer.unsure.
void read_start(ClusterObjects& objects, const FleetDrivers& drivers, why::Answer& answer);

/// Returns matching devices that nodes do not offer, for requests without enough. answer: of this cluster;
/// unknown information is added to its `unsure`, and nodes with devices that no policy selects to its
/// `hints`, if a request matches nothing.
std::vector<HiddenMatch> find_hidden(ClusterObjects& objects, const FleetDrivers& drivers,
                                     const why::Cluster& cluster, why::Answer& answer);

}  // namespace sliced::kubectl
