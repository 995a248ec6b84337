#include "kubelet/hardware.h"

#include <algorithm>
#include <cstdint>

#include "hotplug/facts.h"
#include "hotplug/pci_function.h"
#include "kubelet/vf_of_pf.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

constexpr std::string_view kFunctions = "sys/bus/pci/devices/";

std::vector<std::string> names_in(const hotplug::HostView& view, const std::string& path) {
  return view.list(path).value_or({});
}

// target: of a symbolic link below /sys/class.
std::string hardware_in(const hotplug::HostView& view, const std::string& target) {
  if (const std::string auxiliary = hotplug::auxiliary_above(target); !auxiliary.empty()) {
    const auto number = hotplug::read_sf_number(view, std::string(kFunctions) + auxiliary);
    return number ? auxiliary.substr(0, auxiliary.find('/') + 1) + std::string(kSfProduct) +
                        std::to_string(*number)
                  : "";
  }
  const auto function = hotplug::function_above(target);
  return function ? function->text() : "";
}

}  // namespace

std::string hardware_of(const PreparedDevice& device) {
  if (!device.pci.empty()) return device.pci;
  const bool is_sf = device.identity.product.starts_with(kSfProduct) && !device.identity.pf.empty();
  return is_sf ? device.identity.pf + "/" + device.identity.product : "";
}

std::string hardware_of_sf_id(std::string_view id) {
  constexpr size_t kTail = sizeof("00-00.0") - 1;  // behind the domain's dash
  const size_t dash = id.find('-');
  if (!id.starts_with("sf") || dash == std::string_view::npos) return "";
  const auto number = parse_int(id.substr(2, dash - 2));
  std::string address(id.substr(dash + 1));
  if (!number || *number < 0 || *number > INT32_MAX || address.size() < kTail + 1) return "";
  const size_t domain_end = address.size() - kTail - 1;
  address[domain_end] = address[domain_end + 3] = ':';
  address[domain_end + 6] = '.';
  const auto pf = hotplug::PciAddress::decode(address);
  if (!pf || hotplug::scalable_function_id(*pf, static_cast<int>(*number)) != id) return "";
  return address + "/" + std::string(kSfProduct) + std::to_string(*number);
}

std::string path_of_hardware(const hotplug::HostView& view, const std::string& hardware) {
  if (hardware.empty()) return "";
  const size_t slash = hardware.find('/');
  const std::string function = std::string(kFunctions) + hardware.substr(0, slash);
  if (slash == std::string::npos) return view.list(function) ? function : "";
  for (const std::string& name : names_in(view, function)) {
    if (name.find(".sf.") == std::string::npos) continue;
    const auto number = hotplug::read_sf_number(view, function + "/" + name);
    if (number && hardware.substr(slash + 1) == std::string(kSfProduct) + std::to_string(*number))
      return function + "/" + name;
  }
  return "";
}

std::string net_directory(const hotplug::HostView& view, const std::string& path) {
  if (!view.list(path + "/net"))
    for (const std::string& name : names_in(view, path))
      if (name.starts_with("virtio")) return path + "/" + name + "/net";
  return path + "/net";
}

std::vector<std::string> interfaces_of_hardware(const hotplug::HostView& view, const std::string& hardware) {
  const std::string path = path_of_hardware(view, hardware);
  return path.empty() ? std::vector<std::string>() : ports_in(view, net_directory(view, path));
}

std::string interface_of_hardware(const hotplug::HostView& view, const std::string& hardware,
                                  const std::string& remembered) {
  const auto all = interfaces_of_hardware(view, hardware);
  if (std::find(all.begin(), all.end(), remembered) != all.end()) return remembered;
  return all.empty() ? "" : all.front();
}

std::string rdma_device_of_hardware(const hotplug::HostView& view, const std::string& hardware) {
  const std::string path = path_of_hardware(view, hardware);
  const auto all = path.empty() ? std::vector<std::string>() : names_in(view, path + "/infiniband");
  return all.empty() ? "" : all.front();
}

std::string hardware_of_interface(const hotplug::HostView& view, const std::string& interface) {
  return hardware_in(view, view.readlink("sys/class/net/" + interface).value_or(""));
}

std::string hardware_of_rdma_device(const hotplug::HostView& view, const std::string& rdma_device) {
  return hardware_in(view, view.readlink("sys/class/infiniband/" + rdma_device).value_or(""));
}

}  // namespace sliced::kubelet
