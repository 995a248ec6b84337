#pragma once
// Who binds functions to vfio-pci and restores them, as a port: a write to a driver's `unbind` may hang in the kernel
// as long as a process has the device open (drivers/vfio/vfio_main.c, vfio_unregister_group_dev).
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/host.h"
#include "kubelet/prepared.h"
#include "reactor/executor.h"

namespace sliced::kubelet {

/// kTakeAgain: a function that was restored, and whose driver has not taken it. What has any driver stays as it is.
enum class Binding { kBind, kRestore, kTakeAgain };

/// Reentry: done is called once, never from within run(), unless the Job is dropped.
class Binder {
 public:
  static constexpr Millis kBindMax{30'000};  // for all functions of a call; the kubelet waits 45 s

  /// By device, in order: its group when it was bound; when it was restored "", or what is not as it was before, for
  /// people: it is off vfio-pci, and without a driver. kTimeout: it hangs, and may be done yet, or was not begun in time.
  /// kBusy: a call of before hangs, or somebody holds the device; the text says who.
  using Done = std::function<void(std::vector<Result<std::string>>)>;
  virtual ~Binder() = default;
  [[nodiscard]] virtual std::unique_ptr<reactor::Job> run(Binding what, std::vector<PreparedDevice> devices,
                                                          Done done) = 0;
};

/// By a host's own calls, on a worker: one that hangs is lost with it. For tests, and where no program can be run.
/// Deadline: kBindMax on the executor; past it every device is answered with kTimeout, and the worker is lost
/// until the kernel lets go.
class HostBinder final : public Binder {
 public:
  HostBinder(reactor::Executor& executor, std::shared_ptr<const Host> host)
      : executor_(executor), host_(std::move(host)) {}
  std::unique_ptr<reactor::Job> run(Binding what, std::vector<PreparedDevice> devices, Done done) override;

 private:
  reactor::Executor& executor_;
  const std::shared_ptr<const Host> host_;
};

/// The address that the PF is to give the VF with it; "" it stays as it is. A machine never finds one that another pod
/// has asked for. An original one that no function can be given is left out.
std::string mac_for(Binding what, const PreparedDevice& device);
/// The address that its interface had, to be given back with its driver; "" it had none, or one that no interface can be
/// given (InfiniBand, all zeros).
std::string own_mac_of(const PreparedDevice& device);
/// One device of those of a call, where the call is made. Yields what Binder::Done has of it.
/// Blocks, and may hang: for a worker or a program of its own.
Result<std::string> bind_or_restore(const Host& host, Binding what, const PreparedDevice& device,
                                    const std::vector<PreparedDevice>& together);

}  // namespace sliced::kubelet
