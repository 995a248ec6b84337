#pragma once
// Interface for binding PCI functions to vfio-pci and restoring their drivers. A write to a driver's `unbind`
// attribute may block in the kernel as long as a process has the device open (drivers/vfio/vfio_main.c,
// vfio_unregister_group_dev).
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/host.h"
#include "kubelet/prepared.h"
#include "reactor/executor.h"

namespace sliced::kubelet {

/// kRebind: binds a restored function that has no driver to its original driver. A function that has a
/// driver stays unchanged.
enum class Binding { kBind, kRestore, kRebind };

/// Reentry: `done` is called once, never from within run(). It is not called if the Job is dropped.
class Binder {
 public:
  static constexpr Millis kBindMax{30'000};  // for all functions of a call; the kubelet waits 45 s

  /// One result for each device, in the order of the call. Returns the IOMMU group after a bind. Returns ""
  /// after a restore, or a text for people: the device left vfio-pci, but has no driver or differs from its
  /// state before.
  /// Errors: kTimeout: the operation hangs and may still complete, or it did not start in time. kBusy: an
  /// earlier call hangs, or a process has the device open; the text names it.
  using Done = std::function<void(std::vector<Result<std::string>>)>;
  virtual ~Binder() = default;
  [[nodiscard]] virtual std::unique_ptr<reactor::Job> run(Binding what, std::vector<PreparedDevice> devices,
                                                          Done done) = 0;
};

/// Calls the host on a worker thread. A call that hangs occupies its worker until the kernel returns. For
/// tests, and for systems that cannot start a helper process.
/// Deadline: kBindMax on the executor. Then every device gets kTimeout.
class HostBinder final : public Binder {
 public:
  HostBinder(reactor::Executor& executor, std::shared_ptr<const Host> host)
      : executor_(executor), host_(std::move(host)) {}
  std::unique_ptr<reactor::Job> run(Binding what, std::vector<PreparedDevice> devices, Done done) override;

 private:
  reactor::Executor& executor_;
  const std::shared_ptr<const Host> host_;
};

/// Returns the MAC address that the PF sets for the VF in this operation: for kBind the address that the pod
/// requests; without a request, and for the other operations, the original one, so that a VM never finds an
/// address that another pod requested. "" if the address stays unchanged, or if no function accepts the
/// original one.
std::string mac_for(Binding what, const PreparedDevice& device);
/// Returns the MAC address that the device's interface had, which is written back after its driver is bound.
/// Returns "" if it had none, or one that cannot be set (InfiniBand, all zeros).
std::string own_mac_of(const PreparedDevice& device);
/// Runs the operation for one device of a call, and returns its Binder::Done result. together: all devices of
/// the call. Blocks and may hang: for a worker thread or a helper process.
Result<std::string> bind_or_restore(const Host& host, Binding what, const PreparedDevice& device,
                                    const std::vector<PreparedDevice>& together);

}  // namespace sliced::kubelet
