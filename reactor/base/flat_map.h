#pragma once
// A small ordered map in one block of memory, with the part of std::map's interface that is used here. Made
// for maps of a few dozen entries that are read and compared much more often than changed; in key order,
// insertion at the end is cheap. References and iterators last until the next insertion or removal.
#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <utility>
#include <vector>

namespace sliced {

/// Lookup: what is looked up by; Key converts to it, and both are ordered alike.
/// Cost:      looking up is logarithmic; inserting in front of others, and removing, move what stands behind.
/// Invariant: keys are strictly ascending. Two maps with the same entries are equal whatever was done to make
/// them, and walking one gives the same order on every node.
/// Threads:   many may read, or one may write.
template <class Key, class Value, class Lookup = Key>
class FlatMap {
 public:
  using value_type = std::pair<Key, Value>;
  using const_iterator = typename std::vector<value_type>::const_iterator;
  using iterator = const_iterator;  // keys are in order: what is there is changed through operator[] only

  FlatMap() = default;
  /// Of several with one key the last one stands.
  FlatMap(std::initializer_list<value_type> entries) {
    for (const auto& [key, value] : entries) insert_or_assign(key, value);
  }

  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  /// From the largest key to the smallest.
  auto rbegin() const { return entries_.rbegin(); }
  auto rend() const { return entries_.rend(); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  /// Room for that many without another allocation, as of a std::vector; references stay good meanwhile.
  void reserve(size_t count) { entries_.reserve(count); }

  /// end() where there is none. A binary search, as all look-ups are.
  const_iterator find(const Lookup& key) const {
    const auto at = lower_bound(key);
    return at != end() && !(key < Lookup(at->first)) ? at : end();
  }
  /// No Key is made of what is looked up: with Lookup = std::string_view nothing is allocated.
  bool contains(const Lookup& key) const { return find(key) != end(); }
  /// For callers that know that there is such a key: asserted.
  const Value& at(const Lookup& key) const {
    const auto found = find(key);
    assert(found != end());
    return found->second;
  }
  /// A default value where there is none.
  /// The only way to change a value in place. It makes an entry, so that a look-up by mistake grows the map.
  Value& operator[](Key key) { return entry(std::move(key), Value{}).first->second; }

  /// Keeps what is there.
  /// `second` says whether the entry is new; `first` is it, or the one that stood there before.
  std::pair<const_iterator, bool> emplace(Key key, Value value) {
    return entry(std::move(key), std::move(value));
  }
  /// Replaces what is there.
  void insert_or_assign(Key key, Value value) {
    const auto [at, fresh] = entry(std::move(key), std::move(value));
    if (!fresh) at->second = std::move(value);  // NOLINT(bugprone-use-after-move): entry() moves it if fresh
  }
  /// Each as emplace() does: what is there stays. Cheap when what comes is in order and behind what is there.
  template <class Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace(first->first, first->second);
  }
  /// How many went: 0 or 1.
  size_t erase(const Lookup& key) {
    const auto at = find(key);
    if (at == end()) return 0;
    entries_.erase(at);
    return 1;
  }

  bool operator==(const FlatMap&) const = default;

 private:
  /// Compares Lookups and never makes a Key: the two orders have to agree, which no compiler checks.
  const_iterator lower_bound(const Lookup& key) const {
    return std::lower_bound(begin(), end(), key,
                            [](const value_type& entry, const Lookup& k) { return Lookup(entry.first) < k; });
  }
  // The value is moved from only when it becomes a new entry.
  std::pair<typename std::vector<value_type>::iterator, bool> entry(Key key, Value&& value) {
    if (entries_.empty() || entries_.back().first < key)
      return {entries_.emplace(entries_.end(), std::move(key), std::move(value)), true};
    const auto at = entries_.begin() + (lower_bound(Lookup(key)) - begin());
    if (at->first == key) return {at, false};
    return {entries_.emplace(at, std::move(key), std::move(value)), true};
  }

  std::vector<value_type> entries_;
};

}  // namespace sliced
