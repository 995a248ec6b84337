#include "kube/objects/json_scanner.h"

#include <algorithm>
#include <string>

#include "reactor/base/text.h"

namespace sliced::kube {

void JsonScanner::skip_space() {
  const size_t start = rest_.find_first_not_of(" \t\r\n");
  rest_.remove_prefix(start == std::string_view::npos ? rest_.size() : start);
}

bool JsonScanner::consume(char expected) {
  skip_space();
  if (rest_.empty() || rest_.front() != expected) return false;
  rest_.remove_prefix(1);
  return true;
}

bool JsonScanner::consume_null() {
  skip_space();
  if (!rest_.starts_with("null")) return false;
  rest_.remove_prefix(4);
  return true;
}

std::optional<std::string_view> JsonScanner::literal() {
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
  rest_ = {};
  return std::nullopt;
}

bool JsonScanner::is_at_end() {
  skip_space();
  return rest_.empty();
}

bool JsonScanner::skip_value() {
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

std::optional<std::string_view> JsonScanner::value() {
  skip_space();
  const std::string_view from = rest_;
  if (!skip_value()) return std::nullopt;
  return from.substr(0, from.size() - rest_.size());
}

Result<std::string_view> find_raw(std::string_view object, std::initializer_list<std::string_view> path) {
  JsonScanner scanner(object);
  for (const std::string_view expected : path) {
    if (scanner.consume_null()) return std::string_view();
    bool found = false;
    const bool is_whole = scanner.object([&](std::string_view key) {
      found = key == expected;
      return !found && scanner.skip_value();
    });
    if (is_whole) return std::string_view();
    if (!found) return Error{Errc::kInvalid, "no JSON object that could have " + in_quotes(expected)};
  }
  if (scanner.consume_null()) return std::string_view();
  const auto text = scanner.value();
  if (!text) return Error{Errc::kInvalid, "the text ends within a value"};
  return *text;
}

}  // namespace sliced::kube
