#pragma once
// Derives the next inventory and its differences from readings, and remembers netdevs in other namespaces.
// Pure.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "hotplug/readings.h"
#include "hotplug/resolve.h"

namespace sliced::hotplug {

/// Ids, sorted. The three lists are disjoint.
struct InventoryDiff {
  std::vector<std::string> added, changed, removed;
  bool is_empty() const { return added.empty() && changed.empty() && removed.empty(); }
  size_t size() const { return added.size() + changed.size() + removed.size(); }
  bool operator==(const InventoryDiff&) const = default;
};
/// Compares by id; a device is changed if any of its facts differs. Linear in both. Devices that both share
/// by pointer are skipped; version and boot id are not compared.
InventoryDiff diff_inventory(const Inventory& before, const Inventory& now);
/// Returns true if `now` differs from `before` only in that vanished functions are confirmed as removed.
bool is_confirmation(const Inventory& before, const Inventory& now);

/// Events of interfaces since the last readings. State alone does not distinguish a rename here from a rename
/// in a pod, nor a move from a removal. The changes may be newer than the readings: they explain differences,
/// and remove nothing.
struct NetdevChanges {
  std::set<std::string> left;        // names of interfaces that were moved or removed
  std::set<std::string> renamed_to;  // names given in our namespace
  std::map<int, std::string> ended;  // ifindex -> name of interfaces that were unregistered (not moved)
  bool is_complete = true;           // false after a loss of events: then a new name counts as a rename here
};

/// The inventory with its memory. Not thread-safe; every call depends only on its arguments and the earlier
/// calls.
class InventoryBook {
 public:
  /// kChanges: devices that no change affects are not derived again. The result is the same as with
  /// kEverything. Everything is derived the first time, after recover_sticky(), while an interface has a
  /// switch id (any may be a VF's representor), and if a fact of a PF that VFs inherit has changed.
  enum class Conclude { kChanges, kEverything };
  explicit InventoryBook(Conclude what = Conclude::kChanges) : scope_(what) {}

  /// kMayGrow: newer events exist, so the readings are not the state of one moment. They may add a host use,
  /// but not remove one; the next readings with kAsRead may. The same applies to readings that are mixed
  /// themselves (HostReadings::are_links_mixed), unless the same links stay missing (are_missing_lasting).
  /// Then devices that those links may use count as used, and so do devices that were used through another
  /// interface.
  enum class HostUse { kAsRead, kMayGrow };

  /// Never null: before the first take() an empty one of version 0.
  const InventoryPtr& now() const { return now_; }
  /// Derives the next inventory. Its version grows by one if anything differs; otherwise now() stays the same
  /// pointer. A change of only the boot id or udevd gives a new version with an empty diff. Keeps the
  /// readings for the next comparison. Forgets functions that are not in them.
  InventoryDiff take(const HostReadings& readings, const NetdevChanges& changes,
                     HostUse use = HostUse::kAsRead);
  /// Takes effect at the next take(), for functions with a driver but without a netdev in the readings. A
  /// function with a netdev shows the kernel's facts.
  void recover_sticky(std::vector<RecoveredNetdev> recovered);
  /// An event reported that an interface here has a new kernel name, under which it may leave before it is
  /// read. The name for selectors stays until it is read, because an interface on its way into a pod may have
  /// a temporary name. ifindex: 0 for whichever has the name.
  void rename(const std::string& from, const std::string& to, int ifindex);
  /// Returns the remembered interfaces of other namespaces; for tests and output.
  const StickyNetdevs& sticky() const { return sticky_; }

 private:
  using Functions = std::set<PciAddress>;
  // Returns the functions that differ from the last readings, and those in flux; nullopt: all.
  std::optional<Functions> affected_by(const HostReadings& readings) const;
  // Updates the memory of each function's interfaces, or of those in `only`, before devices are derived.
  void remember(const HostReadings& readings, const NetdevChanges& changes,
                const std::optional<Functions>& only);
  void remember_netdevs(const FunctionReading& function, const std::vector<const NetdevReading*>& here,
                        const HostReadings& readings, const NetdevChanges& changes);
  // A device that equals the former one stays the same object, so that inventories can be compared by
  // pointers.
  std::shared_ptr<Inventory> conclude(const HostReadings& readings);
  // Returns nullptr if a fact of a PF that VFs inherit has changed, so that more must be derived.
  std::shared_ptr<Inventory> conclude_affected(const HostReadings& readings, const Functions& functions);
  using Devices = std::map<std::string, std::optional<HostDevice>>;  // by id; nullopt: removed
  bool concerns_vfs(const Functions& functions, const Devices& fresh) const;
  // Keeps a host use while its interface is not found and was not seen to leave (it may have another name),
  // and while the readings may not remove a use.
  void retain_host_use(HostDevice& device);
  // For readings with permanently missing links: the devices that these may use.
  struct MissingUse {
    std::string text;  // "" if there are none
    std::set<std::string> below;
  };
  static MissingUse use_by_missing(const HostReadings& readings);
  void note_missing_use(HostDevice& device);
  void remember_present(const FunctionReading& function, const NetdevReading& own,
                        const HostReadings& readings, const NetdevChanges& changes);
  void remember_absent(const FunctionReading& function, const NetdevChanges& changes);
  using Ports = std::vector<const NetdevReading*>;  // of one function, in order
  // Returns whether the first port is in another namespace: by dev_port or, without port numbers, by the
  // remembered facts of the ports that are here.
  bool is_first_away(const FunctionReading& function, const Ports& here, const NetdevChanges& changes) const;
  void remember_other_ports(const FunctionReading& function, const StickyNetdev& before, const Ports& here,
                            const NetdevChanges& changes);
  bool may_be_present(const HostDevice& device) const;

  Conclude scope_;
  InventoryPtr now_ = std::make_shared<const Inventory>();
  HostReadings before_;         // the readings of now_
  bool may_use_shrink_ = true;  // the current readings may remove a host use
  bool retains_use_ = false;    // a device keeps a use that the readings do not show
  bool are_mixed_ = false;
  MissingUse missing_use_;
  bool has_switches_ = false;  // an interface has a switch id
  StickyNetdevs sticky_;
  Functions in_flux_;  // functions whose memory may change with the next readings even if these are equal
  std::map<PciAddress, RecoveredNetdev> recovered_;
};

}  // namespace sliced::hotplug
