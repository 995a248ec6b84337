#pragma once
// Which objects of a kind are kept where there is not room for all: the same ones in whatever order they
// come, so that every node and every restart decides alike. Pure.
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

/// What an object takes, and how much it is needed. Made of the object alone, so that the order in which objects
/// come decides nothing.
struct Footprint {
  size_t bytes = 0;
  /// It may hold back what others offer: an exclude, or what may be one. Such objects have a room of their
  /// own, so that others cannot push them out, nor they others.
  bool guards = false;
  uint8_t rank = 0;        // 0: understood and in effect; higher is let go first
  int64_t created_at = 0;  // a number that grows with time; 0 unknown
  auto operator<=>(const Footprint&) const = default;
};

/// Of one kind. Both together are what the kind may take in bytes, as its own footprint counts.
struct MemoryLimits {
  size_t guards_bytes_max = SIZE_MAX;
  size_t others_bytes_max = SIZE_MAX;
};

/// Of those that ask for room, the lowest rank goes first, then what is small, then what is not large, then
/// the older one, the smaller one, the first by name; who comes behind one that finds no room finds none
/// either. So whoever makes an old one larger makes it give way, and not the small ones that came after it.
/// Memory: of what is left out 8 bytes each, and its hash table.
class MemoryBudget {
 public:
  static constexpr size_t kSmallBytes = 4u << 10, kLargeBytes = 32u << 10;
  using Name = std::pair<std::string, std::string>;  // namespace, name

  explicit MemoryBudget(MemoryLimits limits = {}) : limits_(limits) {}
  MemoryBudget(MemoryBudget&&) = default;
  MemoryBudget& operator=(MemoryBudget&&) = default;

  /// The object is there, with this footprint. False when it is left out.
  bool put(const Name& name, const Footprint& footprint);
  /// It is gone, whether it was kept or left out.
  void erase(const Name& name);
  std::optional<Footprint> footprint_of(const Name& name) const;  // of one that is kept
  /// Those that have to go to make room, and are left out from now on. final: nobody else asks; before, this
  /// may wait until a quarter more than there is room for has come.
  std::vector<std::pair<Name, Footprint>> evict(bool final);

  /// How many are known to be there and are not kept.
  size_t left_out() const { return left_out_.size(); }
  /// Something that is left out may fit now: the first of them is gone, or has room. What it says is not known
  /// here, so only a new list can tell.
  bool has_room_again() const;

 private:
  using Key = std::tuple<uint8_t, int, int64_t, size_t, Name>;
  using Kept = std::map<Name, Footprint>;
  struct ByRight {  // as key_of(), without a copy of the name
    bool operator()(const Kept::value_type* a, const Kept::value_type* b) const;
  };
  // Of guards and of all others: each has its own bytes and its own queue.
  struct Share {
    size_t bytes = 0;
    std::set<const Kept::value_type*, ByRight> queue;  // of kept_
    std::optional<Key> first_left_out;  // of those that fit at all; who comes behind it finds no room
    bool is_first_gone = false;
  };
  // The order in which objects have a right to stay, the first one first: rank, size class (4 KiB, 32 KiB),
  // age, size, name.
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

/// What is said of an object that is left out, with the remedy. kTooLarge.
inline Error no_room() {
  return {Errc::kTooLarge, "there is no room for it beside the others; remove some, or make it smaller"};
}

/// What was left out of a kind, for those who decide and for people.
/// Two names with one hash count as one: a 64-bit hash of a name that others choose, and so never what a
/// decision rests on but for holding back.
class LeftOut {
 public:
  void put(const MemoryBudget::Name& name, bool guards);
  void erase(const MemoryBudget::Name& name);
  /// Only these stay, as far as they are there.
  void keep_only(const std::vector<MemoryBudget::Name>& names);
  bool is_any() const { return !guards_.empty() || !others_.empty(); }
  /// How many of them may hold back what others offer: as long as there is one, nothing new is offered.
  size_t guards() const { return guards_.size(); }
  bool is_guard(const MemoryBudget::Name& name) const;
  /// "7 objects are left out, ... : ns/a, ns/b and 5 more"; "" for none. Names are those of the first eight that came.
  std::string describe() const;

 private:
  std::unordered_set<uint64_t> guards_, others_;  // hashes of names
  std::vector<std::string> first_;                // a few of them, as they came
};

}  // namespace sliced::watchers
