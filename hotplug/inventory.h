#pragma once
// Readings -> the next inventory and what differs from the last one; and the memory of netdevs that are away.
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

/// Ids, sorted.
/// The three have no id in common.
struct InventoryDiff {
  std::vector<std::string> added, changed, removed;
  bool is_empty() const { return added.empty() && changed.empty() && removed.empty(); }
  size_t size() const { return added.size() + changed.size() + removed.size(); }
  bool operator==(const InventoryDiff&) const = default;
};
/// By id; a device is changed when any of its facts differs. Linear in both.
/// Devices that both share by pointer are not looked at; version and boot id are not compared.
InventoryDiff diff_inventory(const Inventory& before, const Inventory& now);
/// True where `now` differs from `before` only in that functions that had vanished are known to be gone.
bool is_confirmation(const Inventory& before, const Inventory& now);

/// What events said of interfaces since the readings before these: state alone cannot tell a rename here from
/// a rename in a pod, nor a move from an end.
/// It may tell of more than these readings have seen: it explains what differs, and takes nothing away by
/// itself.
struct NetdevChanges {
  std::set<std::string> left;        // names that went away, by a move or for good
  std::set<std::string> renamed_to;  // names given in our namespace
  std::map<int, std::string> ended;  // ifindex -> name of those that were unregistered (not moved)
  bool is_complete = true;  // false after a loss of events: then a new name is taken as a rename here
};

/// The inventory with its memory. Not thread-safe; every call is a pure function of its arguments and the
/// calls before.
class InventoryBook {
 public:
  /// kChanges: devices that no change concerns are not concluded anew. It is faster, and nothing else.
  /// Everything is concluded in any case: the first time, after recover_sticky(), while some interface has a
  /// switch id (any may be some VF's representor), and where VFs would be told something else of their PF.
  enum class Conclude { kChanges, kEverything };
  explicit InventoryBook(Conclude what = Conclude::kChanges) : what_(what) {}

  /// kMayGrow: the readings are no state of one moment (events came that they have not seen). They may show that the host uses
  /// a device, and never that it has stopped: that is concluded from the next readings with kAsRead. So it is with readings
  /// that are mixed themselves (HostReadings::are_links_mixed), unless the same links stay missing (are_missing_lasting): then
  /// devices that those may use are in use, and so are devices that were in use through another interface.
  enum class HostUse { kAsRead, kMayGrow };

  /// Never null: before the first take() an empty one of version 0.
  const InventoryPtr& now() const { return now_; }
  /// The next inventory. Its version grows by one if anything differs; else now() stays the same pointer.
  /// A boot id that differs alone is another version with an empty diff, and so is a udevd that has come. The readings are kept, to be
  /// compared with the next; what was remembered of functions that are not in them goes.
  InventoryDiff take(const HostReadings& readings, const NetdevChanges& changes,
                     HostUse use = HostUse::kAsRead);
  /// Takes effect with the next take(), for functions that have no netdev there and have a driver. Those with
  /// a netdev show what the kernel says.
  void recover_sticky(std::vector<RecoveredNetdev> recovered);
  /// Heard: the kernel calls an interface here by another name, under which it may leave before it is read.
  /// The name that we give it waits for that: on its way into a pod it may have one for a moment. ifindex: 0
  /// for whichever has the name.
  void rename(const std::string& from, const std::string& to, int ifindex);
  /// What is remembered of interfaces that are away: for tests, and for who shows it.
  const StickyNetdevs& sticky() const { return sticky_; }

 private:
  using Functions = std::set<PciAddress>;
  // Functions of which something differs from the readings before, and those in flux; nullopt: whatever there
  // is.
  std::optional<Functions> affected_by(const HostReadings& readings) const;
  // Before anything is concluded: the memory of each function's interfaces, of `only` where that is set.
  void remember(const HostReadings& readings, const NetdevChanges& changes,
                const std::optional<Functions>& only);
  void remember_one(const FunctionReading& function, const std::vector<const NetdevReading*>& here,
                    const HostReadings& readings, const NetdevChanges& changes);
  // A device that equals the one before is that very object: whoever compares inventories compares pointers.
  std::shared_ptr<Inventory> conclude(const HostReadings& readings);
  // nullptr where VFs are told something else of their PF than before: more has to be concluded.
  std::shared_ptr<Inventory> conclude_some(const HostReadings& readings, const Functions& functions);
  using Devices = std::map<std::string, std::optional<HostDevice>>;  // by id; nullopt is gone
  bool concerns_vfs(const Functions& functions, const Devices& fresh) const;
  // What the host used stays in use while its interface is not found and was not seen to leave (it may be
  // there under another name), and while the readings cannot show that it has stopped.
  void keep_host_use(HostDevice& device);
  // Of readings with links that are missing for good: who may be used by those.
  struct MissingUse {
    std::string text;  // "" there are none
    std::set<std::string> below;
  };
  static MissingUse use_by_missing(const HostReadings& readings);
  void note_missing_use(HostDevice& device);
  void remember_present(const FunctionReading& function, const NetdevReading& own,
                        const HostReadings& readings, const NetdevChanges& changes);
  void remember_absent(const FunctionReading& function, const NetdevChanges& changes);
  using Ports = std::vector<const NetdevReading*>;  // of one function, in order
  // The ports that are here are others than the first one: dev_port says so or, where drivers do not number
  // ports, what was known of them before.
  bool is_first_away(const FunctionReading& function, const Ports& here, const NetdevChanges& changes) const;
  void remember_other_ports(const FunctionReading& function, const StickyNetdev& before, const Ports& here,
                            const NetdevChanges& changes);
  bool may_be_here(const HostDevice& device) const;

  Conclude what_;
  InventoryPtr now_ = std::make_shared<const Inventory>();
  HostReadings before_;         // what now_ was concluded from
  bool may_use_shrink_ = true;  // in the readings that are concluded from
  bool keeps_use_ = false;      // of some device, although these do not show it
  bool are_mixed_ = false;
  MissingUse missing_use_;
  bool has_switches_ = false;  // of its interfaces some have a switch id
  StickyNetdevs sticky_;
  Functions in_flux_;  // functions of which the same readings may be remembered otherwise the next time
  std::map<PciAddress, RecoveredNetdev> recovered_;
};

}  // namespace sliced::hotplug
