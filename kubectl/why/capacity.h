#pragma once
// Computes the consumed capacities of a request on a device, and whether enough is left: KEP-5075 as in
// structured/internal/incubating/consumable_capacity.go. Applies to every device, shared or not, if
// Features::consumable_capacity is on. Only shares add up (Use::amounts).
#include <map>
#include <string>
#include <string_view>

#include "kube/objects/resource_slice.h"
#include "reactor/base/result.h"

namespace sliced::why {

/// In units of 10^-9, as kube::Quantity::nanos().
using Amount = __int128;
using Amounts = std::map<std::string, Amount, std::less<>>;
/// Returns "25G", "1.5", "4Mi" for people: a whole number of the largest possible unit, otherwise decimals.
std::string describe(Amount amount);

/// The consumption of each capacity of a device: the requested amount, rounded up to a valid one; otherwise
/// the default; otherwise the whole value.
struct Taking {
  /// For every capacity of the device. Incomplete if a capacity is requested that it lacks.
  Amounts amounts;
  /// Why the device never fits: it lacks the capacity, or no valid amount is large enough. "" if it fits.
  std::string misfit;
  std::string misfit_key;  // of the capacity
};
/// Returns the maximum of a capacity for one claim: the largest valid amount, otherwise the whole value.
Amount most_of(const kube::Capacity& capacity, bool fractional_range);
/// wanted: capacity.requests of the request. A capacity that is not requested counts with
/// requestPolicy.default, otherwise with the whole value. fractional_range: steps are computed in thousandths
/// if min, max and step are whole numbers of these; otherwise amounts are rounded up to whole numbers first,
/// as by resource.Quantity.Value().
/// Errors: an amount that cannot be computed ends the scheduler's attempt: kTooLarge beyond 64 bits, kInvalid
/// for a step that is not above 0, or a negative amount. A misfit is not an error: the next device is tried.
Result<Taking> taking_of(const std::map<std::string, kube::Quantity>& wanted, const kube::Device& device,
                         bool fractional_range);

/// Returns the first capacity without enough left; nullptr if there is enough. taking: taking_of() this
/// device, without a misfit. taken: by name; a missing capacity is not compared, because taking_of() has
/// checked the whole value. The pointer is into the device.
const std::string* short_of(const Taking& taking, const kube::Device& device, const Amounts& taken);

}  // namespace sliced::why
