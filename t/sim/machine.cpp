#include "t/sim/machine.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::sim {
namespace {

constexpr const char* kBridgePath = "pci0000:00/0000:00:01.0";
constexpr const char* kVfDriver = "iavf";

}  // namespace

// Hardware.

std::string Machine::pf_address(int slot) {
  return "0000:" + hex(static_cast<uint64_t>(0x10 + 3 * slot), 2) + ":00.0";
}

std::string Machine::vf_address(const std::string& pf, int index) {
  const auto bus = *parse_hex(std::string_view(pf).substr(5, 2));
  const auto slot = static_cast<uint64_t>(index) + 1;
  return "0000:" + hex(bus + slot / 256, 2) + ":" + hex(slot % 256 / 8, 2) + "." + hex(slot % 8, 1);
}

Machine::Function* Machine::find(const std::string& address) {
  const auto at = functions_.find(address);
  return at == functions_.end() ? nullptr : &at->second;
}

Machine::Interface* Machine::find(int ifindex) {
  const auto at = interfaces_.find(ifindex);
  return at == interfaces_.end() ? nullptr : &at->second;
}

const Machine::Interface* Machine::interface_of(const std::string& function) const {
  for (const auto& [ifindex, netdev] : interfaces_)
    if (netdev.function == function) return &netdev;
  return nullptr;
}

std::vector<std::string> Machine::pfs() const {
  std::vector<std::string> out;
  for (const auto& [address, function] : functions_)
    if (function.pf.empty()) out.push_back(address);
  return out;
}

std::vector<std::string> Machine::vfs_of(const std::string& pf) const {
  std::vector<std::string> out;
  for (const auto& [address, function] : functions_)
    if (function.pf == pf) out.push_back(address);
  return out;
}

bool Machine::is_name_taken(const std::string& name) const {
  return std::any_of(interfaces_.begin(), interfaces_.end(),
                     [&](const auto& entry) { return entry.second.is_here && entry.second.name == name; });
}

std::string Machine::free_name(const std::string& wish) const {
  std::string name = wish;
  for (int i = 1; is_name_taken(name); ++i) name = wish + "_" + std::to_string(i);
  return name;
}

void Machine::plug_pf(int slot, const std::string& name, const std::string& vendor, int numa, int total_vfs) {
  const std::string address = pf_address(slot);
  if (functions_.contains(address)) return;
  Function pf{.address = address,
              .vendor = vendor,
              .device = vendor == "15b3" ? "101d" : "1592",
              .numa = numa,
              .total_vfs = total_vfs};
  functions_[address] = pf;
  say_pci("add", pf);
  bind(address, vendor == "15b3" ? "mlx5_core" : "ice");
  Interface* netdev = nullptr;
  for (auto& [ifindex, one] : interfaces_)
    if (one.function == address) netdev = &one;
  if (netdev != nullptr) rename(netdev->ifindex, free_name(name));
}

void Machine::unplug(const std::string& address) {
  Function* function = find(address);
  if (function == nullptr) return;
  unbind(address);
  const Function gone = *function;
  functions_.erase(address);
  say_pci("remove", gone);
  changed(address);
}

void Machine::announce_num_vfs(const std::string& pf, int count) {
  if (Function* function = find(pf)) {
    function->num_vfs = count;
    say_pci("change", *function);
  }
}

void Machine::add_vf(const std::string& pf, int index) {
  const Function* parent = find(pf);
  const std::string address = vf_address(pf, index);
  if (parent == nullptr || functions_.contains(address)) return;
  Function vf{.address = address,
              .pf = pf,
              .index = index,
              .vendor = parent->vendor,
              .device = vf_product(parent->vendor),
              .numa = parent->numa,
              .has_rdma = parent->vendor == "15b3",
              .names = {""}};
  functions_[address] = vf;
  say_pci("add", vf);
  changed(address);
}

void Machine::link_vf(const std::string& pf, int index) {
  Function* vf = find(vf_address(pf, index));
  if (vf == nullptr) return;
  vf->is_linked = true;
  say_pci("change", *vf);
  changed(vf->address);
}

void Machine::unlink_vf(const std::string& pf, int index) {
  Function* vf = find(vf_address(pf, index));
  if (vf == nullptr) return;
  vf->is_linked = false;
  changed(vf->address);
}

// False when there is nothing to bind.
bool Machine::attach(Function* function, const std::string& driver) {
  if (function == nullptr || !function->driver.empty()) return false;
  function->driver = driver.empty() ? (function->vendor == "15b3" ? "mlx5_core" : kVfDriver) : driver;
  function->is_rdma_here = true;
  function->is_rdma_open = false;
  return true;
}

void Machine::bind(const std::string& address, const std::string& driver) {
  Function* function = find(address);
  if (!attach(function, driver)) return;
  make_interface(address);
  say_rdma("add", *function);
  say_pci("bind", *function);
  changed(address);
}

void Machine::bind_without_interface(const std::string& address) {
  Function* function = find(address);
  if (!attach(function, "")) return;
  function->names = {""};
  say_rdma("add", *function);
  say_pci("bind", *function);
  changed(address);
}

void Machine::make_interface(const std::string& address) {
  Function* function = find(address);
  if (function == nullptr || function->driver.empty() || function->driver == "vfio-pci" ||
      interface_of(address) != nullptr)
    return;
  Interface netdev{.ifindex = next_ifindex_++, .function = address, .kind = "pci"};
  netdev.name = free_name("eth" + std::to_string(netdev.ifindex));
  interfaces_[netdev.ifindex] = netdev;
  function->names = {netdev.name};
  if (were_without_.contains(address))
    function->names.insert(names_ever_[address].begin(), names_ever_[address].end());
  function->names_so_far.insert(netdev.name);
  names_ever_[address].insert(netdev.name);
  function->named_at = now();
  say_net("add", netdev);
  say_link(netdev);
  changed(address);
}

void Machine::unbind(const std::string& address) {
  Function* function = find(address);
  if (function == nullptr || function->driver.empty()) return;
  were_without_.erase(address);
  if (const Interface* netdev = interface_of(address)) {
    const Interface gone = *netdev;
    drop_interface(gone.ifindex);
  }
  if (function->is_rdma_here) say_rdma("remove", *function);
  function->driver.clear();
  function->is_rdma_here = true;
  function->is_rdma_open = false;
  function->names = {""};
  say_pci("unbind", *function);
  changed_all();  // another default route may be the best one now
}

// Interfaces.

void Machine::drop_interface(int ifindex) {
  std::vector<int> above;
  for (const auto& [index, netdev] : interfaces_)
    if (netdev.parent == ifindex) above.push_back(index);
  for (const int index : above) drop_interface(index);
  const Interface gone = interfaces_.at(ifindex);
  interfaces_.erase(ifindex);
  for (auto& [index, netdev] : interfaces_)
    if (netdev.master == ifindex) {
      netdev.master = 0;
      say_link(netdev);
    }
  if (!gone.is_here) return;  // what happens in a pod's namespace is not told here
  say_link(gone, true);
  say_net("remove", gone);
}

void Machine::rename(int ifindex, const std::string& name) {
  Interface* netdev = find(ifindex);
  if (netdev == nullptr || !netdev->is_here || netdev->name == name || is_name_taken(name)) return;
  const std::string old = netdev->name;
  netdev->name = name;
  given_at_[name] = now();
  if (Function* function = find(netdev->function)) {
    function->names = {name};
    function->names_so_far.insert(name);
    names_ever_[netdev->function].insert(name);
    function->named_at = now();
  }
  say_link(*netdev);
  say_net("move", *netdev, old);
  changed(netdev->function);
}

void Machine::move_away(int ifindex) {
  Interface* netdev = find(ifindex);
  if (netdev == nullptr || !netdev->is_here || netdev->kind != "pci") return;
  std::vector<int> above;
  for (const auto& [index, other] : interfaces_)
    if (other.parent == ifindex) above.push_back(index);
  for (const int index : above) drop_interface(index);
  const Interface left = *netdev;
  netdev->has_left_unfinished =
      has_udevd && (!netdev->is_finished || is_blind || now() - netdev->finished_at < kReadBound);
  netdev->is_here = false;
  netdev->master = 0;
  netdev->has_default_route = netdev->has_host_route = netdev->has_address = false;
  note_departure(left.function);
  say_link(left, true, true);
  say_net("remove", left);
  changed_all();
}

void Machine::note_departure(const std::string& address) {
  Function* function = find(address);
  if (function == nullptr) return;
  function->was_away = true;
  were_away_.insert(address);
  // It may go before it was read.
  if (!is_blind && now() - std::max(function->named_at, daemon_started_) >= kReadBound) return;
  function->is_rdma_open = function->has_rdma;
  function->names.insert(names_ever_[address].begin(), names_ever_[address].end());
  function->names.insert("");
}

void Machine::move_rdma_away(const std::string& address) {
  Function* function = find(address);
  const Interface* netdev = interface_of(address);
  if (function == nullptr || !function->has_rdma || netdev == nullptr || netdev->is_here) return;
  function->is_rdma_here = false;
  say_rdma("remove", *function);
}

void Machine::come_back(int ifindex, const std::string& name) {
  Interface* netdev = find(ifindex);
  if (netdev == nullptr || netdev->is_here) return;
  netdev->name = free_name(name.empty() ? netdev->name : name);
  netdev->is_here = true;
  netdev->is_finished = false;
  netdev->has_come_back = true;
  if (Function* function = find(netdev->function)) {
    if (!function->is_rdma_here) say_rdma("add", *function);
    function->is_rdma_here = true;
    function->is_rdma_open = false;
    // A late word of somebody else's renaming to this name is taken for its own.
    const auto given = given_at_.find(netdev->name);
    const bool is_taken_for_renamed = given != given_at_.end() && now() - given->second < 2 * kReadBound;
    // So is what the readings after a loss find, while the word of its leaving is still on its way.
    const bool is_found_by_rereading = forgot_at_ && now() - *forgot_at_ < 2 * kReadBound;
    if (is_taken_for_renamed || is_found_by_rereading) function->names.insert(netdev->name);
    // Unknown so far: the name that it has now is the first.
    if (function->names.erase("") > 0) function->names.insert(netdev->name);
    function->names_so_far.insert(netdev->name);
    names_ever_[netdev->function].insert(netdev->name);
    function->named_at = now();
  }
  say_net("add", *netdev);
  say_link(*netdev);
  changed_all();
}

void Machine::add_link(const std::string& name, const std::string& kind) {
  if (is_name_taken(name)) return;
  const Interface link{.ifindex = next_ifindex_++, .name = name, .kind = kind};
  interfaces_[link.ifindex] = link;
  say_net("add", link);
  say_link(link);
}

void Machine::add_vlan(int parent, int id) {
  const Interface* below = find(parent);
  if (below == nullptr || !below->is_here) return;
  const std::string name = below->name + "." + std::to_string(id);
  if (is_name_taken(name)) return;
  const Interface vlan{
      .ifindex = next_ifindex_++, .name = name, .kind = "vlan", .parent = parent, .vlan_id = id};
  interfaces_[vlan.ifindex] = vlan;
  say_net("add", vlan);
  say_link(vlan);
}

void Machine::remove_link(int ifindex) {
  const Interface* netdev = find(ifindex);
  if (netdev == nullptr || netdev->kind == "pci") return;
  drop_interface(ifindex);
  changed_all();
}

void Machine::enslave(int ifindex, int master) {
  Interface* netdev = find(ifindex);
  const Interface* bridge = find(master);
  if (netdev == nullptr || !netdev->is_here ||
      (master != 0 && (bridge == nullptr || bridge->kind != "bridge")))
    return;
  if (netdev->kind != "pci" || netdev->master == master) return;
  netdev->master = master;
  say_link(*netdev);
  changed_all();
}

bool Machine::carries_routes(const Interface& netdev) const {
  if (netdev.has_host_route || !netdev.has_default_route) return netdev.has_host_route;
  const auto best = std::find_if(interfaces_.begin(), interfaces_.end(), [](const auto& entry) {
    return entry.second.is_here && entry.second.has_default_route;
  });
  return best != interfaces_.end() && best->first == netdev.ifindex;
}

void Machine::set_default_route(int ifindex, bool on) {
  Interface* netdev = find(ifindex);
  if (netdev == nullptr || !netdev->is_here || netdev->has_default_route == on) return;
  netdev->has_default_route = on;
  if (on_event) on_event(hotplug::RouteChange{}, "route");
  changed_all();
}

void Machine::set_host_route(int ifindex, bool on) {
  Interface* netdev = find(ifindex);
  if (netdev == nullptr || !netdev->is_here || netdev->has_host_route == on) return;
  netdev->has_host_route = on;
  netdev->has_address |= on;
  if (on_event) on_event(hotplug::RouteChange{}, "route");
  changed_all();
}

void Machine::set_address(int ifindex, bool on) {
  Interface* netdev = find(ifindex);
  if (netdev == nullptr || !netdev->is_here || netdev->has_address == on) return;
  netdev->has_address = on;
  netdev->has_host_route &= on;
  if (on_event) on_event(hotplug::RouteChange{}, "route");
  changed_all();
}

void Machine::poke(int ifindex) {
  const Interface* netdev = find(ifindex);
  if (netdev == nullptr || !netdev->is_here) return;
  say_net("change", *netdev);
  say_link(*netdev);
}

void Machine::poke_function(const std::string& address) {
  if (const Function* function = find(address)) say_pci("change", *function);
}

// What is known.

void Machine::forget_what_events_told() {
  forgot_at_ = now();
  for (auto& [address, function] : functions_)
    if (were_away_.contains(address)) {
      function.names.insert(names_ever_[address].begin(), names_ever_[address].end());
      changed(address);
    }
}

void Machine::daemon_starts() {
  daemon_started_ = now();
  were_away_.clear();
  were_without_.clear();
  for (auto& [address, function] : functions_) {
    const Interface* netdev = interface_of(address);
    if (netdev == nullptr && !function.driver.empty() && function.driver != "vfio-pci")
      were_without_.insert(address);
    function.was_away = netdev != nullptr && !netdev->is_here;
    if (function.was_away) were_away_.insert(address);
    if (function.was_away && function.has_rdma) function.is_rdma_open = true;
    if (netdev != nullptr && netdev->is_here) {
      function.names = function.names_so_far = {netdev->name};
    } else if (netdev != nullptr && (function.pf.empty() || are_names_told)) {
      function.names.insert("");  // or what slices tell of it or its VFs
      function.names.insert(names_ever_[address].begin(), names_ever_[address].end());
    } else {
      function.names = {""};
    }
    changed(address);
  }
}

PfFacts Machine::pf_facts(const std::string& address) const {
  const auto at = functions_.find(address);
  if (at == functions_.end()) return {};
  const Function& pf = at->second;
  return {true, pf.vendor, pf.device, pf.numa, pf.names};
}

VfFacts Machine::vf_facts(const std::string& address) const {
  const auto at = functions_.find(address);
  if (at == functions_.end()) return {};
  const Function& vf = at->second;
  VfFacts facts{
      vf.is_linked && functions_.contains(vf.pf), vf.pf, vf.vendor, vf.device, vf.driver, vf.index, vf.numa};
  facts.host_use = is_used_by_host(address);
  facts.rdma = {vf.has_rdma && !vf.driver.empty() && vf.driver != "vfio-pci"};
  if (vf.is_rdma_open) facts.rdma = {false, true};
  facts.names = vf.names;
  if (!are_macs_asked) return facts;
  facts.is_configured = vf.has_mac || vf.driver == "vfio-pci";
  if (vf.driver == "vfio-pci") return facts;
  const Interface *own = interface_of(address), *above = interface_of(vf.pf);
  facts.is_open = above == nullptr || !above->is_here || (own != nullptr && !own->is_here);
  return facts;
}

// Enslaved, or a route of the host's on it or on what stands upon it: a default route, or one beyond its own subnet.
bool Machine::is_used_by_host(const std::string& function) const {
  const Interface* own = interface_of(function);
  if (own == nullptr || !own->is_here) return false;
  if (own->master != 0 || carries_routes(*own)) return true;
  return std::any_of(interfaces_.begin(), interfaces_.end(), [&](const auto& entry) {
    return entry.second.parent == own->ifindex && carries_routes(entry.second);
  });
}

std::optional<TimePoint> Machine::used_since(const std::string& function) const {
  const auto at = used_since_.find(function);
  return at == used_since_.end() ? std::nullopt : std::optional(at->second);
}

void Machine::changed(const std::string& function) {
  if (on_change) on_change(function);
}

void Machine::changed_all() {
  for (const auto& [address, function] : functions_) {
    if (!is_used_by_host(address))
      used_since_.erase(address);
    else
      used_since_.try_emplace(address, now());
  }
  for (const auto& [address, function] : functions_) changed(address);
}

// Events.

std::string Machine::devices_path(const std::string& function) {
  return std::string(kBridgePath) + "/" + function;
}

std::string Machine::devpath(const Interface& netdev) const {
  if (netdev.function.empty()) return "/devices/virtual/net/" + netdev.name;
  return "/devices/" + devices_path(netdev.function) + "/net/" + netdev.name;
}

void Machine::say_pci(const std::string& action, const Function& function) {
  if (!on_event) return;
  on_event(
      hotplug::Uevent{
          action, "/devices/" + devices_path(function.address), "pci", {{"PCI_SLOT_NAME", function.address}}},
      function.address);
}

void Machine::say_rdma(const std::string& action, const Function& function) {
  if (!on_event || !function.has_rdma || function.driver == "vfio-pci") return;
  on_event(
      hotplug::Uevent{
          action, "/devices/" + devices_path(function.address) + "/infiniband/rdma", "infiniband", {}},
      function.address);
}

void Machine::say_net(const std::string& action, const Interface& netdev, const std::string& old_name) {
  if (!on_event) return;
  hotplug::Uevent event{action,
                        devpath(netdev),
                        "net",
                        {{"INTERFACE", netdev.name}, {"IFINDEX", std::to_string(netdev.ifindex)}}};
  if (!old_name.empty()) {
    Interface before = netdev;
    before.name = old_name;
    event.properties["DEVPATH_OLD"] = devpath(before);
  }
  on_event(std::move(event), netdev.function.empty() ? netdev.name : netdev.function);
}

void Machine::say_link(const Interface& netdev, bool deleted, bool moved) {
  if (on_event) on_event(hotplug::LinkChange{netdev.ifindex, netdev.name, deleted, moved}, "link");
}

}  // namespace sliced::sim
