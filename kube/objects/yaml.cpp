#include "kube/objects/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

// ---------------------------------------------------------------- scalars, as sigs.k8s.io/yaml (go-yaml v2)
// reads them

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

bool one_of(std::string_view text, std::initializer_list<std::string_view> options) {
  return std::find(options.begin(), options.end(), text) != options.end();
}

std::optional<bool> as_boolean(std::string_view text) {
  if (one_of(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})) return true;
  if (one_of(text, {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}))
    return false;
  return std::nullopt;
}

bool is_null_text(std::string_view text) { return one_of(text, {"", "~", "null", "Null", "NULL"}); }

bool is_special_float(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return one_of(text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"});
}

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_float_shaped(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (const size_t exponent = text.find_first_of("eE"); exponent != std::string_view::npos) {
    std::string_view digits = text.substr(exponent + 1);
    if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
    if (digits.empty() || !all_digits(digits)) return false;
    text = text.substr(0, exponent);
  }
  const size_t point = text.find('.');
  if (point == std::string_view::npos) return !text.empty() && all_digits(text);
  const std::string_view whole = text.substr(0, point), fraction = text.substr(point + 1);
  return all_digits(whole) && all_digits(fraction) && !(whole.empty() && fraction.empty());
}

/// Go writes a whole double without a fraction, and Kubernetes then reads an integer: 1.0 and 1e3 are
/// integers.
Json folded(double value) {
  if (value == std::floor(value) && std::fabs(value) < 9.2e18) return Json(static_cast<int64_t>(value));
  return Json(value);
}

std::optional<Json> as_float(std::string_view text) {
  if (!is_float_shaped(text)) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return folded(value);
}

/// Decimal, 0x, 0o, 0b, and a leading 0 for octal. Beyond int64 a double, as after Kubernetes' JSON; beyond
/// 64 bits only decimal ones are numbers.
std::optional<Json> as_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    text.remove_prefix(mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1);
  }
  if (text.empty()) return std::nullopt;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9'                     ? c - '0'
                      : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                               : 99;
    if (digit >= base) return std::nullopt;
  }
  uint64_t value = 0;
  const bool fits = std::from_chars(text.data(), text.data() + text.size(), value, base).ec == std::errc{};
  constexpr auto kMax = static_cast<uint64_t>(INT64_MAX);
  if (fits && negative && value <= kMax + 1) return Json(static_cast<int64_t>(0 - value));
  if (fits && !negative && value <= kMax) return Json(static_cast<int64_t>(value));
  double large = fits ? static_cast<double>(value) : 0;
  if (!fits && base != 10) return std::nullopt;
  if (!fits && std::from_chars(text.data(), text.data() + text.size(), large).ec != std::errc{})
    return std::nullopt;
  return Json(negative ? -large : large);
}

std::optional<Json> as_number(std::string_view text) {
  if (text.empty() || std::string_view("0123456789+-.").find(text[0]) == std::string_view::npos)
    return std::nullopt;
  std::string bare;
  std::copy_if(text.begin(), text.end(), std::back_inserter(bare), [](char c) { return c != '_'; });
  if (text[0] == '.') return as_float(bare);
  if (auto integer = as_integer(bare)) return integer;
  return as_float(bare);
}

Result<Json> resolve_plain(std::string_view text) {
  if (is_null_text(text)) return Json();
  if (const auto boolean = as_boolean(text)) return Json(*boolean);
  if (is_special_float(text))
    return Error{Errc::kInvalid, in_quotes(text) + " is not a JSON value; quote it to mean text"};
  if (auto number = as_number(text)) return std::move(*number);
  return Json(text);
}

Result<Json> resolve_tagged(std::string_view tag, std::string_view text) {
  std::string_view core = tag;
  if (!core.starts_with(kTagPrefix))
    return Error{Errc::kInvalid, "the tag " + in_quotes(tag) + " is not supported"};
  core.remove_prefix(kTagPrefix.size());
  if (core == "str" || core == "timestamp") return Json(text);
  std::optional<Json> value;
  if (core == "null" && is_null_text(text)) value = Json();
  if (core == "bool") {
    if (const auto boolean = as_boolean(text)) value = Json(*boolean);
  }
  if (core == "int" || core == "float") value = as_number(text);
  if (value && core == "int" && value->integer() == nullptr) value.reset();
  if (value) return std::move(*value);
  if (!one_of(core, {"null", "bool", "int", "float"})) {
    return Error{Errc::kInvalid, "the tag \"!!" + escaped(core) + "\" is not supported"};
  }
  return Error{Errc::kInvalid, in_quotes(text) + " is no !!" + std::string(core)};
}

// ------------------------------------------------------------------------------------------------ events to
// values

/// One libyaml event, freed with its owner.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { reset(); }
  void reset() { yaml_event_delete(&raw_); }
  bool next(yaml_parser_t& parser) {
    reset();
    return yaml_parser_parse(&parser, &raw_) != 0;
  }
  yaml_event_type_t type() const { return raw_.type; }
  int line() const { return static_cast<int>(raw_.start_mark.line) + 1; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(raw_.data.scalar.value), raw_.data.scalar.length};
  }
  const yaml_event_t& raw() const { return raw_; }

 private:
  yaml_event_t raw_{};
};

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

/// Cost of a decoded subtree: copies of it by aliases count again.
struct Cost {
  size_t nodes = 0, bytes = 0;
  int depth = 0;
};

Cost cost_of(const Json& value) {
  Cost cost{1, 0, 1};
  const auto add = [&](const Json& child) {
    const Cost inner = cost_of(child);
    cost.nodes += inner.nodes;
    cost.bytes += inner.bytes;
    cost.depth = std::max(cost.depth, inner.depth + 1);
  };
  if (const auto* text = value.string()) cost.bytes += text->size();
  if (const auto* items = value.array()) {
    for (const auto& item : *items) add(item);
  }
  if (const auto* members = value.object()) {
    for (const auto& [key, member] : *members) {
      cost.bytes += key.size();
      add(member);
    }
  }
  return cost;
}

class Decoder {
 public:
  Decoder(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    const char* begin = text.empty() ? "" : text.data();  // an empty view may point nowhere
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(begin), text.size());
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() {
    event_.reset();
    yaml_parser_delete(&parser_);
  }

  YamlDocuments decode() {
    while (next() && event_.type() != YAML_STREAM_END_EVENT) {
      if (event_.type() == YAML_DOCUMENT_START_EVENT && !read_document()) break;
    }
    return std::move(out_);
  }

 private:
  struct Anchor {
    Json value;
    Cost cost;
  };

  /// Returns false if the stream cannot be continued.
  bool read_document() {
    for (const auto& [name, anchor] : anchors_) ended_anchors_.insert(name);
    anchors_.clear();
    Json root;
    bad_ = false;
    const bool followed = next() && read_node(1, root);
    while (followed && event_.type() != YAML_DOCUMENT_END_EVENT) {
      if (!next()) return false;
    }
    if (followed && !bad_ && !root.is_null()) out_.documents.push_back(std::move(root));
    return followed;
  }

  bool next() {
    if (event_.next(parser_)) return true;
    const bool at_reader = parser_.error == YAML_READER_ERROR;
    const auto upto = text_.substr(0, std::min(text_.size(), parser_.problem_offset));
    const int line = at_reader ? 1 + static_cast<int>(std::count(upto.begin(), upto.end(), '\n'))
                               : static_cast<int>(parser_.problem_mark.line) + 1;
    std::string what = parser_.problem == nullptr ? "not valid YAML" : parser_.problem;
    if (parser_.context != nullptr) what += std::string(" (") + parser_.context + ")";
    if (!at_reader && is_indented_by_tab(line, parser_.problem_mark.column, what))
      what += ": the line begins with a tab, and YAML allows spaces only";
    out_.problems.push_back({line, std::move(what)});
    return false;
  }

  // A tab is the cause only where the scanner stops at it. In flow style and quoted text tabs are allowed.
  bool is_indented_by_tab(int line, size_t column, std::string_view what) const {
    std::string_view rest = text_;
    for (; line > 1; --line) {
      const size_t end = rest.find('\n');
      if (end == std::string_view::npos) return false;
      rest.remove_prefix(end + 1);
    }
    const size_t first = rest.find_first_not_of(' ');
    return first != std::string_view::npos && rest[first] == '\t' &&
           (first == column || what.find("tab character") != std::string_view::npos);
  }

  /// Reports an error of a document, which is left out; reading continues. Only the first error of a document
  /// is reported.
  bool spoil(int line, std::string what) {
    if (!bad_) out_.problems.push_back({line, std::move(what)});
    bad_ = true;
    return true;
  }
  /// A limit was exceeded: reading ends.
  bool stop(std::string what) {
    out_.problems.push_back({event_.line(), std::move(what)});
    return false;
  }

  bool charge(const Cost& cost) {
    nodes_ += cost.nodes;
    bytes_ += cost.bytes;
    if (nodes_ > limits_.nodes_max) return stop("more than " + std::to_string(limits_.nodes_max) + " values");
    if (bytes_ > 2 * limits_.size_max) return stop("aliases expand to more than the size limit");
    return true;
  }

  /// Reads the node that event_ begins. Afterwards event_ is the node's last event.
  bool read_node(int depth, Json& out) {
    const int line = event_.line();
    if (event_.type() == YAML_ALIAS_EVENT) return read_alias(depth, out);
    std::string anchor;
    bool read = false;
    if (event_.type() == YAML_SCALAR_EVENT) {
      anchor = view(event_.raw().data.scalar.anchor);
      read = read_scalar(out);
    } else {
      if (depth > limits_.depth_max) {
        return stop("nested deeper than " + std::to_string(limits_.depth_max) + " levels");
      }
      const bool sequence = event_.type() == YAML_SEQUENCE_START_EVENT;
      anchor =
          view(sequence ? event_.raw().data.sequence_start.anchor : event_.raw().data.mapping_start.anchor);
      check_collection_tag(sequence);
      if (!charge({1, 0, 1})) return false;
      read = sequence ? read_sequence(depth, out) : read_mapping(depth, out);
    }
    if (!read) return false;
    out.set_line(line);
    if (!anchor.empty()) {
      const Cost cost = cost_of(out);
      if (!charge(cost)) return false;  // the copy kept for aliases
      anchors_[anchor] = {out, cost};
    }
    return true;
  }

  void check_collection_tag(bool sequence) {
    const auto tag =
        view(sequence ? event_.raw().data.sequence_start.tag : event_.raw().data.mapping_start.tag);
    if (tag.empty() || tag == "!" || tag == std::string(kTagPrefix) + (sequence ? "seq" : "map")) return;
    spoil(event_.line(), "the tag " + in_quotes(tag) + " is not supported");
  }

  bool read_alias(int depth, Json& out) {
    const std::string name(view(event_.raw().data.alias.anchor));
    const auto found = anchors_.find(name);
    if (found == anchors_.end())
      return spoil(event_.line(),
                   "the alias *" + escaped(name) + " has no anchor before it" +
                       (ended_anchors_.contains(name)
                            ? ": &" + escaped(name) + " is in an earlier document, and an anchor ends at ---"
                            : ""));
    if (depth + found->second.cost.depth - 1 > limits_.depth_max) {
      return stop("aliases nest deeper than " + std::to_string(limits_.depth_max) + " levels");
    }
    if (!charge(found->second.cost)) return false;
    out = found->second.value;
    out.set_line(event_.line());
    return true;
  }

  bool read_scalar(Json& out) {
    const auto text = event_.text();
    if (!charge({1, text.size(), 1})) return false;
    const auto& scalar = event_.raw().data.scalar;
    const auto tag = view(scalar.tag);
    if (tag == "!" || (tag.empty() && scalar.plain_implicit == 0)) {
      out = Json(text);
      return true;
    }
    auto value = tag.empty() ? resolve_plain(text) : resolve_tagged(tag, text);
    if (!value.ok()) return spoil(event_.line(), value.error().what);
    out = std::move(*value);
    return true;
  }

  bool read_sequence(int depth, Json& out) {
    Json::Array items;
    while (next()) {
      if (event_.type() == YAML_SEQUENCE_END_EVENT) {
        out = Json(std::move(items));
        return true;
      }
      items.emplace_back();
      if (!read_node(depth + 1, items.back())) return false;
    }
    return false;
  }

  bool read_mapping(int depth, Json& out) {
    Json::Object members;
    std::unordered_set<std::string> keys;
    std::vector<Json> merges;
    while (next()) {
      if (event_.type() == YAML_MAPPING_END_EVENT) {
        merge(members, keys, merges);
        out = Json(std::move(members));
        return charge({0, 0, 0});
      }
      const int line = event_.line();
      if (is_merge_key()) {
        merges.emplace_back();
        if (!next() || !read_node(depth + 1, merges.back())) return false;
        continue;
      }
      std::string key;
      if (!read_key(depth, key)) return false;
      if (!keys.insert(key).second) spoil(line, "the key " + in_quotes(key) + " appears twice");
      members.emplace_back(std::move(key), Json());
      if (!next() || !read_node(depth + 1, members.back().second)) return false;
    }
    return false;
  }

  bool is_merge_key() const {
    if (event_.type() != YAML_SCALAR_EVENT || event_.text() != "<<") return false;
    const auto tag = view(event_.raw().data.scalar.tag);
    return tag == std::string(kTagPrefix) + "merge" ||
           (tag.empty() && event_.raw().data.scalar.plain_implicit != 0);
  }

  bool read_key(int depth, std::string& key) {
    const int line = event_.line();
    Json value;
    if (!read_node(depth + 1, value)) return false;
    if (const auto* text = value.string()) {
      key = *text;
    } else if (const auto* boolean = value.boolean()) {
      key = *boolean ? "true" : "false";
    } else if (value.integer() != nullptr || value.number() != nullptr) {
      key = encode_json(value);
    } else {
      spoil(line, "a map key must be text, not " + std::string(value.kind_name()));
    }
    return true;
  }

  /// `<<`: keys of the map have precedence, then earlier maps of the merge list.
  void merge(Json::Object& members, std::unordered_set<std::string>& keys, const std::vector<Json>& merges) {
    const auto add_unless_present = [&](const Json& from) {
      if (from.object() == nullptr) {
        spoil(from.line(),
              "the value of << must be a map or a list of maps, not " + std::string(from.kind_name()));
        return;
      }
      for (const auto& member : *from.object()) {
        if (keys.insert(member.first).second) members.push_back(member);
      }
    };
    for (const auto& value : merges) {
      if (value.array() == nullptr) {
        add_unless_present(value);
        continue;
      }
      for (const auto& item : *value.array()) add_unless_present(item);
    }
  }

  yaml_parser_t parser_{};
  Event event_;
  std::string_view text_;
  const JsonLimits limits_;
  YamlDocuments out_;
  std::map<std::string, Anchor> anchors_;
  std::set<std::string> ended_anchors_;  // names in earlier documents
  size_t nodes_ = 0, bytes_ = 0;
  bool bad_ = false;
};

}  // namespace

YamlDocuments decode_yaml(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.size_max) {
    return {{},
            {{1, "a text of " + std::to_string(text.size()) + " bytes, more than " +
                     std::to_string(limits.size_max)}}};
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return {{},
            {{1,
              "the text is UTF-16, expected UTF-8 (in Windows PowerShell write the file by | Out-File "
              "-Encoding utf8 in place of >)"}}};
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (trim(text).starts_with(
          '{')) {  // JSON has escapes that YAML has not (surrogate pairs), and is the faster reader
    if (auto json = decode_json_with_lines(text, limits); json.ok()) return {{std::move(*json)}, {}};
  }
  return Decoder(text, limits).decode();
}

}  // namespace sliced::kube
