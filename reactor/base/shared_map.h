#pragma once
// A map by text in one block of memory whose values are shared between copies: for large values that are made
// once, are walked often, and of which one in thousands differs from one map to the next.
// Threads: as std::shared_ptr: what is shared is not changed.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sliced {

/// In the order of the keys, as bytes. References and iterators last until the next change.
template <class T>
class SharedMap {
  using Entry = std::pair<std::string, std::shared_ptr<T>>;

 public:
  class const_iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::pair<const std::string&, const T&>;
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
  const T* find(std::string_view key) const {
    const size_t at = place_of(key);
    return is_at(at, key) ? entries_[at].second.get() : nullptr;
  }
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  /// Throws std::out_of_range where there is no such key.
  const T& at(std::string_view key) const {
    const T* found = find(key);
    if (found == nullptr) throw std::out_of_range("SharedMap::at");
    return *found;
  }

  /// To be changed, in this map alone.
  T& at(std::string_view key) {
    const size_t at = place_of(key);
    if (!is_at(at, key)) throw std::out_of_range("SharedMap::at");
    return own(at);
  }
  /// The same; a default value where there is none.
  T& operator[](const std::string& key) {
    const size_t at = place_of(key);
    if (is_at(at, key)) return own(at);
    return *entries_.emplace(entries_.begin() + static_cast<std::ptrdiff_t>(at), key, std::make_shared<T>())
                ->second;
  }
  void erase(std::string_view key) {
    const size_t at = place_of(key);
    if (is_at(at, key)) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void reserve(size_t count) { entries_.reserve(count); }
  /// key: behind all that are there.
  void append(std::string key, T value) {
    entries_.emplace_back(std::move(key), std::make_shared<T>(std::move(value)));
  }
  /// The same, shared with another map.
  void append(const const_iterator& entry) { entries_.push_back(*entry.at_); }

  /// Of the values; costs little for what both share.
  bool operator==(const SharedMap& other) const {
    return std::equal(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
                      [](const Entry& a, const Entry& b) {
                        return a.first == b.first && (a.second == b.second || *a.second == *b.second);
                      });
  }

 private:
  size_t place_of(std::string_view key) const {
    const auto at = std::lower_bound(
        entries_.begin(), entries_.end(), key,
        [](const Entry& entry, std::string_view wanted) { return std::string_view(entry.first) < wanted; });
    return static_cast<size_t>(at - entries_.begin());
  }
  bool is_at(size_t place, std::string_view key) const {
    return place < entries_.size() && entries_[place].first == key;
  }
  // A copy where it is held elsewhere too.
  T& own(size_t place) {
    auto& value = entries_[place].second;
    if (value.use_count() > 1) value = std::make_shared<T>(*value);
    return *value;
  }

  std::vector<Entry> entries_;
};

}  // namespace sliced
