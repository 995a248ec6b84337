#pragma once
// ResourceClaim.status.devices: what was made of a claim's devices, for whoever looks at the claim. Only entries of our
// drivers, by server-side apply, one field manager a driver; off the way of preparing: a write that fails fails no pod.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "kube/cluster.h"
#include "kubelet/interfaces/sandboxes.h"
#include "kubelet/prepared.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/base/said_once.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// What the API takes of `data` (resource/v1, AllocatedDeviceStatusDataMaxLength).
inline constexpr size_t kStatusDataBytesMax = 10u << 10;

/// Pool, device, share id.
using StatusKey = std::tuple<std::string, std::string, std::string>;
/// The object to apply: for each device `data` {vfConfig, cniConfig, cniResult} and, where it is in a sandbox,
/// `networkData`. What would make `data` too large is left out: cniConfig, then cniResult. Pure.
std::string encode_claim_status(const PreparedClaim& claim,
                                const std::map<StatusKey, cni::Attached>& attached);
/// The same with no device: what was applied before goes.
std::string encode_no_status(const PreparedClaim& claim);

/// Writes one after the other; of one claim only what is so by then. A failure is tried again, later each time; what is
/// refused, and a claim that is gone or another by now, is not.
/// Log: why statuses are not written, once while it lasts.
class ClaimStatus {
 public:
  ClaimStatus(kube::Cluster& cluster, reactor::Scheduler& scheduler, Log& log,
              std::function<const PreparedClaims&()> prepared,
              reactor::Random random = reactor::system_random());

  /// It is prepared.
  void tell(const PreparedKey& key);
  void attached(const AttachedInterface& interface);
  /// It is prepared no more. A claim that outlives its pod says nothing of it to the next one.
  void released(const PreparedClaim& claim);
  bool idle() const { return waiting_.empty(); }

 private:
  struct Waiting {
    PreparedClaim claim;  // as it was last known
    reactor::Backoff backoff;
    TimePoint due{};
  };
  void enqueue(const PreparedClaim& claim);
  void look();
  void write(const PreparedKey& key, const Waiting& one);
  void on_failure(const PreparedKey& key, const kube::Failure& failure);

  kube::Cluster& cluster_;
  reactor::Scheduler& scheduler_;
  Log& log_;
  const std::function<const PreparedClaims&()> prepared_;
  const reactor::Random random_;
  std::map<PreparedKey, Waiting> waiting_;
  std::map<PreparedKey, std::map<StatusKey, cni::Attached>> attached_;
  bool changed_since_sent_ = false;  // of the one that is being written
  std::optional<PreparedKey> writing_;
  kube::CallPtr call_;
  reactor::Ticket next_;
  SaidLast said_;
};

}  // namespace sliced::kubelet
