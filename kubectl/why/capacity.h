#pragma once
// How much of a device's capacities a request takes, and whether that is left: KEP-5075 as
// structured/internal/incubating/consumable_capacity.go has it.
//
// Asked of every device, shared or not, where Features::consumable_capacity is on. Only shares add up (Use::amounts).
#include <map>
#include <string>
#include <string_view>

#include "kube/objects/resource_slice.h"
#include "reactor/base/result.h"

namespace sliced::allocation {

/// In units of 10^-9, as kube::Quantity::nanos().
using Amount = __int128;
using Amounts = std::map<std::string, Amount, std::less<>>;
/// For people: "25G", "1.5", "4Mi": in the largest unit of which it is a whole number, else with decimals.
std::string describe(Amount amount);

/// What a request takes of each capacity of a device: what it asks for, rounded up to what is valid there, else the
/// default, else all.
struct Taking {
  /// Of every capacity of the device, asked for or not. Incomplete where one is asked for that it does not have.
  Amounts amounts;
  /// Why the device does not fit, however free it is: it has no such capacity, or nothing valid is as large. "" it fits.
  std::string misfit;
  std::string misfit_key;  // of the capacity
};
/// The most of a capacity that one claim can be given: the largest valid amount, else the whole value.
Amount most_of(const kube::Capacity& capacity, bool fractional_range);
/// wanted: capacity.requests of the request. What is not asked for is requestPolicy.default, else the whole value.
/// fractional_range: steps count in thousandths where min, max and step are whole numbers of those; without it,
/// and where they are none, amounts are rounded up to whole numbers first, as resource.Quantity.Value() does.
/// Errors: an amount that cannot be worked out ends the scheduler's attempt: kTooLarge beyond 64 bits, kInvalid
///         a step that is not above 0, or a negative amount. A misfit is no error: the next device is tried.
Result<Taking> taking_of(const std::map<std::string, kube::Quantity>& wanted, const kube::Device& device,
                         bool fractional_range);

/// The first capacity of which not enough is left beside what is taken already; nullptr when there is enough.
/// taking: taking_of() this device, without a misfit. taken: by name; a capacity that is not in it is not
///         compared, because taking_of() has found that the whole is enough. The pointer is into the device.
const std::string* short_of(const Taking& taking, const kube::Device& device, const Amounts& taken);

}  // namespace sliced::allocation
