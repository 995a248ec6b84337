#pragma once
// What an entry has while it is allocated: its device as a whole or a share of it, in its exclusion group. Which
// of them exclude each other.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sliced::policy {

/// exclusionGroup of a withdrawn entry whose group is not known any more: each that its device has.
inline constexpr std::string_view kAnyGroup = "*";

/// The device of one that may be on any device of its pool.
inline constexpr std::string_view kAnyDevice = "any device";  // no interface's name
/// The entry of one that stands for all that is not known.
inline constexpr std::string_view kUnknownEntry = "unreadable record";  // no entry has such a name

/// One entry of a pool: a device in one of the ways in which it is offered.
/// A value; two are one and the same entry when `entry` is, whatever else has changed.
struct Holding {
  std::string entry;   // name of the device entry
  std::string device;  // host device id
  std::string base;    // the device's name without suffix: a DNS label
  bool is_exclusive = true;
  std::string group;          // exclusionGroup, "" none
  bool is_withdrawn = false;  // no longer offered, and may still be allocated
  /// Withdrawn before this process began, and its device has not been seen yet: it may come still.
  bool is_awaited = false;
  /// Withdrawn, and it may be allocated beside another contested one that excludes it: an edit has put both into one
  /// group, or claims show both allocated.
  bool is_contested = false;
  bool operator==(const Holding&) const = default;
};

using HoldingsByPool = std::map<std::string, std::vector<Holding>>;

/// Whether two entries of a pool must never be allocated at the same time. pf: host device id of the pool's PF, "" where
/// it has none.
bool exclude_each_other(const Holding& a, const Holding& b, const std::string& pf);

/// A link's holding that was restored from a CDI spec alone: `device` is the entry's name, since the spec has no interface name. It may be of
/// each link whose base the entry's name starts with.
bool is_device_unknown(const Holding& holding);

/// Whether a claim that has one keeps the other from other claims: exclude_each_other(), or both are the same exclusive entry. A holding with
/// is_device_unknown() counts as one of each link that it may be of.
bool conflict(const Holding& a, const Holding& b, const std::string& pf);

/// Entries of one pool, to be asked whether another can stand beside them. An answer costs what there is of
/// its device, however many others there are.
class PoolHoldings {
 public:
  /// pf: as for exclude_each_other(); must outlive this, and so must what is added.
  explicit PoolHoldings(const std::string& pf) : pf_(pf) {}
  void add(const Holding& holding) { by_device_[holding.device].push_back(&holding), ++count_; }
  /// Whether it and one of them exclude each other.
  bool exclude(const Holding& holding) const;

 private:
  using Personas = std::vector<const Holding*>;
  const Personas& of(const std::string& device) const;

  const std::string& pf_;
  std::map<std::string_view, Personas> by_device_;
  size_t count_ = 0;
};

}  // namespace sliced::policy
