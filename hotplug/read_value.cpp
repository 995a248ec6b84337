#include "hotplug/read_value.h"

#include <climits>

#include "reactor/base/text.h"

namespace sliced::hotplug {
bool is_absence(const Error& error) { return error.code == Errc::kNotFound || error.code == Errc::kInvalid; }

std::string unreadable_note(std::string_view name, const Error& error) {
  const size_t colon = error.what.rfind(": ");
  return std::string(name) + ": " + (colon == std::string::npos ? error.what : error.what.substr(colon + 2));
}

std::string_view last_component(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string read_text(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable) {
  auto text = dir.read(name);
  if (text) return std::move(*text);
  if (!is_absence(text.error())) unreadable.push_back(unreadable_note(name, text.error()));
  return "";
}

std::optional<int> read_int(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable) {
  const std::string text = read_text(dir, name, unreadable);
  if (text.empty()) return std::nullopt;
  const auto value = parse_int(text);
  if (value && *value >= INT_MIN && *value <= INT_MAX) return static_cast<int>(*value);
  unreadable.push_back(std::string(name) + ": " + in_quotes(text, 32) + " is not a number");
  return std::nullopt;
}

std::string read_link_name(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable) {
  const auto target = dir.readlink(name);
  if (target) return std::string(last_component(*target));
  if (target.error().code != Errc::kNotFound) unreadable.push_back(unreadable_note(name, target.error()));
  return "";
}

}  // namespace sliced::hotplug
