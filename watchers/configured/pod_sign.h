#pragma once
// The own pod's annotation as a sign: it is set, and once somebody has taken it away the node is configured. The
// protocol of the SR-IOV network operator's device plugin (k8snetworkplumbingwg/sriov-network-operator,
// cmd/sriov-network-config-daemon/waitforconfig.go): ten tries from 1 s to 30 s, a watch of that pod alone, and a look
// every 30 s beside it.
//
//   start ─▶ [read: waited in this boot?] ─▶ set ─▶ watch, and read every 30 s ─▶ the key is gone: seen
//
// Only a read of that very pod that the server answers from what is stored ends the wait: a watch may be of a time before the
// annotation was set, and says only that it is time to look.
#include <memory>
#include <string>
#include <string_view>

#include "kube/client/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "watchers/configured/sign.h"
#include "watchers/watched_source.h"

namespace sliced::configured {

/// Its presence counts, not its value.
inline constexpr std::string_view kWaitAnnotation = "sriovnetwork.openshift.io/device-plugin-wait-config";
/// Beside it, by who goes on after the wait: the boot in which it waited, so that a container that is started again
/// in the same pod and boot need not be let go a second time.
inline constexpr std::string_view kWaitBootAnnotation = "dra.networking/wait-config-boot-id";

/// What a pod's metadata says of the wait.
struct PodWait {
  bool waits = false;   // the annotation is there
  std::string boot_id;  // of kWaitBootAnnotation; "" none
  std::string name, namespace_, uid;
  bool operator==(const PodWait&) const = default;
};
/// object: a Pod, or its metadata alone (PartialObjectMetadata). Errors: kInvalid for what is no object with
///         a name; kube/objects/json.h's.
Result<PodWait> decode_pod_wait(std::string_view object);

/// Permissions: patch and get on the pod; list and watch make it quicker, and are not needed.
/// Log:         each failed try, what is waited for, and that it is over.
/// Steps:       with a boot_id the pod is read first, and not set again where it waited, or was let go, in
///              this boot. A try waits 1 s, doubling up to 30 s, or as long as Retry-After says.
class PodSign final : public Sign {
 public:
  struct Settings {
    std::string namespace_, pod;
    /// Tries to set it, and reads in a row that are refused for want of permission; 0: for ever.
    int tries_max = 10;
    /// Noted beside the annotation, and asked for before it is set; "": it is set whatever was before.
    std::string boot_id = {};
    /// Of this pod; "": that of the first answer. A pod of the same name with another UID is not this one: its annotation
    /// says nothing of this wait, which is then given up.
    std::string uid = {};
  };

  PodSign(kube::Ports ports, Settings settings, OnChange on_change);
  ~PodSign() override;

  void start() override;
  bool is_seen() const override { return is_seen_; }
  const std::string& awaited() const override { return awaited_; }
  const std::string& given_up() const override { return given_up_; }

 private:
  using Watcher = watchers::WatchedSource<PodWait>;

  // Whether it has waited in this boot already.
  void recall();
  void set();
  // The next try of a step that failed, or the end of all tries.
  void try_again(const kube::Failure& failure, std::string_view step, void (PodSign::*again)());
  void begin_wait();
  void on_event(const SourceEvent<Watcher::Item>& event);
  // Now, or once the one that is under way is over.
  void look();
  // What a read or a write was answered with: an error where that is another object.
  Result<PodWait> own(std::string_view object);
  void on_set(std::string_view object);
  void on_looked(const Result<PodWait>& found);
  void on_look_failed(const kube::Failure& failure);
  void look_after(Millis delay);
  void see(std::string_view why);
  void give_up(std::string why);
  void await(std::string what);
  std::string pod() const { return "pod " + settings_.namespace_ + "/" + settings_.pod; }
  std::string remedy(const kube::Failure& failure, std::string_view verbs) const;

  kube::Ports ports_;
  const Settings settings_;
  const OnChange on_change_;
  CallbackGuard callbacks_{"PodSign"};
  reactor::Backoff backoff_;
  int failed_ = 0;  // in a row, of the step at hand
  bool is_seen_ = false, looks_again_ = false;
  std::string awaited_, given_up_;
  std::string uid_;       // of this pod; "" not known yet
  std::string replaced_;  // why the pod of this name is another one; "" it is not known to be
  kube::CallPtr call_;
  reactor::Ticket timer_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace sliced::configured
