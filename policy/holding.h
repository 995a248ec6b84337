#pragma once
// The part of a device that an allocated entry takes: the whole device or a share, in its exclusionGroup.
// Decides which entries exclude each other.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sliced::policy {

/// exclusionGroup of a withdrawn entry whose group is unknown: it counts as in each group of its device.
inline constexpr std::string_view kAnyGroup = "*";

/// Holding::device of an entry that may be on any device of its pool.
inline constexpr std::string_view kAnyDevice = "any device";  // not an interface name
/// Holding::entry of a holding that represents all unknown entries.
inline constexpr std::string_view kUnknownEntry = "unreadable record";  // not an entry name

/// One entry of a pool: a device in one of the ways in which it is offered. `entry` is its identity.
struct Holding {
  std::string entry;   // name of the device entry
  std::string device;  // host device id
  std::string base;    // name of the device without suffix: a DNS label
  bool is_exclusive = true;
  std::string group;          // exclusionGroup; "" if none
  bool is_withdrawn = false;  // no longer offered, but may still be allocated
  /// Withdrawn before this process started, and its device has not been seen yet. It may still appear.
  bool is_awaited = false;
  /// Withdrawn, and possibly allocated beside a contested entry that excludes it: an edit put both into one
  /// group, or claims show both allocated.
  bool is_contested = false;
  bool operator==(const Holding&) const = default;
};

using HoldingsByPool = std::map<std::string, std::vector<Holding>>;

/// Returns true if two entries of a pool must never be allocated at the same time. pf: host device id of the
/// pool's PF; "" if it has none.
bool exclude_each_other(const Holding& a, const Holding& b, const std::string& pf);

/// Returns true for a link's holding that was restored from a CDI spec alone. Its `device` is the entry's
/// name, because the spec has no interface name. It may belong to each link whose base is a prefix of that
/// name.
bool is_device_unknown(const Holding& holding);

/// Returns true if an allocation of one forbids an allocation of the other: exclude_each_other(), or both are
/// the same exclusive entry. A holding with is_device_unknown() counts for each link to which it may belong.
bool conflict(const Holding& a, const Holding& b, const std::string& pf);

/// Entries of one pool, for fast checks of exclusion. The cost of a check depends on the entries of its
/// device only.
class PoolHoldings {
 public:
  /// pf: as for exclude_each_other(). Requires: pf and added holdings outlive this object.
  explicit PoolHoldings(const std::string& pf) : pf_(pf) {}
  void add(const Holding& holding) { by_device_[holding.device].push_back(&holding), ++count_; }
  /// Returns true if it and one of the entries exclude each other.
  bool exclude(const Holding& holding) const;

 private:
  using Personas = std::vector<const Holding*>;
  const Personas& of(const std::string& device) const;

  const std::string& pf_;
  std::map<std::string_view, Personas> by_device_;
  size_t count_ = 0;
};

}  // namespace sliced::policy
