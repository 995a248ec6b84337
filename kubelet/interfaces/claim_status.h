#pragma once
// ResourceClaim.status.devices: what was made of a claim's devices, for whoever looks at the claim. Only entries of our
// drivers, by server-side apply, one field manager a driver; off the way of preparing: a write that fails fails no pod.
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

/// What the API takes of `data` (resource/v1, AllocatedDeviceStatusDataMaxLength).
inline constexpr size_t kStatusDataBytesMax = 10u << 10;

/// Pool, device, share id.
using StatusKey = std::tuple<std::string, std::string, std::string>;
/// The condition Ready of each device, as a condition of the API has it: since when (RFC 3339), by key and status.
struct ReadySince {
  bool is_ready = false;
  std::string since;
  bool operator==(const ReadySince&) const = default;
};
using Ready = std::map<StatusKey, ReadySince>;
/// Returns the conditions of now. A device is ready once it is prepared, and one with a network once its interface is in a sandbox. since is
/// that of `before` where the status is the same, and else `now`. Pure.
Ready ready_of(const PreparedClaim& claim, const std::map<StatusKey, cni::Attached>& attached,
               const Ready& before, const std::string& now);
/// Returns the conditions Ready in a ResourceClaim of the API server, of one driver's devices.
Ready decode_ready(const kube::Json& claim, const std::string& driver);
/// The object to apply: for each device the condition Ready, `data` {vfConfig, cniConfig, cniResult} and, where it is in a sandbox,
/// `networkData`. What would make `data` too large is left out: cniConfig, then cniResult. Pure.
/// Devices with adminAccess are left out: they are somebody else's as well. JSON, to be applied to the
/// subresource `status`. ready: ready_of() this claim.
std::string encode_claim_status(const PreparedClaim& claim,
                                const std::map<StatusKey, cni::Attached>& attached, const Ready& ready);
/// The same with no device: what was applied before goes.
std::string encode_no_status(const PreparedClaim& claim);

/// Writes one after the other; of one claim only what is so by then. A failure is tried again, later each time; what is
/// refused, and a claim that is gone or another by now, is not. Before the first write of a claim its status is read, so that a restart
/// does not change since when its devices are ready, and writes nothing else than was there.
/// Log: why statuses are not written, once while it lasts.
/// Ownership: cluster, scheduler, log and what `prepared` asks outlive it. Dropping it drops the write under
/// way, which may still happen.
/// Waits: 0.5 s to a minute, doubling, or what the server asked for if that is longer. Nothing is written
/// twice a turn: a change while a write is on its way is one more write behind it.
/// Memory: of each claim that is prepared what its interfaces are; of each that waits a copy of the claim.
/// Threads: the loop's; nothing is sent within a call.
class ClaimStatus {
 public:
  ClaimStatus(kube::Cluster& cluster, reactor::Scheduler& scheduler, Log& log,
              std::function<const PreparedClaims&()> prepared,
              reactor::Random random = reactor::system_random());

  /// It is prepared.
  /// Nothing, where it is not prepared, or is known by its CDI spec alone: without a name there is nothing to
  /// write to.
  void tell(const PreparedKey& key);
  /// In its sandbox, or told of again after a restart; kept until the claim is released.
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
  // The oldest due comes first; the same claim again takes the place of what waited, and does not wait for a
  // backoff.
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
  std::map<PreparedKey, Ready> ready_;  // as last read or written; absent: not read yet
  // So that a write's answer ends the claim's turn only if it still says what is so.
  bool changed_since_sent_ = false;  // of the one that is being written
  std::optional<PreparedKey> writing_;
  kube::CallPtr call_;
  reactor::Ticket next_;
  LastMessage said_;
};

}  // namespace sliced::kubelet
