#pragma once
// Finds out which optional features of ResourceSlices the API server supports, by creating a slice as a dry
// run (dryRun=All, strict validation): a server without the feature gate refuses it, or returns it without
// the field. Probes only features that want() asked for; an unknown feature counts as unsupported.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "kube/objects/resource_slice.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// Each means fields of ResourceSlice (resource/v1) that a server without the gate drops or refuses.
enum class ServerFeature {
  kListAttributes,  // gate DRAListTypeAttributes (1.36 alpha)
  /// The server stores counters (gate DRAPartitionableDevices), and kube-scheduler adds them up correctly
  /// (1.36.2 and later). Without scheduler_version the scheduler is assumed to have the server's version.
  kCounters,
  kSharedDevices,       // allowMultipleAllocations and request policies (gate DRAConsumableCapacity)
  kSkipNodeOperations,  // gate DRAOptionalNodeOperations (1.37 alpha)
  /// For consumed counters, with kCounters (gate DRADeviceCompatibilityGroups, 1.37 alpha). A kube-scheduler
  /// without the gate allocates nothing from a pool that has them.
  kCompatibilityGroups,
  /// For devices (gates DRADeviceBindingConditions, 1.36 beta, and DRAResourceClaimDeviceStatus). A
  /// kube-scheduler without them allocates no device that has any.
  kBindingConditions,
};

/// REQUIRES: `ports` must outlive this object. Destroying it cancels a running probe; a probe stores nothing.
/// A failed probe, or one that admission control refuses, is repeated with growing delays.
/// Logs each feature when it becomes known or is lost. Loop thread only.
class ServerFeatures {
 public:
  /// How long settled() waits for the first answers. Without it a restart would publish slices without the
  /// features, and rewrite them a moment later.
  static constexpr Millis kAnswerMax{5'000};

  /// scheduler_version: of kube-scheduler; "" if it is the server's. on_changed: a feature became known, was
  /// lost, or kAnswerMax has passed.
  ServerFeatures(kube::ClusterPorts ports, std::string driver, std::string node,
                 std::string scheduler_version, std::function<void()> on_changed);

  /// Starts a probe unless the answer is known or a probe runs. The feature is probed again on each server
  /// change.
  void want(ServerFeature feature);
  /// Returns the last answer, also while another server is probed; false if there is none.
  bool has(ServerFeature feature) const;
  /// Returns true if every wanted feature has an answer, or kAnswerMax has passed.
  bool settled() const;
  /// A stored slice lacks the feature: has() returns false until the server's version changes.
  void lost(ServerFeature feature);

  /// Called after the server was unreachable or slices were listed again. Reads /version and probes again if
  /// it differs, with growing delays if it keeps changing. A version whose scheduler does not add up counters
  /// ends kCounters immediately.
  void server_may_have_changed();

 private:
  std::optional<ServerFeature> next_to_probe() const;
  void adopt_server();
  void probe_next();
  void read_version();
  void probe(ServerFeature feature, size_t step);
  bool is_counting() const;
  void conclude(ServerFeature feature, bool is_supported);
  void set_answer(ServerFeature feature, bool is_supported);
  void notify();
  void retry(const kube::Failure& failure);

  kube::ClusterPorts ports_;
  const std::string driver_, node_, scheduler_version_;
  const std::function<void()> on_changed_;
  CallbackGuard callbacks_{"ServerFeatures"};
  struct FeatureState {
    std::optional<bool> answer;  // valid until there is a newer one
    bool is_current = false;     // from the present server
  };
  std::map<ServerFeature, FeatureState> wanted_;
  bool is_changed_ = false;  // an answer has changed since the last on_changed
  std::string version_;      // of the server that was probed
  std::string denied_;       // admission control's refusal of the last probe; "": none
  kube::CallPtr call_;
  reactor::Ticket retry_, give_up_;
  bool has_given_up_ = false;
  reactor::Backoff backoff_;
  reactor::Backoff other_servers_;  // between probes of servers of different versions
  TimePoint not_before_{};
};

/// Returns the features whose fields were sent and are not in the stored slice.
std::set<ServerFeature> dropped_features(const kube::ResourceSlice& sent, const kube::ResourceSlice& stored);

/// Returns true if the scheduler of that version ("v1.36.2+k3s1") adds up counters correctly.
bool has_counting_scheduler(std::string_view git_version);

}  // namespace sliced::publishers
