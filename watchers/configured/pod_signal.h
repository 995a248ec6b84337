#pragma once
// The own pod's annotation as the signal: the daemon sets it, and the node is configured when another program
// removes it. The protocol of the SR-IOV network operator's device plugin
// (k8snetworkplumbingwg/sriov-network-operator, cmd/sriov-network-config-daemon/waitforconfig.go): ten
// attempts with delays from 1 s to 30 s, a watch of that pod, and a read every 30 s.
//
//   start ─▶ [read: waited in this boot?] ─▶ set ─▶ watch, read every 30 s ─▶ key removed: signal
//
// Only a consistent read of that pod ends the wait. A watch may show a state from before the annotation was
// set, so it only causes a read.
#include <memory>
#include <string>
#include <string_view>

#include "kube/client/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "watchers/configured/signal.h"
#include "watchers/watched_source.h"

namespace sliced::configured {

/// Its presence counts, not its value.
inline constexpr std::string_view kWaitAnnotation = "sriovnetwork.openshift.io/device-plugin-wait-config";
/// Set beside it by the daemon: the boot in which it waited, so that a restarted container in the same pod
/// and boot need not wait again.
inline constexpr std::string_view kWaitBootAnnotation = "dra.networking/wait-config-boot-id";

/// The state of the wait in a pod's metadata.
struct PodWait {
  bool waits = false;   // the annotation exists
  std::string boot_id;  // of kWaitBootAnnotation; "" if absent
  std::string name, namespace_, uid;
  bool operator==(const PodWait&) const = default;
};
/// object: a Pod, or its metadata (PartialObjectMetadata). Errors: kInvalid if it is not an object with a
/// name; those of kube/objects/json.h.
Result<PodWait> decode_pod_wait(std::string_view object);

/// Permissions: patch and get on the pod; list and watch accelerate it and are optional.
/// Log:         each failed attempt, the missing signal, and its arrival.
/// Steps:       with a boot_id the pod is read first. The annotation is not set again if it waited, or was
/// released, in this boot. Delays between attempts are 1 s, doubling up to 30 s, or Retry-After.
class PodSignal final : public ConfiguredSignal {
 public:
  struct Settings {
    std::string namespace_, pod;
    /// Limit of attempts to set it, and of consecutive reads that are denied; 0: unlimited.
    int tries_max = 10;
    /// Stored beside the annotation, and read before it is set; "": always set.
    std::string boot_id = {};
    /// UID of this pod; "": that of the first answer. A pod of the same name with another UID is a different
    /// one: the wait then fails.
    std::string uid = {};
  };

  PodSignal(kube::ClusterPorts ports, Settings settings, OnChange on_change);
  ~PodSignal() override;

  void start() override;
  bool is_seen() const override { return is_seen_; }
  const std::string& awaited() const override { return awaited_; }
  const std::string& given_up() const override { return given_up_; }

 private:
  using Watcher = watchers::WatchedSource<PodWait>;

  // Reads whether it has waited in this boot.
  void read_own_pod();
  void set();
  // Schedules the next attempt of a failed step, or ends the attempts.
  void try_again(const kube::Failure& failure, std::string_view step, void (PodSignal::*again)());
  void begin_wait();
  void on_event(const SourceEvent<Watcher::Item>& event);
  // Reads now, or after the running read.
  void check_pod();
  // Returns the pod of an answer; an error for another object.
  Result<PodWait> own(std::string_view object);
  void on_set(std::string_view object);
  void on_pod_read(const Result<PodWait>& found);
  void on_pod_read_failed(const kube::Failure& failure);
  void schedule_check(Millis delay);
  void mark_seen(std::string_view why);
  void give_up(std::string why);
  void await(std::string what);
  std::string pod() const { return "pod " + settings_.namespace_ + "/" + settings_.pod; }
  std::string remedy(const kube::Failure& failure, std::string_view verbs) const;

  kube::ClusterPorts ports_;
  const Settings settings_;
  const OnChange on_change_;
  CallbackGuard callbacks_{"PodSign"};
  reactor::Backoff backoff_;
  int failed_ = 0;  // consecutive failures of the present step
  bool is_seen_ = false, must_recheck_ = false;
  std::string awaited_, given_up_;
  std::string uid_;       // of this pod; "" if unknown
  std::string replaced_;  // why the pod of this name is a different one; "" if not known to be
  kube::CallPtr call_;
  reactor::Ticket timer_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace sliced::configured
