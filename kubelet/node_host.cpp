#include "kubelet/node_host.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <span>
#include <thread>

#include "hotplug/netlink_monitor.h"
#include "hotplug/pci_function.h"
#include "hotplug/scan.h"
#include "kubelet/binder.h"
#include "kubelet/checkpoint.h"
#include "kubelet/hardware.h"
#include "kubelet/link_settings.h"
#include "kubelet/mac_requests.h"
#include "kubelet/netlink.h"
#include "kubelet/recall.h"
#include "kubelet/safety.h"
#include "kubelet/vf_of_pf.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"
#include "reactor/durable_file.h"

namespace sliced::kubelet {
namespace {

constexpr std::string_view kDrivers = "sys/bus/pci/drivers/";
constexpr std::string_view kBridgeClass = "0x0604";  // PCI to PCI bridge: does not affect a group's isolation
constexpr Millis kNodePoll{20};
constexpr size_t kNamesMax = 65'536;

std::string function_path(const std::string& pci) { return "sys/bus/pci/devices/" + pci; }

std::string net_path(const hotplug::HostView& view, const std::string& pci) {
  return net_directory(view, function_path(pci));
}

std::string last(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns the PCI function of an interface, also with virtioN in between; "" for a virtual link.
std::string device_of_interface(const hotplug::HostView& view, const std::string& interface) {
  const std::string path = "sys/class/net/" + interface;
  std::string device = last(view.readlink(path + "/device").value_or(""));
  if (!device.starts_with("virtio")) return device;
  const std::string target = view.readlink(path).value_or("");
  const size_t at = target.find("/" + device + "/");
  return at == std::string::npos ? device : last(target.substr(0, at));
}

// Returns the GUID in the 20 bytes of an IP over InfiniBand address.
std::string guid_of(const std::string& address) {
  constexpr size_t kAddress = 20 * 3 - 1, kGuid = 8 * 3 - 1;
  return address.size() == kAddress ? address.substr(kAddress - kGuid) : "";
}

OwnAddresses own_addresses(const HostLink& link) {
  return {.mac = decode_mac(link.mac).ok() ? link.mac : "", .guid = guid_of(link.mac)};
}

std::vector<std::string> immovable_of(const std::vector<HostLink>& links,
                                      const std::vector<std::string>& interfaces) {
  std::vector<std::string> out;
  for (const HostLink& link : links)
    if (link.is_netns_immutable &&
        std::find(interfaces.begin(), interfaces.end(), link.name) != interfaces.end())
      out.push_back(link.name);
  return out;
}

std::string without_0x(const std::string& text) { return text.starts_with("0x") ? text.substr(2) : text; }

// Writes with one write(2), as sysfs requires.
Result<Unit> write_attribute(const std::string& path, std::string_view text) {
  const std::string whole = "/" + path;
  const reactor::Descriptor file(::open(whole.c_str(), O_WRONLY | O_CLOEXEC));
  if (file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return Unit{};
  const int error = errno;
  return Error{error == ENOENT || error == ENODEV ? Errc::kNotFound
               : error == EBUSY                   ? Errc::kBusy
                                                  : Errc::kIo,
               "write " + in_quotes(trim(text), 64) + " to " + whole + ": " + std::strerror(error)};
}

std::string inode_of(const std::string& path) {
  struct stat found{};
  return ::stat(("/" + path).c_str(), &found) == 0 ? std::to_string(found.st_ino) : "";
}

// Returns how many of the first changes can be applied together, at least one. Together, all files are written before any
// is removed. So a change that writes a file which an earlier one removes is not applied with that one.
size_t together(std::span<const FileChange> changes) {
  constexpr size_t kOpenMax = 256;  // files that are open at a time, unless a single change has more
  std::set<std::pair<std::string, std::string>> removed;
  size_t files = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    const FileChange& change = changes[i];
    files += change.specs.size() + change.infos.size() + change.original_macs.size() +
             change.original_settings.size();
    const auto was_removed = [&](const std::string& kind, const std::string& name) {
      return removed.contains({kind, name});
    };
    bool is_together = files <= kOpenMax;
    for (const auto& [spec, id] : change.specs) is_together &= !was_removed(spec.kind, id);
    for (const DeviceInfo& one : change.infos) is_together &= !was_removed("info", one.path);
    for (const OriginalMac& one : change.original_macs) is_together &= !was_removed("mac", one.pci);
    for (const OriginalSettings& one : change.original_settings)
      is_together &= !was_removed("settings", one.device);
    if (!is_together && i > 0) return i;
    for (const auto& [kind, id] : change.removed_specs) removed.emplace(kind, id);
    for (const std::string& path : change.removed_infos) removed.emplace("info", path);
    for (const std::string& pci : change.removed_original_macs) removed.emplace("mac", pci);
    for (const std::string& device : change.removed_original_settings) removed.emplace("settings", device);
  }
  return changes.size();
}

}  // namespace

NodeHost::Kernel NodeHost::running_kernel() {
  return {&write_attribute,
          [](const std::string& path) {
            struct stat found{};
            return ::stat(path.c_str(), &found) == 0;
          },
          [](const std::vector<std::string>& nodes) { return kubelet::process_with_open(nodes); },
          [](const std::vector<std::string>& pods) { return kubelet::process_of_pods(pods); },
          &read_vf_macs,
          &write_vf_mac,
          &write_own_mac,
          &probe_vfio_group,
          running_vf_settings_kernel(),
          [] { return read_links(kOwnNamespace); },
          [](int ifindex, const LinkChange& change) { return change_link(kOwnNamespace, ifindex, change); },
          &inode_of};
}

NodeHost::NodeHost(std::shared_ptr<const hotplug::HostView> view, Kernel kernel, Paths paths)
    : view_(std::move(view)),
      kernel_(std::move(kernel)),
      paths_(std::move(paths)),
      specs_(paths_.cdi_root),
      metadata_specs_(paths_.cdi_root, &cdi::metadata_file),
      metadata_(paths_.plugins),
      original_macs_(paths_.original_macs),
      original_settings_(paths_.original_settings) {}

// ---- reading

std::string NodeHost::text(const std::string& path) const { return view_->read(path).value_or(""); }

std::vector<std::string> NodeHost::names(const std::string& path, std::string_view prefix) const {
  std::vector<std::string> out;
  for (std::string& name : view_->list(path).value_or({}))
    if (name.starts_with(prefix)) out.push_back(std::move(name));
  return out;
}

std::string NodeHost::driver_of(const std::string& pci) const {
  return last(view_->readlink(function_path(pci) + "/driver").value_or(""));
}

void NodeHost::read_rdma(const std::string& device, const std::vector<std::string>& interfaces,
                         DeviceSnapshot& out) const {
  constexpr std::string_view kDevices = "sys/class/infiniband";
  constexpr std::array<std::string_view, 2> kNodeClasses = {"infiniband_verbs", "infiniband_mad"};
  const auto rdma = device.empty() ? std::vector<std::string>{} : names(device + "/infiniband");
  out.is_rdma_shared = text("sys/module/ib_core/parameters/netns_mode") == "Y";
  if (!device.empty())
    for (const std::string_view kind : kNodeClasses)
      for (const std::string& node : names(device + "/" + std::string(kind)))
        out.rdma_nodes.push_back("/dev/infiniband/" + node);
  if (!rdma.empty()) {
    out.rdma_device = rdma.front();
  } else if (out.rdma_nodes.empty()) {
    // A software RDMA device is not below the function. Its nodes name it in "ibdev"
    // (drivers/infiniband/core).
    for (const std::string& name : names(std::string(kDevices))) {
      // Another function's or scalable function's device can name this interface in its GID table, as in a
      // LAG.
      if (!hardware_of_rdma_device(*view_, name).empty()) continue;
      const auto netdev = hotplug::netdev_of_soft_rdma(*view_, name);
      if (netdev && std::find(interfaces.begin(), interfaces.end(), *netdev) != interfaces.end())
        out.rdma_device = name;
    }
    if (out.rdma_device.empty()) return;
    for (const std::string_view kind : kNodeClasses)
      for (const std::string& node : names("sys/class/" + std::string(kind)))
        if (text("sys/class/" + std::string(kind) + "/" + node + "/ibdev") == out.rdma_device)
          out.rdma_nodes.push_back("/dev/infiniband/" + node);
  }
  if (kernel_.has_node("/dev/infiniband/rdma_cm")) out.rdma_nodes.emplace_back("/dev/infiniband/rdma_cm");
}

std::string NodeHost::incarnation_of(const PreparedDevice& device) const {
  const std::string path = path_of_hardware(*view_, hardware_of(device));
  return path.empty() || !kernel_.inode ? "" : kernel_.inode(path);
}

Result<DeviceSnapshot> NodeHost::read_device(const PreparedDevice& device) const {
  DeviceSnapshot out;
  out.incarnation = incarnation_of(device);
  const auto read_uppers = [&](const std::string& interface) {
    constexpr std::string_view kUpper = "upper_";
    for (const std::string& name : names("sys/class/net/" + interface, kUpper))
      out.uppers.push_back(name.substr(kUpper.size()));
  };
  if (device.pci.empty()) {
    const std::string hardware = hardware_of(device), sf = path_of_hardware(*view_, hardware);
    if (sf.empty() && !hardware.empty())
      return Error{Errc::kNotFound, "device " + escaped(device.device) + " does not exist on this node"};
    if (!sf.empty()) read_scalable_function(sf, out);
    out.interface = sf.empty() ? device.interface : interface_of_hardware(*view_, hardware, device.interface);
    if (!device.interface.empty() &&
        (out.interface.empty() || !view_->list("sys/class/net/" + out.interface)))
      return Error{Errc::kNotFound,
                   "interface " + escaped(device.interface) + " does not exist on this node"};
    if (!out.interface.empty()) read_uppers(out.interface);
    read_rdma(sf, {out.interface}, out);
    if (auto use = vdpa_use(out.vdpas); !use.empty()) out.in_use = "device " + device.device + std::move(use);
    const std::vector<std::string> below = functions_below(out.interface);
    std::set<std::string> pfs;
    for (const std::string& function : below) {
      const std::string pf = last(view_->readlink(function_path(function) + "/physfn").value_or(""));
      pfs.insert(pf.empty() ? function : pf);
    }
    out.lower_pfs.assign(pfs.begin(), pfs.end());
    find_mac_holder(device, below, out);
    const std::vector<HostLink> links = links_now();
    out.immovable_interfaces = immovable_of(links, {out.interface});
    if (device.config.if_name != out.interface)
      out.name_holder = name_holder(device.config.if_name, out.interface, links);
    return out;
  }
  const std::string path = function_path(device.pci);
  const auto vendor = view_->read(path + "/vendor");
  if (!vendor) return Error{Errc::kNotFound, "device " + device.pci + " does not exist on this node"};
  out.identity = {without_0x(*vendor), without_0x(text(path + "/device")),
                  last(view_->readlink(path + "/physfn").value_or(""))};
  out.driver = driver_of(device.pci);
  out.is_on_vfio = hotplug::is_bound_to_vfio(*view_, path, out.driver);
  const std::vector<std::string> interfaces = names(net_path(*view_, device.pci));
  for (const std::string& interface : interfaces) read_uppers(interface);
  read_rdma(path, interfaces, out);
  find_mac_holder(device, {device.pci}, out);
  out.interfaces = interfaces;
  out.interface = interface_of_hardware(*view_, device.pci, device.interface);
  const std::vector<HostLink> links = links_now();
  out.immovable_interfaces = immovable_of(links, interfaces);
  if (std::find(interfaces.begin(), interfaces.end(), device.config.if_name) == interfaces.end())
    out.name_holder = name_holder(device.config.if_name, device.pci, links);
  if (const auto free = check_holder(device.pci); !free) out.in_use = free.error().what;
  if (device.vfio) read_vfio(device.pci, out);
  out.vdpas = hotplug::find_vdpa_devices(*view_, device.pci);
  if (auto use = vdpa_use(out.vdpas); out.in_use.empty() && !use.empty())
    out.in_use = "device " + device.pci + std::move(use);
  if (!device.vfio || device.mac.empty()) return out;
  const auto vf = find_vf(*view_, device.pci);
  const auto macs = vf ? kernel_.read_macs(vf->ifindex) : Result<std::map<int, std::string>>(vf.error());
  if (!macs) return Error(macs.error()).in("device " + device.pci);
  const auto own = macs->find(vf->index);
  if (own == macs->end())
    return Error{Errc::kIo, "device " + device.pci + ": its PF does not report the MAC address of VF " +
                                std::to_string(vf->index) + ": it could not be restored"};
  out.admin_mac = own->second;
  return out;
}

void NodeHost::read_vfio(const std::string& pci, DeviceSnapshot& out) const {
  const std::string path = function_path(pci);
  std::string group = last(view_->readlink(path + "/iommu_group").value_or(""));
  if (!group.empty() && text(path + "/iommu_group/name") == "vfio-noiommu") group = "noiommu-" + group;
  if (!group.empty() && kernel_.has_node("/dev/vfio/" + group)) out.vfio_group = group;
  for (const std::string& name : names(path + "/vfio-dev"))
    if (kernel_.has_node("/dev/vfio/devices/" + name)) out.vfio_cdev = name;
}

// vhost_vdpa lets one process open a device at a time (vhost_vdpa_open() in drivers/vhost/vdpa.c).
std::string NodeHost::vdpa_use(const std::vector<hotplug::VdpaDevice>& vdpas) const {
  for (const hotplug::VdpaDevice& vdpa : vdpas) {
    if (vdpa.node.empty()) continue;
    const GroupUse use = kernel_.probe_group ? kernel_.probe_group(vdpa.node) : GroupUse::kUnknown;
    if (use == GroupUse::kFree) continue;
    // The node may be absent in the plugin's container, which sees the host's processes.
    std::string holder = use == GroupUse::kOpen ? "a process outside this PID namespace" : "";
    if (kernel_.process_with_open)
      if (const auto found = kernel_.process_with_open({vdpa.node}); found && *found)
        holder = "process " + std::to_string((*found)->pid) + " (" + (*found)->name + ")";
    if (holder.empty()) continue;
    return " is in use: " + holder + " has its vDPA device " + vdpa.name + " open (" + vdpa.node +
           "), and it is released when that process ends";
  }
  return "";
}

// Without an answer no name is refused here: the kernel checks it later.
std::vector<HostLink> NodeHost::links_now() const {
  auto links = kernel_.links ? kernel_.links() : Result<std::vector<HostLink>>(std::vector<HostLink>());
  return links ? *std::move(links) : std::vector<HostLink>();
}

void NodeHost::read_scalable_function(const std::string& path, DeviceSnapshot& out) const {
  const std::string auxiliary = hotplug::auxiliary_above(path);
  out.identity.pf = auxiliary.substr(0, auxiliary.find('/'));
  out.identity.product = std::string(kSfProduct) + text(path + "/sfnum");
  out.identity.vendor = without_0x(text(function_path(out.identity.pf) + "/vendor"));
  out.interfaces = names(path + "/net");
  out.vdpas = hotplug::find_vdpa_devices(*view_, auxiliary);
}

std::optional<std::string> NodeHost::name_holder(const std::string& interface, const std::string& own,
                                                 const std::vector<HostLink>& links) const {
  if (interface.empty()) return std::nullopt;
  const auto function_of = [&](const std::string& name) { return device_of_interface(*view_, name); };
  if (view_->list("sys/class/net/" + interface)) return function_of(interface);
  for (const HostLink& link : links) {
    const auto& names = link.alternative_names;
    const bool is_own = link.name == own || (!link.parent.empty() && link.parent == own);
    if (!is_own && std::find(names.begin(), names.end(), interface) != names.end())
      return function_of(link.name);
  }
  return std::nullopt;
}

void NodeHost::find_mac_holder(const PreparedDevice& device, const std::vector<std::string>& functions,
                               DeviceSnapshot& out) const {
  const bool is_function =
      device.holding.is_exclusive && device.share_id.empty() && !hardware_of(device).empty();
  for (const std::string& mac : macs_for_pod(device))
    for (const std::string& function : functions) {
      if (mac == kNoMac) continue;
      std::string holder = mac_holder(function, mac);
      if (!holder.empty() && device.pci.empty()) holder += " below " + out.interface;
      const std::string physfn = last(view_->readlink(function_path(function) + "/physfn").value_or(""));
      const std::string pf = physfn.empty() ? function : physfn;
      if (holder.empty() && is_function && pf != device.pci) holder = upper_with_mac(pf, mac);
      if (holder.empty()) continue;
      out.mac_holder = std::move(holder);
      out.mac_held = mac;
      return;
    }
}

std::set<std::string> NodeHost::stack_of(const std::string& interface, std::string_view direction) const {
  std::set<std::string> seen = {interface};
  std::vector<std::string> left = {interface};
  while (!left.empty()) {
    const std::string path = "sys/class/net/" + left.back();
    left.pop_back();
    for (const std::string& name : names(path, direction))
      if (seen.insert(name.substr(direction.size())).second) left.push_back(name.substr(direction.size()));
  }
  return seen;
}

std::vector<std::string> NodeHost::functions_below(const std::string& interface) const {
  std::set<std::string> functions;
  for (const std::string& one : stack_of(interface, "lower_")) {
    const std::string function = device_of_interface(*view_, one);
    if (hotplug::PciAddress::decode(function)) functions.insert(function);
    const std::string sf = hotplug::auxiliary_above(view_->readlink("sys/class/net/" + one).value_or(""));
    if (!sf.empty()) functions.insert(sf.substr(0, sf.find('/')));
  }
  return {functions.begin(), functions.end()};
}

std::string NodeHost::upper_with_mac(const std::string& pf, const std::string& mac) const {
  const std::string uplink = uplink_of_pf(*view_, pf);
  if (uplink.empty()) return "";
  for (const std::string& upper : stack_of(uplink, "upper_"))
    if (upper != uplink && lower(trim(text("sys/class/net/" + upper + "/address"))) == mac)
      return "interface " + escaped(upper) + " of the host on its PF " + pf;
  return "";
}

std::string NodeHost::mac_holder(const std::string& pci, const std::string& mac) const {
  const std::string physfn = last(view_->readlink(function_path(pci) + "/physfn").value_or(""));
  const std::string pf = physfn.empty() ? pci : physfn, uplink = uplink_of_pf(*view_, pf);
  const auto has_interface = [&](const std::string& function) {
    const std::string path = net_path(*view_, function);
    const auto all = names(path);
    return std::any_of(all.begin(), all.end(), [&](const std::string& name) {
      return lower(trim(text(path + "/" + name + "/address"))) == mac;
    });
  };
  if (pf != pci && !uplink.empty() &&
      lower(trim(text(net_path(*view_, pf) + "/" + uplink + "/address"))) == mac)
    return "its PF " + pf;
  const auto ifindex =
      uplink.empty() ? std::nullopt : parse_int(text(net_path(*view_, pf) + "/" + uplink + "/ifindex"));
  const auto enforced = ifindex && kernel_.read_macs
                            ? kernel_.read_macs(static_cast<int>(*ifindex))
                            : Result<std::map<int, std::string>>(Error{Errc::kNotFound, ""});
  for (const auto& [index, vf] : vfs_of_pf(*view_, pf)) {
    if (vf == pci) continue;
    const bool is_enforced = enforced && enforced->contains(index) && enforced->at(index) == mac;
    if (is_enforced || has_interface(vf)) return "VF " + std::to_string(index) + " (" + vf + ") of its PF";
  }
  return "";
}

Result<std::map<int, hotplug::VfConfig>> NodeHost::read_vf_settings(const std::string& pf,
                                                                    int ifindex) const {
  auto all = kernel_.vf_settings.read(ifindex);
  const auto address = hotplug::PciAddress::decode(pf);
  if (all || all.error().code != Errc::kTooLarge || !address) return all;
  auto guids = hotplug::guids_of_vfs(*view_, *address);
  return guids.empty() ? std::move(all) : std::move(guids);
}

Result<Unit> NodeHost::set_mac(const PreparedDevice& device, const std::string& mac) const {
  const auto vf = find_vf(*view_, device.pci);
  if (!vf) return Error(vf.error()).in("device " + device.pci);
  const auto before = kernel_.read_macs(vf->ifindex);
  if (before && before->contains(vf->index) && before->at(vf->index) == mac) return Unit{};
  if (auto free = check_holder(device.pci); !free) return free;  // a running VM keeps its address
  if (auto written = kernel_.write_mac(*vf, mac); !written)
    return std::move(written.error()).in("device " + device.pci);
  auto reported = check_reported(kernel_.read_macs(vf->ifindex), vf->index, mac);
  return reported ? reported : std::move(reported.error()).in("device " + device.pci);
}

// ---- original settings

std::string NodeHost::hardware_path(const std::string& device) const {
  if (hotplug::PciAddress::decode(device)) return function_path(device);
  const std::string hardware = hardware_of_sf_id(device);
  if (hardware.empty()) return "";
  const std::string path = path_of_hardware(*view_, hardware);
  return path.empty() ? function_path(hardware) : path;
}

bool NodeHost::is_hardware_back(const std::string& device) const {
  if (hotplug::PciAddress::decode(device)) return is_back(*view_, device);
  const std::string path = hardware_path(device);
  if (!names(path + "/net").empty()) return true;
  // A function without a driver, or that no longer exists, has no interface.
  return !view_->readlink(path + "/driver").ok();
}

std::optional<HostLink> NodeHost::link_of(const std::vector<HostLink>& links, const std::string& device,
                                          const std::string& name) const {
  const auto find = [&](const std::string& wanted) -> std::optional<HostLink> {
    for (const HostLink& link : links)
      if (link.name == wanted) return link;
    return std::nullopt;
  };
  const std::string path = hardware_path(device);
  if (path.empty()) return find(name);
  const std::vector<std::string> own = names(net_directory(*view_, path));
  if (std::find(own.begin(), own.end(), name) != own.end()) return find(name);
  return own.size() == 1 ? find(own.front()) : std::nullopt;
}

Result<OriginalSettings> NodeHost::read_settings(const PreparedDevice& device) const {
  OriginalSettings out{.device = settings_key(device), .boot_id = "", .vf = {}, .interface = {}};
  // Without an interface of the PF on the host no plugin can change the VF's settings.
  const auto vf =
      device.pci.empty() ? Result<VfOfInterface>(Error{Errc::kNotFound, ""}) : find_vf(*view_, device.pci);
  if (vf && kernel_.vf_settings.read) {
    auto all = read_vf_settings(pf_of_vf(*view_, device.pci), vf->ifindex);
    if (!all) return std::move(all.error()).in("device " + device.pci + ": read the settings of the VF");
    // A VF whose driver resets it is missing from the list. A PF without settings reports an empty list.
    const auto at = all->find(vf->index);
    if (at == all->end() && !all->empty())
      return Error{Errc::kIo, "device " + device.pci + ": its PF does not report VF " +
                                  std::to_string(vf->index) +
                                  ", only other VFs; its driver may be resetting it; the kubelet retries"};
    if (at != all->end()) out.vf = at->second;
  }
  if (!device.pci.empty()) out.pf = pf_of_vf(*view_, device.pci);
  if (kernel_.links) {
    auto links = kernel_.links();
    if (!links) return std::move(links.error()).in("device " + out.device);
    const auto link = link_of(*links, out.device, device.interface);
    if (link && out.vf) out.own = own_addresses(*link);
    if (link && !device.vfio) out.interface = original_interface(*link);
    auto vfs = read_vfs(device.pci, *links);
    if (!vfs) return std::move(vfs.error()).in("device " + out.device);
    out.vfs = *std::move(vfs);
  }
  if (!out.vf && !out.interface && out.vfs.empty())
    return Error{Errc::kNotFound, "device " + out.device + " has no settings"};
  return out;
}

Result<RestoredSettings> NodeHost::restore_settings(const OriginalSettings& original) const {
  const std::string at = "device " + original.device;
  Result<Unit> vf_restored = Unit{};
  if (original.vf && kernel_.vf_settings.read) {
    const auto vf = find_vf(*view_, original.device);
    if (!vf && vf.error().code == Errc::kNotFound)
      return RestoredSettings{};  // a new VF has its driver's settings
    // A VF whose PF has no address set needs no PF setting to get its address back. A PF that sets one
    // enforces it from then on. If the PF enforces another address, the interface refuses this one. Then the
    // PF is written first, and the interface after it.
    if (vf && original.interface && !original.interface->is_name_only)
      set_interface_mac(original.device, original.interface->name, original.interface->mac);
    vf_restored = vf ? restore_vf(*vf, original.device, {*original.vf, original.own}) : vf.error();
    if (!vf_restored && vf_restored.error().code == Errc::kBusy) return std::move(vf_restored.error()).in(at);
  }
  auto out = original.interface && kernel_.links ? restore_interface(original)
                                                 : Result<RestoredSettings>(RestoredSettings{});
  // Written through the PF's interface, which has returned to the host by then.
  if (!original.vfs.empty() && kernel_.vf_settings.read && (!out || out->is_back)) {
    vf_restored = restore_vfs(original);
    if (!vf_restored && vf_restored.error().code == Errc::kBusy) return std::move(vf_restored.error()).in(at);
  }
  if (vf_restored && out) {
    if (!out->name_problem.empty()) out->name_problem = at + ": " + out->name_problem;
    return out;
  }
  if (!vf_restored && !out) vf_restored.error().what += "; " + out.error().what;
  if (!vf_restored && out && !out->name_problem.empty()) vf_restored.error().what += "; " + out->name_problem;
  return std::move(vf_restored ? out.error() : vf_restored.error()).in(at);
}

void NodeHost::set_interface_mac(const std::string& device, const std::string& name,
                                 const std::string& mac) const {
  if (mac.empty() || !kernel_.links) return;
  const auto links = kernel_.links();
  const auto link = links ? link_of(*links, device, name) : std::nullopt;
  if (link && link->mac != mac) (void)kernel_.change_link(link->ifindex, {.mac = mac});
}

Result<Unit> NodeHost::restore_vf(const VfOfInterface& vf, const std::string& pci,
                                  const OriginalVf& original) const {
  VfSettingsKernel kernel = kernel_.vf_settings;
  kernel.read = [&](int ifindex) { return read_vf_settings(pf_of_vf(*view_, pci), ifindex); };
  return restore_vf_settings(kernel, vf, original.config, original.own, [&] { return check_holder(pci); });
}

Result<std::map<int, OriginalVf>> NodeHost::read_vfs(const std::string& pf,
                                                     const std::vector<HostLink>& links) const {
  std::map<int, OriginalVf> out;
  const auto functions = pf.empty() ? std::map<int, std::string>() : vfs_of_pf(*view_, pf);
  if (functions.empty() || !kernel_.vf_settings.read || is_userspace_driver(driver_of(pf))) return out;
  const auto uplink = uplink_interface_of_pf(*view_, pf);
  if (!uplink) return out;  // no pod can reach its VFs through it, either
  const auto all = read_vf_settings(pf, uplink->ifindex);
  if (!all) return Error(all.error()).in("read the settings of its VFs");
  for (const auto& [index, vf] : functions) {
    const auto at = all->find(index);
    if (at == all->end() && !all->empty())
      return Error{Errc::kIo, "its PF does not report VF " + std::to_string(index) +
                                  ", only other VFs; its driver may be resetting it; the kubelet retries"};
    if (at == all->end()) continue;
    OriginalVf& one = out.emplace(index, OriginalVf{at->second}).first->second;
    if (const auto link = link_of(links, vf, "")) one.own = own_addresses(*link);
  }
  return out;
}

Result<Unit> NodeHost::restore_vfs(const OriginalSettings& original) const {
  const auto functions = vfs_of_pf(*view_, original.device);
  if (functions.empty() || is_userspace_driver(driver_of(original.device))) return Unit{};
  const auto uplink = uplink_interface_of_pf(*view_, original.device);
  if (!uplink) return Error(uplink.error());
  const auto now = read_vf_settings(original.device, uplink->ifindex);
  if (!now) return Error(now.error());
  std::optional<Error> problem;
  for (const auto& [index, was] : original.vfs) {
    const auto function = functions.find(index);
    const auto at = now->find(index);
    if (function == functions.end()) continue;
    if (at != now->end() && has_settings(was.config, at->second, was.own, uplink->speed_mbps)) continue;
    VfOfInterface vf = *uplink;
    vf.index = index;
    auto restored = restore_vf(vf, function->second, was);
    set_interface_mac(function->second, "",
                      was.own.mac);  // the driver may have adopted the address that the PF
                                     // enforced
    if (restored) continue;
    if (problem)
      problem->what += "; " + restored.error().what;
    else
      problem = std::move(restored.error());
  }
  return problem ? Result<Unit>(*std::move(problem)) : Unit{};
}

// The kernel takes an interface down that changes its namespace. All other settings stay as the pod set them.
Result<RestoredSettings> NodeHost::restore_interface(const OriginalSettings& original) const {
  const OriginalInterface& was = *original.interface;
  const bool is_function = !hardware_path(original.device).empty();
  const auto until = Clock::now() + kInterfaceWaitMax;  // the interface returns some time after its namespace
                                                        // ends
  for (;;) {
    const auto links = kernel_.links();
    if (!links) return links.error();
    auto link = link_of(*links, original.device, was.name);
    if (!link && is_function && !is_hardware_back(original.device) && Clock::now() < until) {
      std::this_thread::sleep_for(kNodePoll);
      continue;
    }
    if (!link) return RestoredSettings{.is_back = !is_function || is_hardware_back(original.device)};
    const LinkKernel kernel{kernel_.links, kernel_.change_link};
    const RestoredSettings out{.is_back = true, .name_problem = restore_name(kernel, *link, was)};
    if (was.is_name_only) return out;
    if (out.name_problem.empty()) link->name = was.name;
    const bool is_mac_enforced = original.vf && hotplug::is_address_set(original.vf->mac);
    auto rest = restore_link(kernel, *link, was, is_mac_enforced);
    if (rest) return out;
    if (!out.name_problem.empty()) rest.error().what += "; " + out.name_problem;
    return std::move(rest.error());
  }
}

bool is_back(const hotplug::HostView& view, const std::string& pci) {
  const std::string path = function_path(pci);
  if (const auto vendor = view.read(path + "/vendor"); !vendor) return vendor.error().code == Errc::kNotFound;
  if (!view.list(net_path(view, pci)).value_or({}).empty()) return true;
  const auto driver = view.readlink(path + "/driver");
  if (!driver) return driver.error().code == Errc::kNotFound;
  return is_userspace_driver(last(*driver)) || hotplug::is_bound_to_vfio(view, path, last(*driver));
}

// ---- binding

// A process with access to one function of a group has access to all of it.
Result<Unit> NodeHost::check_group(const std::string& pci,
                                   const std::vector<PreparedDevice>& together) const {
  const auto is_ours = [&](const std::string& address) {
    return std::any_of(together.begin(), together.end(),
                       [&](const PreparedDevice& one) { return one.pci == address; });
  };
  for (const std::string& other : names(function_path(pci) + "/iommu_group/devices")) {
    if (other == pci || is_ours(other) || text(function_path(other) + "/class").starts_with(kBridgeClass))
      continue;
    return Error{Errc::kBusy,
                 "device " + pci + " is in one IOMMU group with " + escaped(other) +
                     ": a container that had it could reach both; use a slot or a kernel that isolates it"};
  }
  return Unit{};
}

// A kernel has groups (CONFIG_VFIO_GROUP), devices of IOMMUFD (CONFIG_VFIO_DEVICE_CDEV), or both. So both are
// read before the expected nodes are known. If sysfs has a number for the device's own node, udev will create
// that node.
Result<std::string> NodeHost::vfio_nodes(const std::string& pci) const {
  std::string group = last(view_->readlink(function_path(pci) + "/iommu_group").value_or(""));
  if (group.empty())
    return Error{Errc::kIo,
                 "device " + pci + " has no IOMMU group: switch the IOMMU on (intel_iommu=on, amd_iommu=on)"};
  if (text(function_path(pci) + "/iommu_group/name") == "vfio-noiommu") group = "noiommu-" + group;
  const std::string group_node = "/dev/vfio/" + group;
  const std::string devices = function_path(pci) + "/vfio-dev";
  const auto until = Clock::now() + kNodeWaitMax;
  for (;; std::this_thread::sleep_for(kNodePoll)) {
    VfioNodes found;
    std::string awaited;
    if (kernel_.has_node(group_node)) found.group = group;
    for (const std::string& name : names(devices)) {
      if (kernel_.has_node("/dev/vfio/devices/" + name)) found.cdev = name;
      if (found.cdev.empty() && view_->read(devices + "/" + name + "/dev"))
        awaited = "/dev/vfio/devices/" + name;
    }
    if (!found.empty() && awaited.empty()) return found.text();
    if (Clock::now() < until) continue;
    if (!found.empty()) return found.text();
    return Error{Errc::kTimeout,
                 group_node + " does not appear" + (awaited.empty() ? "" : ", and neither does " + awaited)};
  }
}

// Uses two sources: the kernel's answer for the group, which is valid in every PID namespace but names no
// process; and /proc, which has names but shows all processes only in the host's PID namespace.
Result<std::string> NodeHost::holder(const std::string& pci) const {
  if (!kernel_.process_with_open) return std::string();
  const std::string path = function_path(pci);
  const std::string group = last(view_->readlink(path + "/iommu_group").value_or(""));
  std::vector<std::string> groups, others;
  if (!group.empty()) groups = {"/dev/vfio/" + group, "/dev/vfio/noiommu-" + group};
  for (const std::string& name : names(path + "/vfio-dev")) others.push_back("/dev/vfio/devices/" + name);
  const size_t cdevs = others.size();
  for (const std::string& name : names(path + "/uio")) others.push_back("/dev/" + name);
  const bool is_on_vfio = cdevs > 0 || hotplug::is_bound_to_vfio(*view_, path, driver_of(pci));
  const bool is_there =
      is_on_vfio || !others.empty() ||
      std::any_of(groups.begin(), groups.end(), [&](const auto& node) { return kernel_.has_node(node); });
  if (!is_there) return std::string();
  bool is_open = false, is_free = false;
  for (const std::string& node : groups) {
    const GroupUse use = kernel_.probe_group ? kernel_.probe_group(node) : GroupUse::kUnknown;
    is_open |= use == GroupUse::kOpen;
    is_free |= use == GroupUse::kFree;
  }
  std::vector<std::string> nodes = groups;
  nodes.insert(nodes.end(), others.begin(), others.end());
  const auto found = kernel_.process_with_open(nodes);
  if (found && *found) return "process " + std::to_string((*found)->pid) + " (" + (*found)->name + ")";
  if (is_open) return std::string("a process outside this PID namespace");
  const bool has_uio = others.size() > cdevs;
  if (found || (is_free && !has_uio)) return std::string();
  return Error(found.error());
}

// vfio-pci cannot release a device that a process has open, so the write would block in the kernel. A UIO
// driver removes the device under the process.
Result<Unit> NodeHost::check_holder(const std::string& pci) const {
  const auto found = holder(pci);
  if (found && found->empty()) return Unit{};
  if (found)
    return Error{Errc::kBusy, "device " + pci + " is in use: " + *found +
                                  " has its VFIO group open, and it is released when that process ends"};
  return Error{
      Errc::kBusy,
      "device " + pci +
          " may be in use: it is unknown whether a process has its VFIO group or UIO device open: " +
          found.error().what +
          "; run in the host's PID namespace (chart: kubeletPlugin.hostPID), or with access to /dev/vfio"};
}

Result<std::string> NodeHost::user_of(const PreparedClaim& claim) const {
  if (!kernel_.process_of) return Error{Errc::kIo, "processes of pods cannot be seen"};
  std::vector<std::string> pods;
  for (const ReservingPod& pod : claim.pods) pods.push_back(pod.uid);
  auto process = kernel_.process_of(pods);
  if (!process) return std::move(process.error());
  const auto name_of = [](const DeviceProcess& one) {
    return "process " + std::to_string(one.pid) + " (" + one.name + ")";
  };
  if (*process) return name_of(**process);
  for (const PreparedDevice& device : claim.devices) {
    auto found = device.pci.empty() ? Result<std::string>(std::string()) : holder(device.pci);
    if (!found || !found->empty()) return found;
    if (auto use = vdpa_use({{device.vdpa_device, "vhost", device.vdpa_node}}); !use.empty())
      return device.device + std::move(use);
    // A missing interface is in a sandbox.
    const bool may_have_had = device.held ? device.held->netdev.has_value() : is_nameless(claim);
    const bool had_interface = may_have_had && !device.vfio && !settings_key(device).empty();
    const bool is_here = device.pci.empty() ? view_->list("sys/class/net/" + device.interface).ok()
                                            : !view_->read(function_path(device.pci) + "/vendor") ||
                                                  !names(net_path(*view_, device.pci)).empty();
    if (had_interface && !is_here)
      return device.interface.empty() ? "a network namespace that has its interface"
                                      : "the network namespace that has " + escaped(device.interface);
  }
  return std::string();
}

// driver: "" if the kernel chooses. driver_override selects the driver during the probe, and is cleared
// afterwards.
Result<Unit> NodeHost::rebind(const std::string& pci, const std::string& driver) const {
  const std::string path = function_path(pci), override = path + "/driver_override";
  if (auto written = kernel_.write(override, driver.empty() ? "\n" : driver + "\n"); !written) return written;
  if (const std::string bound = driver_of(pci); !bound.empty() && bound != driver)
    if (auto unbound = kernel_.write(path + "/driver/unbind", pci); !unbound) return unbound;
  if (driver_of(pci).empty())
    if (auto probed = kernel_.write("sys/bus/pci/drivers_probe", pci); !probed) return probed;
  if (!driver.empty() && driver_of(pci) != driver)
    return Error{Errc::kIo, "device " + pci + " is not bound by driver " + escaped(driver)};
  return Unit{};
}

Result<std::string> NodeHost::bind(const PreparedDevice& device,
                                   const std::vector<PreparedDevice>& together) const {
  const std::string& pci = device.pci;
  if (auto checked = check_group(pci, together); !checked) return std::move(checked.error());
  // A variant driver supports features that vfio-pci lacks, such as live migration. It stays bound: nothing
  // is written, so nothing is undone.
  const bool is_on_vfio = hotplug::is_bound_to_vfio(*view_, function_path(pci), driver_of(pci));
  if (!is_on_vfio && !view_->list(std::string(kDrivers) + std::string(kVfioDriver)))
    return Error{Errc::kIo, "driver vfio-pci is not there: load it (modprobe vfio-pci)"};
  // It may be open through a driver for UIO.
  if (!is_on_vfio)
    if (auto free = check_holder(pci); !free) return std::move(free.error());
  auto bound = is_on_vfio ? Result<Unit>(Unit{}) : rebind(pci, std::string(kVfioDriver));
  auto nodes = bound ? vfio_nodes(pci) : Result<std::string>(bound.error());
  if (!nodes)
    if (const auto back = restore(device); !back || !back->empty())
      nodes.error().what += "; and " + (back ? *back : back.error().what);
  return nodes;
}

// A VF whose PF sets no address gets a new random one at each probe. Its address is published, and selectors
// may match it, so it is restored. A driver may refuse it.
void NodeHost::restore_own_mac(const PreparedDevice& device) const {
  const std::string own = own_mac_of(device);
  if (!kernel_.write_own_mac || own.empty()) return;
  const auto until = Clock::now() + kInterfaceWaitMax;
  const auto find = [&] { return names(net_path(*view_, device.pci)); };
  auto found = find();
  for (; found.empty() && Clock::now() < until; found = find()) std::this_thread::sleep_for(kNodePoll);
  if (found.size() != 1) return;
  const std::string interface = net_path(*view_, device.pci) + "/" + found.front();
  const auto ifindex = parse_int(text(interface + "/ifindex"));
  if (!ifindex || text(interface + "/address") == own) return;
  (void)kernel_.write_own_mac(static_cast<int>(*ifindex), own);
}

// The pod cannot access a function that left vfio-pci. So a missing driver, or one that refuses, does not
// delay the pod's end.
Result<std::string> NodeHost::restore(const PreparedDevice& device) const {
  const std::string& pci = device.pci;
  const std::string original = device.vfio ? device.vfio->original_driver : "";
  if (original == kVfioDriver || !view_->read(function_path(pci) + "/vendor")) return std::string();
  // Clears the override, so that any driver that is loaded later can bind it, as after a boot.
  const auto leave = [&](const std::string& what_differs) -> Result<std::string> {
    if (auto cleared = kernel_.write(function_path(pci) + "/driver_override", "\n"); !cleared)
      return std::move(cleared.error());
    return what_differs;
  };
  const std::string bound = driver_of(pci);
  // The function had this variant driver when the pod got it. Nothing was bound, and the override is the
  // administrator's, so it stays.
  const bool is_own = original.empty() || bound == original;
  if (bound != kVfioDriver && is_own && hotplug::is_bound_to_vfio(*view_, function_path(pci), bound))
    return std::string();
  if (!bound.empty() && bound != kVfioDriver) {
    if (bound == original)
      restore_own_mac(device);  // the process that bound it may have ended before this
                                // step
    return leave("");
  }
  if (auto free = check_holder(pci); !free) return std::move(free.error());
  const bool is_there = original.empty() || view_->list(std::string(kDrivers) + original).ok();
  if (original == kNoDriver || !is_there) {
    if (!bound.empty())
      if (auto off = kernel_.write(function_path(pci) + "/driver/unbind", pci); !off)
        return std::move(off.error());
    return leave(original == kNoDriver ? ""
                                       : "device " + pci + " has no driver: " + escaped(original) +
                                             ", which it had, is not loaded");
  }
  if (auto back = rebind(pci, original); !back) {
    if (!driver_of(pci).empty()) return std::move(back.error());
    return leave(back.error().what + ", which it had, and has none");
  }
  restore_own_mac(device);
  return original.empty() ? Result<std::string>(std::string()) : leave("");
}

// ---- files

Result<Unit> NodeHost::remove_temporaries(const std::vector<std::string>& drivers,
                                          const std::string& device_info_directory) const {
  for (const std::string& driver : drivers) {
    if (auto removed = specs_.remove_temporaries(cdi_kind(driver)); !removed)
      return std::move(removed.error());
    if (auto removed = metadata_specs_.remove_temporaries(metadata_kind(driver)); !removed)
      return std::move(removed.error());
    if (auto removed = metadata_.remove_temporaries(driver); !removed) return removed;
  }
  const auto is_info = [](std::string_view name) { return name.ends_with("-device.json"); };
  if (!device_info_directory.empty())
    if (auto removed = reactor::remove_temporaries(device_info_directory, is_info); !removed)
      return std::move(removed.error());
  if (auto removed = original_macs_.remove_temporaries(); !removed) return removed;
  if (auto removed = original_settings_.remove_temporaries(); !removed) return removed;
  const std::string own = last(paths_.checkpoint);
  auto removed =
      reactor::remove_temporaries(paths_.checkpoint.substr(0, paths_.checkpoint.size() - own.size()),
                                  [&](std::string_view name) { return name == own; });
  return removed ? Result<Unit>(Unit{}) : std::move(removed.error());
}

std::vector<Result<Unit>> NodeHost::apply(const std::vector<FileChange>& changes) const {
  std::vector<Result<Unit>> out;
  for (size_t next = 0; next < changes.size();) {
    const size_t count = together(std::span(changes).subspan(next));
    for (auto& result : apply_batch(std::span(changes).subspan(next, count)))
      out.push_back(std::move(result));
    next += count;
  }
  return out;
}

std::vector<Result<Unit>> NodeHost::apply_batch(std::span<const FileChange> changes) const {
  std::vector<Result<Unit>> out(changes.size(), Unit{});
  const auto write = [&](auto files_of) {
    std::vector<std::vector<reactor::DurableFile>> sets(changes.size());
    for (size_t i = 0; i < changes.size(); ++i) {
      if (!out[i]) continue;
      if (auto files = files_of(changes[i]))
        sets[i] = *std::move(files);
      else
        out[i] = std::move(files.error());
    }
    const auto written = reactor::write_each_durably(sets);
    for (size_t i = 0; i < changes.size(); ++i)
      if (out[i]) out[i] = written[i];
  };
  write([this](const FileChange& change) { return original_files(change); });
  write([this](const FileChange& change) { return spec_files(change); });
  for (size_t i = 0; i < changes.size(); ++i)
    if (out[i]) out[i] = apply_rest(changes[i]);
  return out;
}

Result<std::vector<reactor::DurableFile>> NodeHost::original_files(const FileChange& change) const {
  std::vector<reactor::DurableFile> files;
  for (const OriginalMac& one : change.original_macs) {
    auto file = original_macs_.file_of(one);
    if (!file) return std::move(file.error());
    files.push_back(*std::move(file));
  }
  for (const OriginalSettings& one : change.original_settings) {
    auto file = original_settings_.file_of(one);
    if (!file) return std::move(file.error());
    files.push_back(*std::move(file));
  }
  return files;
}

Result<std::vector<reactor::DurableFile>> NodeHost::spec_files(const FileChange& change) const {
  std::vector<reactor::DurableFile> files;
  for (const auto& [spec, id] : change.specs) {
    auto file = specs_.file_of(spec, id);
    if (!file) return std::move(file.error());
    files.push_back(*std::move(file));
  }
  for (const DeviceInfo& info : change.infos) files.push_back({info.path, info.text});
  return files;
}

Result<Unit> NodeHost::apply_rest(const FileChange& change) const {
  for (const auto& [kind, id] : change.removed_specs)
    if (auto removed = store_of(kind).remove(kind, id); !removed) return removed;
  for (const std::string& path : change.removed_infos)
    if (auto removed = reactor::remove_durably(path); !removed) return removed;
  if (auto applied = apply_metadata(change); !applied) return applied;
  for (const std::string& pci : change.removed_original_macs)
    if (auto removed = original_macs_.remove(pci); !removed) return removed;
  for (const std::string& device : change.removed_original_settings)
    if (auto removed = original_settings_.remove(device); !removed) return removed;
  return Unit{};
}

Result<std::vector<OriginalMac>> NodeHost::read_original_macs() const { return original_macs_.read(); }

Result<std::vector<OriginalSettings>> NodeHost::read_original_settings() const {
  return original_settings_.read();
}

const cdi::Store& NodeHost::store_of(const std::string& kind) const {
  return kind.ends_with("/metadata") ? metadata_specs_ : specs_;
}

// Files are written before their specs, so every file that a spec names exists.
Result<Unit> NodeHost::apply_metadata(const FileChange& change) const {
  for (const RequestMetadata& one : change.metadata) {
    if (auto written = metadata_.write(one); !written) return written;
    const cdi::Spec spec = metadata_spec(one, metadata_.path_of(file_of(one)));
    if (auto written = metadata_specs_.write(spec, metadata_id(file_of(one))); !written) return written;
  }
  for (const MetadataFile& file : change.removed_metadata) {
    if (!file.uid.empty())
      if (auto removed = metadata_specs_.remove(metadata_kind(file.driver), metadata_id(file)); !removed)
        return removed;
    if (auto removed = metadata_.remove(file); !removed) return removed;
  }
  return Unit{};
}

Result<Unit> NodeHost::write_checkpoint(const std::string& text) const {
  constexpr unsigned kOursOnly = 0600;
  return reactor::write_durably(paths_.checkpoint, text, kOursOnly);
}

Result<std::string> NodeHost::read_checkpoint() const {
  return reactor::read_whole(paths_.checkpoint, kCheckpointBytesMax);
}

Result<std::string> NodeHost::read_peer_checkpoint() const {
  return reactor::read_whole(paths_.peer_checkpoint, kCheckpointBytesMax);
}

Result<std::string> NodeHost::set_checkpoint_aside() const {
  std::string aside = paths_.checkpoint + ".corrupt";
  if (std::rename(paths_.checkpoint.c_str(), aside.c_str()) == 0) return aside;
  return Error{Errc::kIo, "rename " + paths_.checkpoint + ": " + std::strerror(errno)};
}

Result<std::vector<std::string>> NodeHost::names_in(const std::string& directory) const {
  return reactor::list_names(directory, kNamesMax);
}

Result<std::vector<std::string>> NodeHost::spec_ids(const std::string& kind) const {
  return store_of(kind).ids(kind);
}

Result<cdi::Spec> NodeHost::read_spec(const std::string& kind, const std::string& id) const {
  return store_of(kind).read(kind, id);
}

Result<std::vector<MetadataFile>> NodeHost::metadata_files(const std::string& driver) const {
  return metadata_.list(driver);
}

}  // namespace sliced::kubelet
