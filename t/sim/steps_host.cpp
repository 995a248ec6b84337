// Hardware, interfaces, and what reading them meets.
#include "reactor/base/text.h"
#include "t/sim/steps.h"

namespace sliced::sim {

std::string some_pf(World& world) {
  const auto pfs = world.machine.pfs();
  return pfs.empty() ? "" : world.dice().pick(pfs);
}

std::string some_vf(World& world) {
  const auto vfs = world.machine.vfs_of(some_pf(world));
  return vfs.empty() ? "" : world.dice().pick(vfs);
}

void change_vfs(World& world) {
  world.set_vfs(some_pf(world),
                static_cast<int>(world.dice().below(static_cast<size_t>(world.knobs.vfs_max) + 1)));
}

namespace {

// An interface that holds, of a PF, a VF or a link; 0 for none.
template <class Pred>
int some_interface(World& world, Pred pred) {
  std::vector<int> found;
  for (const auto& [ifindex, netdev] : world.machine.interfaces())
    if (pred(netdev)) found.push_back(ifindex);
  return found.empty() ? 0 : world.dice().pick(found);
}
bool is_own(const Machine::Interface& netdev) { return netdev.is_here && !netdev.function.empty(); }

void plug(World& world) {
  world.plug(static_cast<int>(world.dice().below(static_cast<size_t>(world.knobs.pfs))));
}
void unplug(World& world) {
  const std::string pf = some_pf(world);
  if (pf.empty() || world.is_busy(pf)) return;
  const int slot = static_cast<int>((*parse_hex(std::string_view(pf).substr(5, 2)) - 0x10) / 3);
  const auto vfs = world.machine.functions().at(pf).num_vfs;
  world.unplug(pf);
  if (!world.dice().chance(0.7)) return;
  world.later(world.dice().millis(10, 3'000), [&world, slot, vfs] {
    world.plug(slot);
    world.set_vfs(Machine::pf_address(slot), vfs);
  });
}
void rebind(World& world) {
  const std::string vf = some_vf(world);
  if (vf.empty() || world.is_busy(world.machine.functions().at(vf).pf)) return;
  const std::string before = world.machine.functions().at(vf).driver;
  world.machine.unbind(vf);
  const std::string next = before == "vfio-pci" ? "" : "vfio-pci";
  const bool is_late = next.empty() && world.knobs.troubles > 0 && world.dice().chance(0.3);
  world.later(world.dice().millis(0, 300), [&world, vf, next, is_late] {
    if (!is_late) return world.machine.bind(vf, next);
    world.machine.bind_without_interface(vf);
    world.later(world.dice().millis(0, 4'000), [&world, vf] { world.machine.make_interface(vf); });
    ++world.seen["interface later than its driver"];
  });
}
void leave_it_unbound(World& world) {
  const std::string vf = some_vf(world);
  if (!vf.empty() && !world.is_busy(world.machine.functions().at(vf).pf)) world.machine.unbind(vf);
}
void bind_again(World& world) {
  for (const auto& [address, function] : world.machine.functions())
    if (!function.pf.empty() && function.driver.empty() && !world.is_busy(function.pf))
      return world.machine.bind(std::string(address), "");
}
void to_a_pod(World& world) {
  const int moved = some_interface(world, is_own);
  if (moved == 0) return;
  const std::string function = world.machine.interfaces().at(moved).function;
  world.machine.move_away(moved);
  world.later(Millis{80} + world.knobs.netlink_delay_max + world.dice().millis(0, 200),
              [&world, function] { world.machine.move_rdma_away(function); });
  if (!world.dice().chance(0.5)) return;
  const bool renamed = world.dice().chance(0.3);
  world.later(world.dice().millis(5, 4'000), [&world, moved, renamed] {
    world.machine.come_back(moved, renamed ? "pod" + std::to_string(moved) : "");
  });
}
void from_a_pod(World& world) {
  const int back = some_interface(world, [](const auto& netdev) { return !netdev.is_here; });
  world.machine.come_back(back, world.dice().chance(0.3) ? "back" + std::to_string(back) : "");
}
void rename(World& world) {
  const int renamed = some_interface(world, is_own);
  static const std::vector<std::string> kNames = {"net0", "net1", "ens1f0", "ens2f0", "lan", "ens1f0v0"};
  world.machine.rename(renamed, world.dice().pick(kNames));
}
void enslave(World& world) {
  world.machine.add_bridge("br0");
  const int bridge = some_interface(world, [](const auto& netdev) { return netdev.kind == "bridge"; });
  world.machine.enslave(some_interface(world, is_own), bridge);
}
void free_slave(World& world) {
  world.machine.enslave(some_interface(world, [](const auto& netdev) { return netdev.master != 0; }), 0);
}
void route(World& world) {
  world.machine.set_default_route(some_interface(world, [](const auto& netdev) { return netdev.is_here; }),
                                  world.dice().chance(0.5));
}
void no_routes(World& world) {
  for (const auto& [ifindex, netdev] : std::map(world.machine.interfaces()))
    if (netdev.has_default_route) world.machine.set_default_route(ifindex, false);
}
void host_route(World& world) {
  world.machine.set_host_route(some_interface(world, [](const auto& netdev) { return netdev.is_here; }),
                               world.dice().chance(0.6));
}
void no_host_routes(World& world) {
  for (const auto& [ifindex, netdev] : std::map(world.machine.interfaces()))
    if (netdev.has_host_route) world.machine.set_host_route(ifindex, false);
}
// As DHCP gives one to every interface.
void address(World& world) {
  world.machine.set_address(some_interface(world, [](const auto& netdev) { return netdev.is_here; }),
                            world.dice().chance(0.7));
}
void vlan(World& world) {
  const int parent = some_interface(world, is_own);
  world.machine.add_vlan(parent, 100 + static_cast<int>(world.dice().below(2)));
  const int made =
      some_interface(world, [&](const auto& netdev) { return netdev.parent == parent && parent != 0; });
  if (made == 0) return;
  if (world.dice().chance(0.4))
    world.machine.set_default_route(made, true);
  else if (world.dice().chance(0.5))
    world.machine.set_host_route(made, true);
}
void remove_link(World& world) {
  world.machine.remove_link(some_interface(world, [](const auto& netdev) { return netdev.kind != "pci"; }));
}
void storm(World& world) {
  for (int i = 0; i < 30; ++i) {
    world.machine.poke(some_interface(world, is_own));
    world.machine.poke_function(some_pf(world));
  }
}
void overflow_udev(World& world) { world.lose_events(true); }
void overflow_netlink(World& world) { world.lose_events(false); }

// What reading them meets.

void race(World& world) { world.is_racing = !world.is_racing; }
void unreadable(World& world) {
  const std::string part = world.dice().chance(0.3) ? "sys/bus/pci/devices" : some_vf(world);
  if (part.empty()) return;
  const bool whole = part.starts_with("sys/");
  world.may_hide_devices = world.machine.is_blind = true;
  world.fault(
      "unreadable", world.dice().millis(10, 4'000), Millis{310'000},
      [&] {
        world.on_read = [&world, part, whole](const char*, std::string_view path) -> std::optional<Error> {
          const bool hit = whole ? path == part : path.find(part) != std::string_view::npos;
          if (!hit) return std::nullopt;
          ++world.seen["read failed"];
          world.may_hide_devices = world.machine.is_blind = true;
          return Error{Errc::kIo, std::string(path) + ": EIO"};
        };
      },
      [&world] { world.on_read = {}; });
}
void hang(World& world) {
  const std::string part = some_vf(world);
  if (part.empty()) return;
  world.may_hide_devices = world.machine.is_blind = true;
  world.fault(
      "hang", world.dice().millis(10, 9'000), Millis{330'000},
      [&] {
        world.on_read = [&world, part](const char*, std::string_view path) -> std::optional<Error> {
          if (path.find(part) == std::string_view::npos) return std::nullopt;
          ++world.seen["read hung"];
          world.may_hide_devices = world.machine.is_blind = true;
          fake::abandon(fake::Abandoned::kHangs);
        };
      },
      [&world] { world.on_read = {}; });
}
// What takes one away is told while policies ask for it: a PF is asked for what is missing, and nobody asks for what is
// there. While no policy asks it may go without a word, too.
void set_mac(World& world) {
  const std::string vf = some_vf(world);
  if (vf.empty()) return;
  const bool on = !world.machine.functions().at(vf).has_mac;
  const bool is_quiet =
      !on && !world.was_mac_asked_for() && world.scheduler.now().time_since_epoch().count() % 2;
  if (is_quiet) ++world.seen["a MAC goes without a word"];
  world.machine.set_mac(vf, on, on ? world.dice().chance(0.7) : !is_quiet);
  if (!world.dice().chance(0.4)) return;
  world.later(world.dice().millis(0, 9'000), [&world, vf, on] { world.machine.set_mac(vf, !on, true); });
}
void slow_reads(World& world) { world.executor.answer_after = world.dice().millis(0, 30); }

constexpr StepKind kHostSteps[] = {
    {"change number of VFs", &Knobs::host, 8, change_vfs},
    {"plug PF", &Knobs::host, 3, plug},
    {"unplug PF", &Knobs::host, 2, unplug},
    {"rebind VF", &Knobs::host, 5, rebind},
    {"unbind VF", &Knobs::host, 1, leave_it_unbound},
    {"bind VF", &Knobs::host, 2, bind_again},
    {"move interface to a pod", &Knobs::host, 5, to_a_pod},
    {"interface comes back", &Knobs::host, 4, from_a_pod},
    {"rename interface", &Knobs::host, 3, rename},
    {"enslave", &Knobs::host, 2, enslave},
    {"free from bridge", &Knobs::host, 3, free_slave},
    {"default route", &Knobs::host, 2, route},
    {"no default routes", &Knobs::host, 2, no_routes},
    {"host route", &Knobs::host, 2, host_route},
    {"no host routes", &Knobs::host, 2, no_host_routes},
    {"address", &Knobs::host, 1, address},
    {"VLAN", &Knobs::host, 1, vlan},
    {"remove link", &Knobs::host, 2, remove_link},
    {"storm of events", &Knobs::host, 0.5, storm},
    {"lose udev events", &Knobs::host_faults, 1.5, overflow_udev},
    {"lose netlink events", &Knobs::host_faults, 1.5, overflow_netlink},
    {"reads race with changes", &Knobs::host_faults, 1, race},
    {"unreadable files", &Knobs::host_faults, 0.4, unreadable},
    {"hanging files", &Knobs::host_faults, 0.3, hang},
    {"slow reads", &Knobs::host_faults, 1, slow_reads},
    {"admin MAC", &Knobs::readiness, 8, set_mac},
};

}  // namespace

std::span<const StepKind> host_steps() { return kHostSteps; }

}  // namespace sliced::sim
