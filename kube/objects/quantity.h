#pragma once
// Kubernetes quantities ("100k", "1Gi", "0.5", "12e3"): k8s.io/apimachinery/pkg/api/resource. Compared by
// value, so the server's canonical "100k" equals the "100000" that was sent.
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// The suffix of a quantity: the number is multiplied by 2^binary and 10^decimal.
struct QuantitySuffix {
  int binary = 0;
  int decimal = 0;
};
/// Accepts "", "n" to "E", "Ki" to "Ei", "e-3", "E+3" up to an exponent of 1000; nullopt otherwise. Decimal
/// suffixes have steps of 10^3 and binary ones of 2^10; "m", "u" and "n" are below one. "E" alone is exa,
/// "E3" an exponent.
std::optional<QuantitySuffix> decode_quantity_suffix(std::string_view text);

/// Exact, in nano units. The original text is kept for output and not compared.
class Quantity {
 public:
  Quantity() = default;
  /// A whole number; its text is plain digits.
  explicit Quantity(int64_t value);

  /// Errors: kInvalid for invalid text; kTooLarge beyond 2^63-1, finer than nano (the server caps and rounds
  /// there), or with more than 28 digits between leading and trailing zeros. Accepts numbers as Kubernetes
  /// does.
  static Result<Quantity> decode(std::string_view text);
  static Result<Quantity> decode(const std::string& text) { return decode(std::string_view(text)); }
  static Result<Quantity> decode(const char* text) { return decode(std::string_view(text)); }
  static Result<Quantity> decode(const Json& value);

  /// Returns the original text.
  const std::string& text() const { return text_; }
  std::strong_ordering operator<=>(const Quantity& other) const;
  bool operator==(const Quantity& other) const { return (*this <=> other) == 0; }
  __int128 nanos() const { return nanos_; }  // exact, in units of 10^-9
  bool is_negative() const { return nanos_ < 0; }

 private:
  __int128 nanos_ = 0;
  std::string text_ = "0";
};

}  // namespace sliced::kube
