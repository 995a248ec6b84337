#pragma once
// A map in one block of memory whose values are shared between copies: for large values that are made once, are
// walked often, and of which one in thousands differs from one map to the next.
// Threads: as std::shared_ptr: what is shared is not changed.
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

/// In the order of the keys (text: as bytes). References and iterators last until the next change.
/// Copying it copies one pointer an entry and no value. A change through at() or operator[] goes to this map
/// alone: a value that another map holds too is copied first, one that nobody else holds is changed where it
/// stands.
/// Cost: looking up is logarithmic; operator[] of a new key and erase() move what stands behind; append() is
/// constant, which is how whole maps are made anew.
template <class T, class Key = std::string>
class SharedMap {
  using Entry = std::pair<Key, std::shared_ptr<T>>;
  /// Text is looked up by a view, so that no std::string is made to ask.
  using Wanted = std::conditional_t<std::is_same_v<Key, std::string>, std::string_view, const Key&>;

 public:
  /// Gives pairs of references by value, so `for (const auto& [key, value] : map)` binds to the map's own
  /// objects. Single pass in the words of the standard library, because of that; in fact it may be copied and
  /// walked again.
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

  /// nullptr where there is none of that key. A binary search, as all look-ups are.
  /// The object that stands there now: it lives as long as some map holds it, but the next change of this map
  /// may let go of it.
  const T* find(Wanted key) const {
    const size_t at = place_of(key);
    return is_at(at, key) ? entries_[at].second.get() : nullptr;
  }
  bool contains(Wanted key) const { return find(key) != nullptr; }
  /// For callers that know that there is such a key: asserted.
  const T& at(Wanted key) const {
    const T* found = find(key);
    assert(found != nullptr);
    return *found;
  }

  /// To be changed, in this map alone.
  /// Whoever only reads takes the const one: this one makes a copy of what is shared, changed or not.
  T& at(Wanted key) {
    const size_t at = place_of(key);
    assert(is_at(at, key));
    return own(at);
  }
  /// The same; a default value where there is none.
  T& operator[](const Key& key) {
    const size_t at = place_of(key);
    if (is_at(at, key)) return own(at);
    return *entries_.emplace(entries_.begin() + static_cast<std::ptrdiff_t>(at), key, std::make_shared<T>())
                ->second;
  }
  /// Nothing where there is none. Other maps keep the value.
  void erase(Wanted key) {
    const size_t at = place_of(key);
    if (is_at(at, key)) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  /// unwanted: of (key, value).
  template <class Unwanted>
  void erase_if(Unwanted unwanted) {
    std::erase_if(entries_,
                  [&](const Entry& entry) { return unwanted(entry.first, std::as_const(*entry.second)); });
  }
  void clear() { entries_.clear(); }
  /// For maps that are made by append(): one allocation for all entries.
  void reserve(size_t count) { entries_.reserve(count); }
  /// key: behind all that are there.
  /// Not checked: a key out of order would be found by nobody.
  void append(Key key, T value) {
    entries_.emplace_back(std::move(key), std::make_shared<T>(std::move(value)));
  }
  /// The same, shared with another map.
  void append(const const_iterator& entry) { entries_.push_back(*entry.at_); }

  /// visit(key, before, now) for each key of which the two do not hold the same object, nullptr where one has none;
  /// in order. What was made twice differs, equal or not.
  /// Linear in both maps' sizes and compares pointers: this is what lets a decision over ten thousand devices
  /// look at the one that changed. Neither map may be changed meanwhile.
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

  /// Of the values; costs little for what both share.
  bool operator==(const SharedMap& other) const {
    return std::equal(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
                      [](const Entry& a, const Entry& b) {
                        return a.first == b.first && (a.second == b.second || *a.second == *b.second);
                      });
  }

 private:
  // The place of the first key that is not smaller: where it stands, or where it would have to.
  size_t place_of(Wanted key) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), key,
                                     [](const Entry& entry, Wanted wanted) { return entry.first < wanted; });
    return static_cast<size_t>(at - entries_.begin());
  }
  bool is_at(size_t place, Wanted key) const {
    return place < entries_.size() && entries_[place].first == key;
  }
  // A copy where it is held elsewhere too.
  T& own(size_t place) {
    auto& value = entries_[place].second;
    if (value.use_count() > 1)
      value = std::make_shared<T>(*value);
    else  // use_count() orders nothing; letting go of a holder does: who let go last, on any thread, has read it
      std::shared_ptr<T>(value).reset();
    return *value;
  }

  // Ascending by key, no key twice, no pointer empty.
  std::vector<Entry> entries_;
};

}  // namespace sliced
