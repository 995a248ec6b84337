#include "kubelet/driver_retries.h"

#include <utility>
#include <vector>

namespace sliced::kubelet {

void DriverRetries::add(const PreparedDevice& device, const std::string& why) {
  const auto [at, is_new] = left_.try_emplace(device.pci);
  // Its PF's address is given back already, and may be another's by now.
  at->second.device = {.pci = device.pci,
                       .vfio = VfioBinding{.original_driver = device.vfio->original_driver},
                       .held = device.held};
  if (std::exchange(at->second.why, why) != why)
    log_.warning("original driver not bound: the device is not offered, will retry",
                 {{"device", device.pci},
                  {"driver", device.vfio->original_driver},
                  {"problem", why},
                  {"remedy", "load the kernel module of the driver: the kernel then binds it"}});
  if (is_new) wait();
}

std::string DriverRetries::driver_of(const std::string& pci) const {
  const auto at = left_.find(pci);
  return at == left_.end() ? "" : at->second.device.vfio->original_driver;
}

void DriverRetries::wait() {
  if (next_ || job_ || left_.empty()) return;
  next_ = scheduler_.after(kAgain, [this] {
    const reactor::Ticket own = std::exchange(next_, nullptr);
    try_after("");
  });
}

void DriverRetries::try_after(const std::string& last) {
  const auto at = left_.upper_bound(last);
  if (at == left_.end()) return wait();
  job_ = binder_->run(Binding::kRebind, {at->second.device},
                      [this, pci = at->first](const std::vector<Result<std::string>>& results) {
                        const auto own = std::move(job_);  // keeps this function alive until it returns
                        if (const auto& result = results.front(); result && result->empty()) {
                          left_.erase(pci);
                          log_.info("original driver bound again, or device removed", {{"device", pci}});
                        }
                        try_after(pci);
                      });
}

}  // namespace sliced::kubelet
