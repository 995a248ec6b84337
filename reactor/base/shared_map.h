#pragma once
// An ordered map in one block of memory whose values are shared between copies: for many large values, of
// which few differ from one map to the next. Threads: as std::shared_ptr; shared values are immutable.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sliced {

/// Ordered by key (text: by bytes). References and iterators are valid until the next change.
/// A copy of the map copies one pointer per entry. A change through at() or operator[] affects this map
/// only: a value that another map holds is copied first, others are changed in place.
/// Cost: look-ups are logarithmic; operator[] of a new key and erase() move the following entries; append()
/// is constant.
template <class T, class Key = std::string>
class SharedMap {
  using Entry = std::pair<Key, std::shared_ptr<T>>;
  /// The type of look-up keys: a view of text, so that no std::string is created.
  using Lookup = std::conditional_t<std::is_same_v<Key, std::string>, std::string_view, const Key&>;

 public:
  /// Returns pairs of references by value, for `for (const auto& [key, value] : map)`. Therefore it is an
  /// input iterator for the standard library, although it may be copied and iterated again.
  class const_iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::pair<const Key&, const T&>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    struct pointer {
      value_type value;
      const value_type* operator->() const { return &value; }
    };

    const_iterator() = default;
    reference operator*() const { return {at_->first, *at_->second}; }
    pointer operator->() const { return {**this}; }
    const_iterator& operator++() { return ++at_, *this; }
    const_iterator operator++(int) { return const_iterator(at_++); }
    bool operator==(const const_iterator&) const = default;

   private:
    friend class SharedMap;
    explicit const_iterator(const Entry* at) : at_(at) {}
    const Entry* at_ = nullptr;
  };

  const_iterator begin() const { return const_iterator(entries_.data()); }
  const_iterator end() const { return const_iterator(entries_.data() + entries_.size()); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  /// Returns nullptr if absent. The object lives as long as a map holds it; the next change of this map may
  /// release it.
  const T* find(Lookup key) const {
    const size_t at = place_of(key);
    return is_at(at, key) ? entries_[at].second.get() : nullptr;
  }
  bool contains(Lookup key) const { return find(key) != nullptr; }
  /// REQUIRES: contains(key).
  const T& at(Lookup key) const {
    const T* found = find(key);
    assert(found != nullptr);
    return *found;
  }

  /// For changes in this map only; copies a shared value. Use the const overload for reading.
  T& at(Lookup key) {
    const size_t at = place_of(key);
    assert(is_at(at, key));
    return own(at);
  }
  /// Returns the value for changes, inserting a default one if absent.
  T& operator[](const Key& key) {
    const size_t at = place_of(key);
    if (is_at(at, key)) return own(at);
    return *entries_.emplace(entries_.begin() + static_cast<std::ptrdiff_t>(at), key, std::make_shared<T>())
                ->second;
  }
  /// No effect if absent. Other maps keep the value.
  void erase(Lookup key) {
    const size_t at = place_of(key);
    if (is_at(at, key)) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  /// unwanted: called with (key, value).
  template <class Unwanted>
  void erase_if(Unwanted unwanted) {
    std::erase_if(entries_,
                  [&](const Entry& entry) { return unwanted(entry.first, std::as_const(*entry.second)); });
  }
  void clear() { entries_.clear(); }
  /// Allocates once for maps that are filled by append().
  void reserve(size_t count) { entries_.reserve(count); }
  /// REQUIRES: key is greater than all existing keys (not checked).
  void append(Key key, T value) {
    entries_.emplace_back(std::move(key), std::make_shared<T>(std::move(value)));
  }
  /// The same, sharing the value with another map.
  void append(const const_iterator& entry) { entries_.push_back(*entry.at_); }

  /// Calls visit(key, before, now) for each key whose object differs between the maps, in order; nullptr if
  /// absent. Compares pointers, so that equal objects that were created separately differ. Linear in the
  /// sizes of both maps: it finds the one changed device of ten thousand. REQUIRES: neither map is changed
  /// during the call.
  template <class Visit>
  static void for_each_difference(const SharedMap& before, const SharedMap& now, Visit visit) {
    auto old = before.entries_.begin();
    auto fresh = now.entries_.begin();
    while (old != before.entries_.end() || fresh != now.entries_.end()) {
      const bool has_old = old != before.entries_.end(), has_fresh = fresh != now.entries_.end();
      if (!has_fresh || (has_old && old->first < fresh->first)) {
        visit(old->first, static_cast<const T*>(old->second.get()), static_cast<const T*>(nullptr));
        ++old;
      } else if (!has_old || fresh->first < old->first) {
        visit(fresh->first, static_cast<const T*>(nullptr), static_cast<const T*>(fresh->second.get()));
        ++fresh;
      } else {
        if (old->second != fresh->second)
          visit(fresh->first, static_cast<const T*>(old->second.get()),
                static_cast<const T*>(fresh->second.get()));
        ++old, ++fresh;
      }
    }
  }

  /// Compares values; shared ones cost nothing.
  bool operator==(const SharedMap& other) const {
    return std::equal(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
                      [](const Entry& a, const Entry& b) {
                        return a.first == b.first && (a.second == b.second || *a.second == *b.second);
                      });
  }

 private:
  // Returns the place of the first key that is not smaller than `key`.
  size_t place_of(Lookup key) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), key,
                                     [](const Entry& entry, Lookup wanted) { return entry.first < wanted; });
    return static_cast<size_t>(at - entries_.begin());
  }
  bool is_at(size_t place, Lookup key) const {
    return place < entries_.size() && entries_[place].first == key;
  }
  // Copies the value if another map holds it.
  T& own(size_t place) {
    auto& value = entries_[place].second;
    if (value.use_count() > 1)
      value = std::make_shared<T>(*value);
    else  // use_count() is not a memory barrier; the release of a reference is, after the reads of any thread
      std::shared_ptr<T>(value).reset();
    return *value;
  }

  // Ascending, unique keys; no null pointers.
  std::vector<Entry> entries_;
};

}  // namespace sliced
