#include "kube/objects/json.h"

#include <simdjson.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_set>

#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kLinearKeySearchMax = 16;  // beyond it a hash set finds duplicate keys
// Containers down to here are counted before they are filled, so that each is one block of the right size;
// counting reads their content once more. Deeper ones release excess memory afterwards.
constexpr int kCountedDepthMax = 8;

// Like any failed allocation: ends the process.
[[noreturn]] void end_without_memory() {
  std::fputs("sliced: out of memory\n", stderr);
  std::abort();
}

/// The keys of one object while it is read. Views stay valid as long as the parser's string buffer.
class KeySet {
 public:
  bool insert(std::string_view key) {
    if (hashed_.empty() && seen_.size() < kLinearKeySearchMax) {
      if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) return false;
      seen_.push_back(key);
      return true;
    }
    if (hashed_.empty()) hashed_.insert(seen_.begin(), seen_.end());
    return hashed_.insert(key).second;
  }

 private:
  std::vector<std::string_view> seen_;
  std::unordered_set<std::string_view> hashed_;
};

/// Walks a simdjson document into a Json tree. simdjson's on-demand reader only validates visited values, so
/// every value is visited, and the end of the text is checked.
class Reader {
 public:
  Reader(std::string_view text, const JsonLimits& limits, bool lines)
      : size_(text.size()), padded_(text), limits_(limits), lines_(lines), position_(padded_.data()) {}

  Result<Json> read() {
    if (padded_.size() != size_) end_without_memory();  // it keeps nothing then
    if (const auto error = parser_.iterate(padded_).get(document_)) return failure(error);
    Json root;
    if (!read_root(root)) return std::move(error_);
    const char* rest = nullptr;
    if (document_.current_location().get(rest) == simdjson::SUCCESS) {
      return Error{Errc::kInvalid, "text after the end of the JSON value" + place(rest)};
    }
    return root;
  }

 private:
  bool read_root(Json& out) {
    ondemand::json_type type{};
    if (const auto error = document_.type().get(type)) return fail(error);
    if (type == ondemand::json_type::object || type == ondemand::json_type::array) {
      ondemand::value value;
      if (const auto error = document_.get_value().get(value)) return fail(error);
      return read_value(value, 1, out);
    }
    return enter(document_.raw_json_token(), out) && read_scalar(document_, type, out);
  }

  bool read_value(ondemand::value value, int depth, Json& out) {
    ondemand::json_type type{};
    if (const auto error = value.type().get(type)) return fail(error);
    if (!enter(value.raw_json_token(), out)) return false;
    if (type != ondemand::json_type::object && type != ondemand::json_type::array)
      return read_scalar(value, type, out);
    if (depth > limits_.depth_max) {
      return fail(Errc::kTooLarge, "nested deeper than " + std::to_string(limits_.depth_max) + " levels");
    }
    return type == ondemand::json_type::object ? read_object(value, depth, out)
                                               : read_array(value, depth, out);
  }

  bool read_object(ondemand::value value, int depth, Json& out) {
    ondemand::object object;
    if (const auto error = value.get_object().get(object)) return fail(error);
    Json::Object members;
    KeySet keys;
    if (depth <= kCountedDepthMax) {
      size_t count = 0;
      if (const auto error = object.count_fields().get(count)) return fail(error);
      if (!has_room(count)) return false;
      members.reserve(count);
    }
    for (auto item : object) {
      ondemand::field field;
      std::string_view key;
      if (const auto error = std::move(item).get(field)) return fail(error);
      if (const auto error = field.unescaped_key().get(key)) return fail(error);
      if (!keys.insert(key)) return fail(Errc::kInvalid, "the key " + in_quotes(key) + " appears twice");
      members.emplace_back(std::string(key), Json());
      if (!read_value(field.value(), depth + 1, members.back().second)) return false;
    }
    members.shrink_to_fit();
    assign(out, Json(std::move(members)));
    return true;
  }

  bool read_array(ondemand::value value, int depth, Json& out) {
    ondemand::array array;
    if (const auto error = value.get_array().get(array)) return fail(error);
    Json::Array items;
    if (depth <= kCountedDepthMax) {
      size_t count = 0;
      if (const auto error = array.count_elements().get(count)) return fail(error);
      if (!has_room(count)) return false;
      items.reserve(count);
    }
    for (auto item : array) {
      ondemand::value element;
      if (const auto error = std::move(item).get(element)) return fail(error);
      items.emplace_back();
      if (!read_value(element, depth + 1, items.back())) return false;
    }
    items.shrink_to_fit();
    assign(out, Json(std::move(items)));
    return true;
  }

  template <class Node>  // a document whose root is a scalar, or a value
  bool read_scalar(Node& node, ondemand::json_type type, Json& out) {
    const std::string_view token = trim(token_);
    switch (type) {
      case ondemand::json_type::string: {
        std::string_view text;
        if (const auto error = node.get_string().get(text)) return fail(error);
        assign(out, Json(text));
        return true;
      }
      case ondemand::json_type::boolean: {
        bool value = false;
        if (const auto error = node.get_bool().get(value)) return fail(error);
        assign(out, Json(value));
        return true;
      }
      case ondemand::json_type::number:
        return read_number(node, token, out);
      default:
        if (token != "null") return fail(Errc::kInvalid, "neither a value nor null");
        (void)node.is_null();  // moves on to the next token
        return true;
    }
  }

  template <class Node>
  bool read_number(Node& node, std::string_view token, Json& out) {
    ondemand::number number;
    if (const auto error = node.get_number().get(number)) {
      // Whole numbers beyond 64 bits are legal JSON; simdjson refuses them, Kubernetes reads them as doubles.
      const bool whole = std::all_of(token.begin() + (token.starts_with('-') ? 1 : 0), token.end(),
                                     [](char c) { return c >= '0' && c <= '9'; });
      double big = 0;
      if (!whole || token.size() < 19 || token.size() > 300 || token[token[0] == '-' ? 1 : 0] == '0')
        return fail(error);
      if (std::from_chars(token.data(), token.data() + token.size(), big).ec != std::errc{})
        return fail(error);
      if (node.get_double().get(big) != simdjson::SUCCESS) return fail(error);  // moves on
      assign(out, Json(big));
      return true;
    }
    if (number.is_int64()) {
      assign(out, Json(number.get_int64()));
    } else if (number.is_uint64()) {
      assign(out, Json(static_cast<double>(number.get_uint64())));
    } else {
      // simdjson stores a number with more than 19 digits in a copy of the result, so that get_double()
      // returns 0.
      constexpr size_t kDigitsMax = 19;
      double value = number.get_double();
      if (token.size() > kDigitsMax) (void)std::from_chars(token.data(), token.data() + token.size(), value);
      assign(out, Json(value));
    }
    return true;
  }

  bool has_room(size_t more) {
    if (more <= limits_.nodes_max && nodes_ <= limits_.nodes_max - more) return true;
    return fail(Errc::kTooLarge, "more than " + std::to_string(limits_.nodes_max) + " values");
  }

  /// Counts the node and notes its line.
  template <class Token>
  bool enter(Token&& raw, Json& out) {
    if constexpr (std::is_same_v<std::decay_t<Token>, std::string_view>) {
      token_ = raw;
    } else if (const auto error = std::forward<Token>(raw).get(token_)) {
      return fail(error);
    }
    ++nodes_;
    if (!has_room(0)) return false;
    if (lines_) {
      // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): two positions in the same text
      line_ += static_cast<int>(std::count(position_, token_.data(), '\n'));
      position_ = token_.data();
      out.set_line(line_);
    }
    return true;
  }

  static void assign(Json& out, Json value) {
    value.set_line(out.line());
    out = std::move(value);
  }

  std::string place(const char* at) const {
    if (at < padded_.data() || at > padded_.data() + padded_.size()) return "";
    return " at byte " + std::to_string(at - padded_.data());
  }
  Error failure(simdjson::error_code code) {
    // No error of the text: a caller that treats it as unreadable would skip a valid object forever.
    if (code == simdjson::MEMALLOC) end_without_memory();
    const Errc ours =
        code == simdjson::CAPACITY || code == simdjson::DEPTH_ERROR ? Errc::kTooLarge : Errc::kInvalid;
    const char* at = nullptr;
    const bool known = document_open() && document_.current_location().get(at) == simdjson::SUCCESS;
    return {ours, std::string("not valid JSON: ") + simdjson::error_message(code) + (known ? place(at) : "")};
  }
  bool fail(simdjson::error_code code) {
    error_ = failure(code);
    return false;
  }
  bool fail(Errc code, std::string what) {
    const char* at = nullptr;
    if (document_.current_location().get(at) == simdjson::SUCCESS) what += place(at);
    error_ = {code, std::move(what)};
    return false;
  }
  bool document_open() const { return nodes_ > 0; }

  size_t size_;
  simdjson::padded_string padded_;
  JsonLimits limits_;
  bool lines_;
  ondemand::parser parser_;
  ondemand::document document_;
  std::string_view token_;
  const char* position_;
  int line_ = 1;
  size_t nodes_ = 0;
  Error error_{Errc::kInvalid, "not valid JSON"};
};

Result<Json> decode(std::string_view text, const JsonLimits& limits, bool lines) {
  if (text.size() > limits.size_max) {
    return Error{Errc::kTooLarge, "JSON of " + std::to_string(text.size()) + " bytes, more than " +
                                      std::to_string(limits.size_max)};
  }
  if (trim(text).empty()) return Error{Errc::kInvalid, "empty JSON text"};
  // simdjson takes a NUL behind null, true, false or a number for the end of the text.
  if (const size_t at = text.find('\0'); at != std::string_view::npos)
    return Error{Errc::kInvalid, "a NUL at byte " + std::to_string(at) + ", which JSON cannot hold"};
  return Reader(text, limits, lines).read();
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";  // JSON has no such number
    return;
  }
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";  // stays a double when read back
}

void append_integer(std::string& out, int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

/// indent: below 0 for the compact form.
void append(std::string& out, const Json& value, int indent);

void append_break(std::string& out, int indent) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * 2, ' ');
}

void append_array(std::string& out, const Json::Array& items, int indent) {
  const int inner = indent < 0 ? indent : indent + 1;
  out += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    append_break(out, inner);
    append(out, items[i], inner);
  }
  if (!items.empty()) append_break(out, indent);
  out += ']';
}

void append_object(std::string& out, const Json::Object& members, int indent) {
  const int inner = indent < 0 ? indent : indent + 1;
  out += '{';
  for (size_t i = 0; i < members.size(); ++i) {
    if (i > 0) out += ',';
    append_break(out, inner);
    append_json_string(out, members[i].first);
    out += indent < 0 ? ":" : ": ";
    append(out, members[i].second, inner);
  }
  if (!members.empty()) append_break(out, indent);
  out += '}';
}

void append(std::string& out, const Json& value, int indent) {
  if (const auto* text = value.string()) {
    append_json_string(out, *text);
  } else if (const auto* boolean = value.boolean()) {
    out += *boolean ? "true" : "false";
  } else if (const auto* integer = value.integer()) {
    append_integer(out, *integer);
  } else if (const auto* number = value.number()) {
    append_number(out, *number);
  } else if (const auto* items = value.array()) {
    append_array(out, *items, indent);
  } else if (const auto* members = value.object()) {
    append_object(out, *members, indent);
  } else {
    out += "null";
  }
}

}  // namespace

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(bool value) : value_(value) {}
Json::Json(int value) : value_(int64_t{value}) {}
Json::Json(int64_t value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(Array items) : value_(std::move(items)) {}
Json::Json(Object members) : value_(std::move(members)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;
bool Json::operator==(const Json& other) const { return value_ == other.value_; }

const Json* Json::find(std::string_view key) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  for (const auto& [name, value] : *members) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json* Json::find(std::initializer_list<std::string_view> path) const {
  const Json* at = this;
  for (const auto key : path) {
    if (at == nullptr) return nullptr;
    at = at->find(key);
  }
  return at;
}

std::string_view Json::text(std::string_view key) const {
  const Json* member = find(key);
  const std::string* text = member == nullptr ? nullptr : member->string();
  return text == nullptr ? std::string_view() : *text;
}

void Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object();
  Object* members = object();
  assert(members != nullptr && "set() on a value that is not a map");
  for (auto& [name, member] : *members) {
    if (name == key) {
      member = std::move(value);
      return;
    }
  }
  members->emplace_back(std::string(key), std::move(value));
}

std::string_view Json::kind_name() const {
  static constexpr std::string_view kNames[] = {"null",   "boolean", "number", "number",
                                                "string", "list",    "map"};
  return kNames[value_.index()];
}

Result<Json> decode_json(std::string_view text, const JsonLimits& limits) {
  return decode(text, limits, false);
}

Result<Json> decode_json_with_lines(std::string_view text, const JsonLimits& limits) {
  return decode(text, limits, true);
}

std::string encode_json(const Json& value) {
  std::string out;
  append(out, value, -1);
  return out;
}

std::string encode_json_pretty(const Json& value) {
  std::string out;
  append(out, value, 0);
  out += '\n';
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  size_t plain = 0;  // start of the run that needs no escape
  const auto flush = [&](size_t end) { out.append(text.substr(plain, end - plain)); };
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      const size_t size = utf8_length(text.substr(i));
      if (size == 0) {
        flush(i);
        out += "\xEF\xBF\xBD";
        plain = i + 1;
      }
      i += std::max<size_t>(size, 1);
      continue;
    }
    if (byte >= 0x20 && byte != '"' && byte != '\\') {
      ++i;
      continue;
    }
    flush(i);
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out += kDigits[byte >> 4];
        out += kDigits[byte & 15];
    }
    plain = ++i;
  }
  flush(text.size());
  out += '"';
}

}  // namespace sliced::kube
