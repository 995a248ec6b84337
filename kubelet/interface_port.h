#pragma once
// What preparing asks of whoever moves interfaces into pods (kubelet/interfaces/interfaces.h). In mode MULTUS that is Multus,
// but for what was prepared in the other mode before.
#include <functional>
#include <string>
#include <vector>

#include "kube/objects/cluster.h"
#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Reentry: done is called once; that of read_networks() never from within the call.
class InterfacePort {
 public:
  virtual ~InterfacePort() = default;
  /// Why a pod of this claim would start without an interface that the claim asks for, and what to do about it; "" it has
  /// them, will have them, or asks for none.
  /// Asked twice of a claim: before its networks are read, and each time that it is asked for again.
  virtual std::string waits_for(const PreparedClaim& claim) const = 0;
  /// The claim with the networks of its devices (PreparedDevice::network). known: by device.
  [[nodiscard]] virtual kube::CallPtr read_networks(PreparedClaim claim, std::vector<KnownEntry> known,
                                                    std::function<void(Result<PreparedClaim>)> done) = 0;
  /// Why the claim cannot be taken back now: a pod whose sandbox runs has its devices, or the runtime has not reported yet
  /// which sandboxes run. "" nothing is known that speaks against it.
  virtual std::string in_use(const PreparedClaim& claim) = 0;
  /// Whether a sandbox runs in the claim's namespace of a pod that is not among PreparedClaim::pods: it may share the claim.
  virtual bool may_be_shared(const PreparedClaim& claim) const = 0;
  /// Why a device of a claim that is to be prepared is another pod's still: a sandbox of no pod of the claim has it. ""
  /// none is known.
  virtual std::string held_elsewhere(const PreparedClaim& claim) const = 0;
  /// The interface of that device is in the sandbox of one of the claim's pods.
  virtual bool is_attached(const PreparedClaim& claim, const PreparedDevice& device) const = 0;
  /// What is left of the claim's interfaces in sandboxes is undone; what cannot be is tried again without the claim.
  virtual void detach(const PreparedClaim& claim, std::function<void()> done) = 0;
};

}  // namespace sliced::kubelet
