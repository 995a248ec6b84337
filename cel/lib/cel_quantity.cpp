#include "cel/lib/cel_quantity.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <limits>

#include "kube/objects/quantity.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

using Suffix = kube::QuantitySuffix;

constexpr int kNano = -9;
constexpr int kSmallDigitsMax = 18;  // upstream decodes these as int64
constexpr std::string_view kBinaryMax = "9223372036854775807";

// Numbers as decimal digits, without leading zeros; "" is 0.

std::string trimmed_digits(std::string digits) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// factor: below 10^16.
std::string multiplied(const std::string& digits, uint64_t factor) {
  std::string out(digits.size() + 20, '0');
  uint64_t carry = 0;
  size_t at = out.size();
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, carry /= 10) {
    carry += static_cast<uint64_t>(*digit - '0') * factor;
    out[--at] = static_cast<char>('0' + carry % 10);
  }
  for (; carry > 0; carry /= 10) out[--at] = static_cast<char>('0' + carry % 10);
  return trimmed_digits(std::move(out));
}

// 10^exponent times as much; nullopt beyond the digits that are kept.
std::optional<std::string> padded(const std::string& digits, int exponent) {
  if (digits.empty()) return digits;
  const auto zeros = static_cast<size_t>(std::max(exponent, 0));
  if (digits.size() + zeros > CelQuantity::kDigitsMax) return std::nullopt;
  return digits + std::string(zeros, '0');
}

int compare_digits(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? (a.size() < b.size() ? -1 : 1) : a.compare(b);
}

std::string sum_of(std::string_view longer, std::string_view shorter) {
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  std::string out = "0" + std::string(longer);
  int carry = 0;
  for (size_t i = 1; i <= longer.size(); ++i) {
    char& digit = out[out.size() - i];
    const int total = digit - '0' + carry + (i <= shorter.size() ? shorter[shorter.size() - i] - '0' : 0);
    digit = static_cast<char>('0' + total % 10);
    carry = total / 10;
  }
  out[0] = static_cast<char>('0' + carry);
  return trimmed_digits(std::move(out));
}

std::string difference_of(std::string_view larger, std::string_view smaller) {
  std::string out(larger);
  int borrow = 0;
  for (size_t i = 1; i <= larger.size(); ++i) {
    char& digit = out[out.size() - i];
    int rest = digit - '0' - borrow - (i <= smaller.size() ? smaller[smaller.size() - i] - '0' : 0);
    borrow = rest < 0 ? 1 : 0;
    rest += 10 * borrow;
    digit = static_cast<char>('0' + rest);
  }
  return trimmed_digits(std::move(out));
}

std::optional<int64_t> to_int64(bool is_negative, const std::string& digits) {
  if (digits.size() > 19) return std::nullopt;
  int64_t value = 0;
  const std::string text = (is_negative ? "-" : "") + (digits.empty() ? "0" : digits);
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

double as_double(const std::string& digits) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc::result_out_of_range ? std::numeric_limits<double>::infinity() : value;
}

struct Parts {
  std::string_view whole, fraction;  // digits; whole without leading zeros
  bool has_digits = false;
  Suffix suffix;
};

std::string_view take_digits(std::string_view& text) {
  const size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

// Decodes a quantity without its sign.
std::optional<Parts> decode_parts(std::string_view text) {
  Parts parts;
  parts.whole = take_digits(text);
  parts.has_digits = !parts.whole.empty();
  parts.whole.remove_prefix(std::min(parts.whole.find_first_not_of('0'), parts.whole.size()));
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    parts.fraction = take_digits(text);
    parts.has_digits |= !parts.fraction.empty();
  }
  const auto suffix = kube::decode_quantity_suffix(text);
  if (!suffix) return std::nullopt;
  parts.suffix = *suffix;
  return parts;
}

// Returns whether upstream decodes it as an int64, by upstream's estimate of the range.
bool is_small(const Parts& parts) {
  const int whole = std::max<int>(1, static_cast<int>(std::min<size_t>(parts.whole.size(), 100)));
  const int fraction = static_cast<int>(std::min<size_t>(parts.fraction.size(), 100));
  if (parts.suffix.binary > 0) return fraction == 0 && whole <= 14 - parts.suffix.binary * 3 / 10;
  return whole + fraction <= kSmallDigitsMax && parts.suffix.decimal - fraction >= kNano;
}

// digits * 10^exponent in nanos, rounded up; nullopt beyond the digits that are kept.
std::optional<std::string> nanos_of(std::string digits, int64_t exponent) {
  digits = trimmed_digits(std::move(digits));
  const int64_t shift = exponent - kNano;
  if (shift >= 0) return padded(digits, static_cast<int>(std::min<int64_t>(shift, INT_MAX)));
  const int64_t remaining_digits = static_cast<int64_t>(digits.size()) + shift;
  const auto split = static_cast<size_t>(std::max<int64_t>(remaining_digits, 0));
  const bool inexact = digits.find_first_not_of('0', split) != std::string::npos;
  digits.resize(split);
  return padded(inexact ? sum_of(digits, "1") : digits, 0);
}

// 10^exponent as Go's math.Pow10 puts it together.
double go_pow10(int exponent) {
  static constexpr double kOf32[] = {1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288};
  static constexpr double kOfMinus32[] = {1e-0,   1e-32,  1e-64,  1e-96,  1e-128, 1e-160,
                                          1e-192, 1e-224, 1e-256, 1e-288, 1e-320};
  static constexpr double kOf1[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10,
                                    1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
                                    1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31};
  if (exponent > 308) return std::numeric_limits<double>::infinity();
  if (exponent < -323) return 0;
  if (exponent < 0) return kOfMinus32[-exponent / 32] / kOf1[-exponent % 32];
  return kOf32[exponent / 32] * kOf1[exponent % 32];
}

Error quantity_too_long() {
  return {Errc::kTooLarge, "a quantity of more than " + std::to_string(CelQuantity::kDigitsMax) + " digits"};
}

}  // namespace

CelQuantity::CelQuantity(int64_t value)
    : is_negative_(value < 0), digits_(value == 0 ? "" : std::to_string(value).substr(value < 0 ? 1 : 0)) {}

CelQuantity CelQuantity::opposite() const {
  CelQuantity out = *this;
  out.is_negative_ = !is_negative_;
  return out;
}

Result<CelQuantity> CelQuantity::decode(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto parts = decode_parts(text.substr(negative || text.starts_with('+') ? 1 : 0));
  // Where upstream would need a big decimal, it does need digits.
  if (!parts || text.empty() || (!parts->has_digits && !is_small(*parts))) {
    return Error{Errc::kInvalid,
                 "quantity " + in_quotes(text) +
                     ": expected a number with an optional suffix such as k, M, Ki, Mi or e3"};
  }
  const auto& [whole, fraction, has_digits, suffix] = *parts;
  std::string digits = trimmed_digits(std::string(whole).append(fraction));
  for (int left = suffix.binary; left > 0; left -= 10) digits = multiplied(digits, 1 << 10);
  const int64_t scale = suffix.decimal - static_cast<int64_t>(fraction.size());
  if (is_small(*parts) && to_int64(negative, digits))
    return CelQuantity(negative, std::move(digits), static_cast<int>(scale), true);
  if (digits.empty()) return CelQuantity(negative, "", static_cast<int>(scale), false);  // is not rounded
  const auto nanos = nanos_of(digits, scale);
  if (suffix.binary > 0 && (!nanos || compare_digits(*nanos, std::string(kBinaryMax) + "000000000") > 0))
    return CelQuantity(negative, std::string(kBinaryMax), 0, false);
  if (!nanos) return quantity_too_long();
  return CelQuantity(negative, *nanos, kNano, false);
}

Result<CelQuantity> CelQuantity::add(const CelQuantity& other) const {
  const bool small = is_small_ && other.is_small_;
  if (small && other.digits_.empty()) return sum(*this);
  if (small && digits_.empty()) return sum(other);
  const int scale = std::min(scale_, other.scale_);
  const auto ours = padded(digits_, scale_ - scale), theirs = padded(other.digits_, other.scale_ - scale);
  if (!ours || !theirs) return quantity_too_long();
  const int order = compare_digits(*ours, *theirs);
  const bool is_sum = is_negative_ == other.is_negative_;
  const bool is_negative = is_sum || order > 0 ? is_negative_ : other.is_negative_;
  std::string total = is_sum      ? sum_of(*ours, *theirs)
                      : order > 0 ? difference_of(*ours, *theirs)
                                  : difference_of(*theirs, *ours);
  if (total.size() > kDigitsMax) return quantity_too_long();
  const bool stays_small = small && to_int64(is_negative_, *ours) && to_int64(other.is_negative_, *theirs) &&
                           to_int64(is_negative, total);
  return sum(CelQuantity(is_negative, std::move(total), scale, stays_small));
}

Result<CelQuantity> CelQuantity::sub(const CelQuantity& other) const {
  // Upstream's smallest int64 is its own opposite, as long as the sum is an int64 too.
  const bool is_least =
      other.is_small_ && to_int64(other.is_negative_, other.digits_) == std::numeric_limits<int64_t>::min();
  if (is_least)
    if (auto wrapped = add(other); wrapped && wrapped->is_small_) return wrapped;
  return add(other.opposite());
}

std::optional<int64_t> CelQuantity::as_integer() const {
  if (!is_small_ || scale_ < 0) return std::nullopt;
  const auto value = padded(digits_, scale_);
  return value ? to_int64(is_negative_, *value) : std::nullopt;
}

double CelQuantity::as_approximate_float() const {
  const double value = is_negative_ ? -as_double(digits_) : as_double(digits_);
  return scale_ == 0 ? value : value * go_pow10(scale_);
}

std::strong_ordering CelQuantity::operator<=>(const CelQuantity& other) const {
  if (sign() != other.sign() || sign() == 0) return sign() <=> other.sign();
  // With equal signs, the number with more digits is farther from zero.
  const auto ours = static_cast<int64_t>(digits_.size()) + scale_;
  const auto theirs = static_cast<int64_t>(other.digits_.size()) + other.scale_;
  int order = ours < theirs ? -1 : ours > theirs ? 1 : 0;
  const size_t size = std::max(digits_.size(), other.digits_.size());
  const auto digit = [](const std::string& digits, size_t at) {
    return at < digits.size() ? digits[at] : '0';
  };
  for (size_t i = 0; order == 0 && i < size; ++i) order = digit(digits_, i) - digit(other.digits_, i);
  return (sign() > 0 ? order : -order) <=> 0;
}

}  // namespace sliced::cel
