#pragma once
// Looks up list elements by name, for callers that ask in about the order of the list, as one decision reads
// the results of the previous one.
#include <cstddef>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sliced::policy {

/// name_of: the member or function that returns an element's name. Requires: names are unique and live as
/// long as the list.
/// Cost: constant if queries follow the order of the list; the first query out of order builds a table of all
/// names. The results do not depend on the order.
template <class List, class NameOf>
class InOrder {
 public:
  /// Requires: list outlives this object and does not change.
  InOrder(const List& list, NameOf name_of) : list_(list), name_of_(std::move(name_of)) {}

  /// Returns nullptr if no element has the name. Points into the list. Not thread-safe, because it stores its
  /// position.
  const typename List::value_type* find(std::string_view name) {
    if (next_ < list_.size() && std::invoke(name_of_, list_[next_]) == name) return &list_[next_++];
    if (places_.empty())
      for (size_t i = 0; i < list_.size(); ++i) places_.emplace(std::invoke(name_of_, list_[i]), i);
    const auto at = places_.find(name);
    if (at == places_.end()) return nullptr;
    next_ = at->second + 1;
    return &list_[at->second];
  }

 private:
  const List& list_;
  const NameOf name_of_;
  size_t next_ = 0;
  std::unordered_map<std::string_view, size_t> places_;  // built at the first query out of order
};

}  // namespace sliced::policy
