#include "reactor/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

namespace sliced {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' || c == '\0';
}

constexpr size_t kComparedBytesMax = 128;

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

// Returns a lower bound of the distance, independent of the order of the characters: those that only one text
// has must be replaced.
size_t distance_at_least(std::string_view a, std::string_view b) {
  std::array<int, 256> count{};
  const auto at = [&](char c) -> int& {
    return count[static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c)];
  };
  for (const char c : a) ++at(c);
  size_t common = 0;
  for (const char c : b) common += at(c)-- > 0 ? 1 : 0;
  return std::max(a.size(), b.size()) - common;
}

template <class T>
std::optional<T> parse_number(std::string_view text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns true if the sequence starts a character that changes how the text is displayed. C1 controls (U+0080
// to U+009F) control terminals like C0 controls; marks without a width, of direction and of lines (U+200B to
// U+200F, U+2028 to U+202E, U+2060 to U+2069, U+061C, U+FEFF) make a name look like another one.
bool steers(std::string_view sequence) {
  const auto is_within = [&](std::string_view first, std::string_view last) {
    return first <= sequence && sequence <= last;  // UTF-8 bytes have the order of code points
  };
  if (sequence.size() == 2) return is_within("\xc2\x80", "\xc2\x9f") || sequence == "\xd8\x9c";
  return sequence.size() == 3 &&
         (is_within("\xe2\x80\x8b", "\xe2\x80\x8f") || is_within("\xe2\x80\xa8", "\xe2\x80\xae") ||
          is_within("\xe2\x81\xa0", "\xe2\x81\xa9") || sequence == "\xef\xbb\xbf");
}

// also: further characters to escape. stays: control characters that are not escaped.
std::string escaped_with(std::string_view also, std::string_view stays, std::string_view bytes,
                         size_t size_max) {
  std::string out;
  while (!bytes.empty()) {
    if (out.size() >= size_max) return out += "...";
    const unsigned char c = static_cast<unsigned char>(bytes[0]);
    const size_t length = utf8_length(bytes);
    const auto is_in = [&](std::string_view set) { return set.find(bytes[0]) != std::string_view::npos; };
    if (length == 0 || (c < 0x20 && !is_in(stays)) || c == 0x7f || steers(bytes.substr(0, length)) ||
        is_in(also)) {
      out += "\\x" + hex(c, 2);
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string all;
  for (const std::string& part : parts) {
    if (&part != parts.data()) all += separator;
    all += part;
  }
  return all;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool starts_with_digit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

size_t utf8_length(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;  // overlong
  if (lead == 0xed && byte(1) > 0x9f) return 0;  // surrogate
  if (lead == 0xf0 && byte(1) < 0x90) return 0;  // overlong
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;  // beyond U+10FFFF
  return length;
}

bool is_utf8(std::string_view bytes) {
  for (;;) {
    const auto other = std::find_if(bytes.begin(), bytes.end(), [](char c) { return (c & 0x80) != 0; });
    bytes.remove_prefix(static_cast<size_t>(other - bytes.begin()));
    if (bytes.empty()) return true;
    const size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
}

std::string escaped(std::string_view bytes, size_t size_max) {
  return escaped_with("\"\\", "", bytes, size_max);
}

std::string printable(std::string_view bytes, size_t size_max) {
  return escaped_with("", "", bytes, size_max);
}

std::string printable_lines(std::string_view bytes, size_t size_max) {
  return escaped_with("", "\n", bytes, size_max);
}

std::string cut(std::string text, size_t size_max) {
  constexpr std::string_view kEllipsis = "...";
  if (text.size() <= size_max) return text;
  size_t end = size_max < kEllipsis.size() ? 0 : size_max - kEllipsis.size();
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // not inside a sequence
  return text.replace(end, std::string::npos, kEllipsis);
}

std::string in_quotes(std::string_view bytes, size_t size_max) {
  return '"' + escaped(bytes, size_max) + '"';
}

uint64_t stable_hash(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

std::string hex(uint64_t value, int digits) {
  std::string out(static_cast<size_t>(digits), '0');
  for (auto at = out.rbegin(); at != out.rend(); ++at, value >>= 4) *at = "0123456789abcdef"[value & 15];
  return out;
}

std::optional<int64_t> parse_int(std::string_view text) { return parse_number<int64_t>(text, 10); }
std::optional<uint64_t> parse_hex(std::string_view text) { return parse_number<uint64_t>(text, 16); }

std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() > kComparedBytesMax) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(word.size() / 3, 1) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kComparedBytesMax || distance_at_least(word, candidate) >= best_distance) continue;
    const size_t distance = edit_distance(lower(word), lower(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

bool natural_less(std::string_view one, std::string_view other) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number_at = [&](std::string_view text, size_t at) {
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    while (at + 1 < end && text[at] == '0') ++at;  // leading zeros count only if everything else is equal
    return text.substr(at, end - at);
  };
  size_t i = 0, j = 0;
  while (i < one.size() && j < other.size()) {
    if (is_digit(one[i]) && is_digit(other[j])) {
      const std::string_view a = number_at(one, i), b = number_at(other, j);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
      i = static_cast<size_t>(a.data() - one.data()) + a.size();
      j = static_cast<size_t>(b.data() - other.data()) + b.size();
      continue;
    }
    if (one[i] != other[j]) return one[i] < other[j];
    ++i, ++j;
  }
  if (one.size() - i != other.size() - j) return one.size() - i < other.size() - j;
  return one < other;
}

}  // namespace sliced
