#pragma once
// Looks up the device entry of a claim, offered or withdrawn, in the current decision. Pure.
#include <functional>
#include <optional>
#include <string>

#include "hotplug/facts.h"
#include "kubelet/plan.h"
#include "policy/decision.h"
#include "policy/holding.h"

namespace sliced::kubelet {

/// Sources of the look-up: the last decision, the current inventory, and the ledger of entries that may be
/// allocated (policy::Ledger::find()). Must outlive the look-up only; a KnownEntry holds copies.
struct EntrySources {
  const policy::Decision& decision;
  const hotplug::Inventory& inventory;
  std::function<const policy::Holding*(const std::string& pool, const std::string& entry)> holding;
};

/// Returns nullopt if the device is not on this node, or the pool is another node's. An entry without a
/// record is identified by its name, and counts as excluding every persona that it may exclude. The device's
/// facts are the pinned ones: from before it was bound or moved.
std::optional<KnownEntry> find_entry(const EntrySources& sources, const std::string& driver,
                                     const std::string& pool, const std::string& entry);

}  // namespace sliced::kubelet
