#include "kubectl/page/fleet_page.h"

#include <algorithm>
#include <map>

#include "daemon/status/page_text.h"
#include "http/url.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

using status::html;

constexpr const char* kUnknown = "–";

std::string known_count(bool is_known, size_t count) { return is_known ? std::to_string(count) : kUnknown; }
std::string hidden_count(const NodeRow& row) {
  return known_count(row.report.has_value(), row.report ? row.report->hidden + row.report->held_back : 0);
}
// Returns the used devices in percent; nullopt if none is offered, or the allocation is unknown.
std::optional<size_t> used(const NodeRow& row) {
  if (!row.knows_slices || !row.knows_claims || row.usage.devices == 0) return std::nullopt;
  return 100 * row.usage.allocated / row.usage.devices;
}

// Nodes with problems come first; within a health they stay sorted by name.
std::vector<const NodeRow*> by_health(const std::vector<NodeRow>& rows) {
  std::vector<const NodeRow*> out;
  for (const std::string_view health : {"bad", "warning", "empty", "ok"})
    for (const NodeRow& row : rows)
      if (health_of(row) == health) out.push_back(&row);
  return out;
}

std::string shown_name(const NodeRow& row) { return row.name.empty() ? "(no single node)" : row.name; }

const FleetPolicyUse* use_of(const NodeRow& row, const std::string& policy) {
  if (!row.report || policy.empty()) return nullptr;
  const auto& all = row.report->policies;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& use) { return use.name == policy; });
  return found == all.end() ? nullptr : &*found;
}

// For a selected policy, its state on the node comes first.
std::string shown_state(const NodeRow& row, const FleetFilter& filter) {
  const FleetPolicyUse* use = use_of(row, filter.policy);
  if (use == nullptr) return state_of(row);
  std::vector<std::string> parts = {filter.policy + ": " + std::to_string(use->matched) + " matched, " +
                                    std::to_string(use->offered) + " offered"};
  if (!use->problem.empty()) parts.push_back(use->problem);
  if (!row.problems.empty()) parts.push_back(state_of(row));
  return join(parts, "; ");
}

// Returns the whole text of STATE, for the tooltip of the truncated one.
std::string state_title(const NodeRow& row) { return join(row.problems, "; "); }

std::string number_cell(const char* of, const std::string& text) {
  return std::string("<td class=\"number\" data-of=\"") + of + "\">" + text + "</td>";
}

std::string used_cell(const NodeRow& row) {
  const auto percent = used(row);
  if (!percent) return "<td class=\"used\"></td>";
  const std::string number = std::to_string(*percent);
  return "<td class=\"used\"><meter min=\"0\" max=\"100\" value=\"" + number + "\">" + number +
         " %</meter></td>";
}

std::string html_of(const NodeRow& row, const FleetFilter& filter) {
  const bool knows_use = row.knows_slices && row.knows_claims;
  return "<tr class=\"node " + std::string(health_of(row)) + "\" data-name=\"" + html(row.name) +
         "\"><th scope=\"row\" class=\"name\"><a href=\"/node?name=" + http::percent_encode(row.name) +
         "\">" + html(shown_name(row)) + "</a></th>" +
         number_cell("devices", known_count(row.knows_slices, row.usage.devices)) +
         number_cell("allocated", known_count(knows_use, row.usage.allocated)) + used_cell(row) +
         number_cell("free", known_count(knows_use, row.usage.free)) +
         number_cell("hidden", hidden_count(row)) + "<td class=\"version\">" +
         html(row.report ? row.report->version : "") + "</td><td class=\"state\" title=\"" +
         html(state_title(row)) + "\">" + html(shown_state(row, filter)) + "</td></tr>\n";
}

// The effect of a policy, from nodes' reports.
struct PolicyEffect {
  std::string kind, action;
  size_t nodes = 0, nodes_with_problems = 0, behind = 0;
  int64_t matched = 0, offered = 0, hidden = 0;
  std::string problem;  // one of them
  bool is_exclude() const { return action == "exclude"; }
};
using PolicyEffects = std::map<std::string, PolicyEffect>;  // by name

PolicyEffects effects_of(const std::vector<NodeRow>& rows) {
  PolicyEffects out;
  for (const NodeRow& row : rows) {
    if (!row.report) continue;
    for (const FleetPolicyUse& use : row.report->policies) {
      PolicyEffect& effect = out[use.name];
      effect.kind = use.kind;
      effect.action = use.action;
      ++effect.nodes;
      effect.matched += use.matched;
      effect.offered += use.offered;
      effect.hidden += use.hidden;
      if (use.problem.empty()) continue;
      ++effect.nodes_with_problems;
      effect.problem = use.problem;
    }
    for (const PolicyLag& lag : row.behind) {
      PolicyEffect& effect = out[lag.name];
      if (effect.kind.empty()) effect.kind = lag.kind;
      ++effect.behind;
    }
  }
  return out;
}

std::string problem_of(const PolicyEffect& effect) {
  const size_t nodes = effect.nodes_with_problems;
  if (nodes == 0) return "";
  return effect.problem + " (on " + std::to_string(nodes) + (nodes == 1 ? " node)" : " nodes)");
}

// An exclude offers nothing by definition.
std::string offered_of(const PolicyEffect& effect) {
  return effect.is_exclude() ? kUnknown : std::to_string(effect.offered);
}

// The counts at the top: healths and others, with their titles.
constexpr std::pair<std::string_view, std::string_view> kCounted[] = {
    {"all", "nodes"}, {"bad", "failing"},      {"warning", "with warnings"}, {"empty", "without slices"},
    {"ok", "ok"},     {"policies", "policies"}};

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
           (counts[name] == 0 ? " class=\"none\"" : "") + (is_it ? " aria-current=\"true\"" : "") + "><b>" +
           std::to_string(counts[name]) + "</b> " + std::string(words) + "</a>\n";
  }
  return out;
}

std::string html_of_policies(const std::vector<NodeRow>& rows, const std::string& chosen) {
  const PolicyEffects effects = effects_of(rows);
  std::string out = std::string("<section id=\"effects\"") + (effects.empty() ? " hidden" : "") +
                    ">\n<h2>Policies, from the nodes' reports</h2>\n<table id=\"policies\">\n<thead><tr>";
  for (const char* title : {"Policy", "Kind", "Action"})
    out += std::string("<th scope=\"col\">") + title + "</th>";
  for (const char* title : {"Nodes", "Matched", "Offered", "Hidden", "Not applied"})
    out += std::string("<th scope=\"col\" class=\"number\">") + title + "</th>";
  out += "<th scope=\"col\">Problem</th></tr></thead>\n<tbody>\n";
  for (const auto& [name, effect] : effects)
    out += "<tr" + std::string(effect.is_exclude() ? " class=\"exclude\"" : "") +
           "><th scope=\"row\"><a href=\"/?policy=" + http::percent_encode(name) + "\"" +
           (name == chosen ? " aria-current=\"true\"" : "") + ">" + html(name) +
           "</a></th><td class=\"kind\">" + html(effect.kind) + "</td><td class=\"action\">" +
           html(effect.action) + "</td>" + number_cell("nodes", std::to_string(effect.nodes)) +
           number_cell("matched", std::to_string(effect.matched)) +
           number_cell("offered", offered_of(effect)) + number_cell("hidden", std::to_string(effect.hidden)) +
           number_cell("behind", std::to_string(effect.behind)) + "<td class=\"problem\">" +
           html(problem_of(effect)) + "</td></tr>\n";
  return out + "</tbody>\n</table>\n</section>\n";
}

constexpr size_t kWhyBytesMax = 2u << 20;  // both outputs of the program
constexpr std::string_view kDetailEnd = "<p><a href=\"/\">close</a></p>\n</section>\n";

std::string devices_of_node(const FleetPageFacts& facts) {
  std::string out = "<section id=\"detail\">\n<h2>Devices of " + html(facts.node) + "</h2>\n";
  if (!facts.problem.empty()) out += "<p class=\"problem\">" + html(facts.problem) + "</p>\n";
  if (facts.devices.empty())
    return out.append(facts.problem.empty() ? "<p>No devices.</p>\n" : "").append(kDetailEnd);
  out += "<table>\n<thead><tr>";
  for (const char* title : {"Device", "PCI", "PF", "Interface", "Driver", "State", "Decided by"})
    out += std::string("<th scope=\"col\">") + title + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const DeviceLine& line : facts.devices) {
    out += "<tr class=\"" + std::string(name_of(line.state)) + "\"><th scope=\"row\">" + html(line.entry) +
           "</th>";
    for (const std::string& text : {line.pci, line.pf, line.interface, line.kernel_driver,
                                    std::string(name_of(line.state)), detail_of(line)})
      out += "<td>" + html(text) + "</td>";
    out += "</tr>\n";
  }
  return out.append("</tbody>\n</table>\n").append(kDetailEnd);
}

// Returns the columns' positions in a heading from table(): words in capitals, separated by at least two
// spaces. Empty for other lines.
std::vector<size_t> columns_in(std::string_view line) {
  std::vector<size_t> out;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c != ' ' && c != '-' && (c < 'A' || c > 'Z')) return {};
    if (c == ' ' || (at > 0 && line[at - 1] != ' ')) continue;
    if (at > 1 && line[at - 2] != ' ') return {};  // one space does not separate columns
    out.push_back(at);
  }
  return out.size() < 3 ? std::vector<size_t>{} : out;
}

// Returns whether the line is a row of that table: a gap precedes each column.
bool is_row(std::string_view line, const std::vector<size_t>& columns) {
  if (line.empty() || line.front() == ' ') return false;
  return std::ranges::all_of(columns, [&](size_t at) {
    return at == 0 || (at + 1 <= line.size() && line[at] != ' ' && line.substr(at - 2, 2) == "  ");
  });
}

std::string cells_of(std::string_view line, const std::vector<size_t>& columns, const std::string& tag) {
  std::string out = "<tr>";
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t end = i + 1 < columns.size() ? columns[i + 1] : line.size();
    out += "<" + tag + ">" + html(trim(line.substr(columns[i], end - columns[i])), kWhyBytesMax) + "</" +
           tag.substr(0, 2) + ">";
  }
  return out + "</tr>\n";
}

// Converts the text of the command: its first line is the answer, its tables come last, the rest stays
// unchanged.
std::string html_of_why(std::string_view text) {
  std::string rest, tables;
  const size_t end = text.find('\n');
  const std::string answer = "<p class=\"answer\">" + html(text.substr(0, end), kWhyBytesMax) + "</p>\n";
  const auto lines = split(end == std::string_view::npos ? std::string_view() : text.substr(end + 1), '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto columns = columns_in(lines[i]);
    if (columns.empty()) {
      rest.append(lines[i]) += "\n";
      continue;
    }
    tables += "<table>\n<thead>" + cells_of(lines[i], columns, "th scope=\"col\"") + "</thead>\n<tbody>\n";
    for (; i + 1 < lines.size() && is_row(lines[i + 1], columns); ++i)
      tables += cells_of(lines[i + 1], columns, "td");
    tables += "</tbody>\n</table>\n";
  }
  while (rest.ends_with('\n')) rest.pop_back();
  rest.erase(0, rest.find_first_not_of('\n'));
  return answer + (rest.empty() ? "" : "<pre>" + status::html_lines(rest + "\n", kWhyBytesMax) + "</pre>\n") +
         tables;
}

std::string why_section(const FleetPageFacts& facts) {
  return ("<section id=\"detail\">\n<h2>Why does pod " + html(facts.pod) + " wait?</h2>\n" +
          html_of_why(facts.why))
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
  std::vector<std::string> parts;
  if (all.bad > 0) parts.push_back(std::to_string(all.bad) + " failing");
  if (all.warning > 0) parts.push_back(std::to_string(all.warning) + " with warnings");
  std::string out = join(parts, ", ");
  if (!out.empty()) out += ": ";
  const bool knows_slices = rows.empty() || rows.front().knows_slices;
  if (!knows_slices) return out + "devices unknown";
  out += std::to_string(all.usage.devices) + " devices";
  if (!rows.empty() && !rows.front().knows_claims) return out;
  return out + ", " + std::to_string(all.usage.allocated) + " allocated, " + std::to_string(all.usage.free) +
         " free";
}

// Returns the CSS class of that text.
std::string_view tone_of(const std::vector<NodeRow>& rows, const std::string& note) {
  const FleetTotals all = totals_of(rows);
  return !note.empty() || all.bad > 0 ? "bad" : all.warning > 0 ? "stale" : "";
}

std::string html_of_gaps(const std::vector<std::string>& gaps) {
  std::string out;
  for (const std::string& gap : gaps) out += "<p class=\"gap\">" + html(gap) + "</p>\n";
  return out;
}

std::string value_of(const FleetPageFacts& facts, std::string_view name) {
  if (name == "title") return "Fleet";
  if (name == "moment") return std::to_string(facts.moment);
  if (name == "health") return html(facts.filter.health);
  if (name == "policy") return html(facts.filter.policy);
  if (name == "version") return html(facts.version);
  if (name == "cluster") return html(facts.cluster);
  if (name == "tone") return std::string(tone_of(facts.rows, facts.note));
  if (name == "gaps") return html_of_gaps(facts.gaps);
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
  for (const NodeRow* row : by_health(facts.rows))
    if (is_shown(*row, facts.filter)) out += html_of(*row, facts.filter);
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
  for (const NodeRow* at : by_health(rows)) {
    const NodeRow& row = *at;
    if (!is_shown(row, filter)) continue;
    const bool knows_use = row.knows_slices && row.knows_claims;
    kube::Json node = kube::Json::Object{
        {"name", printable(row.name, 1'024)},
        {"health", health_of(row)},
        {"usage", kube::Json::Object{{"devices", known_count(row.knows_slices, row.usage.devices)},
                                     {"allocated", known_count(knows_use, row.usage.allocated)},
                                     {"free", known_count(knows_use, row.usage.free)}}},
        {"hidden", hidden_count(row)},
        {"version", printable(row.report ? row.report->version : "", 256)},
        {"state", printable(shown_state(row, filter), 1'024)},
        {"title", printable(state_title(row), 1'024)}};
    if (const auto percent = used(row)) node.set("used", static_cast<int64_t>(*percent));
    nodes.push_back(std::move(node));
  }
  const PolicyEffects effects = effects_of(rows);
  kube::Json counts = kube::Json::Object{};
  auto counted = counts_of(rows, effects);
  for (const auto& [name, words] : kCounted) counts.set(name, static_cast<int64_t>(counted[name]));
  kube::Json::Array policies;
  for (const auto& [name, effect] : effects)
    policies.push_back(kube::Json::Object{{"name", printable(name, 1'024)},
                                          {"kind", printable(effect.kind, 64)},
                                          {"action", printable(effect.action, 64)},
                                          {"nodes", static_cast<int64_t>(effect.nodes)},
                                          {"matched", effect.matched},
                                          {"offered", offered_of(effect)},
                                          {"hidden", effect.hidden},
                                          {"behind", static_cast<int64_t>(effect.behind)},
                                          {"problem", printable(problem_of(effect), 1'024)}});
  return kube::Json::Object{
      {"counts", std::move(counts)}, {"policies", std::move(policies)}, {"nodes", std::move(nodes)}};
}

kube::Json page_moment(const std::vector<NodeRow>& rows, uint64_t moment, const std::string& note,
                       std::optional<uint64_t> edit_moment) {
  kube::Json out = kube::Json::Object{{"moment", std::to_string(moment)},
                                      {"state", printable(state_text(rows, note), 1'024)},
                                      {"tone", tone_of(rows, note)}};
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

}  // namespace sliced::kubectl
