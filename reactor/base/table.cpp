#include "reactor/base/table.h"

#include <algorithm>
#include <iterator>

#include "reactor/base/text.h"

namespace sliced {
namespace {

std::string painted(const std::string& cell, std::string_view code) {
  return code.empty() ? cell : "\x1b[" + std::string(code) + "m" + cell + "\x1b[0m";
}

struct Range {
  char32_t first, last;
};
constexpr Range kWide[] = {{0x1100, 0x115f},  {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97c},
                           {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},
                           {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
                           {0x20000, 0x3fffd}};
constexpr Range kCombining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},  {0x64b, 0x65f},
                                {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};

template <size_t kCount>
bool has(const Range (&ranges)[kCount], char32_t point) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& range) { return range.first <= point && point <= range.last; });
}

// Requires: a well-formed sequence.
char32_t code_point(std::string_view sequence) {
  constexpr unsigned kLeadBits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t point = static_cast<unsigned char>(sequence[0]) & kLeadBits[sequence.size()];
  for (size_t i = 1; i < sequence.size(); ++i)
    point = point << 6 | (static_cast<unsigned char>(sequence[i]) & 0x3f);
  return point;
}

}  // namespace

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char32_t point = length == 0 ? U'?' : code_point(text.substr(0, length));
    columns += point < kCombining[0].first ? 1 : has(kCombining, point) ? 0 : has(kWide, point) ? 2 : 1;
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return columns;
}

std::string table(const std::vector<std::string>& heading, const std::vector<std::vector<std::string>>& rows,
                  const Paint& paint) {
  constexpr size_t kCellMax = 1000;
  std::vector<std::vector<std::string>> cells = {heading};
  for (const auto& row : rows) {
    cells.emplace_back();
    for (const std::string& cell : row)
      cells.back().push_back(cell.empty() ? "-" : printable(cell, kCellMax));
  }
  std::vector<size_t> widths(heading.size(), 0);
  for (const auto& row : cells)
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string out;
  for (size_t at = 0; at < cells.size(); ++at) {
    const auto& row = cells[at];
    for (size_t i = 0; i < row.size(); ++i) {
      out += !paint ? row[i] : painted(row[i], at == 0 ? "1" : paint(at - 1, i));
      if (i + 1 < row.size()) out += std::string(widths[i] - columns_of(row[i]) + 2, ' ');
    }
    out += "\n";
  }
  return out;
}

}  // namespace sliced
