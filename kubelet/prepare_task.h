#pragma once
// One call of the kubelet, or several of the same, on its way through the steps of the preparer (kubelet/preparer.h).
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kube/objects/cluster.h"
#include "kubelet/claim.h"
#include "kubelet/original_settings.h"
#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "kubelet/preparer_port.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

inline constexpr const char* kKernelSilent =
    "the kernel does not answer for its devices; the kubelet retries";

/// Whether any of its devices is, or is to be, on vfio-pci.
/// A wish counts: also before anything is bound.
bool is_bound(const PreparedClaim& claim);
/// In the claim's order, as the answers of Binder are.
std::vector<PreparedDevice> bound_devices(const PreparedClaim& claim);
/// For the log.
std::string names_of(const PreparedClaim& claim);

class ClaimPreparer;
struct PrepareTask;
/// Does its part, and ends in advance(), give_up() or end().
using PrepareStep = void (ClaimPreparer::*)(PrepareTask&);

/// Ownership: the preparer's, in the queue of its claim, until end(). Dropping it drops what is under way, and nobody is
///            called back.
/// Threads:   the loop's, but for `found`, which the job of a step fills: it is shared with the worker, who may outlive
///            the task, and read once the job has finished.
/// A call that comes while the same is being done joins it: all are given one answer.
struct PrepareTask {
  bool is_prepare;
  std::string driver;
  PrepareRequest request;
  std::vector<std::function<void(PrepareAnswer)>> done;  // of each call that asks for the same

  std::span<const PrepareStep> steps = {};  // that are left, the one that runs is not among them
  // What is under way for the step that runs.
  reactor::Ticket turn = {};
  kube::CallPtr call = {};
  std::unique_ptr<reactor::Job> job = {};

  Claim asked = {};  // as the API server has it
  PreparedClaim claim = {};
  std::vector<KnownEntry> known = {};        // by device of the claim
  std::optional<PreparedClaim> before = {};  // its record, as it was found
  // What workers found out, by device.
  struct Found {
    std::vector<Result<HostLook>> looks;
    std::vector<Result<OriginalSettings>> settings;  // kNotFound: nothing is to be kept
    std::vector<Result<RestoredSettings>> restored;  // by kept device of the claim, in order
  };
  std::shared_ptr<Found> found = std::make_shared<Found>();

  // What has been done, and has to be undone where a later step gives up: kReserved is known to this process alone
  // and forgotten; kOnDisk may have changed the node, and goes through the steps of unprepare.
  enum class Hold { kNothing, kReserved, kOnDisk };
  Hold hold = Hold::kNothing;
  /// Its earlier record is taken back first: what is prepared then, and the steps that follow.
  std::optional<PreparedClaim> next = {};
  std::span<const PrepareStep> next_steps = {};
  std::string given_up;  // why it is being taken back; "" it is not

  PreparedKey key() const { return {driver, request.uid}; }
};

}  // namespace sliced::kubelet
