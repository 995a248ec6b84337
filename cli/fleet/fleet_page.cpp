#include "cli/fleet/fleet_page.h"

#include <algorithm>
#include <map>

#include "http/url.h"
#include "reactor/base/text.h"
#include "status/page_text.h"

namespace sliced::cli {
namespace {

using status::html;

std::string hidden_count(const NodeRow& row) {
  return row.report ? std::to_string(row.report->hidden + row.report->held_back) : "–";
}

std::string shown_name(const NodeRow& row) { return row.name.empty() ? "(no single node)" : row.name; }

const FleetPolicyUse* use_of(const NodeRow& row, const std::string& policy) {
  if (!row.report || policy.empty()) return nullptr;
  const auto& all = row.report->policies;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& use) { return use.name == policy; });
  return found == all.end() ? nullptr : &*found;
}

// Of a policy that is asked for, what it does there comes first.
std::string shown_state(const NodeRow& row, const FleetFilter& filter) {
  std::vector<std::string> parts = row.problems;
  if (const FleetPolicyUse* use = use_of(row, filter.policy)) {
    if (!use->problem.empty()) parts.insert(parts.begin(), use->problem);
    parts.insert(parts.begin(), filter.policy + ": " + std::to_string(use->matched) + " matched, " +
                                    std::to_string(use->offered) + " offered");
  }
  return parts.empty() ? "ok" : join(parts, "; ");
}

std::string number_cell(const char* of, const std::string& text) {
  return std::string("<td class=\"number\" data-of=\"") + of + "\">" + text + "</td>";
}

std::string html_of(const NodeRow& row, const FleetFilter& filter) {
  return "<tr class=\"node " + std::string(health_of(row)) + "\" data-name=\"" + html(row.name) +
         "\"><th scope=\"row\" class=\"name\"><a href=\"/node?name=" + http::percent_encode(row.name) +
         "\">" + html(shown_name(row)) + "</a></th>" +
         number_cell("devices", std::to_string(row.usage.devices)) +
         number_cell("allocated", std::to_string(row.usage.allocated)) +
         number_cell("free", std::to_string(row.usage.free)) + number_cell("hidden", hidden_count(row)) +
         "<td class=\"version\">" + html(row.report ? row.report->version : "") +
         "</td><td class=\"state\">" + html(shown_state(row, filter)) + "</td></tr>\n";
}

// What a policy does, by what nodes report of it.
struct PolicyEffect {
  size_t nodes = 0, nodes_with_problems = 0;
  int64_t matched = 0, offered = 0;
  std::string problem;  // one of them
};
using PolicyEffects = std::map<std::string, PolicyEffect>;  // by name

PolicyEffects effects_of(const std::vector<NodeRow>& rows) {
  PolicyEffects out;
  for (const NodeRow& row : rows) {
    if (!row.report) continue;
    for (const FleetPolicyUse& use : row.report->policies) {
      PolicyEffect& effect = out[use.name];
      ++effect.nodes;
      effect.matched += use.matched;
      effect.offered += use.offered;
      if (use.problem.empty()) continue;
      ++effect.nodes_with_problems;
      effect.problem = use.problem;
    }
  }
  return out;
}

std::string problem_of(const PolicyEffect& effect) {
  const size_t nodes = effect.nodes_with_problems;
  if (nodes == 0) return "";
  return effect.problem + " (on " + std::to_string(nodes) + (nodes == 1 ? " node)" : " nodes)");
}

// What is counted at the top: a health, or something else, and in words.
constexpr std::pair<std::string_view, std::string_view> kCounted[] = {{"all", "nodes"},
                                                                      {"bad", "not as they should be"},
                                                                      {"warning", "with problems"},
                                                                      {"empty", "without slices"},
                                                                      {"ok", "ok"},
                                                                      {"policies", "policies"}};

std::map<std::string_view, size_t> counts_of(const std::vector<NodeRow>& rows, const PolicyEffects& effects) {
  std::map<std::string_view, size_t> out;
  for (const NodeRow& row : rows) ++out[health_of(row)];
  out["all"] = rows.size();
  out["policies"] = effects.size();
  return out;
}

std::string html_of_counts(const FleetPageFacts& facts) {
  auto counts = counts_of(facts.rows, effects_of(facts.rows));
  std::string out;
  for (const auto& [name, words] : kCounted) {
    const bool is_all = name == "all", is_policies = name == "policies";
    const bool is_it = !is_policies && facts.filter.health == (is_all ? "" : name);
    const std::string to = is_policies ? "#effects" : is_all ? "/" : "/?health=" + std::string(name);
    out += "<a href=\"" + to + "\" data-count=\"" + std::string(name) + "\"" +
           (is_it ? " aria-current=\"true\"" : "") + "><b>" + std::to_string(counts[name]) + "</b> " +
           std::string(words) + "</a>\n";
  }
  return out;
}

std::string html_of_policies(const std::vector<NodeRow>& rows, const std::string& chosen) {
  const PolicyEffects effects = effects_of(rows);
  std::string out = std::string("<section id=\"effects\"") + (effects.empty() ? " hidden" : "") +
                    ">\n<h2>Policies, by what nodes report</h2>\n<table id=\"policies\">\n<thead><tr>";
  for (const char* title : {"Policy", "Nodes", "Matched", "Offered", "Problem"})
    out += std::string("<th scope=\"col\">") + title + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& [name, effect] : effects)
    out += "<tr><th scope=\"row\"><a href=\"/?policy=" + http::percent_encode(name) + "\"" +
           (name == chosen ? " aria-current=\"true\"" : "") + ">" + html(name) + "</a></th>" +
           number_cell("nodes", std::to_string(effect.nodes)) +
           number_cell("matched", std::to_string(effect.matched)) +
           number_cell("offered", std::to_string(effect.offered)) + "<td class=\"problem\">" +
           html(problem_of(effect)) + "</td></tr>\n";
  return out + "</tbody>\n</table>\n</section>\n";
}

constexpr size_t kWhyBytesMax = 2u << 20;  // both outputs of the program
constexpr std::string_view kDetailEnd = "<p><a href=\"/\">close</a></p>\n</section>\n";

std::string devices_of_node(const FleetPageFacts& facts) {
  std::string out = "<section id=\"detail\">\n<h2>Devices of " + html(facts.node) + "</h2>\n";
  if (!facts.problem.empty()) out += "<p class=\"problem\">" + html(facts.problem) + "</p>\n";
  if (facts.devices.empty())
    return out.append(facts.problem.empty() ? "<p>There is none.</p>\n" : "").append(kDetailEnd);
  out += "<table>\n<thead><tr>";
  for (const char* title : {"Device", "PCI", "PF", "Interface", "Driver", "State", "By whom"})
    out += std::string("<th scope=\"col\">") + title + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const DeviceLine& line : facts.devices) {
    out += "<tr class=\"" + std::string(name_of(line.stands)) + "\"><th scope=\"row\">" + html(line.entry) +
           "</th>";
    for (const std::string& text : {line.pci, line.pf, line.interface, line.kernel_driver,
                                    std::string(name_of(line.stands)), detail_of(line)})
      out += "<td>" + html(text) + "</td>";
    out += "</tr>\n";
  }
  return out.append("</tbody>\n</table>\n").append(kDetailEnd);
}

std::string why_section(const FleetPageFacts& facts) {
  return ("<section id=\"detail\">\n<h2>Why does pod " + html(facts.pod) + " wait?</h2>\n<pre>" +
          status::html_lines(facts.why, kWhyBytesMax) + "</pre>\n")
      .append(kDetailEnd);
}

std::string filter_section(const FleetFilter& filter) {
  if (filter.policy.empty()) return "";
  return "<p id=\"only\">Nodes that report policy <b>" + html(filter.policy) +
         "</b>. <a href=\"/\">All nodes</a></p>\n";
}

std::string state_text(const std::vector<NodeRow>& rows, const std::string& note) {
  if (!note.empty()) return note;
  const FleetTotals all = totals_of(rows);
  return std::to_string(all.usage.devices) + " devices, " + std::to_string(all.usage.allocated) +
         " allocated, " + std::to_string(all.usage.free) + " free";
}

std::string value_of(const FleetPageFacts& facts, std::string_view name) {
  if (name == "title") return "Fleet";
  if (name == "moment") return std::to_string(facts.moment);
  if (name == "health") return html(facts.filter.health);
  if (name == "policy") return html(facts.filter.policy);
  if (name == "version") return html(facts.version);
  if (name == "cluster") return html(facts.cluster);
  if (name == "well") return facts.note.empty() ? "" : "bad";
  if (name == "state") return html(state_text(facts.rows, facts.note));
  if (name == "counts") return html_of_counts(facts);
  if (name == "pod") return html(facts.pod);
  if (name == "detail")
    return !facts.pod.empty()    ? why_section(facts)
           : !facts.node.empty() ? devices_of_node(facts)
                                 : filter_section(facts.filter);
  if (name == "edit") return facts.edit != nullptr ? html_of(*facts.edit) : "";
  if (name == "editmoment") return facts.edit != nullptr ? std::to_string(facts.edit_moment) : "";
  if (name == "policies") return html_of_policies(facts.rows, facts.filter.policy);
  std::string out;
  for (const NodeRow& row : facts.rows)
    if (is_shown(row, facts.filter)) out += html_of(row, facts.filter);
  return out;
}

}  // namespace

bool is_shown(const NodeRow& row, const FleetFilter& filter) {
  if (!filter.health.empty() && health_of(row) != filter.health) return false;
  return filter.policy.empty() || use_of(row, filter.policy) != nullptr;
}

std::string fleet_page(const FleetPageFacts& facts) {
  std::string out;
  std::string_view rest = kFleetHtml;
  for (size_t at; (at = rest.find("{{")) != std::string_view::npos;) {
    const size_t end = rest.find("}}", at);
    out += rest.substr(0, at);
    out += value_of(facts, rest.substr(at + 2, end - at - 2));
    rest.remove_prefix(end + 2);
  }
  return out += rest;
}

kube::Json page_rows(const std::vector<NodeRow>& rows, const FleetFilter& filter) {
  kube::Json::Array nodes;
  for (const NodeRow& row : rows) {
    if (!is_shown(row, filter)) continue;
    nodes.push_back(kube::Json::Object{
        {"name", printable(row.name, 1'024)},
        {"health", health_of(row)},
        {"usage", kube::Json::Object{{"devices", static_cast<int64_t>(row.usage.devices)},
                                     {"allocated", static_cast<int64_t>(row.usage.allocated)},
                                     {"free", static_cast<int64_t>(row.usage.free)}}},
        {"hidden", hidden_count(row)},
        {"version", printable(row.report ? row.report->version : "", 256)},
        {"state", printable(shown_state(row, filter), 1'024)}});
  }
  const PolicyEffects effects = effects_of(rows);
  kube::Json counts = kube::Json::Object{};
  auto counted = counts_of(rows, effects);
  for (const auto& [name, words] : kCounted) counts.set(name, static_cast<int64_t>(counted[name]));
  kube::Json::Array policies;
  for (const auto& [name, effect] : effects)
    policies.push_back(kube::Json::Object{{"name", printable(name, 1'024)},
                                          {"nodes", static_cast<int64_t>(effect.nodes)},
                                          {"matched", effect.matched},
                                          {"offered", effect.offered},
                                          {"problem", printable(problem_of(effect), 1'024)}});
  return kube::Json::Object{
      {"counts", std::move(counts)}, {"policies", std::move(policies)}, {"nodes", std::move(nodes)}};
}

kube::Json page_moment(const std::vector<NodeRow>& rows, uint64_t moment, const std::string& note,
                       std::optional<uint64_t> edit_moment) {
  kube::Json out = kube::Json::Object{{"moment", std::to_string(moment)},
                                      {"state", printable(state_text(rows, note), 1'024)},
                                      {"well", note.empty()}};
  if (edit_moment) out.set("edit", std::to_string(*edit_moment));
  return out;
}

http::Headers fleet_page_headers() {
  http::Headers out = status::page_headers();
  constexpr std::string_view kNone = "form-action 'none'", kSelf = "form-action 'self'";
  for (http::Header& header : out)
    if (const size_t at = header.value.find(kNone); at != std::string::npos)
      header.value.replace(at, kNone.size(), kSelf);
  return out;
}

}  // namespace sliced::cli
