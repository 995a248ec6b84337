#pragma once
// Which device stands in which slice. Existing assignments and their order are kept, so that one device more
// or less changes one slice (an order difference is a change to every consumer).
#include <map>
#include <string>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "policy/desired.h"

namespace sliced::publishers {

/// devices: what each slice holds, by slice index.  assigned: the names that the slices of that index hold
/// now.
using Packing = std::map<size_t, std::vector<kube::DevicePtr>>;
using Assigned = std::map<size_t, std::vector<std::string>>;

/// Slice indices start at first_index. At least one slice results, even for no devices.
Packing pack_devices(const std::vector<kube::DevicePtr>& devices, const Assigned& assigned, size_t slice_size,
                     size_t first_index);

/// 128, or 64 where any device has taints, counters or a list attribute, or the pool has counters or could
/// get them: then not every slice changes with them.
size_t slice_size_for(const policy::DesiredPool& pool);

}  // namespace sliced::publishers
