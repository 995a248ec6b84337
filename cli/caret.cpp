#include "cli/caret.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

constexpr size_t kBefore = 60, kAfter = 40;  // bytes that are shown around the place

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Returns the number of terminal cells, with one per character.
size_t cells(std::string_view shown) {
  return shown.size() - static_cast<size_t>(std::count_if(shown.begin(), shown.end(), is_continuation));
}

}  // namespace

std::string pointed_at(std::string_view text, int32_t offset) {
  const size_t place = std::min(static_cast<size_t>(std::max(offset, 0)), text.size());
  const size_t newline = place == 0 ? std::string_view::npos : text.rfind('\n', place - 1);
  const size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  const size_t line_end = std::min(text.find('\n', place), text.size());
  size_t begin = std::max(line_begin, place - std::min(place, kBefore));
  size_t end = std::min(line_end, place + kAfter);
  while (begin > line_begin && is_continuation(text[begin])) --begin;  // a character is not cut
  while (end < line_end && is_continuation(text[end])) ++end;

  constexpr size_t kAll = 8 * (kBefore + kAfter);  // escapes are longer than their bytes
  std::string before = begin > line_begin ? "..." : "";
  before += printable(text.substr(begin, place - begin), kAll);
  const std::string after = printable(text.substr(place, end - place), kAll) + (end < line_end ? "..." : "");
  return "  " + before + after + "\n  " + std::string(cells(before), ' ') + "^";
}

}  // namespace sliced::cli
