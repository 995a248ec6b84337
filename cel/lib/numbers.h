#pragma once
// CEL's numbers: conversions between int, uint, double, bool and text, arithmetic with overflow errors, and
// comparison across the three kinds. Without locale. Behaves as Kubernetes 1.36 (cel-go 0.26), which accepts
// Go's spellings.
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cel {

/// 2^63 and 2^64: the smallest doubles beyond int and uint.
inline constexpr double kTwo63 = 9223372036854775808.0, kTwo64 = 18446744073709551616.0;

/// Returns the shortest text that decodes to the same double; with an exponent below 1e-4 and from 1e6:
/// "0.0001", "999999.5", "1e+06", "1.5e-07", "-0", "NaN", "+Inf", "-Inf".
std::string double_text(double value);

/// Decode the whole text as a decimal number; int accepts a sign, uint does not. Errors: kInvalid for invalid
/// text and overflow.
Result<int64_t> to_int(std::string_view text);
Result<uint64_t> to_uint(std::string_view text);
/// Decodes decimal or hexadecimal numbers ("0x1p-2", the exponent is required), with "_" between digits;
/// "inf", "infinity" and "nan" in any case. Underflow gives 0. Errors: kInvalid for overflow and invalid
/// text.
Result<double> to_double(std::string_view text);
/// Decodes "1", "t", "T", "true", "TRUE", "True" and the same for false. Errors: kInvalid for other texts.
Result<bool> to_bool(std::string_view text);

/// Truncate towards zero. Errors: kInvalid outside the range: (-2^63, 2^63) for int, [0, 2^64) for uint, and
/// for NaN.
Result<int64_t> to_int(double value);
Result<uint64_t> to_uint(double value);
Result<int64_t> to_int(uint64_t value);
Result<uint64_t> to_uint(int64_t value);

/// Division truncates towards zero, and the remainder has the sign of the dividend. Errors: kInvalid on
/// overflow, and for a divisor of zero; the most negative int by -1 is an error for both.
Result<int64_t> add(int64_t a, int64_t b);
Result<int64_t> subtract(int64_t a, int64_t b);
Result<int64_t> multiply(int64_t a, int64_t b);
Result<int64_t> divide(int64_t a, int64_t b);
Result<int64_t> modulo(int64_t a, int64_t b);
Result<int64_t> negate(int64_t a);
Result<uint64_t> add(uint64_t a, uint64_t b);
Result<uint64_t> subtract(uint64_t a, uint64_t b);
Result<uint64_t> multiply(uint64_t a, uint64_t b);
Result<uint64_t> divide(uint64_t a, uint64_t b);
Result<uint64_t> modulo(uint64_t a, uint64_t b);

/// Compare by mathematical value, except that an integer within the range of its kind is converted to the
/// nearest double: 2^63-1 equals 9223372036854775808.0. Only NaN is unordered.
std::strong_ordering compare(int64_t a, uint64_t b);
std::partial_ordering compare(int64_t a, double b);
std::partial_ordering compare(uint64_t a, double b);

}  // namespace sliced::cel
