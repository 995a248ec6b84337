#pragma once
// What policies take of memory while they are kept, near enough to bound them all together.
#include <cstddef>

#include "policy/exposure/policy.h"
#include "policy/sriov/policy.h"

namespace sliced::policy {

/// Bytes of the value and of what it owns, blocks of the allocator included. What selectors take once they
/// are compiled is counted where that is done (exposure/programs.h).
size_t footprint(const SriovPolicy& policy);
size_t footprint(const DeviceAttributes& object);
size_t footprint(const ExposurePolicy& policy);
/// What each entry takes of it.
size_t footprint(const Exposure& exposure);

}  // namespace sliced::policy
