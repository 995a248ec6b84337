#pragma once
// What policies take of memory while they are kept, near enough to bound them all together.
#include <cstddef>

#include "policy/exposure/policy.h"
#include "policy/sriov/policy.h"

namespace sliced::policy {

/// Bytes of the value and of what it owns, blocks of the allocator included; of a selector also what its
/// program is likely to take.
size_t footprint(const SriovPolicy& policy);
size_t footprint(const DeviceAttributes& object);
size_t footprint(const ExposurePolicy& policy);

}  // namespace sliced::policy
