#pragma once
// Sets binding conditions (KEP-5007) in the status of ResourceClaims. When the scheduler has allocated a
// device of this node and reserved the claim for a pod, it binds the pod only if the conditions that the
// entry names are True. If the failure condition is True, the scheduler releases the allocation and allocates
// another device.
//
// Claims are as many as pods, and a watch cannot select them by node. So they are watched only if entries
// have such conditions.
//
// Ownership: ports and the objects that the functions refer to outlive this object. Destroying it ends the
// watch and drops a running write.
// Threads:   the loop's. No function calls back before it returns.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/client/ports.h"
#include "kube/objects/json.h"
#include "reactor/backoff.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/scheduler.h"
#include "watchers/list_watch.h"

namespace sliced::daemon {

/// A condition in status.devices.
struct ClaimCondition {
  bool is_true = false;
  std::string since, reason, message;  // since: RFC 3339
  bool operator==(const ClaimCondition&) const = default;
};

/// An allocated device with binding conditions.
struct BindingDevice {
  std::string driver, pool, device, share_id;
  std::map<std::string, ClaimCondition> conditions;  // of the types of our driver; absent: not set yet
  bool operator==(const BindingDevice&) const = default;
};

struct BindingClaim {
  std::string namespace_, name, uid;
  std::vector<BindingDevice> devices;  // of our drivers, with binding conditions
  bool operator==(const BindingClaim&) const = default;
};
/// Reads the devices of these drivers whose allocation has our binding conditions. Pure; values of a wrong
/// form are ignored.
BindingClaim decode_binding_claim(const kube::Json& claim, const std::set<std::string>& drivers);

/// Whether the pod that has the device may be bound.
struct BindingReadiness {
  enum class Is : uint8_t {
    kReady,    // the pod may be bound
    kWaiting,  // not yet
    kLost,     // it is no longer offered: the scheduler must allocate another device
  };
  Is is = Is::kReady;
  std::string why;  // "": it is ready
};
/// Returns nullopt if the device is another node's, or nothing is known yet: no condition is written.
using JudgeDevice = std::function<std::optional<BindingReadiness>(const BindingDevice& device)>;

/// Returns the claim with the devices of one driver and the conditions that they must have; nullopt if they
/// have them. now: RFC 3339.
std::optional<BindingClaim> with_conditions(const BindingClaim& claim, const std::string& driver,
                                            const JudgeDevice& judge, const std::string& now);
/// Returns the object to apply to the subresource `status`.
std::string encode_conditions(const BindingClaim& claim);

/// Log: the reason why conditions are not written, once while it lasts.
/// Waits: a failed write is repeated after 0.5 s to 30 s, doubling; a refused one at the next look(), or
/// after the claim has changed.
/// Memory: the devices of each claim that has our binding conditions.
/// Permissions: list and watch of resourceclaims, and those of kubelet::ClaimStatus.
class BindingConditions final : private watchers::ObjectSink {
 public:
  struct Dependencies {
    kube::ClusterPorts ports;
    std::set<std::string> drivers;
    JudgeDevice judge;
    /// Returns true if a device of the claim is prepared: its pod is bound, and its conditions are not
    /// written again.
    std::function<bool(const std::string& driver, const std::string& uid)> is_prepared;
  };
  explicit BindingConditions(Dependencies deps);

  /// Begins the watch. Later calls have no effect.
  void start();
  bool is_started() const { return watch_ != nullptr; }
  /// Called after each decision. Judges all devices again.
  void look();
  /// Number of known claims.
  size_t claims() const { return claims_.size(); }

 private:
  using Id = std::pair<std::string, std::string>;  // namespace, name
  using Key = std::pair<Id, std::string>;          // and the driver
  using Claims = std::map<Id, BindingClaim>;
  struct Due {
    TimePoint at{};
    reactor::Backoff backoff;
  };

  // watchers::ObjectSink
  void collect(const watchers::ObjectHead& head, std::string_view object) override;
  void uncollect(const watchers::ObjectHead& head) override;
  void abandon() override;
  size_t collected() const override { return collected_.size(); }
  bool knows(const watchers::ObjectHead& head) const override;
  size_t commit(const std::string& why, bool is_confirming) override;
  void lose_all(const std::string& why) override;
  void changed(const watchers::ObjectHead& head, std::string_view object) override;
  void removed(const watchers::ObjectHead& head) override;
  void sync_state_changed(const watchers::SyncState&) override {}

  void put(Claims& claims, const watchers::ObjectHead& head, std::string_view object) const;
  std::optional<BindingClaim> wanted(const Key& key) const;
  void look_at(const Id& id);
  void arm();
  void write_next();
  void on_written(const Key& key, const BindingClaim& sent);
  void on_failure(const Key& key, const kube::Failure& failure);

  const Dependencies deps_;
  Claims claims_, collected_;
  std::map<Key, Due> due_;
  std::optional<Key> writing_;
  kube::CallPtr call_;
  reactor::Ticket next_;
  LastMessage last_problem_;
  std::unique_ptr<watchers::ListWatch> watch_;
};

}  // namespace sliced::daemon
