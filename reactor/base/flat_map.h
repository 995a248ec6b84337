#pragma once
// An ordered map in one block of memory, with a part of std::map's interface, for maps of a few dozen entries
// that are read and compared more often than changed. References and iterators are valid until the next
// insertion or removal.
#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <utility>
#include <vector>

namespace sliced {

/// Lookup: the type of look-up keys; Key converts to it, and both have the same order.
/// Cost: look-ups are logarithmic; insertion at the end is cheap, elsewhere entries are moved.
/// Keys are strictly ascending, so that equal content compares equal and has the same order on every node.
/// Threads: many readers, or one writer.
template <class Key, class Value, class Lookup = Key>
class FlatMap {
 public:
  using value_type = std::pair<Key, Value>;
  using const_iterator = typename std::vector<value_type>::const_iterator;
  using iterator = const_iterator;  // keys are ordered: values change through operator[] only

  FlatMap() = default;
  /// If a key occurs several times, the last one is kept.
  FlatMap(std::initializer_list<value_type> entries) {
    for (const auto& [key, value] : entries) insert_or_assign(key, value);
  }

  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  /// Iterates in descending order of keys.
  auto rbegin() const { return entries_.rbegin(); }
  auto rend() const { return entries_.rend(); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  /// As std::vector::reserve().
  void reserve(size_t count) { entries_.reserve(count); }

  /// Returns end() if absent.
  const_iterator find(const Lookup& key) const {
    const auto at = lower_bound(key);
    return at != end() && !(key < Lookup(at->first)) ? at : end();
  }
  /// Does not create a Key: with Lookup = std::string_view it allocates nothing.
  bool contains(const Lookup& key) const { return find(key) != end(); }
  /// REQUIRES: contains(key).
  const Value& at(const Lookup& key) const {
    const auto found = find(key);
    assert(found != end());
    return found->second;
  }
  /// Returns the value, inserting a default one if absent.
  Value& operator[](Key key) { return entry(std::move(key), Value{}).first->second; }

  /// Keeps an existing value. `second` is true if the entry is new; `first` is the entry.
  std::pair<const_iterator, bool> emplace(Key key, Value value) {
    return entry(std::move(key), std::move(value));
  }
  /// Replaces an existing value.
  void insert_or_assign(Key key, Value value) {
    const auto [at, fresh] = entry(std::move(key), std::move(value));
    if (!fresh) at->second = std::move(value);  // NOLINT(bugprone-use-after-move): entry() moves it if fresh
  }
  /// Inserts each entry as emplace() does. Cheap if the entries are in order and after the existing ones.
  template <class Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace(first->first, first->second);
  }
  /// Returns the number of removed entries: 0 or 1.
  size_t erase(const Lookup& key) {
    const auto at = find(key);
    if (at == end()) return 0;
    entries_.erase(at);
    return 1;
  }

  bool operator==(const FlatMap&) const = default;

 private:
  /// Compares Lookups, so that the order of Lookup must be that of Key.
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
