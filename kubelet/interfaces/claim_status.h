#pragma once
// Writes ResourceClaim.status.devices: information about a claim's devices for users. Contains only entries
// of sliced's drivers, by server-side apply with one field manager per driver. A failed write does not affect
// the pod.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "kube/objects/cluster.h"
#include "kubelet/interfaces/sandboxes.h"
#include "kubelet/prepared.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// The API's limit of `data` (resource/v1, AllocatedDeviceStatusDataMaxLength).
inline constexpr size_t kStatusDataBytesMax = 10u << 10;

/// Pool, device, share id.
using StatusKey = std::tuple<std::string, std::string, std::string>;
/// The condition Ready of each device (metav1.Condition). since: lastTransitionTime (RFC 3339).
struct ReadySince {
  bool is_ready = false;
  std::string since;
  bool operator==(const ReadySince&) const = default;
};
using Ready = std::map<StatusKey, ReadySince>;
/// Returns the current conditions. A device is ready when it is prepared; one with a network when its
/// interface is in a sandbox. since is that of `before` if the status is unchanged, otherwise `now`. Pure.
Ready ready_of(const PreparedClaim& claim, const std::map<StatusKey, cni::Attached>& attached,
               const Ready& before, const std::string& now);
/// Returns the conditions Ready of one driver's devices in a ResourceClaim of the API server.
Ready decode_ready(const kube::Json& claim, const std::string& driver);
/// Returns the object to apply to the subresource `status`, as JSON: for each device the condition Ready,
/// `data` {vfConfig, cniConfig, cniResult} and, if it is in a sandbox, `networkData`. If `data` is too large,
/// it omits cniConfig, then cniResult. Devices with adminAccess are omitted, because other claims hold them
/// too. ready: ready_of() of this claim. Pure.
std::string encode_claim_status(const PreparedClaim& claim,
                                const std::map<StatusKey, cni::Attached>& attached, const Ready& ready);
/// Returns the same without devices, which removes everything that was applied before.
std::string encode_no_status(const PreparedClaim& claim);

/// Writes one claim after the other, each with its current state. A failed write is retried with backoff. A
/// refusal is not retried, nor a claim that was deleted or replaced. Before the first write of a claim its
/// status is read, so that a restart keeps the transition times and rewrites only changes.
/// Log: why statuses are not written, once while it lasts.
/// Ownership: cluster, scheduler, log and the source of `prepared` outlive this object. Its destruction
/// cancels the current write, which may still happen.
/// Waits: 0.5 s to a minute, doubling, or the server's Retry-After if that is longer. A change during a write
/// causes one more write.
/// Memory: the interfaces of each prepared claim; a copy of each waiting claim.
/// Threads: the loop's; nothing is sent within a call.
class ClaimStatus {
 public:
  ClaimStatus(kube::Cluster& cluster, reactor::Scheduler& scheduler, Log& log,
              std::function<const PreparedClaims&()> prepared,
              reactor::Random random = reactor::system_random());

  /// Schedules a write of the claim's current status. Requires: called after the claim was prepared. Does
  /// nothing for a claim that is not prepared, or whose record is from its CDI spec and has no name.
  void tell(const PreparedKey& key);
  /// Stores the interface of a sandbox, also when it is reported again after a restart; kept until the claim
  /// is released.
  void attached(const AttachedInterface& interface);
  /// Removes the entries of a claim that is no longer prepared, so that a claim that outlives its pod does
  /// not show them to the next one.
  void released(const PreparedClaim& claim);
  bool idle() const { return waiting_.empty(); }

 private:
  struct Waiting {
    PreparedClaim claim;  // last known state
    reactor::Backoff backoff;
    TimePoint due{};
  };
  // The claim with the earliest due time is written first. A claim that already waits is replaced, and its
  // backoff ends.
  void enqueue(const PreparedClaim& claim);
  void look();
  void read_status(const PreparedKey& key, const Waiting& one);
  void write(const PreparedKey& key, const Waiting& one);
  void on_failure(const PreparedKey& key, const kube::Failure& failure);

  kube::Cluster& cluster_;
  reactor::Scheduler& scheduler_;
  Log& log_;
  const std::function<const PreparedClaims&()> prepared_;
  const reactor::Random random_;
  std::map<PreparedKey, Waiting> waiting_;
  std::map<PreparedKey, std::map<StatusKey, cni::Attached>> attached_;
  std::map<PreparedKey, Ready> ready_;  // as last read or written; missing: not read yet
  // The claim is done after a write only if it has not changed since it was sent.
  bool changed_since_sent_ = false;  // of the claim that is being written
  std::optional<PreparedKey> writing_;
  kube::CallPtr call_;
  reactor::Ticket next_;
  LastMessage last_problem_;
};

}  // namespace sliced::kubelet
