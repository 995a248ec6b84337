#include "kubelet/binder.h"

#include <utility>

#include "kubelet/mac_requests.h"

namespace sliced::kubelet {

std::string mac_for(Binding what, const PreparedDevice& device) {
  if (what == Binding::kBind && !device.mac.empty()) return device.mac;
  const std::string& original = device.vfio->original_mac;
  return original == kNoMac || decode_mac(original) ? original : "";
}

std::string own_mac_of(const PreparedDevice& device) {
  if (!device.held || !device.held->netdev) return "";
  const auto mac = decode_mac(device.held->netdev->mac);
  return mac ? *mac : "";
}

Result<std::string> bind_or_restore(const Host& host, Binding what, const PreparedDevice& device,
                                    const std::vector<PreparedDevice>& together) {
  const std::string mac = mac_for(what, device);
  if (what == Binding::kBind) {
    auto group = host.bind(device, together);
    if (!group || mac.empty()) return group;
    if (auto set = host.set_mac(device, mac); !set) return std::move(set.error());
    return group;
  }
  if (what == Binding::kRebind) {
    const auto now = host.read_device(device);
    if (!now || !now->driver.empty()) return std::string();
    return host.restore(device);
  }
  // The address is set first, because a driver reads it at probe.
  if (!mac.empty())
    if (auto set = host.set_mac(device, mac); !set && set.error().code != Errc::kNotFound)
      return std::move(set.error());
  return host.restore(device);
}

std::unique_ptr<reactor::Job> HostBinder::run(Binding what, std::vector<PreparedDevice> devices, Done done) {
  using Results = std::vector<Result<std::string>>;
  auto results = std::make_shared<Results>();
  const size_t count = devices.size();
  auto work = [results, what, host = host_, devices = std::move(devices)] {
    for (const PreparedDevice& device : devices)
      results->push_back(bind_or_restore(*host, what, device, devices));
  };
  return executor_.run(std::move(work), kBindMax, [results, count, done = std::move(done)](bool finished) {
    done(finished ? std::move(*results)
                  : Results(count, Error{Errc::kTimeout, "the kernel does not answer about its devices"}));
  });
}

}  // namespace sliced::kubelet
