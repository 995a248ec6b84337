#include "kube/objects/quantity.h"

#include <algorithm>
#include <charconv>

#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

constexpr __int128 kNano = 1'000'000'000;
constexpr __int128 kNanosMax = static_cast<__int128>(INT64_MAX) * kNano;  // the server caps values at 2^63-1

struct Suffix {
  std::string_view text;
  QuantitySuffix scale;
};
constexpr Suffix kSuffixes[] = {
    {"", {0, 0}},    {"n", {0, -9}},  {"u", {0, -6}},  {"m", {0, -3}},  {"k", {0, 3}},   {"M", {0, 6}},
    {"G", {0, 9}},   {"T", {0, 12}},  {"P", {0, 15}},  {"E", {0, 18}},  {"Ki", {10, 0}}, {"Mi", {20, 0}},
    {"Gi", {30, 0}}, {"Ti", {40, 0}}, {"Pi", {50, 0}}, {"Ei", {60, 0}},
};

Error refused(Errc code, std::string_view text, std::string_view why) {
  return {code, "quantity " + in_quotes(text) + ": " + std::string(why)};
}

/// Returns digits * 10^decimal * 2^binary in nanos; nullopt if it is not whole or too large.
std::optional<__int128> scaled(std::string_view digits, int decimal, int binary, bool& too_fine) {
  while (!digits.empty() && digits.back() == '0') {  // so that "1.000" costs no room
    digits.remove_suffix(1);
    ++decimal;
  }
  while (!digits.empty() && digits.front() == '0') digits.remove_prefix(1);
  if (digits.empty()) return 0;
  if (digits.size() > 28) return std::nullopt;
  __int128 value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  for (; binary > 0; --binary) {  // before the decimals, which may divide
    if (value > (static_cast<__int128>(1) << 125)) return std::nullopt;
    value *= 2;
  }
  decimal += 9;
  for (; decimal > 0; --decimal) {
    if (__builtin_mul_overflow(value, 10, &value) || value > kNanosMax) return std::nullopt;
  }
  for (; decimal < 0; ++decimal) {
    if (value % 10 != 0) {
      too_fine = true;
      return std::nullopt;
    }
    value /= 10;
  }
  return value > kNanosMax ? std::nullopt : std::optional(value);
}

}  // namespace

std::optional<QuantitySuffix> decode_quantity_suffix(std::string_view text) {
  for (const auto& suffix : kSuffixes) {
    if (suffix.text == text) return suffix.scale;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  std::string_view digits = text.substr(1);
  if (digits.starts_with('+'))
    digits.remove_prefix(digits.starts_with("+-") ? 0 : 1);  // from_chars reads a minus itself
  int exponent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (error != std::errc{} || end != digits.data() + digits.size() || exponent < -1000 || exponent > 1000)
    return std::nullopt;
  return QuantitySuffix{0, exponent};
}

Quantity::Quantity(int64_t value)
    : nanos_(static_cast<__int128>(value) * kNano), text_(std::to_string(value)) {}

Result<Quantity> Quantity::decode(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  std::string digits;
  int fraction = 0;
  bool pointed = false;
  size_t at = 0;
  for (; at < rest.size(); ++at) {
    const char c = rest[at];
    if (c == '.' && !pointed) {
      pointed = true;
    } else if (c >= '0' && c <= '9') {
      digits += c;
      fraction += pointed ? 1 : 0;
    } else {
      break;
    }
  }
  const auto suffix = decode_quantity_suffix(rest.substr(at));
  if (digits.empty() || !suffix) {
    return refused(Errc::kInvalid, text,
                   "expected a number with an optional suffix such as k, M, Ki, Mi or e3");
  }
  bool too_fine = false;
  const auto nanos = scaled(digits, suffix->decimal - fraction, suffix->binary, too_fine);
  if (!nanos)
    return refused(Errc::kTooLarge, text, too_fine ? "finer than one nano unit" : "larger than 2^63-1");
  Quantity quantity;
  quantity.nanos_ = negative ? -*nanos : *nanos;
  quantity.text_ = std::string(text);
  return quantity;
}

Result<Quantity> Quantity::decode(const Json& value) {
  if (const auto* text = value.string()) return decode(std::string_view(*text));
  if (const auto* integer = value.integer()) return Quantity(*integer);
  if (const auto* number = value.number()) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, *number).ptr;
    return decode(std::string_view(buffer, static_cast<size_t>(end - buffer)));
  }
  return Error{Errc::kInvalid,
               "a quantity must be a string or a number, not " + std::string(value.kind_name())};
}

std::strong_ordering Quantity::operator<=>(const Quantity& other) const {
  return nanos_ < other.nanos_   ? std::strong_ordering::less
         : nanos_ > other.nanos_ ? std::strong_ordering::greater
                                 : std::strong_ordering::equal;
}

}  // namespace sliced::kube
