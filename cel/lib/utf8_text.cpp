#include "cel/lib/utf8_text.h"

#include <algorithm>
#include <array>

namespace sliced::cel {
namespace {

constexpr size_t kNowhere = std::string_view::npos;

Error out_of_range(int64_t position) {
  return {Errc::kInvalid, "index out of range: " + std::to_string(position)};
}

bool is_inside(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The byte after the character that begins at `at`.
size_t next(std::string_view text, size_t at) {
  for (++at; at < text.size() && is_inside(text[at]);) ++at;
  return at;
}

// Returns the offset of the character number `position`, or of the end; kNowhere outside the text.
size_t byte_of(std::string_view text, int64_t position) {
  if (position < 0) return kNowhere;
  size_t at = 0;
  for (; position > 0 && at < text.size(); --position) at = next(text, at);
  return position == 0 ? at : kNowhere;
}

int64_t position_of(std::string_view text, size_t byte) {
  return byte == kNowhere ? -1 : code_points(text.substr(0, byte));
}

// White_Space of the Unicode Character Database.
constexpr std::array<std::string_view, 25> kWhiteSpace = {
    "\t",     "\n",     "\v",     "\f",     "\r",     " ",      "\u0085", "\u00a0", "\u1680",
    "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
    "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

Error too_long(size_t bytes_max) {
  return {Errc::kTooLarge, "a string longer than " + std::to_string(bytes_max) + " bytes"};
}

template <class Change>
std::string changed(std::string_view text, Change change) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), change);
  return out;
}

}  // namespace

int64_t code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !is_inside(c); });
}

Result<std::string_view> char_at(std::string_view text, int64_t at) {
  const size_t begin = byte_of(text, at);
  if (begin == kNowhere) return out_of_range(at);
  if (begin == text.size()) return std::string_view();
  return text.substr(begin, next(text, begin) - begin);
}

Result<std::string_view> substring(std::string_view text, int64_t begin, std::optional<int64_t> end) {
  if (end && begin > *end) {
    return Error{Errc::kInvalid, "invalid substring range. start: " + std::to_string(begin) +
                                     ", end: " + std::to_string(*end)};
  }
  const size_t from = byte_of(text, begin);
  if (from == kNowhere) return out_of_range(begin);
  if (!end) return text.substr(from);
  const size_t size = byte_of(text.substr(from), *end - begin);
  if (size == kNowhere) return out_of_range(*end);
  return text.substr(from, size);
}

Result<int64_t> index_of(std::string_view text, std::string_view part, int64_t from) {
  if (part.empty()) return from;
  if (from < 0) return out_of_range(from);
  const size_t begin = byte_of(text, from);
  return begin == kNowhere ? -1 : position_of(text, text.find(part, begin));
}

Result<int64_t> last_index_of(std::string_view text, std::string_view part, std::optional<int64_t> from) {
  if (part.empty()) return from ? *from : code_points(text);
  if (!from) return position_of(text, text.rfind(part));
  if (*from < 0) return out_of_range(*from);
  const size_t begin = byte_of(text, *from);
  if (begin == kNowhere || begin == text.size()) return -1;
  return position_of(text, text.rfind(part, begin));
}

std::vector<std::string_view> split_text(std::string_view text, std::string_view separator, int64_t limit) {
  std::vector<std::string_view> parts;
  if (limit == 0 || (separator.empty() && text.empty())) return parts;
  while (limit < 0 || static_cast<int64_t>(parts.size()) + 1 < limit) {
    const size_t end = separator.empty() ? next(text, 0) : text.find(separator);
    if (end >= text.size()) break;  // also kNowhere
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  parts.push_back(text);
  return parts;
}

Result<std::string> replace_text(std::string_view text, std::string_view old, std::string_view with,
                                 int64_t limit, size_t bytes_max) {
  std::string out;
  for (; limit != 0; --limit) {
    const size_t at = text.find(old);
    if (at == kNowhere) break;
    out.append(text.substr(0, at)).append(with);
    text.remove_prefix(at + old.size());
    if (out.size() > bytes_max) return too_long(bytes_max);
    if (!old.empty()) continue;
    if (text.empty()) break;
    const size_t size = next(text, 0);
    out.append(text.substr(0, size));
    text.remove_prefix(size);
  }
  if (out.size() + text.size() > bytes_max) return too_long(bytes_max);
  return std::move(out.append(text));
}

Result<std::string> join_texts(const std::vector<std::string_view>& parts, std::string_view separator,
                               size_t bytes_max) {
  std::string out;
  for (const std::string_view& part : parts) {
    if (&part != parts.data()) out += separator;
    out += part;
    if (out.size() > bytes_max) return too_long(bytes_max);
  }
  return out;
}

std::string_view trim_text(std::string_view text) {
  const auto is_space = [](std::string_view character) {
    return std::find(kWhiteSpace.begin(), kWhiteSpace.end(), character) != kWhiteSpace.end();
  };
  while (!text.empty()) {
    const size_t size = next(text, 0);
    if (!is_space(text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  while (!text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && is_inside(text[last])) --last;
    if (!is_space(text.substr(last))) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

std::string lower_ascii(std::string_view text) {
  return changed(text, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
}

std::string upper_ascii(std::string_view text) {
  return changed(text, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
}

std::string quote_text(std::string_view text) {
  constexpr std::string_view kEscaped = "\a\b\f\n\r\t\v\\\"", kNames = "abfnrtv\\\"";
  std::string out = "\"";
  for (const char c : text) {
    const size_t at = kEscaped.find(c);
    if (at != kNowhere) out += '\\';
    out += at == kNowhere ? c : kNames[at];
  }
  return out += '"';
}

}  // namespace sliced::cel
