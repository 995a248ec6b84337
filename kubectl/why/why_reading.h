#pragma once
// What `why` knows of a cluster, read through it in pages.
#include <set>
#include <string>
#include <vector>

#include "kubectl/fleet/cluster_objects.h"
#include "kubectl/why/hidden_devices.h"
#include "kubectl/why/why.h"
#include "reactor/base/result.h"

namespace sliced::cli {

/// Nodes, classes, slices, claims of all namespaces, and taint rules. namespace_: of objects that name none.
/// namespace_ is also whose claims are read where those of all namespaces may not be.
/// Kinds that may not be read go to out.denied, all of them. Errors: the list that failed otherwise, and why; without
/// taint rules it goes on.
Result<Unit> read_allocation(ClusterObjects& objects, const std::string& namespace_,
                             allocation::Cluster& out);

/// How far the pods are that hold what the claims could have, of a pending answer: to the claims of the cluster, of at most
/// kUsersNamespacesMax namespaces. Returns whether the answer is another one now, because some of them do not run. Where pods may
/// not be listed, they count as running, and cluster.unread says so.
bool read_users(ClusterObjects& objects, const allocation::Answer& answer, allocation::Cluster& cluster);
inline constexpr size_t kUsersNamespacesMax = 16;

/// Attributes that sliced publishes of a device that has such a thing, as full keys.
std::set<std::string> publishable_attributes(const FleetDrivers& drivers);

/// Configurations of the pod's claims that no node will use as they are: of a claim that is allocated what the kubelet plugin ignores, of
/// another one what validate says of it. To answer.notes, a sentence each.
void judge_configs(ClusterObjects& objects, const FleetDrivers& drivers, const allocation::Cluster& cluster,
                   allocation::Answer& answer);

/// Why the containers of a pod that is on a node do not start: what its node's report says of daemon and kubelet plugin now, where a claim
/// of the pod is of one of the drivers, with the remedy; then the last warning (Event) of this pod, with its age, unless it is
/// superseded: by the pod's binding, or by a later event that says that containers are made. A Running pod has only the configurations
/// that were ignored (ConfigurationIgnored), unless judge_configs() has said the same. To answer.notes; what cannot be read goes to answer.unsure.
void read_start(ClusterObjects& objects, const FleetDrivers& drivers, allocation::Answer& answer);

/// What nodes have and do not offer: of whoever has enough it is of no interest. answer: of this cluster; what is not known
/// goes to its `unsure`, and nodes with devices that no policy selects to its `hints`, where a request matches nothing.
std::vector<HiddenMatch> find_hidden(ClusterObjects& objects, const FleetDrivers& drivers,
                                     const allocation::Cluster& cluster, allocation::Answer& answer);

}  // namespace sliced::cli
