#pragma once
// Objects of dra-driver-sriov: SriovResourcePolicy and DeviceAttributes, which are ours too, and the SriovResourceFilter of
// before 2026-02-16, which is not. Pure.
//
// A policy goes over as it is, but for what that driver passes over (read in its source, cd9404f): it looks at no drivers, at
// no matchFields and no Gt and Lt of its nodes, at no VFs behind a PF's name. There it offers more, or nothing, and
// complaints say so.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/comparing.h"
#include "kubectl/migrate/objects.h"

namespace sliced::migrate {

/// Whether the object is of that driver's API: sriovnetwork.k8snetworkplumbingwg.io, or
/// sriovnetwork.openshift.io, as its group was until 2025-11.
bool is_of_dra_driver(const kube::Json& object);
/// Adds it to `out` as one of ours, without what belongs to the server (uid, resourceVersion, generation,
/// owners, finalizers) and what kubectl notes. One that was a filter has an annotation that says so.
void read_dra_object(const kube::Json& object, const std::string& file, const Target& target,
                     std::vector<Made>& out, Complaints& complaints);
/// Where filters are among them: they named devices that were all offered, and of several for a node none counted.
void check_filters(const std::vector<Made>& objects, Complaints& complaints);

/// As that driver offers on that node by the objects.
Before by_dra_driver(const std::vector<Made>& objects, const hotplug::InventoryPtr& inventory,
                     const kube::NodeView& node, const Target& target);

}  // namespace sliced::migrate
