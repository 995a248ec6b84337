#pragma once
// Reads objects of dra-driver-sriov: SriovResourcePolicy and DeviceAttributes, which sliced uses too, and
// SriovResourceFilter (before 2026-02-16), which it does not. Pure.
//
// A policy is printed as it is. dra-driver-sriov (source: cd9404f) ignores some of its fields, which sliced
// obeys: drivers, matchFields, terms with Gt or Lt, and VF ranges after a PF's name. There the offer changes,
// and a warning says how.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/comparing.h"
#include "kubectl/migrate/objects.h"

namespace sliced::migrate {

/// Returns true if the object's group is sriovnetwork.k8snetworkplumbingwg.io or, as it was until 2025-11,
/// sriovnetwork.openshift.io.
bool is_of_dra_driver(const kube::Json& object);
/// Adds the object to `out` with portable_metadata(). A SriovResourceFilter becomes a SriovResourcePolicy
/// with an annotation that records its former kind.
void read_dra_object(const kube::Json& object, const std::string& file, const Target& target,
                     std::vector<ConvertedObject>& out, Complaints& complaints);
/// Warns about each behaviour of SriovResourceFilters that their policies do not have: devices that no filter
/// names were offered too, and several filters for one node all had no effect.
void check_filters(const std::vector<ConvertedObject>& objects, Complaints& complaints);

/// Returns the resources that dra-driver-sriov assigns on the node by the objects.
Before by_dra_driver(const std::vector<ConvertedObject>& objects, const hotplug::InventoryPtr& inventory,
                     const kube::NodeView& node, const Target& target);

}  // namespace sliced::migrate
