// The files of a machine, as the kernel would show them.
#include <algorithm>

#include "reactor/base/text.h"
#include "t/sim/machine.h"

namespace sliced::sim {

class MachineView final : public hotplug::HostView {
 public:
  explicit MachineView(const Machine& machine) : machine_(machine) {}

  Result<std::string> read(std::string_view path, size_t) const override {
    if (auto error = access("read", path)) return *error;
    const auto parts = split(path, '/');
    std::optional<std::string> text;
    if (parts.size() == 6 && path.starts_with("sys/bus/pci/devices/"))
      text = function_file(std::string(parts[4]), parts[5]);
    else if (parts.size() >= 5 && path.starts_with("sys/class/net/"))
      return netdev_file(path, std::string(parts[3]), std::string(path.substr(15 + parts[3].size())));
    else if (path == "proc/sys/kernel/random/boot_id")
      text = machine_.boot_id;
    else if (path == "proc/net/route")
      text = routes();
    else if (path == "proc/net/vlan/config")
      text = vlans();
    else if (path.starts_with("run/udev/data/n"))
      text = udev_record(parse_int(path.substr(15)).value_or(0));
    if (!text) return absent(path);
    return *text;
  }

  Result<std::vector<std::string>> list(std::string_view path) const override {
    if (auto error = access("list", path)) return *error;
    const auto parts = split(path, '/');
    std::vector<std::string> names;
    if (path == "sys/bus/pci/devices") {
      for (const auto& [address, function] : machine_.functions_) names.push_back(address);
    } else if (path == "sys/class/net") {
      for (const auto& [ifindex, netdev] : machine_.interfaces_)
        if (netdev.is_here) names.push_back(netdev.name);
    } else if (path == "sys/class/infiniband") {
      for (const auto& [address, function] : machine_.functions_)
        if (has_rdma(function)) names.push_back(rdma_name(function));
    } else if (path == "run/udev" && machine_.has_udevd) {
      names = {"control", "data"};
    } else if (parts.size() == 5 && path.starts_with("sys/bus/pci/devices/")) {
      const auto at = machine_.functions_.find(std::string(parts[4]));
      if (at == machine_.functions_.end()) return absent(path);
      names = function_entries(at->second);
    } else if (parts.size() == 4 && path.starts_with("sys/class/net/")) {
      const auto* netdev = named(std::string(parts[3]));
      if (netdev == nullptr) return absent(path);
      names = {"address", "ifindex", "mtu", "operstate", "type", "uevent"};
      if (netdev->kind == "bridge") names.push_back("bridge");
      if (netdev->parent != 0) names.push_back("lower_" + machine_.interfaces_.at(netdev->parent).name);
      for (const auto& [ifindex, other] : machine_.interfaces_)
        if (other.is_here && (other.parent == netdev->ifindex || ifindex == netdev->master))
          names.push_back("upper_" + other.name);
    } else {
      return absent(path);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::string> readlink(std::string_view path) const override {
    if (auto error = access("readlink", path)) return *error;
    const auto parts = split(path, '/');
    if (path.starts_with("sys/bus/pci/devices/")) {
      const auto at = machine_.functions_.find(std::string(parts[4]));
      if (at == machine_.functions_.end()) return absent(path);
      if (parts.size() == 5) return "../../../devices/" + Machine::devices_path(at->first);
      return function_link(at->second, path, parts[5]);
    }
    if (path.starts_with("sys/class/net/")) {
      const auto* netdev = named(std::string(parts[3]));
      if (netdev == nullptr) return absent(path);
      if (parts.size() == 4) return "../.." + machine_.devpath(*netdev);
      if (parts[4] == "master" && netdev->master != 0)
        return "../" + machine_.interfaces_.at(netdev->master).name;
      if (parts[4] == "device" && !netdev->function.empty()) return "../../../" + netdev->function;
    }
    if (path.starts_with("sys/class/infiniband/"))
      for (const auto& [address, function] : machine_.functions_)
        if (has_rdma(function) && rdma_name(function) == parts[3])
          return "../../devices/" + Machine::devices_path(address) + "/infiniband/" + rdma_name(function);
    return absent(path);
  }

  /// A directory that is not there cannot be opened.
  Result<std::unique_ptr<hotplug::HostDir>> open_dir(std::string_view path) const override {
    const auto parts = split(path, '/');
    if (parts.size() == 5 && path.starts_with("sys/bus/pci/devices/") &&
        !machine_.functions_.contains(std::string(parts[4])))
      return absent(path);
    if (parts.size() == 4 && path.starts_with("sys/class/net/") && named(std::string(parts[3])) == nullptr)
      return absent(path);
    if (auto error = access("open", path)) return *error;
    return HostView::open_dir(path);
  }
  bool is_live() const override { return true; }

 private:
  using Function = Machine::Function;
  using Interface = Machine::Interface;

  std::optional<Error> access(const char* operation, std::string_view path) const {
    return machine_.on_access ? machine_.on_access(operation, path) : std::nullopt;
  }
  static Error absent(std::string_view path) { return {Errc::kNotFound, std::string(path) + ": ENOENT"}; }
  static Error no_value(std::string_view path) {
    return {Errc::kInvalid, std::string(path) + ": EOPNOTSUPP"};
  }

  const Interface* named(const std::string& name) const {
    for (const auto& [ifindex, netdev] : machine_.interfaces_)
      if (netdev.is_here && netdev.name == name) return &netdev;
    return nullptr;
  }
  static bool has_rdma(const Function& function) {
    return function.has_rdma && function.is_rdma_here && !function.driver.empty() &&
           function.driver != "vfio-pci";
  }
  static std::string rdma_name(const Function& function) {
    std::string name = "rocep" + function.address;
    std::replace(name.begin(), name.end(), ':', '_');
    return name;
  }

  std::optional<std::string> function_file(const std::string& address, std::string_view name) const {
    const auto at = machine_.functions_.find(address);
    if (at == machine_.functions_.end()) return std::nullopt;
    const Function& function = at->second;
    if (name == "class") return "0x020000";
    if (name == "vendor" || name == "subsystem_vendor") return "0x" + function.vendor;
    if (name == "device" || name == "subsystem_device") return "0x" + function.device;
    if (name == "numa_node") return std::to_string(function.numa);
    if (!function.pf.empty() || function.total_vfs == 0) return std::nullopt;
    if (name == "sriov_totalvfs") return std::to_string(function.total_vfs);
    if (name == "sriov_numvfs") return std::to_string(function.num_vfs);
    if (name == "sriov_offset" || name == "sriov_stride") return "1";
    if (name == "sriov_vf_device") return Machine::vf_product(function.vendor);
    return std::nullopt;
  }

  std::vector<std::string> function_entries(const Function& function) const {
    std::vector<std::string> names = {"class", "device", "numa_node", "vendor"};
    if (!function.pf.empty()) {
      if (function.is_linked) names.push_back("physfn");
      return names;
    }
    if (function.total_vfs == 0) return names;
    names.push_back("sriov_numvfs");
    names.push_back("sriov_totalvfs");
    for (const auto& [address, vf] : machine_.functions_)
      if (vf.pf == function.address && vf.is_linked) names.push_back("virtfn" + std::to_string(vf.index));
    return names;
  }

  Result<std::string> function_link(const Function& function, std::string_view path,
                                    std::string_view name) const {
    if (name == "driver" && !function.driver.empty()) return "../../../../bus/pci/drivers/" + function.driver;
    if (name == "physfn" && function.is_linked) return "../" + function.pf;
    if (name.starts_with("virtfn")) {
      const auto index = parse_int(name.substr(6));
      const auto vf = machine_.functions_.find(
          Machine::vf_address(function.address, static_cast<int>(index.value_or(0))));
      if (index && vf != machine_.functions_.end() && vf->second.is_linked) return "../" + vf->first;
    }
    return absent(path);
  }

  Result<std::string> netdev_file(std::string_view path, const std::string& name,
                                  std::string_view file) const {
    const Interface* netdev = named(name);
    if (netdev == nullptr) return absent(path);
    if (file == "ifindex") return std::to_string(netdev->ifindex);
    if (file == "master/ifindex" && netdev->master != 0) return std::to_string(netdev->master);
    if (file.starts_with("lower_") && netdev->parent != 0 &&
        file == "lower_" + machine_.interfaces_.at(netdev->parent).name + "/ifindex")
      return std::to_string(netdev->parent);
    if (file == "address")
      return "02:00:00:00:" + hex(static_cast<uint64_t>(netdev->ifindex) / 256 % 256, 2) + ":" +
             hex(static_cast<uint64_t>(netdev->ifindex) % 256, 2);
    if (file == "mtu") return std::string("1500");
    if (file == "type") return std::string("1");
    if (file == "operstate") return std::string("up");
    if (file == "speed") return std::string("25000");
    if (file == "phys_switch_id" || file == "phys_port_name") return no_value(path);
    const bool has_type = netdev->kind != "pci" && netdev->kind != "virtual";
    if (file == "uevent") return has_type ? "DEVTYPE=" + netdev->kind : std::string();
    if (file == "bridge/vlan_filtering" && netdev->kind == "bridge") return std::string("0");
    return absent(path);
  }

  std::optional<std::string> udev_record(int64_t ifindex) const {
    const auto at = machine_.interfaces_.find(static_cast<int>(ifindex));
    const bool is_there = machine_.has_udevd && at != machine_.interfaces_.end() && at->second.is_here;
    if (!is_there || !at->second.is_finished) return std::nullopt;
    return "I:" + std::to_string(ifindex) + "\nE:ID_BUS=pci\n";
  }

  std::string routes() const {
    std::string text = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";
    for (const auto& [ifindex, netdev] : machine_.interfaces_) {
      if (!netdev.is_here) continue;
      if (netdev.has_default_route)
        text += netdev.name + "\t00000000\t0100A8C0\t0003\t0\t0\t" + std::to_string(ifindex) +
                "\t00000000\t0\t0\t0\n";
      // 10.N.0.0/24 of its own, and 10.96.0.0/16 through 10.N.0.1.
      const std::string n = hex(static_cast<uint64_t>(ifindex) & 255, 2);
      if (netdev.has_address)
        text += netdev.name + "\t0000" + n + "0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
      if (netdev.has_host_route)
        text += netdev.name + "\t0000600A\t0100" + n + "0A\t0003\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
    }
    return text;
  }
  std::string vlans() const {
    std::string text = "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n";
    for (const auto& [ifindex, netdev] : machine_.interfaces_)
      if (netdev.is_here && netdev.parent != 0)
        text += netdev.name + "  | " + std::to_string(netdev.vlan_id) + "  | " +
                machine_.interfaces_.at(netdev.parent).name + "\n";
    return text;
  }

  const Machine& machine_;
};

std::shared_ptr<const hotplug::HostView> Machine::view() const {
  return std::make_shared<MachineView>(*this);
}

}  // namespace sliced::sim
