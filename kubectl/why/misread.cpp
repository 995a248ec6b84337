#include "kubectl/why/misread.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "reactor/base/text.h"

namespace sliced::why {
namespace {

bool is_name_byte(char c) {
  return c == '_' || c == '.' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

// Returns the expression with each `.wrong`, `.?wrong` and "wrong" replaced; other words that contain it are
// unchanged.
std::string with_name(const std::string& expression, const std::string& wrong, const std::string& right,
                      bool is_domain) {
  std::string out;
  size_t from = 0;
  for (size_t at = expression.find(wrong); at != std::string::npos; at = expression.find(wrong, at + 1)) {
    const char before = at == 0 ? '\0' : expression[at - 1];
    const size_t end = at + wrong.size();
    const char after = end < expression.size() ? expression[end] : '\0';
    const bool is_quoted = (before == '"' || before == '\'') && after == before;
    const bool is_selected =
        !is_domain && (before == '.' || before == '?') && (!is_name_byte(after) || after == '.');
    if (!is_quoted && !is_selected) continue;
    out.append(expression, from, at - from).append(right);
    from = end;
  }
  return out.append(expression, from);
}

std::string nearest_of(const std::string& word, const std::set<std::string>& names) {
  return nearest(word, {names.begin(), names.end()});
}

}  // namespace

std::string Misread::text() const {
  if (is_driver)
    return "compares device.driver with " + wrong + ", and no device has that driver; did you mean " + right +
           "?";
  return (is_domain ? "reads names of " + wrong + ", of which no device has any"
                    : "reads " + wrong + ", which no device has") +
         "; did you mean " + right + "?";
}

DeviceNames::DeviceNames(const std::vector<SlicePtr>& slices, const std::set<std::string>& publishable,
                         const std::set<std::string>& drivers)
    : drivers_(drivers) {
  const auto add = [](std::map<std::string, std::set<std::string>>& to, const std::string& driver,
                      const std::string& key) {
    const size_t slash = key.find('/');
    if (slash == std::string::npos)
      to[driver].insert(key);
    else
      to[key.substr(0, slash)].insert(key.substr(slash + 1));
  };
  for (const SlicePtr& slice : slices) {
    with_slices_.insert(slice->common.driver);
    for (const kube::DevicePtr& device : slice->common.devices) {
      for (const auto& [key, value] : device->attributes) add(attributes_, slice->common.driver, key);
      for (const auto& [key, value] : device->capacity) add(capacities_, slice->common.driver, key);
    }
  }
  for (const std::string& key : publishable) add(attributes_, "", key);
}

std::optional<Misread> DeviceNames::find(const std::string& expression, Selectors& selectors) const {
  for (const cel::Path& path : selectors.paths_of(expression)) {
    const auto& all = path.is_capacity ? capacities_ : attributes_;
    const std::string domain(path.domain()), id(path.id());
    const auto of = all.find(domain);
    Misread out{.wrong = id};
    if (of != all.end()) {
      if (of->second.contains(id)) continue;
      out.right = nearest_of(id, of->second);
    } else {
      std::set<std::string> domains;
      for (const auto& [other, names] : all)
        if (names.contains(id)) domains.insert(other);
      out.wrong = domain;
      out.is_domain = true;
      out.right = nearest_of(domain, domains);
    }
    if (out.right.empty()) continue;
    out.corrected = with_name(expression, out.wrong, out.right, out.is_domain);
    if (out.corrected != expression) return out;
  }
  return find_driver(expression);
}

std::optional<Misread> DeviceNames::find_driver(const std::string& expression) const {
  const std::string driver = compared_driver(expression);
  if (driver.empty() || drivers_.contains(driver) || with_slices_.contains(driver)) return std::nullopt;
  std::set<std::string> published;
  std::ranges::set_intersection(drivers_, with_slices_, std::inserter(published, published.end()));
  Misread out{.wrong = driver, .right = nearest_of(driver, published), .is_driver = true};
  if (out.right.empty()) return std::nullopt;
  out.corrected = with_name(expression, out.wrong, out.right, true);
  return out;
}

}  // namespace sliced::why
