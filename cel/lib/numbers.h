#pragma once
// CEL's numbers: conversions between int, uint, double, bool and text, arithmetic that refuses to wrap, and
// one number line over the three kinds. Without locale. As Kubernetes 1.36 (cel-go 0.26) answers, which takes
// Go's spellings.
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cel {

/// 2^63 and 2^64: the first doubles that no int, and no uint, is.
inline constexpr double kTwo63 = 9223372036854775808.0, kTwo64 = 18446744073709551616.0;

/// The shortest text that reads back as the same double; with an exponent below 1e-4 and from 1e6: "0.0001",
/// "999999.5", "1e+06", "1.5e-07", "-0", "NaN", "+Inf", "-Inf".
std::string double_text(double value);

/// The whole text as a decimal number; a sign may lead for int, none for uint. kInvalid for junk and
/// overflow.
Result<int64_t> to_int(std::string_view text);
Result<uint64_t> to_uint(std::string_view text);
/// Decimal or hexadecimal ("0x1p-2", the exponent is obligatory), "_" between digits, "inf", "infinity" and
/// "nan" in any case. Too small becomes 0; too large and junk are kInvalid.
Result<double> to_double(std::string_view text);
/// "1", "t", "T", "true", "TRUE", "True" and the same for false; kInvalid for anything else.
Result<bool> to_bool(std::string_view text);

/// Truncates towards zero. kInvalid outside the range: (-2^63, 2^63) for int, [0, 2^64) for uint, and for
/// NaN.
Result<int64_t> to_int(double value);
Result<uint64_t> to_uint(double value);
Result<int64_t> to_int(uint64_t value);
Result<uint64_t> to_uint(int64_t value);

/// kInvalid where the result has no room, and for a divisor of zero. Division truncates towards zero, and the
/// remainder has the sign of the dividend; the most negative int by -1 is an error for both.
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

/// By mathematical value, but an integer within the range of its kind meets a double as the nearest double:
/// 2^63-1 equals 9223372036854775808.0. Unordered for NaN alone.
std::strong_ordering compare(int64_t a, uint64_t b);
std::partial_ordering compare(int64_t a, double b);
std::partial_ordering compare(uint64_t a, double b);

}  // namespace sliced::cel
