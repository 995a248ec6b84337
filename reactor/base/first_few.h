#pragma once
// What is wrong with something, as far as it is worth saying: who writes an object may write a hundred
// thousand mistakes into it, and neither memory nor a log has room for each.
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "reactor/base/text.h"

namespace sliced {

/// How much of what is wrong with one object is kept and said; the rest is counted.
inline constexpr size_t kProblemsMax = 20;
/// Of one message, which may quote what others wrote.
inline constexpr size_t kMessageBytesMax = 1024;

/// What FirstFew keeps is cut to size; a type that holds more than a text has a function of this name beside
/// it.
inline void cut_message(std::string& text) { text = cut(std::move(text), kMessageBytesMax); }

/// The first ones that were added, and the count of the others. begin() to end() are those that are kept;
/// size() is how many were added, so that it tells whether something came to it.
template <class T>
class FirstFew {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;

  FirstFew() = default;
  FirstFew(std::initializer_list<T> all) {
    for (const T& one : all) push_back(one);
  }
  /// Keeps at most `count_max`, and one in any case: whoever asks what is wrong gets an answer.
  explicit FirstFew(size_t count_max) : count_max_(count_max == 0 ? 1 : count_max) {}

  /// Cuts what it keeps: a message of a megabyte is not held by the twenty that are kept either.
  void push_back(T one) {
    if (is_full()) return void(++more_);
    cut_message(one);
    kept_.push_back(std::move(one));
  }
  /// push_back(make()), where making it is not free.
  template <class Make>
  void add(Make make) {
    if (is_full()) return void(++more_);
    push_back(make());
  }
  /// As if those that `other` has counted had been added here, too.
  /// What `other` has kept is the caller's to add: only the count of what it did not keep moves.
  template <class U>
  void count_more(const FirstFew<U>& other) {
    more_ += other.more();
  }

  /// What comes now is counted and not kept.
  /// For those to whom finding the next problem costs something: they go on counting without making texts.
  bool is_full() const { return kept_.size() >= count_max_; }
  /// Since one is always kept, this says also that nothing was counted, unless count_more() alone was called.
  bool empty() const { return kept_.empty(); }
  size_t size() const { return kept_.size() + more_; }
  size_t kept() const { return kept_.size(); }
  size_t more() const { return more_; }  // that are not kept
  void clear() { kept_.clear(), more_ = 0; }

  const_iterator begin() const { return kept_.begin(); }
  const_iterator end() const { return kept_.end(); }
  const T& front() const { return kept_.front(); }
  const T& operator[](size_t index) const { return kept_[index]; }
  const T& at(size_t index) const { return kept_.at(index); }

  /// Of what is kept and of the count, not of how many may be kept: two that were bounded otherwise are equal
  /// as long as neither had to leave something out.
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
