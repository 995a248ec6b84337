#pragma once
// Assigns devices to slices. Existing assignments and their order are kept, so that one device more or less
// changes one slice. (A different order of devices is a change to every consumer.)
#include <map>
#include <string>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "policy/desired.h"

namespace sliced::publishers {

/// The devices of each slice, by its index.
using Packing = std::map<size_t, std::vector<kube::DevicePtr>>;
/// The names of the devices in each existing slice, in their order, by its index.
using Assigned = std::map<size_t, std::vector<std::string>>;

/// Returns at least one slice, also for no devices. Indices start at first_index: lower ones are slices of
/// counters. If more than twice the necessary number of slices would remain, all devices are assigned again.
Packing pack_devices(const std::vector<kube::DevicePtr>& devices, const Assigned& assigned, size_t slice_size,
                     size_t first_index);

/// Returns the limit of devices of a slice: 64 if a device has taints, counters or a list attribute, or the
/// pool has or may get counters; otherwise 128. (ResourceSlice validation; the smaller limit for future
/// counters avoids repacking.)
size_t slice_size_for(const policy::DesiredPool& pool);

}  // namespace sliced::publishers
