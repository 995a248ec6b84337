#pragma once
// A bounded list of problems: an object may contain a hundred thousand mistakes, too many for memory and log.
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "reactor/base/text.h"

namespace sliced {

/// Problems per object that are kept; the rest is counted.
inline constexpr size_t kProblemsMax = 20;
/// Limit of a message, which may quote foreign text.
inline constexpr size_t kMessageBytesMax = 1024;

/// Shortens an element of FirstFew; overloaded for other element types.
inline void cut_message(std::string& text) { text = cut(std::move(text), kMessageBytesMax); }

/// Keeps the first elements and counts the others. begin() to end() are the kept ones; size() counts all.
template <class T>
class FirstFew {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;

  FirstFew() = default;
  FirstFew(std::initializer_list<T> all) {
    for (const T& one : all) push_back(one);
  }
  /// Keeps at most `count_max` elements, at least one.
  explicit FirstFew(size_t count_max) : count_max_(count_max == 0 ? 1 : count_max) {}

  /// Shortens the element with cut_message().
  void push_back(T one) {
    if (is_full()) {
      ++more_;
      return;
    }
    cut_message(one);
    kept_.push_back(std::move(one));
  }
  /// push_back(make()); does not call make() if full.
  template <class Make>
  void add(Make make) {
    if (is_full()) {
      ++more_;
      return;
    }
    push_back(make());
  }
  /// Adds other.more() to the count. The caller adds the kept elements of `other`.
  template <class U>
  void count_more(const FirstFew<U>& other) {
    more_ += other.more();
  }

  /// Returns true if further elements are only counted; a caller may then skip creating them.
  bool is_full() const { return kept_.size() >= count_max_; }
  bool empty() const { return kept_.empty(); }
  size_t size() const { return kept_.size() + more_; }
  size_t kept() const { return kept_.size(); }
  size_t more() const { return more_; }  // not kept
  void clear() { kept_.clear(), more_ = 0; }

  const_iterator begin() const { return kept_.begin(); }
  const_iterator end() const { return kept_.end(); }
  const T& front() const { return kept_.front(); }
  const T& operator[](size_t index) const { return kept_[index]; }
  const T& at(size_t index) const { return kept_.at(index); }

  /// Compares kept elements and counts, not the limits.
  friend bool operator==(const FirstFew& a, const FirstFew& b) {
    return a.more_ == b.more_ && a.kept_ == b.kept_;
  }

 private:
  // At most count_max_, each cut by cut_message().
  std::vector<T> kept_;
  size_t count_max_ = kProblemsMax;
  size_t more_ = 0;
};

/// "and 7 more problems"; "" for none.
inline std::string and_more(size_t count, const char* of_what = "problem") {
  if (count == 0) return "";
  return "and " + std::to_string(count) + " more " + of_what + (count == 1 ? "" : "s");
}

}  // namespace sliced
