#pragma once
// What a decision knows of an entry that a claim names, offered or withdrawn since. Pure.
#include <functional>
#include <optional>
#include <string>

#include "hotplug/facts.h"
#include "kubelet/plan.h"
#include "policy/decision.h"
#include "policy/holding.h"

namespace sliced::kubelet {

/// Referred to for the look-up alone: a KnownEntry holds copies.
/// What there is to know it from: the last decision, the host as it is now, and what may be allocated of the
/// exposure driver (policy::Ledger::find()).
struct EntrySources {
  const policy::Decision& decision;
  const hotplug::Inventory& inventory;
  std::function<const policy::Holding*(const std::string& pool, const std::string& entry)> holding;
};

/// nullopt: its device is not here, or the pool is another node's. An entry that no record tells of is known by
/// its name, and excludes whatever it might.
/// The device's facts are those that are decided over: of before it was bound or moved.
std::optional<KnownEntry> find_entry(const EntrySources& sources, const std::string& driver,
                                     const std::string& pool, const std::string& entry);

}  // namespace sliced::kubelet
