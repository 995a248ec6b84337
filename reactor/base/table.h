#pragma once
// Columns for people. Cells are escaped, so that no kernel string steers a terminal.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sliced {

/// Columns that a text takes on a terminal: wide characters take two, marks upon others none. (Unicode has tables of them; these
/// are their large ranges.)
size_t columns_of(std::string_view text);

/// The colour of a cell by its row below the heading and its column: an SGR code ("31"), "" as the terminal has it.
using Paint = std::function<std::string_view(size_t row, size_t column)>;

/// How a table is printed.
struct TableStyle {
  bool is_wide = false;
  bool has_colours = false;
  int64_t now_ms = 0;  // since 1970, for ages
};

/// Rows of cells below a heading; the last column is not padded. Empty cells print as "-", and each is cut at
/// 1,000 bytes.
/// paint: for terminals alone; the heading is bold then.
std::string table(const std::vector<std::string>& heading, const std::vector<std::vector<std::string>>& rows,
                  const Paint& paint = {});

}  // namespace sliced
