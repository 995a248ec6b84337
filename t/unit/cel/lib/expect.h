#pragma once
// What the tests of CEL's values share: a Result shown and compared as one text.
#include <cstdint>
#include <string>

#include "cel/lib/numbers.h"
#include "reactor/base/result.h"

namespace sliced::cel {

inline std::string shown(const std::string& text) { return text; }
inline std::string shown(std::string_view text) { return std::string(text); }
inline std::string shown(bool value) { return value ? "true" : "false"; }
inline std::string shown(int64_t value) { return std::to_string(value); }
inline std::string shown(uint64_t value) { return std::to_string(value) + "u"; }
inline std::string shown(double value) { return double_text(value); }

/// The value's text, or "error: " and the error's text.
template <class T>
std::string shown(const Result<T>& result) {
  return result ? shown(*result) : "error: " + result.error().what;
}

}  // namespace sliced::cel
