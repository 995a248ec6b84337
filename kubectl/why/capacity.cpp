#include "kubectl/why/capacity.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sliced::why {
namespace {

constexpr Amount kOne = 1'000'000'000;  // nanos
constexpr Amount kMilli = 1'000'000;

// Rounds up, as resource.Quantity.Value() does.
int64_t whole(Amount amount) {
  const Amount up = amount >= 0 ? (amount + kOne - 1) / kOne : -(-amount / kOne);
  return up > INT64_MAX ? INT64_MAX : static_cast<int64_t>(up);
}

// Returns nullopt if the amount cannot be represented without loss.
std::optional<int64_t> milli(Amount amount) {
  if (amount % kMilli != 0 || amount / kMilli > INT64_MAX || amount / kMilli < INT64_MIN) return std::nullopt;
  return static_cast<int64_t>(amount / kMilli);
}

struct Scale {
  int64_t min = 0, step = 0;
  bool is_milli = false;
};

Scale scale_of(const kube::ValidRange& range, bool fractional_range) {
  const auto min = milli(range.min.nanos()), step = milli(range.step->nanos());
  const bool max_fits = !range.max || milli(range.max->nanos());
  if (fractional_range && min && step && max_fits && *step >= 1) return {*min, *step, true};
  return {whole(range.min.nanos()), whole(range.step->nanos()), false};
}

Result<Amount> rounded_up(Amount wanted, const kube::ValidRange& range, bool fractional_range) {
  if (wanted < range.min.nanos()) return range.min.nanos();
  if (!range.step) return wanted;
  const Scale scale = scale_of(range, fractional_range);
  const auto fine = milli(wanted);
  if (scale.is_milli ? !fine.has_value() : wanted > Amount{INT64_MAX} * kOne)
    return Error{Errc::kTooLarge, describe(wanted) + " cannot be rounded up to a step"};
  if (scale.step <= 0) return Error{Errc::kInvalid, "a step is not above 0"};
  const Amount above = Amount{scale.is_milli ? *fine : whole(wanted)} - scale.min;
  const Amount steps = above / scale.step + (above % scale.step != 0 ? 1 : 0);
  const Amount rounded = scale.min + steps * scale.step;
  if (rounded > INT64_MAX)
    return Error{Errc::kTooLarge, describe(wanted) + " rounded up to a step is too large"};
  return rounded * (scale.is_milli ? kMilli : kOne);
}

Result<Amount> amount_of(const kube::Quantity* wanted, const kube::Capacity& capacity,
                         bool fractional_range) {
  const auto& policy = capacity.request_policy;
  if (wanted == nullptr)
    return policy && policy->default_ ? policy->default_->nanos() : capacity.value.nanos();
  if (policy && policy->valid_range)
    return rounded_up(wanted->nanos(), *policy->valid_range, fractional_range);
  if (policy)
    for (const kube::Quantity& valid : policy->valid_values)
      if (wanted->nanos() <= valid.nanos()) return valid.nanos();
  return wanted->nanos();
}

bool is_valid(Amount amount, const kube::RequestPolicy& policy, bool fractional_range) {
  if (policy.default_ && amount == policy.default_->nanos()) return true;
  if (policy.valid_range) {
    const kube::ValidRange& range = *policy.valid_range;
    if (range.max && amount > range.max->nanos()) return false;
    if (!range.step) return true;
    const Scale scale = scale_of(range, fractional_range);
    if (scale.step <= 0) return false;
    if (!scale.is_milli) return (whole(amount) - scale.min) % scale.step == 0;
    const auto fine = milli(amount);
    return fine && (*fine - scale.min) % scale.step == 0;
  }
  if (policy.valid_values.empty()) return true;
  for (const kube::Quantity& valid : policy.valid_values)
    if (amount == valid.nanos()) return true;
  return false;
}

}  // namespace

std::string describe(Amount amount) {
  if (amount < 0) return "-" + describe(-amount);
  struct Unit {
    Amount factor;
    const char* suffix;
  };
  constexpr Unit kUnits[] = {{Amount{1} << 40, "Ti"},
                             {1'000'000'000'000, "T"},
                             {Amount{1} << 30, "Gi"},
                             {1'000'000'000, "G"},
                             {Amount{1} << 20, "Mi"},
                             {1'000'000, "M"},
                             {Amount{1} << 10, "Ki"},
                             {1'000, "k"},
                             {1, ""}};
  for (const Unit& unit : kUnits)
    if (amount >= unit.factor * kOne && amount % (unit.factor * kOne) == 0)
      return std::to_string(static_cast<int64_t>(amount / (unit.factor * kOne))) + unit.suffix;
  if (amount == 0) return "0";
  std::string fraction = std::to_string(static_cast<int64_t>(kOne + amount % kOne)).substr(1);
  while (fraction.ends_with('0')) fraction.pop_back();
  return std::to_string(static_cast<int64_t>(amount / kOne)) + (fraction.empty() ? "" : "." + fraction);
}

Result<Taking> taking_of(const std::map<std::string, kube::Quantity>& wanted, const kube::Device& device,
                         bool fractional_range) {
  Taking out;
  for (const auto& [key, amount] : wanted)
    if (!device.capacity.contains(key)) {
      out.misfit = "has no capacity " + key;
      out.misfit_key = key;
      return out;
    }
  for (const auto& [key, capacity] : device.capacity) {
    const auto found = wanted.find(key);
    auto amount = amount_of(found == wanted.end() ? nullptr : &found->second, capacity, fractional_range);
    if (!amount) return std::move(amount.error()).in("capacity " + key);
    if (*amount < 0) return Error{Errc::kInvalid, "capacity " + key + ": is negative"};
    out.amounts[key] = *amount;
  }
  for (const auto& [key, capacity] : device.capacity) {
    const Amount amount = out.amounts[key];
    if (amount > capacity.value.nanos())
      out.misfit = "has " + describe(capacity.value.nanos()) + " of capacity " + key + " in all";
    else if (capacity.request_policy && !is_valid(amount, *capacity.request_policy, fractional_range))
      out.misfit = most_of(capacity, fractional_range) < amount
                       ? "gives one claim at most " + describe(most_of(capacity, fractional_range)) +
                             " of capacity " + key
                       : "gives no " + describe(amount) + " of capacity " + key + " to one claim";
    if (out.misfit.empty()) continue;
    out.misfit_key = key;
    return out;
  }
  return out;
}

Amount most_of(const kube::Capacity& capacity, bool fractional_range) {
  const Amount whole_value = capacity.value.nanos();
  const auto& policy = capacity.request_policy;
  if (!policy) return whole_value;
  Amount out = policy->default_ ? std::min(policy->default_->nanos(), whole_value) : 0;
  if (policy->valid_range) {
    const kube::ValidRange& range = *policy->valid_range;
    Amount most = range.max ? std::min(range.max->nanos(), whole_value) : whole_value;
    if (range.step) {
      const Scale scale = scale_of(range, fractional_range);
      const Amount unit = scale.is_milli ? kMilli : kOne;
      if (scale.step <= 0) return out;
      const Amount above = most / unit - scale.min;
      most = above < 0 ? 0 : (scale.min + above / scale.step * scale.step) * unit;
    }
    return std::max(out, most);
  }
  if (policy->valid_values.empty()) return whole_value;
  for (const kube::Quantity& valid : policy->valid_values)
    if (valid.nanos() <= whole_value) out = std::max(out, valid.nanos());
  return out;
}

const std::string* short_of(const Taking& taking, const kube::Device& device, const Amounts& taken) {
  for (const auto& [key, capacity] : device.capacity) {
    const auto used = taken.find(key);
    if (used == taken.end()) continue;
    if (taking.amounts.at(key) + used->second > capacity.value.nanos()) return &key;
  }
  return nullptr;
}

}  // namespace sliced::why
