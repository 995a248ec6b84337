#pragma once
// A JSON value as plain data, with == and with the place it came from. YAML becomes the same value
// (kube/objects/yaml.h), so every decoder has one input. Meant for single objects; large lists are cut into items
// first (kube/objects/cluster.h).
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

/// Numbers: what fits an int64 is one, everything else is a double; a decimal text does not come back digit
/// by digit.
/// Threads: a value; const access from several threads is safe.
/// Memory: some 20 times its text. What is kept for long is kept as text, or decoded into a type of its own.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in the order of the text; a repeated key is a decode error

  // Not inline, like the other special members: a variant's are much code, which each file that has a Json would compile.
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
  // The typed views; nullptr when the value is of another kind.
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&value_); }
  const double* number() const { return std::get_if<double>(&value_); }  // only what is not an int64
  const std::string* string() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  Array* array() { return std::get_if<Array>(&value_); }
  Object* object() { return std::get_if<Object>(&value_); }

  /// The member of that name; nullptr when this is no object or has none.
  /// The first of that name, by looking at one after the other: objects here have a few dozen members at
  /// most, or are walked.
  const Json* find(std::string_view key) const;
  /// find() along a path of keys.
  const Json* find(std::initializer_list<std::string_view> path) const;
  /// The string member of that name, or "" (for optional text whose absence means empty).
  std::string_view text(std::string_view key) const;
  /// Sets or adds a member; a null value becomes an object first.
  /// Keeps the member's place where it was there. Anything but an object or null is a programmer's error.
  void set(std::string_view key, Json value);

  /// "string", "number", "boolean", "list", "map", "null": for error texts.
  std::string_view kind_name() const;

  /// 1-based line of the source text; 0 when unknown (JSON from the API server). Not part of ==.
  int line() const { return line_; }
  void set_line(int line) { line_ = line; }

  bool operator==(const Json& other) const;

 private:
  std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object> value_ = nullptr;
  int line_ = 0;
};

/// Of one document: text, nesting, and how many values it may hold.
struct JsonLimits {
  size_t size_max = 3u << 20;  // bytes of text; the API server's own request limit
  int depth_max = 64;
  size_t nodes_max = 400'000;
};

/// Decodes one JSON document (RFC 8259). Trailing text other than white space, duplicate keys, invalid UTF-8
/// and lone surrogates are errors (kInvalid, with the byte offset where it is known); kTooLarge beyond the
/// limits.
/// Recursion is bounded by depth_max, memory by nodes_max and the text's size: a document of a stranger costs
/// no more than those say.
Result<Json> decode_json(std::string_view text, const JsonLimits& limits = {});

/// decode_json, and every value knows its line.
Result<Json> decode_json_with_lines(std::string_view text, const JsonLimits& limits = {});

/// Compact JSON, keys in the order they stand. Doubles in the shortest form that reads back the same.
std::string encode_json(const Json& value);
/// Indented by two spaces and ended by a newline, for people.
std::string encode_json_pretty(const Json& value);
/// Appends a JSON string literal with quotes; invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace sliced::kube
