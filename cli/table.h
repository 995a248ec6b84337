#pragma once
// Columns for people. Cells are escaped, so that no kernel string steers a terminal.
#include <string>
#include <vector>

namespace sliced::cli {

/// Rows of cells below a heading; the last column is not padded. Empty cells print as "-".
std::string table(const std::vector<std::string>& heading, const std::vector<std::vector<std::string>>& rows);

}  // namespace sliced::cli
