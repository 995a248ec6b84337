#pragma once
// How much of a device's capacities a request takes, and whether that is left: KEP-5075 as
// structured/internal/incubating/consumable_capacity.go has it.
#include <map>
#include <string>
#include <string_view>

#include "kube/resource_slice.h"
#include "reactor/base/result.h"

namespace sliced::allocation {

/// In units of 10^-9, as kube::Quantity::nanos().
using Amount = __int128;
using Amounts = std::map<std::string, Amount, std::less<>>;
/// For people: "25G", "1.5", "4Mi".
std::string describe(Amount amount);

/// What a request takes of each capacity of a device: what it asks for, rounded up to what is valid there, else the
/// default, else all.
struct Taking {
  Amounts amounts;
  /// Why the device does not fit, however free it is: it has no such capacity, or nothing valid is as large. "" it fits.
  std::string misfit;
  std::string misfit_key;  // of the capacity
};
/// Errors: an amount that cannot be worked out ends the scheduler's attempt.
Result<Taking> taking_of(const std::map<std::string, kube::Quantity>& wanted, const kube::Device& device,
                         bool fractional_range);

/// The first capacity of which not enough is left beside what is taken already; nullptr when there is enough.
const std::string* short_of(const Taking& taking, const kube::Device& device, const Amounts& taken);

}  // namespace sliced::allocation
