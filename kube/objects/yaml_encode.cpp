// The encoder of kube/objects/yaml.h.
#include <algorithm>
#include <iterator>

#include "kube/objects/yaml.h"
#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

// Texts that a reader of YAML 1.1 or 1.2 converts to a boolean, null or number, in any case.
constexpr std::string_view kReserved[] = {"y",    "n",     "yes",  "no",  "on",  "off",
                                          "true", "false", "null", "nan", "inf", "infinity"};

// writing

constexpr size_t kSimpleKeyBytesMax = 120;  // YAML allows 1024 characters; longer ones need the "? " form

bool is_plain_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '/' || c == '-' || c == '+' || c == '@' || c == '(' || c == ')' || c == ';' || c == '=' ||
         c == '^';
}

/// Returns true if every YAML reader reads it as text: it starts with a letter, '/' or '_', and contains no
/// indicator characters and no keyword of YAML 1.1 or 1.2.
bool is_plain_text(std::string_view text) {
  if (text.empty() || text.size() > 256) return false;
  const char first = text[0];
  const bool lettered = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  if (!lettered && first != '/' && first != '_') return false;
  if (!std::all_of(text.begin(), text.end(),
                   [](char c) { return is_plain_byte(c) || c == ' ' || c == ':' || c == ','; })) {
    return false;
  }
  if (text.back() == ' ' || text.back() == ':' || text.find(": ") != std::string_view::npos) return false;
  const std::string lowered = lower(text);
  return std::find(std::begin(kReserved), std::end(kReserved), lowered) == std::end(kReserved);
}

void append_escape(std::string& out, const char* mark, uint32_t code, int digits) {
  out += mark;
  out += hex(code, digits);
}

uint32_t code_point(std::string_view sequence) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(sequence[i]); };
  uint32_t code = sequence.size() == 1 ? at(0) : at(0) & (0xFFu >> (sequence.size() + 1));
  for (size_t i = 1; i < sequence.size(); ++i) code = (code << 6) | (at(i) & 0x3Fu);
  return code;
}

bool is_printable(uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0xAD) return false;
  if ((code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) || code == 0xFEFF)
    return false;
  return code < 0xFFFE || code > 0xFFFF;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const size_t size = utf8_length(text.substr(i));
    if (size == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    const uint32_t code = code_point(text.substr(i, size));
    if (code == '"' || code == '\\') {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n' || code == '\t' || code == '\r') {
      out += code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r";
    } else if (is_printable(code)) {
      out += text.substr(i, size);
    } else {
      append_escape(out, code < 0x100 ? "\\x" : "\\u", code, code < 0x100 ? 2 : 4);
    }
    i += size;
  }
  out += '"';
}

void append_text(std::string& out, std::string_view text) {
  if (is_plain_text(text)) {
    out += text;
  } else {
    append_quoted(out, text);
  }
}

bool is_block(const Json& value) {
  return (value.array() != nullptr && !value.array()->empty()) ||
         (value.object() != nullptr && !value.object()->empty());
}

void append_scalar(std::string& out, const Json& value) {
  if (const auto* text = value.string()) {
    append_text(out, *text);
  } else if (value.array() != nullptr) {
    out += "[]";
  } else if (value.object() != nullptr) {
    out += "{}";
  } else {
    out += encode_json(value);
  }
}

void append_indent(std::string& out, size_t indent) { out.append(indent, ' '); }

/// Writes a non-empty list or map whose first line is already indented. Every line ends with a newline.
void append_block(std::string& out, const Json& value, size_t indent);

void append_items(std::string& out, const Json::Array& items, size_t indent) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) append_indent(out, indent);
    out += "- ";
    if (is_block(items[i])) {
      append_block(out, items[i], indent + 2);
      continue;
    }
    append_scalar(out, items[i]);
    out += '\n';
  }
}

void append_members(std::string& out, const Json::Object& members, size_t indent) {
  for (size_t i = 0; i < members.size(); ++i) {
    const auto& [key, member] = members[i];
    if (i > 0) append_indent(out, indent);
    const bool simple = key.size() <= kSimpleKeyBytesMax;
    if (!simple) out += "? ";
    append_text(out, key);
    if (!simple) {
      out += '\n';
      append_indent(out, indent);
    }
    out += ':';
    if (!is_block(member)) {
      out += ' ';
      append_scalar(out, member);
      out += '\n';
      continue;
    }
    // Lists have the indentation of their key, as in kubectl's output.
    const size_t inner = member.array() != nullptr && simple ? indent : indent + 2;
    out += '\n';
    append_indent(out, inner);
    append_block(out, member, inner);
  }
}

void append_block(std::string& out, const Json& value, size_t indent) {
  if (const auto* items = value.array()) {
    append_items(out, *items, indent);
  } else {
    append_members(out, *value.object(), indent);
  }
}

}  // namespace

std::string encode_yaml(const Json& value) {
  std::string out;
  if (is_block(value)) {
    append_block(out, value, 0);
  } else {
    append_scalar(out, value);
    out += '\n';
  }
  return out;
}

}  // namespace sliced::kube
