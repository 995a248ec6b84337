#pragma once
// Selects the objects of a kind that fit into memory. The result does not depend on the order of arrival, so
// that all nodes and restarts select the same. Pure.
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::watchers {

/// Size and priority of an object, computed from the object alone.
struct Footprint {
  size_t bytes = 0;
  /// An exclude, or an object that may be one. These have their own memory and are not displaced by others.
  bool guards = false;
  uint8_t rank = 0;        // 0: valid and in effect; higher ranks are dropped first
  int64_t created_at = 0;  // grows with time; 0: unknown
  auto operator<=>(const Footprint&) const = default;
};

/// Limits of one kind, in bytes of Footprint.
struct MemoryLimits {
  size_t guards_bytes_max = SIZE_MAX;
  size_t others_bytes_max = SIZE_MAX;
};

/// Objects are kept in this order until one does not fit: lower rank, size class (4 KiB, 32 KiB), older,
/// smaller, name. So an old object that grows displaces itself, not smaller ones that came later. Memory: 8
/// bytes per omitted object.
class MemoryBudget {
 public:
  static constexpr size_t kSmallBytes = 4u << 10, kLargeBytes = 32u << 10;
  using Name = std::pair<std::string, std::string>;  // namespace, name

  explicit MemoryBudget(MemoryLimits limits = {}) : limits_(limits) {}
  MemoryBudget(MemoryBudget&&) = default;
  MemoryBudget& operator=(MemoryBudget&&) = default;

  /// Adds or changes an object. Returns false if it is omitted.
  bool put(const Name& name, const Footprint& footprint);
  /// Removes an object, kept or omitted.
  void erase(const Name& name);
  std::optional<Footprint> footprint_of(const Name& name) const;  // of a kept object
  /// Returns the objects to drop. With final = false this may wait until the limit is exceeded by a quarter.
  std::vector<std::pair<Name, Footprint>> evict(bool final);

  /// Number of omitted objects.
  size_t left_out() const { return left_out_.size(); }
  /// Returns true if an omitted object may fit now. Its content is unknown here, so that a new list is
  /// needed.
  bool has_room_again() const;

 private:
  using Key = std::tuple<uint8_t, int, int64_t, size_t, Name>;
  using Kept = std::map<Name, Footprint>;
  struct ByRight {  // as key_of(), without copying the name
    bool operator()(const Kept::value_type* a, const Kept::value_type* b) const;
  };
  // Excludes and all others have separate limits and queues.
  struct Share {
    size_t bytes = 0;
    std::set<const Kept::value_type*, ByRight> queue;  // of kept_
    std::optional<Key> first_omitted;  // the first omitted object; later ones are omitted, too
    bool has_first_been_removed = false;
  };
  // Order of priority: rank, size class (4 KiB, 32 KiB), age, size, name.
  static Key key_of(const Name& name, const Footprint& footprint);
  size_t limit_of(const Footprint& footprint) const {
    return footprint.guards ? limits_.guards_bytes_max : limits_.others_bytes_max;
  }
  Share& share_of(const Footprint& footprint) { return shares_[footprint.guards ? 1 : 0]; }
  void leave_out(const Name& name, const Footprint& footprint);

  MemoryLimits limits_;
  Share shares_[2];
  Kept kept_;
  std::unordered_set<uint64_t> left_out_;  // hashes of names
};

/// Returns the error of an omitted object, with the remedy: kTooLarge.
inline Error no_room() {
  return {Errc::kTooLarge, "the memory for this kind is used up; remove some objects, or make it smaller"};
}

/// The omitted objects of a kind. Names are compared by a 64-bit hash, so that decisions use it only to hold
/// devices back.
class Omitted {
 public:
  void put(const MemoryBudget::Name& name, bool guards);
  void erase(const MemoryBudget::Name& name);
  /// Removes all other objects.
  void keep_only(const std::vector<MemoryBudget::Name>& names);
  bool is_any() const { return !guards_.empty() || !others_.empty(); }
  /// Number of omitted objects that may be excludes: above 0, no new device is offered.
  size_t guards() const { return guards_.size(); }
  bool is_guard(const MemoryBudget::Name& name) const;
  /// "7 objects are left out, ... : ns/a, ns/b and 5 more"; "": none. Names the first eight.
  std::string describe() const;

 private:
  std::unordered_set<uint64_t> guards_, others_;  // hashes of names
  std::vector<std::string> first_;                // names of the first eight
};

}  // namespace sliced::watchers
