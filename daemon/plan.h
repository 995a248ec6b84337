#pragma once
// The consequences of a decision, as values. make_plan() is pure; Daemon::apply() executes the plan.
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/inputs.h"
#include "hotplug/facts.h"
#include "policy/decision.h"
#include "policy/offer_change.h"
#include "reactor/base/time.h"

namespace sliced::daemon {

struct Plan {
  /// For one driver.
  struct Pools {
    std::vector<policy::DesiredPool> desired;
    /// Not published yet: the pods of this node are read first, and no slice exists that consumers could see.
    bool is_deferred = false;
    /// The first decision of the process, which is logged even if nothing is offered; for
    /// DeviceExposurePolicies only if something is.
    bool is_first = false;
    std::optional<policy::OfferDifference> difference;  // from the former pools; nullopt: nothing to report
    std::vector<policy::OfferChange> changes;           // the difference by policy
  };
  std::string why;                                   // the changes that led to the decision
  std::shared_ptr<const policy::Decision> decision;  // without its pools
  std::array<Pools, 2> pools;                        // by Driver
  std::set<hotplug::PciAddress> query_again;         // PFs to poll until they answer as awaited
  std::set<hotplug::PciAddress> query_now;           // PFs to be queried once
  std::vector<Shared<policy::ExposurePolicy>>
      selecting_by_mac;                // policies that read the MAC address that a PF enforces
  std::optional<TimePoint> decide_at;  // when a device will have been ready for long enough
  bool decide_again = false;           // the next decision offers entries that this one could not yet
  bool awaits_claims = false;          // the next decision follows after the pods of this node were read

  bool is_changed() const { return pools[kSriov].difference || pools[kExposure].difference; }
};

/// Further inputs of a plan. Used during the call only.
struct PlanContext {
  const policy::Decision* before = nullptr;  // nullptr: none
  const PoolPublishers& offers;
  const std::string& node_name;
  const hotplug::Inventory& inventory;
  bool are_pods_being_read = false;
  std::set<hotplug::PciAddress> out_of_sync;  // PFs that do not match an awaited SriovNetworkNodeState
  const std::vector<Shared<policy::ExposurePolicy>>& selecting_by_mac;  // of the last plan
};
Plan make_plan(policy::Decision decision, std::string why, PlanContext context);

}  // namespace sliced::daemon
