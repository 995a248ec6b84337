#include "kubelet/vf_of_pf.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

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

// "pf0vf3", "pf0sf88", "c1pf0": devlink's names of representor ports (net/core/devlink.c).
bool is_port_of_function(std::string_view port) { return port.starts_with("pf") || port.starts_with("c"); }

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

std::string uplink_of_pf(const hotplug::HostView& view, const std::string& pf) {
  using Kind = hotplug::PortName::Kind;
  std::optional<std::pair<std::tuple<int, int64_t, size_t, std::string, int64_t>, std::string>> best;
  for (const std::string& name : entries_of(view, path_of_function(pf) + "/net", "")) {
    const auto text = [&](const char* file) {
      return view.read(path_of_function(pf) + "/net/" + name + file).value_or("");
    };
    const std::string port = text("/phys_port_name");
    const Kind kind = hotplug::decode_port_name(port).kind;
    const bool is_on_switch = !text("/phys_switch_id").empty();
    if (kind != Kind::kUplink && !port.empty() && (is_on_switch || is_port_of_function(port))) continue;
    const int rank = kind == Kind::kUplink ? 0 : port.empty() ? 1 : 2;
    std::pair one{std::tuple{rank, parse_int(text("/dev_port")).value_or(0), port.size(), port,
                             parse_int(text("/ifindex")).value_or(0)},
                  name};
    if (!best || one < *best) best = std::move(one);
  }
  return best ? best->second : "";
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
  if (pf.empty()) return Error{Errc::kNotFound, "it is no VF, or gone"};
  int number = -1;
  for (const auto& [index, vf] : vfs_of_pf(view, pf))
    if (vf == pci) number = index;
  if (number < 0) return Error{Errc::kNotFound, "its PF " + pf + " does not have it any more"};
  auto out = uplink_interface_of_pf(view, pf);
  if (out) out->index = number;
  return out;
}

}  // namespace sliced::kubelet
