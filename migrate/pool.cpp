#include "migrate/pool.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::migrate {

bool Nodes::selects(const kube::NodeView& node) const {
  if (!name.empty() && name != node.name) return false;
  return std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const auto found = node.labels.find(wanted.first);
    return found != node.labels.end() && found->second == wanted.second;
  });
}

std::string text_of(const Complaint& complaint) {
  const Place& at = complaint.place;
  return escaped(at.file) + (at.line > 0 ? ":" + std::to_string(at.line) : "") +
         (complaint.is_error ? ": error: " : ": warning: ") + complaint.what;
}

std::string dns_name_of(const std::string& text, size_t size_max) {
  std::string name;
  for (const char c : lower(text)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    // Neither '.' nor '-' begins a label.
    const bool is_dot = c == '.' && !name.empty() && name.back() != '.' && name.back() != '-';
    if (is_plain || is_dot)
      name += c;
    else if (!name.empty() && name.back() != '-' && name.back() != '.')
      name += '-';
  }
  name.resize(std::min(name.size(), size_max));
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  return name.empty() ? "migrated" : name;
}

}  // namespace sliced::migrate
