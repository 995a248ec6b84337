#pragma once
// Finding by name in a list that is asked in about the order in which it stands, as what one decision has made
// is by the next: most of the time the next one is the right one.
#include <cstddef>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sliced::policy {

/// name_of: the member or function that is an element's name, which lasts as long as the list; no two are of one
/// name.
/// Cost: constant where the question comes in the list's order; the first one that does not makes a table of
/// all names. Equal answers either way: the order decides nothing.
template <class List, class NameOf>
class InOrder {
 public:
  /// list: outlives this, and does not change meanwhile.
  InOrder(const List& list, NameOf name_of) : list_(list), name_of_(std::move(name_of)) {}

  /// nullptr where there is none of that name.
  /// Points into the list. Remembers where it was, so it is not const, and not for two threads.
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
  std::unordered_map<std::string_view, size_t> places_;  // made when one is out of order; only looked up
};

}  // namespace sliced::policy
