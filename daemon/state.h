#pragma once
// The daemon's state, except for parts with their own: the inventory (PinnedHost), published slices
// (PoolPublisher), reserved entries (publishers::Reservations), API server features
// (publishers::ServerFeatures).
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/own_node.h"
#include "daemon/policy_book.h"
#include "policy/decision.h"
#include "policy/readiness/track.h"

namespace sliced::daemon {

/// Sources fill it on the loop thread. A decision is made from a snapshot (make_snapshot) and is stored here
/// when it is applied.
struct State {
  /// Grows with each change of an input of decisions.
  uint64_t version = 0;
  /// The version of the newest change that may withhold devices: an exclude, or the Node.
  uint64_t restricted_version = 0;

  OwnNode node;
  PolicyBook policies;
  policy::ReadinessBook readiness;
  std::string unconfigured;                          // the missing part of the configuration; "" if none
  policy::NotReturnedDevices not_returned;           // devices that the kubelet plugin could not return
  std::shared_ptr<const policy::Decision> decision;  // without its pools; nullptr before the first
};

}  // namespace sliced::daemon
