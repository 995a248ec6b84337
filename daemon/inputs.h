#pragma once
// The snapshot for a decision. It is immutable, so that a worker thread can use it. Called on the loop
// thread.
#include <array>

#include "config/options.h"
#include "daemon/decider.h"
#include "daemon/pool_publisher.h"
#include "daemon/quiet_windows.h"
#include "daemon/state.h"
#include "hotplug/facts.h"
#include "kube/objects/selector.h"
#include "policy/decision.h"
#include "policy/policy_set.h"
#include "policy/readiness/track.h"
#include "publishers/reservations.h"
#include "publishers/restore.h"
#include "publishers/server_features.h"

namespace sliced::daemon {

/// Index of a driver in PoolPublishers and Plan::pools. Other folders identify drivers by name.
enum Driver : size_t { kSriov, kExposure };
using PoolPublishers = std::array<PoolPublisher, 2>;

/// The sources of a snapshot. Used during the call only.
struct SnapshotSources {
  State& state;  // its policy set is built on demand
  const config::Options& options;
  const hotplug::InventoryPtr& inventory;
  const publishers::ServerFeatures& server_features;
  const publishers::Reservations& reservations;
  const QuietWindows& settling;
  const PoolPublishers& offers;
  TimePoint now;
  const policy::QueryTimes* query_times;  // when each PF was last queried; nullptr: every known value counts
};
/// REQUIRES: all sources have synced. Copies the reserved entries; shares inventory, policies and results of
/// the last decision.
Decider::InputsPtr make_snapshot(const SnapshotSources& from);

/// Returns the slices of each driver that the API server holds, from the watches and the answers to writes.
/// Until this process writes, they show the offer of the one before. Valid as long as both arguments.
publishers::OwnSlices own_slices(const PoolPublishers& offers, const config::Options& options);

}  // namespace sliced::daemon
