#pragma once
// One call of the kubelet, or several equal ones, on its way through the preparer's steps
// (kubelet/preparer.h).
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

inline constexpr const char* kKernelTimeout =
    "the kernel does not answer for its devices; the kubelet retries";

/// Returns whether any of its devices is bound to vfio-pci, or will be.
bool is_bound(const PreparedClaim& claim);
/// Returns them in the claim's order, which is that of the results of Binder.
std::vector<PreparedDevice> bound_devices(const PreparedClaim& claim);
/// Returns a text for the log.
std::string names_of(const PreparedClaim& claim);

class ClaimPreparer;
struct PrepareTask;
/// Runs one step, which ends in advance(), give_up() or end().
using PrepareStep = void (ClaimPreparer::*)(PrepareTask&);

/// Ownership: the preparer owns it, in the queue of its claim, until end(). Dropping it cancels its
/// operations without callbacks.
/// Threads: the loop's, except `found`, which a step's job fills on a worker. The worker may outlive the
/// task, so `found` is shared; it is read after the job has finished.
/// A call that arrives during an equal one joins it, and gets the same answer.
struct PrepareTask {
  bool is_prepare;
  std::string driver;
  PrepareRequest request;
  std::vector<std::function<void(PrepareAnswer)>> done;  // of each joined call

  std::span<const PrepareStep> steps = {};  // the remaining ones, without the current step
  // Operations of the current step.
  reactor::Ticket turn = {};
  kube::CallPtr call = {};
  std::unique_ptr<reactor::Job> job = {};

  Claim asked = {};  // as read from the API server
  PreparedClaim claim = {};
  std::vector<KnownEntry> known = {};        // by device of the claim
  std::optional<PreparedClaim> before = {};  // its record at the start
  // Results of workers, by device.
  struct Found {
    std::vector<Result<DeviceSnapshot>> snapshots;
    std::vector<Result<OriginalSettings>> settings;  // kNotFound: there are no settings to keep
    std::vector<Result<RestoredSettings>> restored;  // in the order of the claim's devices that have kept
                                                     // settings
  };
  std::shared_ptr<Found> found = std::make_shared<Found>();

  // How much a failing step must undo. kReserved: only this process's reservation. kOnDisk: the node may have
  // changed, so the steps of unprepare run.
  enum class Hold { kNothing, kReserved, kOnDisk };
  Hold hold = Hold::kNothing;
  /// The claim to prepare, and the remaining steps, after its outdated record is released.
  std::optional<PreparedClaim> next = {};
  std::span<const PrepareStep> next_steps = {};
  std::string given_up;  // why it is being undone; "" if it is not

  PreparedKey key() const { return {driver, request.uid}; }
};

}  // namespace sliced::kubelet
