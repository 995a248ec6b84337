#include "cel/lib/format_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "cel/lib/numbers.h"
#include "cel/lib/regex.h"
#include "cel/lib/utf8_text.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

constexpr int kPrecisionMax = 255;
constexpr int kPrecision = 6;

Error bad_clause(const std::string& why) {
  return {Errc::kInvalid, "could not parse formatting clause: " + why};
}

// Removes ".12" from the start of text, if present.
Result<std::optional<int>> take_precision(std::string_view& text) {
  if (!text.starts_with('.')) return std::optional<int>();
  text.remove_prefix(1);
  const size_t size = text.find_first_not_of("0123456789");
  if (size == std::string_view::npos) return bad_clause("could not find end of precision specifier");
  if (size == 0) return bad_clause("a precision without digits");
  int precision = 0;
  for (const char digit : text.substr(0, size)) {
    precision = precision * 10 + (digit - '0');
    if (precision > kPrecisionMax)
      return Error{Errc::kTooLarge, "a precision beyond " + std::to_string(kPrecisionMax)};
  }
  text.remove_prefix(size);
  return std::optional(precision);
}

// ---- numbers

std::string in_base(uint64_t value, int base) {
  char buffer[64];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, base).ptr);
}

std::string in_base(int64_t value, int base) {
  const auto bits = static_cast<uint64_t>(value);
  return value < 0 ? "-" + in_base(0 - bits, base) : in_base(bits, base);
}

std::string digits_of(double value, std::chars_format format, int precision) {
  char buffer[1024];  // 309 digits, 255 behind the point
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format, precision).ptr);
}

std::string shortest_digits(double value) {
  char buffer[1100];
  return std::string(buffer,
                     std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr);
}

// "-1234567.5" -> "-1,234,567.5"
std::string grouped(std::string digits) {
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = std::min(digits.find('.'), digits.size()); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

// "1.5e-03" -> "1.5×10⁻⁰³"
std::string typeset(const std::string& scientific) {
  static constexpr std::string_view kRaised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  const size_t mark = scientific.find('e');
  std::string text = scientific.substr(0, mark) + "×10";
  for (const char c : scientific.substr(mark + 1)) {
    if (c == '-') text += "⁻";
    if (c >= '0' && c <= '9') text += kRaised[c - '0'];
  }
  return text;
}

std::string not_finite(double value, FormatStyle style) {
  if (std::isnan(value)) return "NaN";
  const std::string infinity = style == FormatStyle::kKubernetes ? "∞" : "Infinity";
  return value < 0 ? "-" + infinity : infinity;
}

std::string fixed(double value, std::optional<int> precision, FormatStyle style) {
  if (!std::isfinite(value)) return not_finite(value, style);
  const int digits = precision.value_or(kPrecision);
  if (style == FormatStyle::kSpecification) return digits_of(value, std::chars_format::fixed, digits);
  // A negative zero loses its sign there, a negative number that is rounded to zero does not.
  return grouped(digits_of(value == 0 ? 0.0 : value, std::chars_format::fixed, digits));
}

std::string scientific(double value, std::optional<int> precision, FormatStyle style) {
  const int digits = precision.value_or(kPrecision);
  if (style == FormatStyle::kSpecification) {
    return std::isfinite(value) ? digits_of(value, std::chars_format::scientific, digits)
                                : not_finite(value, style);
  }
  // Kubernetes' formatter uses the precision as a width, and always writes six digits.
  std::string text =
      std::isfinite(value)
          ? typeset(digits_of(value == 0 ? 0.0 : value, std::chars_format::scientific, kPrecision))
          : not_finite(value, style);
  const int64_t missing = digits - code_points(text);
  return text.insert(0, static_cast<size_t>(std::max<int64_t>(missing, 0)), ' ');
}

std::string plain(double value, FormatStyle style) {
  if (style == FormatStyle::kKubernetes) return double_text(value);
  return std::isfinite(value) ? shortest_digits(value) : not_finite(value, style);
}

// ---- text

std::string upper_if(char clause, std::string text) { return clause == 'X' ? upper_ascii(text) : text; }

std::string hex_of(std::string_view octets) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : octets) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

bool is_printable(std::string_view character) {
  static const auto pattern = Regex::compile("[\\pL\\pM\\pN\\pP\\pS ]");
  return character.size() == 1 ? character[0] >= ' ' && character[0] <= '~' : pattern->matches(character);
}

uint32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  uint32_t value = lead & (0xffu >> (character.size() + 1));
  for (const char c : character.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3f);
  return value;
}

// Returns the text in double quotes with Go's escapes.
std::string go_quoted(std::string_view text) {
  std::string out = "\"";
  for (const std::string_view character : split_text(text, "")) {
    const std::string quoted = quote_text(character);
    const uint32_t point = code_point(character);
    char buffer[16];
    if (quoted.size() == character.size() + 3) {  // one of CEL's escapes, which Go has too
      out.append(quoted, 1, 2);
    } else if (is_printable(character)) {
      out += character;
    } else {
      const char* form = point < 0x80 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x";
      std::snprintf(buffer, sizeof buffer, form, static_cast<unsigned>(point));
      out += buffer;
    }
  }
  return out += '"';
}

Result<std::string> text_of(FormatBytes bytes, FormatStyle style) {
  if (style == FormatStyle::kKubernetes && !is_utf8(bytes.octets))
    return Error{Errc::kInvalid, "invalid UTF-8 in bytes, cannot convert to string"};
  return std::string(bytes.octets);
}

// ---- clauses: each accepts its kinds and refuses others

std::string_view type_name(const FormatArgument& argument) {
  static constexpr std::string_view kNames[] = {"bool", "int", "uint", "double", "string", "bytes"};
  const auto* other = std::get_if<FormatOther>(&argument);
  return other != nullptr ? other->type : kNames[argument.index()];
}

Error refused(std::string_view clause_takes, const FormatArgument& argument) {
  return {Errc::kInvalid, "error during formatting: " + std::string(clause_takes) + ", was given " +
                              std::string(type_name(argument))};
}

Result<std::string> render_text(const FormatArgument& argument, FormatStyle style) {
  if (const auto* flag = std::get_if<bool>(&argument)) return std::string(*flag ? "true" : "false");
  if (const auto* value = std::get_if<int64_t>(&argument)) return in_base(*value, 10);
  if (const auto* value = std::get_if<uint64_t>(&argument)) return in_base(*value, 10);
  if (const auto* value = std::get_if<double>(&argument)) return plain(*value, style);
  if (const auto* text = std::get_if<std::string_view>(&argument)) return std::string(*text);
  if (const auto* bytes = std::get_if<FormatBytes>(&argument)) return text_of(*bytes, style);
  return std::string(std::get<FormatOther>(argument).text);
}

Result<std::string> render_decimal(const FormatArgument& argument, FormatStyle style) {
  if (const auto* value = std::get_if<int64_t>(&argument)) return in_base(*value, 10);
  if (const auto* value = std::get_if<uint64_t>(&argument)) return in_base(*value, 10);
  const auto* value = std::get_if<double>(&argument);
  if (value != nullptr && style == FormatStyle::kSpecification) return plain(*value, style);
  return refused("decimal clause can only be used on integers", argument);
}

// Returns the number for %f and %e.
std::optional<double> number_of(const FormatArgument& argument, FormatStyle style) {
  if (const auto* value = std::get_if<double>(&argument)) return *value;
  if (style == FormatStyle::kKubernetes) {
    const auto* text = std::get_if<std::string_view>(&argument);
    const bool is_number = text != nullptr && (*text == "NaN" || *text == "Infinity" || *text == "-Infinity");
    return is_number ? std::optional(to_double(*text).value_or(0)) : std::nullopt;
  }
  if (const auto* value = std::get_if<int64_t>(&argument)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<uint64_t>(&argument)) return static_cast<double>(*value);
  return std::nullopt;
}

Result<std::string> render_hex(char clause, const FormatArgument& argument) {
  if (const auto* value = std::get_if<int64_t>(&argument)) return upper_if(clause, in_base(*value, 16));
  if (const auto* value = std::get_if<uint64_t>(&argument)) return upper_if(clause, in_base(*value, 16));
  if (const auto* text = std::get_if<std::string_view>(&argument)) return upper_if(clause, hex_of(*text));
  if (const auto* bytes = std::get_if<FormatBytes>(&argument)) return upper_if(clause, hex_of(bytes->octets));
  return refused("only integers, byte buffers, and strings can be formatted as hex", argument);
}

}  // namespace

Result<std::vector<FormatPiece>> decode_format(std::string_view text) {
  std::vector<FormatPiece> pieces(1);
  while (!text.empty()) {
    const char c = text[0];
    text.remove_prefix(1);
    if (c != '%' || text.starts_with('%')) {
      if (c == '%') text.remove_prefix(1);
      pieces.back().literal += c;
      continue;
    }
    if (text.empty()) return Error{Errc::kInvalid, "unexpected end of string"};
    const auto precision = take_precision(text);
    if (!precision) return precision.error();
    if (std::string_view("sdfexXob").find(text[0]) == std::string_view::npos)
      return bad_clause("unrecognized formatting clause " + in_quotes(*char_at(text, 0)));
    pieces.back().clause = text[0];
    pieces.back().precision = *precision;
    pieces.emplace_back();
    text.remove_prefix(1);
  }
  if (pieces.back().literal.empty()) pieces.pop_back();
  return pieces;
}

Result<std::string> render_clause(const FormatPiece& piece, const FormatArgument& argument,
                                  FormatStyle style) {
  switch (piece.clause) {
    case 's':
      return render_text(argument, style);
    case 'd':
      return render_decimal(argument, style);
    case 'f':
      if (const auto value = number_of(argument, style)) return fixed(*value, piece.precision, style);
      return refused("fixed-point clause can only be used on doubles", argument);
    case 'e':
      if (const auto value = number_of(argument, style)) return scientific(*value, piece.precision, style);
      return refused("scientific clause can only be used on doubles", argument);
    case 'x':
    case 'X':
      return render_hex(piece.clause, argument);
    case 'o':
      if (const auto* value = std::get_if<int64_t>(&argument)) return in_base(*value, 8);
      if (const auto* value = std::get_if<uint64_t>(&argument)) return in_base(*value, 8);
      return refused("octal clause can only be used on integers", argument);
    case 'b':
      if (const auto* flag = std::get_if<bool>(&argument)) return std::string(*flag ? "1" : "0");
      if (const auto* value = std::get_if<int64_t>(&argument)) return in_base(*value, 2);
      if (const auto* value = std::get_if<uint64_t>(&argument)) return in_base(*value, 2);
      return refused("only integers and bools can be formatted as binary", argument);
    default:
      return std::string();
  }
}

Result<std::string> render_element(const FormatArgument& argument, FormatStyle style) {
  if (style == FormatStyle::kSpecification) return render_text(argument, style);
  if (const auto* value = std::get_if<double>(&argument)) {
    if (!std::isfinite(*value)) return go_quoted(double_text(*value));
    return digits_of(*value, std::chars_format::fixed, kPrecision);
  }
  if (const auto* text = std::get_if<std::string_view>(&argument)) return go_quoted(*text);
  if (const auto* bytes = std::get_if<FormatBytes>(&argument)) {
    const auto text = text_of(*bytes, style);
    if (!text) return text.error();
    return "b" + go_quoted(*text);
  }
  if (const auto* other = std::get_if<FormatOther>(&argument)) {
    if (other->type == "google.protobuf.Timestamp") return "timestamp(" + go_quoted(other->text) + ")";
    if (other->type == "google.protobuf.Duration") return "duration(" + go_quoted(other->text) + ")";
  }
  return render_text(argument, style);
}

std::string render_list(const std::vector<std::string>& elements) { return "[" + join(elements, ", ") + "]"; }

std::string render_map(std::vector<std::pair<std::string, std::string>> entries, FormatStyle style) {
  std::sort(entries.begin(), entries.end());
  const std::string_view between = style == FormatStyle::kKubernetes ? ":" : ": ";
  std::vector<std::string> texts;
  for (const auto& [key, value] : entries) texts.push_back(std::string(key).append(between).append(value));
  return "{" + join(texts, ", ") + "}";
}

}  // namespace sliced::cel
