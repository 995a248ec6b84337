#pragma once
// The VF settings of PFs that policies require, and the times of the queries: for gates/stale_conditions.h.
#include <map>
#include <memory>
#include <string>

#include "hotplug/facts.h"
#include "policy/readiness/readiness.h"
#include "reactor/base/flat_map.h"
#include "reactor/base/time.h"

namespace sliced::policy {

/// Conditions of a device that depend on VF settings of its PF, and the time since which a policy requires
/// all of them.
struct PfQuery {
  ConditionSet conditions;
  TimePoint since{};
  bool operator==(const PfQuery&) const = default;
};
using PfQueries = FlatMap<std::string, PfQuery>;  // by host device id
using PfQueriesPtr = std::shared_ptr<const PfQueries>;
/// Start of the last answered query of each PF.
using QueryTimes = std::map<hotplug::PciAddress, TimePoint>;

}  // namespace sliced::policy
