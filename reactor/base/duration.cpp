#include "reactor/base/duration.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace sliced {
namespace {

constexpr struct {
  std::string_view suffix;
  int64_t millis;
} kUnits[] = {
    {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};  // largest first, for format_duration

std::optional<int64_t> unit_millis(std::string_view suffix) {
  for (const auto& unit : kUnits)
    if (unit.suffix == suffix) return unit.millis;
  return std::nullopt;
}

}  // namespace

std::optional<Millis> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int64_t total = 0;
  while (!text.empty()) {
    uint64_t number = 0;  // unsigned: from_chars then refuses a sign
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number > INT64_MAX) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const size_t suffix_size = std::min(text.find_first_not_of("hms"), text.size());
    const auto unit = unit_millis(text.substr(0, suffix_size));
    text.remove_prefix(suffix_size);
    int64_t part = 0;
    if (!unit || __builtin_mul_overflow(static_cast<int64_t>(number), *unit, &part) ||
        __builtin_add_overflow(total, part, &total))
      return std::nullopt;
  }
  return Millis(total);
}

std::string format_duration(Millis duration) {
  std::string out;
  int64_t rest = duration.count();
  for (const auto& unit : kUnits) {
    if (rest < unit.millis) continue;
    out += std::to_string(rest / unit.millis);
    out += unit.suffix;
    rest %= unit.millis;
  }
  return out.empty() ? "0s" : out;
}

}  // namespace sliced
