#include "cli/table.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

std::string painted(const std::string& cell, std::string_view code) {
  return code.empty() ? cell : "\x1b[" + std::string(code) + "m" + cell + "\x1b[0m";
}

}  // namespace

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
      widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (size_t at = 0; at < cells.size(); ++at) {
    const auto& row = cells[at];
    for (size_t i = 0; i < row.size(); ++i) {
      out += !paint ? row[i] : painted(row[i], at == 0 ? "1" : paint(at - 1, i));
      if (i + 1 < row.size()) out += std::string(widths[i] - row[i].size() + 2, ' ');
    }
    out += "\n";
  }
  return out;
}

}  // namespace sliced::cli
