#pragma once
// Quantities of Kubernetes' CEL library (quantity(), isQuantity()): all observable behavior of
// k8s.io/apimachinery pkg/api/resource, including the whole numbers that it does not treat as integers.
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cel {

/// A decimal number of at most kDigitsMax digits with a resolution of nano. Upstream stores small numbers as
/// int64 and scale, others as big decimals, and converts only the former to int; so both forms are
/// distinguished here too.
class CelQuantity {
 public:
  static constexpr size_t kDigitsMax = 1100;

  CelQuantity() = default;
  explicit CelQuantity(int64_t value);

  /// Digits may be missing ("m" is zero); values finer than nano are rounded away from zero; binary suffixes
  /// are limited to 2^63-1. Errors: kInvalid outside the grammar and for exponents beyond 1000, kTooLarge
  /// beyond kDigitsMax.
  static Result<CelQuantity> decode(std::string_view text);

  /// Exact. Errors: kTooLarge beyond kDigitsMax.
  Result<CelQuantity> add(const CelQuantity& other) const;
  Result<CelQuantity> sub(const CelQuantity& other) const;

  /// asInteger() and isInteger(). nullopt for fractions, and as upstream for "500m" plus "500m", "1.0" and
  /// "1Ei".
  std::optional<int64_t> as_integer() const;
  /// asApproximateFloat(), with upstream's rounding; infinite if too large, and NaN for "0e309".
  double as_approximate_float() const;
  /// Returns whether it is a computed result. Upstream refuses to compare with one on the right of ==.
  bool is_sum() const { return is_sum_; }
  size_t digits() const { return digits_.size(); }
  int sign() const { return digits_.empty() ? 0 : is_negative_ ? -1 : 1; }

  /// By value, independent of the form: 1Ki is 1024.
  std::strong_ordering operator<=>(const CelQuantity& other) const;
  bool operator==(const CelQuantity& other) const { return (*this <=> other) == 0; }

 private:
  CelQuantity(bool is_negative, std::string digits, int scale, bool is_small)
      : is_negative_(is_negative), digits_(std::move(digits)), scale_(scale), is_small_(is_small) {}
  static CelQuantity sum(CelQuantity of) {
    of.is_sum_ = true;
    return of;
  }
  CelQuantity opposite() const;

  bool is_negative_ = false;
  std::string digits_;  // of the number times 10^-scale_, without leading zeros; empty for 0
  int scale_ = 0;       // not normalized: as_integer() depends on it
  bool is_small_ = true;
  bool is_sum_ = false;
};

}  // namespace sliced::cel
