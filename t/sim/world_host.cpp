// The host of a world: its events on their way to the daemon, and functions that come and go.
#include <algorithm>

#include "reactor/base/text.h"
#include "t/sim/bounds.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

constexpr Millis kUdevdMax{2'900};  // less than Machine::kReadBound

// The interface that an event tells of; 0 none.
int made_by(const hotplug::HostEvent& event) {
  const auto* one = std::get_if<hotplug::Uevent>(&event);
  if (one == nullptr || one->subsystem != "net" || one->action != "add") return 0;
  return static_cast<int>(parse_int(one->properties.at("IFINDEX")).value_or(0));
}

}  // namespace

// Events.

void World::deliver(hotplug::HostEvent event, const std::string& key) {
  const bool udev = std::holds_alternative<hotplug::Uevent>(event);
  disturb(kHostBound + knobs.udev_delay_max);
  if (!udev) exposed.links_changed();
  if (const int made = knobs.has_udevd ? made_by(event) : 0; made != 0)
    return let_udevd_finish(made, event, key);
  if (udev ? udev_is_lost_ : netlink_is_lost_) return;
  const int copies = dice_.chance(knobs.duplicates) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    TimePoint& after = udev ? heard_at_[key] : netlink_at_;
    const Millis delay_max = udev ? knobs.udev_delay_max : knobs.netlink_delay_max;
    after = std::max(after, scheduler.now() + dice_.millis(0, delay_max.count()));
    const uint64_t epoch = udev ? udev_epoch_ : netlink_epoch_, id = next_task_++;
    tasks_[id] = scheduler.after(after - scheduler.now(), [this, id, event, udev, epoch] {
      const auto keep = tasks_.extract(id);
      hand_over(event, udev, epoch);
    });
  }
}

// udevd tells of an interface when it has finished with it, and of whatever else happens to its device after that.
void World::let_udevd_finish(int ifindex, const hotplug::HostEvent& event, const std::string& key) {
  const bool is_slow = knobs.udev_delay_max < Millis{100} && dice_.chance(0.2);
  TimePoint& at = heard_at_[key];
  at = std::max(
      at, scheduler.now() + dice_.millis(0, is_slow ? kUdevdMax.count() : knobs.udev_delay_max.count()));
  disturb(kHostBound + knobs.udev_delay_max + (at - scheduler.now()));
  later(at - scheduler.now(), [this, ifindex, event = hotplug::HostEvent(event), boot = boots_]() mutable {
    const std::string name = machine.finish(ifindex);
    finished_at_ = scheduler.now();
    if (auto* one = std::get_if<hotplug::Uevent>(&event); one != nullptr && !name.empty()) {
      one->devpath = one->devpath.substr(0, one->devpath.rfind('/') + 1) + name;  // it may be another by now
      one->properties["INTERFACE"] = name;
    }
    if (!udev_is_lost_ && boot == boots_) hand_over(event, true, udev_epoch_);
    ++seen["udevd has finished with an interface"];
  });
}

void World::hand_over(const hotplug::HostEvent& event, bool udev, uint64_t epoch) {
  if (epoch != (udev ? udev_epoch_ : netlink_epoch_) || !daemon) return;
  const auto& to = udev ? udev_.on_event : netlink_.on_event;
  if (!to) return;
  if (log.is_loud) say(event);
  if (const auto* one = std::get_if<hotplug::Uevent>(&event)) {
    trace(one->action + one->devpath);
    if (one->subsystem == "pci" && (one->action == "add" || one->action == "remove" || one->action == "bind"))
      pci_heard_at_ = scheduler.now();
  }
  if (std::holds_alternative<hotplug::Overflow>(event)) ++seen["overflow"];
  border.enter([&] { to(event); });
}

// For whoever reads a history.
void World::say(const hotplug::HostEvent& event) {
  if (const auto* one = std::get_if<hotplug::Uevent>(&event))
    log.debug("heard", {{"uevent", one->action}, {"path", one->devpath}});
  else if (const auto* link = std::get_if<hotplug::LinkChange>(&event))
    log.debug("heard", {{"link", link->name},
                        {"ifindex", link->ifindex},
                        {"how", link->is_moved     ? "moved"
                                : link->is_deleted ? "deleted"
                                                   : "changed"}});
}

void World::lose_events(bool udev) {
  bool& is_lost = udev ? udev_is_lost_ : netlink_is_lost_;
  uint64_t& epoch = udev ? udev_epoch_ : netlink_epoch_;
  if (is_lost) return;
  is_lost = true;
  ++epoch;
  machine.forget_what_events_told();
  is_loss_lately_ = true;
  later(dice_.millis(0, 60), [this, udev, epoch] {
    if (epoch != (udev ? udev_epoch_ : netlink_epoch_)) return;
    machine.forget_what_events_told();
    (udev ? udev_is_lost_ : netlink_is_lost_) = false;
    hand_over(hotplug::Overflow{"ENOBUFS"}, udev, epoch);
    disturb(kHostBound);
  });
}

void World::note_event(const std::string& plural, kube::EventType type) {
  if (type == kube::EventType::kBookmark) {
    ++seen["bookmark"];
    return;
  }
  // Of a wipe, once it is heard of.
  if (plural == "resourceslices" && type == kube::EventType::kDeleted && is_wiped_) ++seen["wiped"];
  if (plural != "sriovresourcepolicies" || !daemon || daemon->decision() == nullptr) return;
  ++seen["policy edit"];
  // From a function's first event to the end of its settling the hotplug is under way in the daemon.
  if (pci_heard_at_ && scheduler.now() - *pci_heard_at_ <= Millis{100})
    ++seen["policy edit during a hotplug"];
}

// The host.

void World::remember_function(const std::string& address) {
  const auto remember_of = [&](auto& past, const std::string& whose, auto facts) {
    auto& one = past[whose];
    if (!one.empty() && one.back().second == facts) return;
    one.emplace_back(scheduler.now(), std::move(facts));
    if (log.is_loud) log.debug("machine changed", {{"function", whose}});
    disturb(kHostBound + knobs.udev_delay_max);
  };
  const auto remember = [&](auto& past, auto facts) { remember_of(past, address, std::move(facts)); };
  const auto at = machine.functions().find(address);
  if (at == machine.functions().end() || !at->second.pf.empty()) {
    remember(vf_past_, machine.vf_facts(address));
    address_of_[name_of_entry(address)] = address;
  }
  if (at == machine.functions().end() || at->second.pf.empty()) remember(pf_past_, machine.pf_facts(address));
  if (knobs.readiness == 0) return;
  const auto note = [&](const std::string& vf) {
    const VfFacts facts = machine.vf_facts(vf);
    sim::remember(ready_past_[vf], scheduler.now(),
                  !facts.is_there       ? Ready::kAbsent
                  : facts.is_open       ? facts.is_configured ? Ready::kOpenAndSet : Ready::kOpen
                  : facts.is_configured ? Ready::kYes
                                        : Ready::kNo);
  };
  if (at == machine.functions().end() || !at->second.pf.empty()) return note(address);
  // Who cannot be asked leaves its VFs open.
  for (const std::string& vf : machine.vfs_of(address)) {
    remember_of(vf_past_, vf, machine.vf_facts(vf));
    note(vf);
  }
}

// As the kernel does it (drivers/pci/iov.c): numbers first, each function, then its links, then its driver.
void World::set_vfs(const std::string& pf, int count) {
  const auto at = machine.functions().find(pf);
  if (at == machine.functions().end() || busy_.contains(pf) || at->second.num_vfs == count) return;
  busy_.insert(pf);
  count = std::min(count, at->second.total_vfs);
  const int before = at->second.num_vfs;
  const std::vector<int64_t> paces = {0, 1, 5, 20};
  const int64_t pace = dice_.pick(paces);
  Millis time{0};
  const auto op = [&](std::function<void()> what) {
    time += dice_.millis(0, pace);
    queue_op(time, std::move(what));
  };
  // A number is changed by way of none.
  for (int i = 0; i < before; ++i) {
    op([this, pf, i] { machine.unlink_vf(pf, i); });
    op([this, pf, i] { machine.unplug(Machine::vf_address(pf, i)); });
  }
  if (before > 0) op([this, pf] { machine.announce_num_vfs(pf, 0); });
  const bool vfio = dice_.chance(0.2), is_late = !vfio && knobs.troubles > 0 && dice_.chance(0.15);
  for (int i = 0; i < count; ++i) {
    op([this, pf, i] { machine.add_vf(pf, i); });
    const bool is_bare = knobs.readiness > 0 && dice_.chance(0.3);
    op([this, pf, i, is_bare] {
      if (is_bare) machine.set_mac(Machine::vf_address(pf, i), false, false);
      machine.link_vf(pf, i);
    });
    op([this, pf, i, vfio, is_late] {
      const std::string vf = Machine::vf_address(pf, i);
      if (is_late)
        machine.bind_without_interface(vf);
      else
        machine.bind(vf, vfio ? "vfio-pci" : "");
      if (is_late) later(dice_.millis(0, 3'000), [this, vf] { machine.make_interface(vf); });
      const auto* netdev = machine.interface_of(vf);
      const auto* above = machine.interface_of(pf);
      if (netdev != nullptr && above != nullptr)
        machine.rename(netdev->ifindex, machine.free_name(above->name + "v" + std::to_string(i)));
    });
  }
  op([this, pf, count] {
    machine.announce_num_vfs(pf, count);
    busy_.erase(pf);
  });
}

void World::plug(int slot) {
  machine.plug_pf(slot, "ens" + std::to_string(slot + 1) + "f0", slot % 2 == 0 ? "8086" : "15b3",
                  slot % 3 == 2 ? -1 : slot % 2, knobs.total_vfs);
}

void World::unplug(const std::string& pf) {
  if (busy_.contains(pf) || !machine.functions().contains(pf)) return;
  for (const std::string& vf : machine.vfs_of(pf)) {
    machine.unlink_vf(pf, machine.functions().at(vf).index);
    machine.unplug(vf);
  }
  machine.unplug(pf);
}

}  // namespace sliced::sim
