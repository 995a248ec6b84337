#include "policy/cel/lib/cel_quantity.h"

#include <algorithm>
#include <limits>

#include "kube/quantity.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

using Wide = __int128;
using Suffix = kube::QuantitySuffix;

constexpr int kNano = -9;
constexpr int kSmallDigitsMax = 18;  // what upstream reads as an int64
constexpr int kDigitsMax = 38;

constexpr Wide ten_to(int exponent) { return exponent == 0 ? 1 : 10 * ten_to(exponent - 1); }

Wide magnitude(Wide value) { return value < 0 ? -value : value; }
bool has_room(Wide value) { return magnitude(value) < ten_to(kDigitsMax); }
bool fits_int64(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

std::optional<Wide> times_ten_to(Wide value, int exponent) {
  if (value == 0) return 0;
  for (; exponent > 0; --exponent) {
    if (magnitude(value) >= ten_to(kDigitsMax - 1)) return std::nullopt;
    value *= 10;
  }
  return value;
}

// At most 38 digits.
Wide number(std::string_view digits) {
  Wide value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
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

// A quantity without its sign.
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

// Upstream's own estimate of what an int64 has room for.
bool is_small(const Parts& parts) {
  const int whole = std::max<int>(1, static_cast<int>(std::min<size_t>(parts.whole.size(), 100)));
  const int fraction = static_cast<int>(std::min<size_t>(parts.fraction.size(), 100));
  if (parts.suffix.binary > 0) return fraction == 0 && whole <= 14 - parts.suffix.binary * 3 / 10;
  return whole + fraction <= kSmallDigitsMax && parts.suffix.decimal - fraction >= kNano;
}

// digits * 10^exponent in nanos, rounded up.
std::optional<Wide> decimal_nanos(std::string digits, int64_t exponent) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return 0;
  const int64_t shift = exponent - kNano;
  const int64_t kept = static_cast<int64_t>(digits.size()) + std::min<int64_t>(shift, 0);
  if (kept > kDigitsMax) return std::nullopt;
  const auto split = static_cast<size_t>(std::max<int64_t>(kept, 0));
  const bool inexact = digits.find_first_not_of('0', split) != std::string::npos;
  const Wide value = number(std::string_view(digits).substr(0, split)) + (inexact ? 1 : 0);
  return times_ten_to(value, static_cast<int>(std::max<int64_t>(shift, 0)));
}

// (whole.fraction) * 2^binary in nanos, rounded up and capped; nullopt for too many digits of a fraction.
std::optional<Wide> binary_nanos(const Parts& parts) {
  constexpr Wide kMax = Wide{INT64_MAX} * ten_to(-kNano);
  const int digits = static_cast<int>(std::min<size_t>(parts.fraction.size(), 100));
  if (digits > 19) return std::nullopt;
  if (parts.whole.size() > 19) return kMax;
  const Wide factor = Wide{1} << parts.suffix.binary;
  const Wide whole = number(parts.whole);
  if (whole > INT64_MAX / factor) return kMax;
  const Wide fraction = number(parts.fraction) * factor;  // less than 2^64 * 2^60
  const Wide divisor = ten_to(std::max(digits + kNano, 0)), multiplier = ten_to(std::max(-kNano - digits, 0));
  return std::min(kMax, whole * factor * ten_to(-kNano) + (fraction * multiplier + divisor - 1) / divisor);
}

int digit_count(Wide value) {
  int count = 0;
  for (value = magnitude(value); value > 0; value /= 10) ++count;
  return count;
}

// 10^exponent as Go's math.Pow10 puts it together.
double go_pow10(int exponent) {
  if (exponent > 308) return std::numeric_limits<double>::infinity();
  const auto exact = [](int small) {  // correctly rounded, for every multiple of 32 and everything below
    static constexpr double kOf32[] = {1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288};
    return small % 32 == 0 ? kOf32[small / 32] : static_cast<double>(ten_to(small));
  };
  if (exponent < 0) return 1 / exact(-exponent);
  return exact(exponent / 32 * 32) * exact(exponent % 32);
}

Error too_long() { return {Errc::kTooLarge, "a quantity of more than 38 digits"}; }

}  // namespace

Result<CelQuantity> CelQuantity::decode(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto parts = decode_parts(text.substr(negative || text.starts_with('+') ? 1 : 0));
  // Where upstream would need a big decimal, it does need digits.
  if (!parts || text.empty() || (!parts->has_digits && !is_small(*parts))) {
    return Error{Errc::kInvalid, "quantity " + in_quotes(text) +
                                     ": want a number with an optional suffix such as k, M, Ki, Mi or e3"};
  }
  const auto& [whole, fraction, has_digits, suffix] = *parts;
  const Wide sign = negative ? -1 : 1;
  const std::string digits = std::string(whole).append(fraction);
  const auto fraction_size = static_cast<int64_t>(fraction.size());
  if (is_small(*parts)) {
    const Wide value = sign * number(digits) * (Wide{1} << suffix.binary);
    if (fits_int64(value)) return CelQuantity(value, suffix.decimal - static_cast<int>(fraction_size), true);
  }
  const auto nanos =
      suffix.binary > 0 ? binary_nanos(*parts) : decimal_nanos(digits, suffix.decimal - fraction_size);
  if (!nanos) return too_long();
  return CelQuantity(sign * *nanos, kNano, false);
}

Result<CelQuantity> CelQuantity::add(const CelQuantity& other) const {
  const bool small = is_small_ && other.is_small_;
  if (small && other.value_ == 0) return sum(*this);
  if (small && value_ == 0) return sum(other);
  const int scale = std::min(scale_, other.scale_);
  const auto ours = times_ten_to(value_, scale_ - scale),
             theirs = times_ten_to(other.value_, other.scale_ - scale);
  Wide total = 0;
  if (!ours || !theirs || __builtin_add_overflow(*ours, *theirs, &total) || !has_room(total))
    return too_long();
  return sum(
      CelQuantity(total, scale, small && fits_int64(*ours) && fits_int64(*theirs) && fits_int64(total)));
}

Result<CelQuantity> CelQuantity::sub(const CelQuantity& other) const {
  // Upstream's smallest int64 is its own opposite, as long as the sum is an int64 too.
  if (other.is_small_ && other.value_ == std::numeric_limits<int64_t>::min())
    if (auto wrapped = add(other); wrapped && wrapped->is_small_) return wrapped;
  return add(CelQuantity(-other.value_, other.scale_, other.is_small_));
}

std::optional<int64_t> CelQuantity::as_integer() const {
  if (!is_small_ || scale_ < 0) return std::nullopt;
  const auto value = times_ten_to(value_, scale_);
  if (!value || !fits_int64(*value)) return std::nullopt;
  return static_cast<int64_t>(*value);
}

double CelQuantity::as_approximate_float() const {
  const auto value = static_cast<double>(value_);
  return scale_ == 0 ? value : value * go_pow10(scale_);
}

std::strong_ordering CelQuantity::operator<=>(const CelQuantity& other) const {
  if (sign() != other.sign() || sign() == 0) return sign() <=> other.sign();
  // Of numbers with the same sign the longer one is farther from zero.
  const int ours = digit_count(value_) + scale_, theirs = digit_count(other.value_) + other.scale_;
  if (ours != theirs) return sign() > 0 ? ours <=> theirs : theirs <=> ours;
  const int scale = std::min(scale_, other.scale_);
  const Wide a = value_ * ten_to(scale_ - scale), b = other.value_ * ten_to(other.scale_ - scale);
  return a < b   ? std::strong_ordering::less
         : a > b ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

}  // namespace sliced::cel
