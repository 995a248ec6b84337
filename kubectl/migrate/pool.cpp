#include "kubectl/migrate/pool.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::migrate {

std::string Nodes::lacks(const kube::NodeView& node) const {
  if (!name.empty() && name != node.name) return "is for node " + escaped(name);
  for (const auto& [key, value] : labels) {
    const auto found = node.labels.find(key);
    if (found != node.labels.end() && found->second == value) continue;
    return "requires label " + escaped(key, 128) + "=" + escaped(value, 128) +
           (found == node.labels.end() ? ", which the node lacks"
                                       : ", and the node has " + in_quotes(found->second, 128));
  }
  if (terms.is_null()) return "";
  kube::FieldProblems problems;
  const auto match = match_node(kube::decode_node_selector(terms, problems), node);
  if (problems.empty() && match.matched) return "";
  return "requires " + escaped(match.field, 128) + " " + escaped(match.wanted, 256) +
         (match.found.empty() ? ", which the node lacks"
                              : ", and the node has " + in_quotes(match.found, 128));
}

bool Nodes::is_disjoint(const Nodes& other) const {
  if (!name.empty() && !other.name.empty() && name != other.name) return true;
  return std::any_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const auto found = other.labels.find(wanted.first);
    return found != other.labels.end() && found->second != wanted.second;
  });
}

bool Nodes::covers(const Nodes& other) const {
  if (!(name.empty() || name == other.name) || !(terms.is_null() || terms == other.terms)) return false;
  return std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const auto found = other.labels.find(wanted.first);
    return found != other.labels.end() && found->second == wanted.second;
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
    // A label begins with neither '.' nor '-'.
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
