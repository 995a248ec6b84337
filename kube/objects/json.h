#pragma once
// A JSON value with == and source line. YAML is decoded to the same type (kube/objects/yaml.h), so that
// decoders have one input. For single objects; large lists are split into items first
// (kube/objects/cluster.h).
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::kube {

/// Numbers are int64 if they fit, else double. Memory: about 20 times the text; store text or a decoded type
/// for long.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in the order of the text; duplicate keys are decode errors

  // Not inline, for shorter compilation: the special members of a variant are much code.
  Json();  // null
  Json(std::nullptr_t);
  Json(bool value);
  Json(int value);
  Json(int64_t value);
  Json(double value);
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  Json(Array items);
  Json(Object members);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  // Typed access; nullptr if the value has another type.
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&value_); }
  const double* number() const { return std::get_if<double>(&value_); }  // not for int64 values
  const std::string* string() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  Array* array() { return std::get_if<Array>(&value_); }
  Object* object() { return std::get_if<Object>(&value_); }

  /// Returns the member, or nullptr if absent or not an object. Linear search: objects have a few dozen
  /// members.
  const Json* find(std::string_view key) const;
  /// find() for a path of keys.
  const Json* find(std::initializer_list<std::string_view> path) const;
  /// Returns the string member, or "".
  std::string_view text(std::string_view key) const;
  /// Sets a member, in its place if it exists. REQUIRES: this is an object or null.
  void set(std::string_view key, Json value);

  /// "string", "number", "boolean", "list", "map", "null", for error messages.
  std::string_view kind_name() const;

  /// 1-based line of the source text; 0: unknown. Not compared by ==.
  int line() const { return line_; }
  void set_line(int line) { line_ = line; }

  bool operator==(const Json& other) const;

 private:
  std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object> value_ = nullptr;
  int line_ = 0;
};

/// Limits of a document: text, depth, number of values.
struct JsonLimits {
  size_t size_max = 3u << 20;  // bytes of text; the API server's own request limit
  int depth_max = 64;
  size_t nodes_max = 400'000;
};

/// Decodes one JSON document (RFC 8259). Trailing text other than white space, duplicate keys, invalid UTF-8
/// and lone surrogates are errors (kInvalid, with the byte offset where it is known); kTooLarge beyond the
/// limits.
/// Recursion is bounded by depth_max, memory by nodes_max and the size of the text.
Result<Json> decode_json(std::string_view text, const JsonLimits& limits = {});

/// As decode_json, with the line of each value.
Result<Json> decode_json_with_lines(std::string_view text, const JsonLimits& limits = {});

/// Encodes compact JSON. Doubles have the shortest form that decodes to the same value.
std::string encode_json(const Json& value);
/// Encodes with two spaces of indentation and a final newline.
std::string encode_json_pretty(const Json& value);
/// Appends a JSON string literal with quotes; invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace sliced::kube
