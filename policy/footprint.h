#pragma once
// Estimates of the memory of stored policies, accurate enough to bound their sum.
#include <cstddef>

#include "policy/exposure/policy.h"
#include "policy/sriov/policy.h"

namespace sliced::policy {

/// Returns the bytes of the value and the memory that it owns, including allocator overhead. Compiled
/// selectors are counted in exposure/programs.h.
size_t footprint(const SriovPolicy& policy);
size_t footprint(const DeviceAttributes& object);
size_t footprint(const ExposurePolicy& policy);
/// Returns the bytes that each entry of the policy copies.
size_t footprint(const Exposure& exposure);

}  // namespace sliced::policy
