#pragma once
// Interface to the component that moves interfaces into pods (kubelet/interfaces/interfaces.h). In mode
// MULTUS Multus moves them, and this component only handles claims that were prepared in the other mode
// before.
#include <functional>
#include <string>
#include <vector>

#include "kube/objects/cluster.h"
#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Reentry: `done` is called once. read_networks() never calls it from within the call.
class InterfacePort {
 public:
  virtual ~InterfacePort() = default;
  /// Returns why a pod of this claim would start without an interface that the claim requests, with a remedy.
  /// Returns "" if the pod has or will get the interfaces, or requests none. Called twice for a claim: before
  /// its networks are read, and at each repeated prepare.
  virtual std::string waits_for(const PreparedClaim& claim) const = 0;
  /// Yields the claim with the networks of its devices (PreparedDevice::network). known: one element for each
  /// device.
  [[nodiscard]] virtual kube::CallPtr read_networks(PreparedClaim claim, std::vector<KnownEntry> known,
                                                    std::function<void(Result<PreparedClaim>)> done) = 0;
  /// Returns why the claim cannot be unprepared now: a pod with a running sandbox uses its devices, or the
  /// runtime has not reported its sandboxes yet. Returns "" if no reason is known.
  virtual std::string in_use(const PreparedClaim& claim) = 0;
  /// Returns whether a pod of the claim's namespace that is not in PreparedClaim::pods has a running sandbox.
  /// It may share the claim.
  virtual bool may_be_shared(const PreparedClaim& claim) const = 0;
  /// Returns why a device of a claim to be prepared still belongs to another pod: a sandbox of a pod outside
  /// the claim has it. Returns "" if none is known.
  virtual std::string held_elsewhere(const PreparedClaim& claim) const = 0;
  /// Returns whether the device's interface is in the sandbox of one of the claim's pods.
  virtual bool is_attached(const PreparedClaim& claim, const PreparedDevice& device) const = 0;
  /// Removes the remaining interfaces of the claim from sandboxes. A removal that fails is retried after
  /// `done`, without the claim.
  virtual void detach(const PreparedClaim& claim, std::function<void()> done) = 0;
};

}  // namespace sliced::kubelet
