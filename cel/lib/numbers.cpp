#include "cel/lib/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "cel/lib/ascii.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

Error no_room(const char* kind) { return {Errc::kInvalid, std::string(kind) + " overflow"}; }
Error not_a(const char* kind, std::string_view text) {
  return {Errc::kInvalid, "cannot convert " + in_quotes(text) + " to " + kind};
}

bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns the text without its underscores; nullopt if one is not between two digits ("0x_1" is valid).
std::optional<std::string> without_underscores(std::string_view text, bool hexadecimal) {
  const auto digit = [&](char c) { return hexadecimal ? is_hex_digit(c) : is_digit(c); };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
      continue;
    }
    const bool follows = i == 0 ? hexadecimal : digit(text[i - 1]);
    if (!follows || i + 1 == text.size() || !digit(text[i + 1])) return std::nullopt;
  }
  return plain;
}

// Returns whether a valid number without a double is too small, not too large.
bool is_tiny(std::string_view text, bool hexadecimal) {
  if (hexadecimal) return text[text.find_first_of("pP") + 1] == '-';
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, mark);
  if (digits.find_first_of("123456789") == std::string_view::npos) return true;
  const auto first = static_cast<int64_t>(digits.find_first_of("123456789"));
  const auto point = static_cast<int64_t>(std::min(digits.find('.'), digits.size()));
  if (mark == text.size()) return point < first;
  std::string_view exponent = text.substr(mark + 1);
  const bool negative = exponent[0] == '-';
  if (negative || exponent[0] == '+') exponent.remove_prefix(1);
  const auto size = whole_number<int32_t>(exponent);
  if (!size) return negative;
  return point - first + (negative ? -*size : *size) < 0;
}

// from_chars accepts numbers without it, and two signs.
bool has_binary_exponent(std::string_view text) {
  size_t at = text.find_first_of("pP");
  if (at == std::string_view::npos) return false;
  const std::string_view exponent = text.substr(at + 1);
  at = exponent.find_first_not_of("+-");
  return at <= 1 && is_digit(exponent[at]);
}

// Decodes a number without its sign.
std::optional<double> magnitude(std::string_view text) {
  const std::string small = lower(text);
  if (small == "inf" || small == "infinity") return std::numeric_limits<double>::infinity();
  const bool hexadecimal = small.starts_with("0x");
  const auto plain = without_underscores(hexadecimal ? text.substr(2) : text, hexadecimal);
  if (!plain || plain->empty()) return std::nullopt;
  if ((*plain)[0] != '.' && !is_hex_digit((*plain)[0])) return std::nullopt;
  if (hexadecimal && !has_binary_exponent(*plain)) return std::nullopt;
  double value = 0;
  const char* past = plain->data() + plain->size();
  const auto [end, error] = std::from_chars(
      plain->data(), past, value, hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (end != past) return std::nullopt;
  if (error == std::errc{}) return value;
  if (error == std::errc::result_out_of_range && is_tiny(*plain, hexadecimal)) return 0;
  return std::nullopt;
}

}  // namespace

std::string double_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char buffer[40];
  const auto write = [&](std::chars_format format) {
    const char* end = std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr;
    return std::string_view(buffer, static_cast<size_t>(end - buffer));
  };
  const std::string_view scientific = write(std::chars_format::scientific);
  std::string_view exponent = scientific.substr(scientific.find('e') + 1);
  const bool negative = exponent[0] == '-';
  const int size = whole_number<int>(exponent.substr(1)).value_or(0);
  const bool plain = negative ? size <= 4 : size < 6;
  return std::string(plain ? write(std::chars_format::fixed) : scientific);
}

Result<int64_t> to_int(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && digits.size() > 1 && is_digit(digits[1])) digits.remove_prefix(1);
  if (const auto value = whole_number<int64_t>(digits)) return *value;
  return not_a("int", text);
}

Result<uint64_t> to_uint(std::string_view text) {
  if (const auto value = whole_number<uint64_t>(text)) return *value;
  return not_a("uint", text);
}

Result<double> to_double(std::string_view text) {
  if (lower(text) == "nan") return std::numeric_limits<double>::quiet_NaN();
  const bool negative = text.starts_with('-');
  const auto value = magnitude(text.substr(negative || text.starts_with('+') ? 1 : 0));
  if (!value) return not_a("double", text);
  return negative ? -*value : *value;
}

Result<bool> to_bool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return false;
  return not_a("bool", text);
}

Result<int64_t> to_int(double value) {
  if (!(value > -kTwo63 && value < kTwo63)) return no_room("integer");
  return static_cast<int64_t>(value);
}

Result<uint64_t> to_uint(double value) {
  if (!(value >= 0 && value < kTwo64)) return no_room("unsigned integer");
  return static_cast<uint64_t>(value);
}

Result<int64_t> to_int(uint64_t value) {
  if (!std::in_range<int64_t>(value)) return no_room("integer");
  return static_cast<int64_t>(value);
}

Result<uint64_t> to_uint(int64_t value) {
  if (value < 0) return no_room("unsigned integer");
  return static_cast<uint64_t>(value);
}

Result<int64_t> add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return no_room("integer");
  return sum;
}

Result<int64_t> subtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return no_room("integer");
  return difference;
}

Result<int64_t> multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return no_room("integer");
  return product;
}

Result<int64_t> divide(int64_t a, int64_t b) {
  if (b == 0) return Error{Errc::kInvalid, "division by zero"};
  if (a == INT64_MIN && b == -1) return no_room("integer");
  return a / b;
}

Result<int64_t> modulo(int64_t a, int64_t b) {
  if (b == 0) return Error{Errc::kInvalid, "modulus by zero"};
  if (a == INT64_MIN && b == -1) return no_room("integer");
  return a % b;
}

Result<int64_t> negate(int64_t a) { return subtract(int64_t{0}, a); }

Result<uint64_t> add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return no_room("unsigned integer");
  return sum;
}

Result<uint64_t> subtract(uint64_t a, uint64_t b) {
  if (a < b) return no_room("unsigned integer");
  return a - b;
}

Result<uint64_t> multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return no_room("unsigned integer");
  return product;
}

Result<uint64_t> divide(uint64_t a, uint64_t b) {
  if (b == 0) return Error{Errc::kInvalid, "division by zero"};
  return a / b;
}

Result<uint64_t> modulo(uint64_t a, uint64_t b) {
  if (b == 0) return Error{Errc::kInvalid, "modulus by zero"};
  return a % b;
}

std::strong_ordering compare(int64_t a, uint64_t b) {
  if (a < 0) return std::strong_ordering::less;
  return static_cast<uint64_t>(a) <=> b;
}

std::partial_ordering compare(int64_t a, double b) {
  // Rounding is monotonic, so values beyond the range stay beyond it.
  return static_cast<double>(a) <=> b;
}

std::partial_ordering compare(uint64_t a, double b) { return static_cast<double>(a) <=> b; }

}  // namespace sliced::cel
