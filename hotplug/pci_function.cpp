#include "hotplug/pci_function.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "hotplug/read_value.h"
#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

constexpr std::string_view kFunctions = "sys/bus/pci/devices/";

enum class ReadOutcome { kDone, kNotNetwork, kGone, kHalf };

// "0x8086" -> "8086".
std::string read_id(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable) {
  const std::string text = lower(read_text(dir, name, unreadable));
  if (text.empty()) return "";
  if (text.size() == 6 && text.starts_with("0x") && parse_hex(std::string_view(text).substr(2)))
    return text.substr(2);
  unreadable.push_back(std::string(name) + ": " + in_quotes(text, 32) + " is not an id of four digits");
  return "";
}

bool looks_like_network_function(const HostDir& dir) {
  const auto names = dir.list();
  const auto has = [&](const char* name) { return std::binary_search(names->begin(), names->end(), name); };
  return names && (has("net") || has("physfn") || has("sriov_totalvfs"));
}

// PCI class 02xxxx: network controllers, InfiniBand (0207) among them.
ReadOutcome check_class(const HostDir& dir, FunctionReading& function) {
  const auto text = dir.read("class");
  if (text) {
    const auto code = text->starts_with("0x") ? parse_hex(std::string_view(*text).substr(2)) : std::nullopt;
    return code && *code >> 16 == 0x02 ? ReadOutcome::kDone : ReadOutcome::kNotNetwork;
  }
  if (text.error().code != Errc::kNotFound) {
    // It is unknown whether it is a network function.
    function.unreadable.push_back(unreadable_note("class", text.error()));
    return looks_like_network_function(dir) ? ReadOutcome::kDone : ReadOutcome::kNotNetwork;
  }
  const auto names = dir.list();
  if (!names || names->empty()) return ReadOutcome::kGone;
  return looks_like_network_function(dir) ? ReadOutcome::kDone : ReadOutcome::kNotNetwork;
}

void read_virtfn_links(const HostDir& dir, FunctionReading& function) {
  constexpr std::string_view kPrefix = "virtfn";
  const auto names = dir.list();
  if (!names) {
    function.unreadable.push_back(unreadable_note("virtfn", names.error()));
    return;
  }
  for (auto at = std::lower_bound(names->begin(), names->end(), kPrefix);
       at != names->end() && at->starts_with(kPrefix); ++at) {
    const auto index = parse_int(std::string_view(*at).substr(kPrefix.size()));
    if (!index || *index < 0 || *index >= kVfsPerPfMax) continue;
    const auto vf = PciAddress::decode(read_link_name(dir, *at, function.unreadable));
    if (vf) function.vfs.emplace(*vf, static_cast<int>(*index));
  }
}

// "7b" -> "007b": the kernel writes this one without 0x and zeros.
std::string read_vf_product(const HostDir& dir, std::vector<std::string>& unreadable) {
  const std::string text = lower(read_text(dir, "sriov_vf_device", unreadable));
  if (text.empty() || text.size() > 4 || !parse_hex(text)) return "";
  return std::string(4 - text.size(), '0') + text;
}

// A bridge does no DMA of its own: VFIO calls a group viable with one (vfio_dev_viable() in
// drivers/vfio/vfio_iommu_type1.c).
bool is_bridge(const HostView& host, const std::string& function) {
  const auto code = host.read(std::string(kFunctions) + function + "/class");
  return code && code->starts_with("0x06");
}

// Requires function.is_on_vfio. The groups of vfio-noiommu are created at binding, and isolate nothing.
void read_iommu_group(const HostView& host, const HostDir& dir, FunctionReading& function) {
  const auto number = parse_int(read_link_name(dir, "iommu_group", function.unreadable));
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return;
  const std::string path = std::string(kFunctions) + function.pci.text() + "/iommu_group";
  if (const auto name = function.is_on_vfio ? host.read(path + "/name") : Result<std::string>("");
      name && *name == "vfio-noiommu")
    return;
  function.iommu_group = static_cast<int>(*number);
  const auto members = host.list(path + "/devices");
  if (!members) {
    if (!is_absence(members.error()))
      function.unreadable.push_back(unreadable_note("iommu_group", members.error()));
    return;
  }
  for (const std::string& name : *members) {
    const auto address = PciAddress::decode(name);
    if (address && *address != function.pci && !is_bridge(host, name))
      function.iommu_partners.insert(*address);
  }
}

int routing_id(const PciAddress& at) { return at.bus << 8 | at.device << 3 | at.function; }

ReadOutcome read_once(const HostView& host, FunctionReading& function) {
  const auto opened = host.open_dir(std::string(kFunctions) + function.pci.text());
  if (!opened) {
    if (opened.error().code == Errc::kNotFound) return ReadOutcome::kGone;
    function.broken = unreadable_note("unreadable", opened.error());
    return ReadOutcome::kDone;
  }
  const HostDir& dir = **opened;
  auto& unreadable = function.unreadable;
  if (const ReadOutcome outcome = check_class(dir, function); outcome != ReadOutcome::kDone) return outcome;

  const std::string physfn = read_link_name(dir, "physfn", unreadable);
  if (!physfn.empty()) {
    function.physfn = PciAddress::decode(physfn);
    if (!function.physfn) function.broken = "physfn: " + in_quotes(physfn, 64) + " is not a PCI address";
  }
  function.subsystem_vendor = read_id(dir, "subsystem_vendor", unreadable);
  function.subsystem_product = read_id(dir, "subsystem_device", unreadable);
  function.numa_node = read_int(dir, "numa_node", unreadable);
  function.driver = read_link_name(dir, "driver", unreadable);
  if (!is_utf8(function.driver)) {
    unreadable.push_back("driver: " + in_quotes(function.driver, 64) + " is not UTF-8");
    function.driver.clear();
  }
  function.is_on_vfio =
      is_bound_to_vfio(host, std::string(kFunctions) + function.pci.text(), function.driver);
  read_iommu_group(host, dir, function);
  if (!function.physfn) {
    function.total_vfs = std::clamp(read_int(dir, "sriov_totalvfs", unreadable).value_or(0), 0, 65535);
    if (function.total_vfs > 0) {
      function.num_vfs = std::clamp(read_int(dir, "sriov_numvfs", unreadable).value_or(0), 0, 65535);
      function.vf_offset = std::clamp(read_int(dir, "sriov_offset", unreadable).value_or(0), 0, 65535);
      function.vf_stride = std::clamp(read_int(dir, "sriov_stride", unreadable).value_or(0), 0, 65535);
      function.vf_product = read_vf_product(dir, unreadable);
      read_virtfn_links(dir, function);
    }
  }
  // Read last, so that they prove that the function existed to the end: a removed directory stays open and is
  // empty.
  function.product = read_id(dir, "device", unreadable);
  function.vendor = read_id(dir, "vendor", unreadable);
  const bool has_identity = !function.vendor.empty() && !function.product.empty();
  return has_identity || !unreadable.empty() ? ReadOutcome::kDone : ReadOutcome::kHalf;
}

// Returns whether the text has the form aa:bb:cc:dd:ee:ff:00:11.
bool is_guid(std::string_view text) {
  constexpr size_t kBytes = 8;
  const auto bytes = split(text, ':');
  return bytes.size() == kBytes && std::all_of(bytes.begin(), bytes.end(), [](std::string_view byte) {
           return byte.size() == 2 && parse_hex(byte);
         });
}

}  // namespace

void add_guids(const HostView& host, const PciAddress& pf, std::map<int, VfConfig>& configs) {
  const std::string dir = std::string(kFunctions) + pf.text() + "/sriov/";
  for (auto& [index, config] : configs) {
    if (!config.node_guid.empty() && !config.port_guid.empty()) continue;
    const std::string of_vf = dir + std::to_string(index);
    const auto node = host.read(of_vf + "/node");
    if (!node && is_absence(node.error())) return;  // the driver has no such directory
    const auto port = host.read(of_vf + "/port");
    if (config.node_guid.empty() && node && is_guid(*node)) config.node_guid = lower(*node);
    if (config.port_guid.empty() && port && is_guid(*port)) config.port_guid = lower(*port);
  }
}

std::set<int> vfs_in_sysfs(const HostView& host, const PciAddress& pf) {
  constexpr std::string_view kLink = "virtfn";
  std::set<int> out;
  const auto names = host.list(std::string(kFunctions) + pf.text());
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    const auto number = name.starts_with(kLink) ? parse_int(name.substr(kLink.size())) : std::nullopt;
    if (number && *number >= 0 && *number <= 0xffff) out.insert(static_cast<int>(*number));
  }
  return out;
}

std::map<int, VfConfig> guids_of_vfs(const HostView& host, const PciAddress& pf) {
  std::map<int, VfConfig> out;
  const auto numbers = host.list(std::string(kFunctions) + pf.text() + "/sriov");
  for (const std::string& name : numbers.value_or(std::vector<std::string>{}))
    if (const auto number = parse_int(name); number && *number >= 0 && *number <= 0xffff)
      out.emplace(static_cast<int>(*number), VfConfig());
  add_guids(host, pf, out);
  std::erase_if(out, [](const auto& one) { return one.second == VfConfig(); });
  return out;
}

Result<std::vector<std::string>> read_pkeys(const HostView& host, const std::string& rdma_device) {
  constexpr size_t kKeysMax = 256;
  const std::string ports = "sys/class/infiniband/" + rdma_device + "/ports";
  const auto numbers = host.list(ports);
  if (!numbers) return numbers.error();
  std::vector<std::string> out;
  for (const std::string& number : *numbers) {
    const std::string port = ports + "/" + number;
    const auto layer = host.read(port + "/link_layer");
    if (!layer) return layer.error();
    if (*layer != "InfiniBand") continue;
    const auto names = host.list(port + "/pkeys");
    if (!names) return names.error();
    std::set<int64_t> entries;  // in the order of their numbers: "2" before "10"
    for (const std::string& name : *names)
      if (const auto entry = parse_int(name); entry && *entry >= 0 && entries.size() < kKeysMax)
        entries.insert(*entry);
    for (const int64_t entry : entries) {
      const auto text = host.read(port + "/pkeys/" + std::to_string(entry));
      if (!text) return text.error();
      const auto key = text->starts_with("0x") ? parse_hex(std::string_view(*text).substr(2)) : std::nullopt;
      if (!key || *key > 0xffff)
        return Error{Errc::kInvalid, port + "/pkeys/" + std::to_string(entry) + ": " + in_quotes(*text, 32) +
                                         " is not a partition key"};
      std::string pkey = "0x" + hex(*key, 4);
      if (*key != 0 && std::find(out.begin(), out.end(), pkey) == out.end()) out.push_back(std::move(pkey));
    }
  }
  return out;
}

bool is_bound_to_vfio(const HostView& host, const std::string& path, std::string_view driver) {
  if (driver.empty()) return false;
  if (is_vfio_driver(driver)) return true;
  if (const auto registered = host.list(path + "/vfio-dev"); registered && !registered->empty()) return true;
  const auto users = host.list("sys/module/vfio_pci_core/holders");
  if (!users || users->empty()) return false;
  const auto module = host.readlink(path + "/driver/module");
  return module && std::find(users->begin(), users->end(), last_component(*module)) != users->end();
}

std::optional<int> group_as_partner(const HostView& host, const PciAddress& address) {
  const auto link = host.readlink(std::string(kFunctions) + address.text() + "/iommu_group");
  const auto number = link ? parse_int(last_component(*link)) : std::nullopt;
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max() || is_bridge(host, address.text()))
    return std::nullopt;
  return static_cast<int>(*number);
}

bool is_vf_of(const FunctionReading& pf, const FunctionReading& function) {
  if (function.pci.domain != pf.pci.domain || pf.vf_offset == 0 || pf.vf_product.empty()) return false;
  if (function.vendor != pf.vendor || function.product != pf.vf_product) return false;
  const int past = routing_id(function.pci) - routing_id(pf.pci) - pf.vf_offset;
  if (pf.vf_stride == 0) return past == 0;
  return past >= 0 && past % pf.vf_stride == 0 && past / pf.vf_stride < pf.total_vfs;
}

std::string pcie_root_of(std::string_view link_target) {
  constexpr std::string_view kDevices = "devices/";
  const size_t at = link_target.find(kDevices);
  if (at == std::string_view::npos) return "";
  std::string_view root = link_target.substr(at + kDevices.size());
  root = root.substr(0, root.find('/'));
  // The name of a root has the form pci<domain>:<bus>.
  if (!root.starts_with("pci") || !PciAddress::decode(std::string(root.substr(3)) + ":00.0")) return "";
  return std::string(root);
}

std::string auxiliary_above(std::string_view path) {
  std::string_view above;
  for (const std::string_view part : split(path, '/')) {
    if (part.find(".sf.") != std::string_view::npos && PciAddress::decode(above))
      return std::string(above) + "/" + std::string(part);
    above = part;
  }
  return "";
}

std::optional<int> read_sf_number(const HostView& host, const std::string& path) {
  const auto text = host.read(path + "/sfnum");
  const auto number = text ? parse_int(*text) : std::nullopt;
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*number);
}

std::optional<PciAddress> function_above(std::string_view path) {
  for (size_t end = path.rfind('/'); end != std::string_view::npos && end > 0;) {
    const size_t begin = path.rfind('/', end - 1);
    const std::string_view part = path.substr(begin == std::string_view::npos ? 0 : begin + 1,
                                              end - (begin == std::string_view::npos ? 0 : begin + 1));
    if (const auto address = PciAddress::decode(part)) return address;
    end = begin;
  }
  return std::nullopt;
}

std::optional<FunctionReading> read_function(const HostView& host, const PciAddress& address,
                                             std::string_view link_target) {
  FunctionReading function;
  for (int tries = 0;; ++tries) {
    function = FunctionReading{.pci = address, .pcie_root = pcie_root_of(link_target)};
    switch (read_once(host, function)) {
      case ReadOutcome::kDone:
        // A failed read may succeed a moment later (no memory, no descriptors).
        if (tries == 0 && (!function.unreadable.empty() || !function.broken.empty())) break;
        return function;
      case ReadOutcome::kNotNetwork:
        return std::nullopt;
      case ReadOutcome::kGone:
        if (tries > 0) return std::nullopt;
        break;
      case ReadOutcome::kHalf:
        if (tries == 0) break;
        function.broken = "vendor or device: ENOENT twice (the function is appearing or vanishing)";
        return function;
    }
  }
}

std::optional<FunctionReading> read_function(const HostView& host, const PciAddress& address) {
  const auto target = read_link_patiently(host, std::string(kFunctions) + address.text());
  auto function = read_function(host, address, target.value_or(""));
  if (function && !target && !is_absence(target.error()))
    function->unreadable.push_back(unreadable_note("path", target.error()));
  return function;
}

}  // namespace sliced::hotplug
