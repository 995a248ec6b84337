#include "watchers/object_head.h"

#include <optional>

#include "kube/objects/json.h"
#include "kube/objects/json_scanner.h"
#include "reactor/base/text.h"

namespace sliced::watchers {
namespace {

constexpr size_t kFieldBytesMax = 512;  // names end at 253, uids at 36, versions at 20

using kube::JsonScanner;

bool read_field(JsonScanner& scanner, std::string& out) {
  if (scanner.consume_null()) return true;
  const auto literal = scanner.literal();
  if (!literal || literal->size() > kFieldBytesMax) return false;
  if (literal->find('\\') == std::string_view::npos) {
    out = literal->substr(1, literal->size() - 2);
    return true;
  }
  Result<kube::Json> unescaped = kube::decode_json(*literal);
  if (!unescaped.ok() || unescaped->string() == nullptr) return false;
  out = *unescaped->string();
  return true;
}

bool read_annotations(JsonScanner& scanner, ObjectHead& head) {
  return scanner.object([&](std::string_view key) {
    if (key != "k8s.io/initial-events-end") return scanner.skip_value();
    const auto value = scanner.literal();
    head.initial_events_end = value == "\"true\"";
    return value.has_value();
  });
}

bool read_metadata(JsonScanner& scanner, ObjectHead& head) {
  return scanner.object([&](std::string_view key) {
    if (key == "name") return read_field(scanner, head.name);
    if (key == "namespace") return read_field(scanner, head.namespace_);
    if (key == "uid") return read_field(scanner, head.uid);
    if (key == "resourceVersion") return read_field(scanner, head.resource_version);
    if (key == "annotations") {
      JsonScanner ahead = scanner;
      if (read_annotations(ahead, head)) {
        scanner = ahead;
        return true;
      }
      return scanner.skip_value();  // null, or an unused type
    }
    return scanner.skip_value();
  });
}

/// Returns the text at "spec.driver"; "" if absent, nullopt if the object ends before it.
std::optional<std::string> text_at(JsonScanner& scanner, std::string_view path) {
  const size_t dot = path.find('.');
  const std::string_view first = path.substr(0, dot);
  std::optional<std::string> out = "";
  bool is_found = false;
  const bool is_whole = scanner.object([&](std::string_view key) {
    if (key != first) return scanner.skip_value();
    is_found = true;
    if (dot != std::string_view::npos)
      out = text_at(scanner, path.substr(dot + 1));
    else if (!read_field(scanner, *out))
      out = scanner.is_at_end() ? std::nullopt : std::optional(std::string());
    return false;  // the rest is not read
  });
  return is_found || is_whole || !scanner.is_at_end() ? out : std::nullopt;
}

}  // namespace

Result<ObjectHead> decode_object_head(std::string_view object) {
  JsonScanner scanner(object);
  ObjectHead head;
  bool found = false, good = true;
  const bool is_whole = scanner.object([&](std::string_view key) {
    if (key != "metadata") return scanner.skip_value();
    found = true;
    good = read_metadata(scanner, head);
    return false;  // the rest is not read
  });
  if (found && (good || (scanner.is_at_end() && !head.name.empty() && !head.resource_version.empty())))
    return head;
  if (!is_whole && scanner.is_at_end())
    return Error{Errc::kTooLarge, "the object ends before its name and resourceVersion"};
  if (!found) return Error{Errc::kInvalid, "not a JSON object with metadata"};
  return Error{Errc::kInvalid, "metadata: not an object with strings of at most 512 bytes"};
}

bool is_in_scope(const ObjectHead& head, std::string_view object, const kube::Scope& scope) {
  if (!scope.namespace_.empty() && head.namespace_ != scope.namespace_) return false;
  if (scope.field_selector.empty()) return true;
  for (const std::string_view term : split(scope.field_selector, ',')) {
    const size_t equals = term.find('=');
    const std::string_view path = term.substr(0, equals);
    JsonScanner scanner(object);
    const auto found = path == "metadata.name" ? std::optional(head.name) : text_at(scanner, path);
    if (equals == std::string_view::npos || (found && *found != term.substr(equals + 1))) return false;
  }
  return true;
}

}  // namespace sliced::watchers
