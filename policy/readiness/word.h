#pragma once
// What of PFs' word policies ask, and when it was told: for gates/pf_word.h.
#include <map>
#include <memory>
#include <string>

#include "hotplug/facts.h"
#include "policy/readiness/readiness.h"
#include "reactor/base/flat_map.h"
#include "reactor/base/time.h"

namespace sliced::policy {

/// What of PFs' word policies require of a device, and since when all of it.
struct AskedOfPf {
  ConditionSet conditions;
  TimePoint since{};
  bool operator==(const AskedOfPf&) const = default;
};
using AskedOfPfs = FlatMap<std::string, AskedOfPf>;  // by host device id
using AskedOfPfsPtr = std::shared_ptr<const AskedOfPfs>;
/// When the last question to each PF began that it has answered.
using QueryTimes = std::map<hotplug::PciAddress, TimePoint>;

}  // namespace sliced::policy
