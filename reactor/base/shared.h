#pragma once
// Immutable values whose copies share one object. Equality compares values and costs nothing between copies.
// Threads: as std::shared_ptr.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sliced {

/// Never empty, except after a move: the default is T{}. Only edit() changes the value, for this holder
/// alone.
template <class T>
class Shared {
 public:
  Shared() : Shared(T{}) {}
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  explicit Shared(std::shared_ptr<const T> value) : value_(std::move(value)) {}  // not nullptr

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  /// Valid as long as a holder exists: not beyond the statement for a temporary.
  operator const T&() const { return *value_; }
  /// Calls change(T&) on a copy, which replaces the value of this holder; no effect if it throws. Always
  /// copies T.
  template <class Change>
  void edit(Change change) {
    T copy = *value_;
    change(copy);
    *this = Shared(std::move(copy));
  }

  friend bool operator==(const Shared& a, const Shared& b) {
    return a.value_ == b.value_ || *a.value_ == *b.value_;
  }
  /// Returns true if both share one object.
  friend bool is_same(const Shared& a, const Shared& b) { return a.value_ == b.value_; }

 private:
  std::shared_ptr<const T> value_;
};

/// Shared text for keys of many maps, ordered by bytes. FlatMap with Lookup = std::string_view looks it up
/// without allocation.
class SharedText {
 public:
  SharedText(std::string text) : text_(std::move(text)) {}
  SharedText(std::string_view text) : text_(std::string(text)) {}
  SharedText(const char* text) : text_(std::string(text)) {}

  const std::string& str() const { return *text_; }
  operator const std::string&() const { return *text_; }
  operator std::string_view() const { return *text_; }

  friend bool operator==(const SharedText& a, const SharedText& b) { return a.text_ == b.text_; }
  friend auto operator<=>(const SharedText& a, const SharedText& b) {
    return is_same(a.text_, b.text_) ? std::strong_ordering::equal : a.str() <=> b.str();
  }

 private:
  Shared<std::string> text_;
};

}  // namespace sliced
