#pragma once
// Prints tables. Cells are escaped, so that strings of the kernel cannot control the terminal.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sliced {

/// Returns the width on a terminal: wide characters have two columns, combining marks none (the large ranges
/// of Unicode's tables).
size_t columns_of(std::string_view text);

/// Returns the SGR code ("31") of a cell; "": default colour. Row 0 is the first row below the heading.
using Paint = std::function<std::string_view(size_t row, size_t column)>;

struct TableStyle {
  bool is_wide = false;
  bool has_colours = false;
  int64_t now_ms = 0;  // since 1970, for ages
};

/// Returns the table as text. Empty cells are "-"; a cell is limited to 1,000 bytes; the last column is not
/// padded. With `paint`, the heading is bold.
std::string table(const std::vector<std::string>& heading, const std::vector<std::vector<std::string>>& rows,
                  const Paint& paint = {});

}  // namespace sliced
