#include "kubectl/page/edit_section.h"

#include <algorithm>

#include "daemon/status/page_text.h"
#include "http/url.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

using status::html;

constexpr size_t kEditAttributesShown = 3;
constexpr size_t kTextMax = 1'024;
constexpr size_t kEditJsonMax = 1'500'000;  // values

std::string count_of_nodes(size_t n) { return std::to_string(n) + (n == 1 ? " node" : " nodes"); }

const kube::Json::Array& array_at(const kube::Json& object, std::string_view key) {
  static const kube::Json::Array kNone;
  const kube::Json* value = object.find({key});
  return value != nullptr && value->array() != nullptr ? *value->array() : kNone;
}

EditEffect::Change change_of(const kube::Json& change) {
  const std::string kind(change.text("change"));
  std::string text = kind == "added" ? "+ " : kind == "removed" ? "- " : "~ ";
  text += change.text("entry");
  if (change.text("device") != change.text("entry")) text.append(" (").append(change.text("device")) += ")";
  const std::string_view before = change.text("before"), after = change.text("after");
  text += ", ";
  if (!before.empty() && !after.empty() && before != after) text.append(before) += " -> ";
  text += after.empty() ? before : after;
  const kube::Json::Array& attributes = array_at(change, "attributes");
  for (size_t i = 0; i < std::min(attributes.size(), kEditAttributesShown); ++i)
    if (const std::string* one = attributes[i].string()) text += "; " + *one;
  if (attributes.size() > kEditAttributesShown)
    text += "; " + and_more(attributes.size() - kEditAttributesShown, "attribute");
  const kube::Json::Array& claims = array_at(change, "claims");
  for (size_t i = 0; i < claims.size(); ++i)
    if (const std::string* one = claims[i].string()) text += (i == 0 ? "; allocated now: " : ", ") + *one;
  return {kind, std::move(text)};
}

EditEffect::Node node_of(const kube::Json& node) {
  EditEffect::Node out{.name = std::string(node.text("name")), .changes = {}};
  const kube::Json::Array& changes = array_at(node, "changes");
  for (size_t i = 0; i < std::min(changes.size(), kEditChangesMax); ++i)
    out.changes.push_back(change_of(changes[i]));
  out.more = changes.size() - out.changes.size();
  return out;
}

std::string html_of(const EditEffect::Node& node) {
  std::string out = "<tr><th scope=\"row\"><a href=\"/node?name=" + http::percent_encode(node.name) + "\">" +
                    html(node.name) + "</a></th><td>";
  if (!node.unjudged.empty()) out += "<div class=\"unjudged\">" + html(node.unjudged, kTextMax) + "</div>";
  for (const EditEffect::Change& change : node.changes)
    out += "<div class=\"" + html(change.kind) + "\">" + html(change.text, kTextMax) + "</div>";
  if (node.more > 0) out += "<div>" + and_more(node.more, "change") + "</div>";
  return out + "</td></tr>\n";
}

// Nodes that are not in the table.
size_t untold(const EditEffect& effect) { return effect.changed + effect.unjudged - effect.nodes.size(); }

}  // namespace

EditEffect edit_effect(const std::string& file, const CommandResult& result) {
  EditEffect out{.file = file, .has_result = false};
  const std::string said(trim(result.err));
  const auto object = kube::decode_json(result.out, {.size_max = kEditBytesMax, .nodes_max = kEditJsonMax});
  if (result.timed_out) {
    out.problem = "no answer in time";
  } else if (!object && object.error().code == Errc::kTooLarge) {
    out.problem = kEditTooLarge;
  } else if (!object ||
             (result.exit_status != daemon::kExitSame && result.exit_status != daemon::kExitChanges)) {
    out.problem = said.empty() ? "there is no answer" : said;
  } else {
    out.has_result = true;
    out.problem = said;
    const kube::Json::Array &changed = array_at(*object, "nodes"), &unjudged = array_at(*object, "unjudged");
    out.changed = changed.size();
    out.unjudged = unjudged.size();
    if (const kube::Json* same = object->find({"same"}); same != nullptr && same->integer() != nullptr)
      out.same = static_cast<size_t>(std::max<int64_t>(0, *same->integer()));
    for (const kube::Json& node : changed)
      if (out.nodes.size() < kEditNodesMax) out.nodes.push_back(node_of(node));
    for (const kube::Json& node : unjudged)
      if (out.nodes.size() < kEditNodesMax)
        out.nodes.push_back({.name = std::string(node.text("name")),
                             .changes = {},
                             .unjudged = "cannot be judged: " + std::string(node.text("why"))});
  }
  return out;
}

std::string summary_of(const EditEffect& effect) {
  if (!effect.has_result) return "";
  std::string out =
      count_of_nodes(effect.changed) + " would change, " + count_of_nodes(effect.same) + " would not";
  if (effect.unjudged > 0) out += ", " + count_of_nodes(effect.unjudged) + " cannot be judged";
  if (untold(effect) > 0) out += "; " + count_of_nodes(untold(effect)) + " more are not shown";
  return out;
}

std::string html_of(const EditEffect& effect) {
  std::string out = "<section id=\"edit\">\n<h2>If " + html(effect.file) +
                    " were applied</h2>\n<p id=\"edit-summary\" role=\"status\">" + html(summary_of(effect)) +
                    "</p>\n<pre id=\"edit-problem\"" + (effect.problem.empty() ? " hidden" : "") + ">" +
                    status::html_lines(effect.problem, 4 * kTextMax) + "</pre>\n<table>\n<tbody>\n";
  for (const EditEffect::Node& node : effect.nodes) out += html_of(node);
  return out + "</tbody>\n</table>\n</section>\n";
}

kube::Json json_of(const EditEffect& effect) {
  kube::Json::Array nodes;
  for (const EditEffect::Node& node : effect.nodes) {
    kube::Json::Array changes;
    for (const EditEffect::Change& change : node.changes)
      changes.push_back(kube::Json::Object{{"kind", printable(change.kind, 16)},
                                           {"text", printable(change.text, kTextMax)}});
    nodes.push_back(kube::Json::Object{{"name", printable(node.name, kTextMax)},
                                       {"unjudged", printable(node.unjudged, kTextMax)},
                                       {"more", node.more > 0 ? and_more(node.more, "change") : ""},
                                       {"changes", std::move(changes)}});
  }
  return kube::Json::Object{{"summary", summary_of(effect)},
                            {"problem", printable_lines(effect.problem, 4 * kTextMax)},
                            {"nodes", std::move(nodes)}};
}

}  // namespace sliced::kubectl
