#include "kubelet/vf_of_pf.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "hotplug/link.h"
#include "hotplug/resolve.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

std::string path_of_function(const std::string& pci) { return "sys/bus/pci/devices/" + pci; }

std::string target_name(const hotplug::HostView& view, const std::string& link) {
  const std::string target = view.readlink(link).value_or("");
  return target.substr(target.rfind('/') + 1);
}

std::vector<std::string> entries_of(const hotplug::HostView& view, const std::string& path,
                                    std::string_view prefix) {
  std::vector<std::string> out;
  for (std::string& name : view.list(path).value_or({}))
    if (name.starts_with(prefix)) out.push_back(std::move(name));
  return out;
}

struct Port {
  std::string name, switch_id, port_name;
  int ifindex = 0, dev_port = 0;
  hotplug::PortFacts facts() const {
    return {.name = name,
            .ifindex = ifindex,
            .switch_id = switch_id,
            .port_name = port_name,
            .dev_port = dev_port};
  }
};

// Returns the ports of a function in their order, with representors.
std::vector<Port> read_ports(const hotplug::HostView& view, const std::string& directory) {
  std::vector<Port> out;
  for (const std::string& name : entries_of(view, directory, "")) {
    const auto text = [&](const char* file) { return view.read(directory + "/" + name + file).value_or(""); };
    const auto number = [&](const char* file) { return static_cast<int>(parse_int(text(file)).value_or(0)); };
    Port one{.name = name,
             .switch_id = lower(text("/phys_switch_id")),
             .port_name = text("/phys_port_name"),
             .ifindex = number("/ifindex"),
             .dev_port = number("/dev_port")};
    auto port = hotplug::read_devlink_port(view, one.ifindex, one.switch_id, one.port_name);
    if (port && !port->empty()) one.port_name = *std::move(port);
    out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end(),
            [](const Port& a, const Port& b) { return is_before(a.facts(), b.facts()); });
  return out;
}

}  // namespace

std::string pf_of_vf(const hotplug::HostView& view, const std::string& pci) {
  return target_name(view, path_of_function(pci) + "/physfn");
}

std::map<int, std::string> vfs_of_pf(const hotplug::HostView& view, const std::string& pf) {
  constexpr std::string_view kVf = "virtfn";
  std::map<int, std::string> out;
  for (const std::string& link : entries_of(view, path_of_function(pf), kVf)) {
    const auto index = parse_int(link.substr(kVf.size()));
    std::string vf = target_name(view, path_of_function(pf) + "/" + link);
    if (index && !vf.empty()) out.emplace(static_cast<int>(*index), std::move(vf));
  }
  return out;
}

std::vector<std::string> ports_in(const hotplug::HostView& view, const std::string& directory) {
  std::vector<Port> ports = read_ports(view, directory);
  std::erase_if(ports, [](const Port& one) { return represents_function(one.facts()); });
  std::vector<std::string> out;
  for (const Port& one : ports)
    if (out.empty() || !is_representor(one.facts())) out.push_back(one.name);
  return out;
}

std::string uplink_of_pf(const hotplug::HostView& view, const std::string& pf) {
  for (const Port& one : read_ports(view, path_of_function(pf) + "/net"))
    if (!is_representor(one.facts())) return one.name;
  return "";
}

Result<VfOfInterface> uplink_interface_of_pf(const hotplug::HostView& view, const std::string& pf) {
  VfOfInterface out{.ifindex = 0, .index = -1};
  if (const std::string uplink = uplink_of_pf(view, pf); !uplink.empty()) {
    const auto number = [&](const char* file) {
      const std::string path = path_of_function(pf) + "/net/" + uplink + file;
      return static_cast<int>(parse_int(view.read(path).value_or("")).value_or(0));
    };
    out.ifindex = number("/ifindex");
    out.speed_mbps = std::max(0, number("/speed"));
  }
  if (out.ifindex <= 0)
    return Error{
        Errc::kIo,
        "PF " + pf +
            " has no uplink in the host's network namespace, through which its VFs' settings are read "
            "and set: bring it back"};
  return out;
}

Result<VfOfInterface> find_vf(const hotplug::HostView& view, const std::string& pci) {
  const std::string pf = pf_of_vf(view, pci);
  if (pf.empty()) return Error{Errc::kNotFound, "it is not a VF, or gone"};
  int number = -1;
  for (const auto& [index, vf] : vfs_of_pf(view, pf))
    if (vf == pci) number = index;
  if (number < 0) return Error{Errc::kNotFound, "its PF " + pf + " does not have it any more"};
  auto out = uplink_interface_of_pf(view, pf);
  if (out) out->index = number;
  return out;
}

}  // namespace sliced::kubelet
