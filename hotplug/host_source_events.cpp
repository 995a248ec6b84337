// Handling of events: marks entries to read again, and removes deleted ones immediately.
#include <algorithm>
#include <utility>

#include "hotplug/host_source.h"
#include "hotplug/pci_function.h"
#include "hotplug/read_value.h"
#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos;
}

std::string property(const Uevent& event, const char* key) {
  const auto at = event.properties.find(key);
  return at == event.properties.end() ? std::string() : at->second;
}

std::string text_of(const Uevent& event) {
  return "uevent " + escaped(event.action, 16) + " " + escaped(event.devpath);
}

}  // namespace

void HostSource::on_event(HostEvent event) {
  ++counters_.events;
  std::visit([this](const auto& one) { on(one); }, event);
}

void HostSource::on(const Uevent& event) {
  if (event.subsystem == "pci") return on_pci(event);
  if (event.subsystem == "net") return on_net(event);
  if (event.subsystem != "infiniband" && event.subsystem != "vdpa" && event.subsystem != "auxiliary") return;
  marks_.touched.lists = true;
  mark(text_of(event));
}

void HostSource::on_pci(const Uevent& event) {
  const auto address = PciAddress::decode(last_component(event.devpath));
  if (!address) return;
  const FunctionReading* known = readings_.functions.find(*address);
  if (known != nullptr && known->physfn) marks_.touched.functions.insert(*known->physfn);
  marks_.touched.functions.insert(*address);
  if (event.action == "remove") {
    mark_dependents(*address);
    return vanish(EraseFunction{*address}, text_of(event));
  }
  mark(text_of(event));
}

// The event may concern another function that had the address before; then this one's interfaces still exist.
// A VF without links is known only from its PF.
void HostSource::mark_dependents(const PciAddress& function) {
  for (const auto& [name, netdev] : readings_.netdevs)
    if (netdev.is_functions_own && netdev.function == function) marks_.touched.netdevs.insert(name);
  const FunctionReading* pf = readings_.functions.find(function);
  if (pf == nullptr || pf->total_vfs == 0) return;
  for (const auto& [address, other] : readings_.functions)
    if (!other.physfn && is_vf_of(*pf, other)) marks_.touched.functions.insert(address);
}

void HostSource::on_net(const Uevent& event) {
  const std::string event_name = property(event, "INTERFACE");
  const std::string name = is_name(event_name) ? event_name : std::string(last_component(event.devpath));
  if (!is_name(name)) return;
  marks_.touched.netdevs.insert(name);
  const int ifindex =
      static_cast<int>(std::clamp<int64_t>(parse_int(property(event, "IFINDEX")).value_or(0), 0, INT32_MAX));
  if (event.action == "remove") {
    marks_.changes.left.insert(name);
    return vanish(EraseNetdev{name, ifindex}, text_of(event));
  }
  if (event.action == "move") {
    const std::string from(last_component(property(event, "DEVPATH_OLD")));
    if (is_name(from) && from != name)
      rename({from, name, ifindex});
    else
      marks_.changes.renamed_to.insert(name);
  }
  mark(text_of(event));
}

void HostSource::on(const LinkChange& event) {
  if (!is_name(event.name)) return;
  const std::string why = std::string("link ") +
                          (event.is_deleted ? event.is_moved ? "moved away " : "deleted " : "changed ") +
                          escaped(event.name, 64);
  marks_.touched.netdevs.insert(event.name);
  if (event.is_deleted) {
    marks_.changes.left.insert(event.name);
    unread_names_.erase(event.ifindex);
    if (!event.is_moved) marks_.changes.ended[event.ifindex] = event.name;
    return vanish(EraseNetdev{event.name, event.ifindex}, why);
  }
  const std::string known = name_of_ifindex(event.ifindex);
  if (!known.empty() && known != event.name) rename({known, event.name, event.ifindex});
  record_name_change(event);
  mark(why);
}

// An interface is often renamed immediately after its creation. This event distinguishes it from one that
// returned from a pod under another name.
void HostSource::record_name_change(const LinkChange& event) {
  if (unread_names_.size() >= kTouchedMax) unread_names_.clear();
  unread_names_[event.ifindex] = event.name;
}

// It may disappear under its new name before it is read.
void HostSource::rename(const RenameNetdev& change) {
  marks_.changes.renamed_to.insert(change.to);
  marks_.touched.netdevs.insert(change.from);
  book_.rename(change.from, change.to, change.ifindex);
  edit(change);
}

// A link that has such a route already is not read again: daemons that route set thousands.
void HostSource::on(const RouteChange& event) {
  const auto is_known = [&] {
    for (const std::string& name : readings_.other_routes)
      if (const NetdevReading* netdev = readings_.netdevs.find(name);
          netdev != nullptr && netdev->ifindex == event.new_link)
        return true;
    return false;
  };
  if (event.new_link != 0 && is_known()) return;
  marks_.touched.lists = true;
  mark(event.new_link == 0 ? "default route changed" : "route added");
}

void HostSource::on(const Overflow& event) {
  unread_names_.clear();  // events of these may have been lost
  ++counters_.overflows;
  ports_.log.warning("host events lost: reading the host again", {{"why", event.why}});
  marks_.full = marks_.relisted = true;
  mark("events lost: " + event.why);
}

void HostSource::mark(std::string why) {
  if (marks_.why.empty()) marks_.why = std::move(why);
  if (marks_.touched.functions.size() + marks_.touched.netdevs.size() > kTouchedMax) {
    marks_.touched = {};
    marks_.full = true;
  }
  schedule();
}

bool HostSource::apply(const Edit& edit, HostReadings& readings) {
  if (const auto* erased = std::get_if<EraseFunction>(&edit)) {
    readings.vdpa_of_function.erase(erased->function);
    readings.netdevs.erase_if([&](const std::string&, const NetdevReading& netdev) {
      return netdev.is_functions_own && netdev.function == erased->function;
    });
    readings.rdma_of_function.erase(erased->function);
    readings.pkeys.erase(erased->function);
    readings.pkeys_unread.erase(erased->function);
    readings.enforced.erase(erased->function);
    readings.settings_unread.erase(erased->function);
    const FunctionReading* known = readings.functions.find(erased->function);
    const bool existed = known != nullptr;
    // Its PF's link to it is removed as well, so that the following reading finds no difference.
    const std::optional<PciAddress> pf = existed ? known->physfn : std::nullopt;
    if (const FunctionReading* owner = pf ? readings.functions.find(*pf) : nullptr;
        owner != nullptr && owner->vfs.contains(erased->function))
      readings.functions.at(*pf).vfs.erase(erased->function);
    if (existed)
      for (const PciAddress& partner : std::set<PciAddress>(known->iommu_partners))
        if (readings.functions.contains(partner))
          readings.functions.at(partner).iommu_partners.erase(erased->function);
    readings.functions.erase(erased->function);
    if (existed) readings.vanished.insert(erased->function);
    return existed;
  }
  if (const auto* erased = std::get_if<EraseNetdev>(&edit)) {
    const NetdevReading* known = readings.netdevs.find(erased->name);
    if (known == nullptr || (erased->ifindex != 0 && known->ifindex != erased->ifindex)) return false;
    readings.netdevs.erase(erased->name);
    readings.other_routes.erase(erased->name);
    readings.learned_routes.erase(erased->name);
    readings.default_routes.erase(erased->name);  // they go with it; the name may be another's in a moment
    return true;
  }
  const auto& rename = std::get<RenameNetdev>(edit);
  const NetdevReading* known = readings.netdevs.find(rename.from);
  if (known == nullptr || (rename.ifindex != 0 && known->ifindex != rename.ifindex)) return false;
  NetdevReading renamed = *known;
  const NetdevReading* there = readings.netdevs.find(rename.to);
  // One of the two has another name by now; the next reading shows which.
  if (there != nullptr && there->ifindex != renamed.ifindex) return false;
  readings.netdevs.erase(rename.from);
  if (there != nullptr) return true;
  renamed.name = rename.to;
  if (auto vlan = readings.vlans.extract(rename.from)) {
    vlan.key() = rename.to;
    readings.vlans.insert(std::move(vlan));
  }
  for (auto& [name, vlan] : readings.vlans)
    if (vlan.parent == rename.from) vlan.parent = rename.to;
  for (auto* routes : {&readings.default_routes, &readings.learned_routes, &readings.other_routes})
    if (routes->erase(rename.from) > 0) routes->insert(rename.to);
  readings.netdevs[rename.to] = std::move(renamed);
  return true;
}

void HostSource::edit(Edit change) {
  apply(change, readings_);
  if (!reading_) return;
  if (reading_->is_read)
    apply(change, *reading_->result);
  else
    reading_->edits.push_back(std::move(change));
}

// A reading in progress has taken over the earlier marks.
NetdevChanges HostSource::netdev_changes() const {
  NetdevChanges out = marks_.changes;
  if (!reading_) return out;
  const NetdevChanges& pending = reading_->marks.changes;
  out.left.insert(pending.left.begin(), pending.left.end());
  out.renamed_to.insert(pending.renamed_to.begin(), pending.renamed_to.end());
  out.ended.insert(pending.ended.begin(), pending.ended.end());
  return out;
}

// The first removal of a burst is processed immediately, the others together at its end. An unregistered
// interface waits for that end, or for its function: the kernel unregisters the interface first, and both are
// one update then.
void HostSource::vanish(Edit change, const std::string& why) {
  bool may_follow_function = false;
  // An interface often disappears because its function does, and udev's event for that may be late.
  if (const auto* erased = std::get_if<EraseNetdev>(&change))
    if (const NetdevReading* netdev = readings_.netdevs.find(erased->name);
        netdev != nullptr && netdev->is_functions_own) {
      may_follow_function = marks_.changes.ended.contains(netdev->ifindex);
      marks_.touched.functions.insert(*netdev->function);
    }
  edit(std::move(change));
  mark(why);
  if (!has_reported_) return;
  const bool is_concluded = burst_ && is_burst_concluded_;
  if (!burst_) {
    is_burst_concluded_ = false;
    burst_ = ports_.scheduler.after(kBurst, [this, why] {
      burst_.reset();
      if (std::exchange(is_assembly_due_, false)) assemble(why, netdev_changes(), false);
    });
  }
  is_assembly_due_ = is_concluded || may_follow_function;
  if (is_assembly_due_) return;
  is_burst_concluded_ = true;
  assemble(why, marks_.changes, false);
}

std::string HostSource::name_of_ifindex(int ifindex) const {
  for (const auto& [name, netdev] : readings_.netdevs)
    if (netdev.ifindex == ifindex) return name;
  const auto heard = unread_names_.find(ifindex);
  return heard == unread_names_.end() ? "" : heard->second;
}

}  // namespace sliced::hotplug
