#include "kubelet/missing_mac.h"

#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

std::string function_at(const hotplug::HostView& host, const std::string& link) {
  const std::string target = host.readlink(link).value_or("");
  return target.substr(target.rfind('/') + 1);
}

bool is_interface(const hotplug::HostView& host, const std::string& function, const std::string& name,
                  int ifindex) {
  return host.read(function + "/net/" + name + "/ifindex").value_or("") == std::to_string(ifindex);
}

bool is_so(const hotplug::HostView& host, const policy::MissingMac& what) {
  const std::string pf = "sys/bus/pci/devices/" + what.pf.text(), vf = "sys/bus/pci/devices/" + what.vf;
  return function_at(host, pf + "/virtfn" + std::to_string(what.index)) == what.vf &&
         is_interface(host, pf, what.pf_name, what.pf_ifindex) &&
         is_interface(host, vf, what.interface, what.ifindex) &&
         lower(host.read(vf + "/net/" + what.interface + "/address").value_or("")) == what.mac;
}

}  // namespace

Result<policy::MacOutcome> set_missing_mac(const hotplug::HostView& host, const WriteMissingMac& write,
                                           const policy::MissingMac& what) {
  if (!is_so(host, what)) return policy::MacOutcome::kFactsChanged;
  const auto written = write({.ifindex = what.pf_ifindex, .index = what.index}, what.mac);
  if (!written) return written.error();
  return *written ? policy::MacOutcome::kSet : policy::MacOutcome::kHadAddress;
}

}  // namespace sliced::kubelet
