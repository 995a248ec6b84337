#pragma once
// Values that are made once and held in many places: copies share one immutable object. Equality is that of
// the values, and costs nothing between copies.
// Threads: as std::shared_ptr: the count is safe, and nobody can change what is counted.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sliced {

/// Never empty, but when it was moved from: a default one holds a T{}. Nothing can be changed through it but
/// by edit(), which changes this holder alone.
template <class T>
class Shared {
 public:
  /// One allocation each time; there is no common empty object.
  Shared() : Shared(T{}) {}
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  explicit Shared(std::shared_ptr<const T> value) : value_(std::move(value)) {}  // not nullptr

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  /// The reference lasts as long as some holder does: a temporary's is gone with the statement.
  operator const T&() const { return *value_; }
  /// This holder alone gets a changed copy.
  /// change(T&) works on the copy; if it throws, nothing has changed. Costs a copy of T also where nobody
  /// else holds it: for values that are seldom changed.
  template <class Change>
  void edit(Change change) {
    T copy = *value_;
    change(copy);
    *this = Shared(std::move(copy));
  }

  friend bool operator==(const Shared& a, const Shared& b) {
    return a.value_ == b.value_ || *a.value_ == *b.value_;
  }
  /// True when the two are one object in memory, not merely equal.
  friend bool is_same(const Shared& a, const Shared& b) { return a.value_ == b.value_; }

 private:
  std::shared_ptr<const T> value_;
};

/// Text that is a key in many maps. Ordered as bytes.
/// Made of a text it allocates; copies are a count. For FlatMap with Lookup = std::string_view no key is made
/// to look one up.
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
