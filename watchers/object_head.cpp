#include "watchers/object_head.h"

#include <algorithm>
#include <optional>

#include "kube/json.h"
#include "reactor/base/text.h"

namespace sliced::watchers {
namespace {

constexpr size_t kFieldBytesMax = 512;  // names end at 253, uids at 36, versions at 20

/// Walks one JSON text from left to right. Every function leaves the position after what it read.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_null() {
    skip_space();
    if (!rest_.starts_with("null")) return false;
    rest_.remove_prefix(4);
    return true;
  }

  /// A string literal with its quotes; nullopt when there is none.
  std::optional<std::string_view> literal() {
    skip_space();
    if (rest_.empty() || rest_.front() != '"') return std::nullopt;
    for (size_t at = 1; at < rest_.size(); ++at) {
      if (rest_[at] == '\\') {
        ++at;
      } else if (rest_[at] == '"') {
        const std::string_view found = rest_.substr(0, at + 1);
        rest_.remove_prefix(at + 1);
        return found;
      }
    }
    return std::nullopt;
  }

  bool skip_value() {
    size_t depth = 0;
    do {
      skip_space();
      if (rest_.empty()) return false;
      const char c = rest_.front();
      if (c == '"') {
        if (!literal()) return false;
      } else if (c == '{' || c == '[') {
        ++depth;
        rest_.remove_prefix(1);
      } else if (c == '}' || c == ']') {
        if (depth == 0) return false;
        --depth;
        rest_.remove_prefix(1);
      } else if (c == ',' || c == ':') {
        if (depth == 0) return false;
        rest_.remove_prefix(1);
      } else {
        rest_.remove_prefix(std::min(rest_.find_first_of(" \t\r\n,:]}[{\""), rest_.size()));
      }
    } while (depth > 0);
    return true;
  }

  /// Walks an object: on_member(key) must consume the value. False when the text is no object or on_member
  /// said so.
  template <class OnMember>
  bool object(OnMember on_member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      const auto key = literal();
      if (!key || !take(':') || !on_member(key->substr(1, key->size() - 2))) return false;
    } while (take(','));
    return take('}');
  }

 private:
  void skip_space() {
    const size_t start = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(start == std::string_view::npos ? rest_.size() : start);
  }

  std::string_view rest_;
};

bool read_field(Scanner& scanner, std::string& out) {
  if (scanner.take_null()) return true;
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

bool read_annotations(Scanner& scanner, ObjectHead& head) {
  return scanner.object([&](std::string_view key) {
    if (key != "k8s.io/initial-events-end") return scanner.skip_value();
    const auto value = scanner.literal();
    head.initial_events_end = value == "\"true\"";
    return value.has_value();
  });
}

bool read_metadata(Scanner& scanner, ObjectHead& head) {
  return scanner.object([&](std::string_view key) {
    if (key == "name") return read_field(scanner, head.name);
    if (key == "namespace") return read_field(scanner, head.namespace_);
    if (key == "uid") return read_field(scanner, head.uid);
    if (key == "resourceVersion") return read_field(scanner, head.resource_version);
    if (key == "annotations") {
      Scanner ahead = scanner;
      if (read_annotations(ahead, head)) {
        scanner = ahead;
        return true;
      }
      return scanner.skip_value();  // null, or something else that is not ours to judge
    }
    return scanner.skip_value();
  });
}

/// The text at "spec.driver"; "" when there is none.
std::string text_at(Scanner& scanner, std::string_view path) {
  const size_t dot = path.find('.');
  const std::string_view wanted = path.substr(0, dot);
  std::string out;
  scanner.object([&](std::string_view key) {
    if (key != wanted) return scanner.skip_value();
    if (dot != std::string_view::npos)
      out = text_at(scanner, path.substr(dot + 1));
    else if (!read_field(scanner, out))
      out.clear();
    return false;  // the rest is not looked at
  });
  return out;
}

}  // namespace

Result<ObjectHead> decode_object_head(std::string_view object) {
  Scanner scanner(object);
  ObjectHead head;
  bool found = false, good = true;
  scanner.object([&](std::string_view key) {
    if (key != "metadata") return scanner.skip_value();
    found = true;
    good = read_metadata(scanner, head);
    return false;  // the rest is not looked at
  });
  if (!found) return Error{Errc::kInvalid, "not a JSON object with metadata"};
  if (!good) return Error{Errc::kInvalid, "metadata: not an object with strings of at most 512 bytes"};
  return head;
}

bool is_in_scope(const ObjectHead& head, std::string_view object, const kube::Scope& scope) {
  if (!scope.namespace_.empty() && head.namespace_ != scope.namespace_) return false;
  if (scope.field_selector.empty()) return true;
  for (const std::string_view term : split(scope.field_selector, ',')) {
    const size_t equals = term.find('=');
    const std::string_view path = term.substr(0, equals);
    Scanner scanner(object);
    const std::string found = path == "metadata.name" ? head.name : text_at(scanner, path);
    if (equals == std::string_view::npos || found != term.substr(equals + 1)) return false;
  }
  return true;
}

}  // namespace sliced::watchers
