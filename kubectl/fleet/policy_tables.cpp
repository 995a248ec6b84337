#include "kubectl/fleet/policy_tables.h"

#include <algorithm>

#include "policy/decide.h"
#include "reactor/base/first_few.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

using reports::PolicyRef;

constexpr size_t kNodesShown = 5, kAttributesShown = 3, kLaggingShown = 20;

std::string number_of_nodes(size_t n) { return std::to_string(n) + (n == 1 ? " node" : " nodes"); }

std::string indented(const std::string& text) {
  std::string out;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) out += "  " + std::string(line) + "\n";
  return out;
}

std::string name_of_policy(const PolicyRef& policy) {
  return policy.namespace_.empty() ? policy.name : policy.namespace_ + "/" + policy.name;
}

int64_t sum_of(const reports::Counts& counts) {
  int64_t out = 0;
  for (const auto& [outcome, n] : counts) out += n;
  return out;
}

std::string text_of_counts(const reports::Counts& counts) {
  std::vector<std::string> parts;
  for (const auto& [outcome, n] : counts) parts.push_back(std::to_string(n) + " " + outcome);
  return join(parts, ", ");
}

std::string problems_of(const PolicyRow& row) {
  std::vector<std::string> parts;
  for (const auto& [what, nodes] : row.problems)
    parts.push_back(
        what + (nodes == 0 ? "" : " (on " + std::to_string(nodes) + (nodes == 1 ? " node)" : " nodes)")));
  return join(parts, "; ");
}

std::vector<std::string> cells_of(const PolicyRow& row, bool is_wide) {
  std::vector<std::string> out = {name_of_policy(row.policy), row.policy.kind, row.action,
                                  std::to_string(row.priority)};
  if (is_wide) out.push_back(std::to_string(row.generation));
  out.insert(out.end(),
             {row.knows_selected ? std::to_string(row.selected) : "", std::to_string(row.reported),
              std::to_string(row.matched), std::to_string(row.offered),
              is_wide ? text_of_counts(row.hidden) : std::to_string(sum_of(row.hidden)), problems_of(row)});
  return out;
}

std::string nodes_with_counts(const std::map<std::string, size_t>& nodes) {
  std::vector<std::string> parts;
  size_t left_out = 0;
  for (const auto& [node, devices] : nodes) {
    if (parts.size() < kNodesShown)
      parts.push_back(node + " (" + std::to_string(devices) + ")");
    else
      ++left_out;
  }
  return join(parts, ", ") + (left_out == 0 ? "" : " and " + std::to_string(left_out) + " more nodes");
}

// Returns a set with only this policy, without excludes.
policy::PolicySetPtr alone(const policy::PolicySet& set, const PolicyRef& policy) {
  std::vector<Shared<policy::SriovPolicy>> sriov;
  std::vector<Shared<policy::ExposurePolicy>> exposures;
  for (const auto& one : set.sriov)
    if (policy.namespace_ == one->id.namespace_ && policy.name == one->id.name) sriov.push_back(one);
  for (const auto& one : set.exposures)
    if (policy.namespace_.empty() && policy.name == one->id.name) exposures.push_back(one);
  return std::make_shared<const policy::PolicySet>(
      policy::make_policy_set(std::move(sriov), set.attributes, std::move(exposures)));
}

std::string change_text(const EntryChange& change) {
  std::string out = std::string("  ") + change.what + " " + change.name;
  if (change.device != change.name) out += " (" + change.device + ")";
  if (change.before.empty() || change.after.empty() || change.before == change.after)
    out += ", " + (change.after.empty() ? change.before : change.after);
  else
    out += ", " + change.before + " -> " + change.after;
  for (size_t i = 0; i < change.attributes.size() && i < kAttributesShown; ++i)
    out += "; " + change.attributes[i];
  if (change.attributes.size() > kAttributesShown) out += "; ...";
  return out;
}

kube::Json utf8(const std::string& text) { return is_utf8(text) ? text : escaped(text); }

kube::Json json_of(const PolicyRow& row) {
  kube::Json out = kube::Json::Object{{"kind", row.policy.kind}, {"name", utf8(row.policy.name)}};
  if (!row.policy.namespace_.empty()) out.set("namespace", utf8(row.policy.namespace_));
  out.set("action", row.action);
  out.set("priority", row.priority);
  out.set("generation", row.generation);
  if (!row.is_read) out.set("isRead", false);
  if (row.knows_selected) out.set("nodesSelected", static_cast<int64_t>(row.selected));
  out.set("nodesReported", static_cast<int64_t>(row.reported));
  out.set("matched", row.matched);
  out.set("offered", row.offered);
  kube::Json hidden = kube::Json::Object{};
  for (const auto& [outcome, n] : row.hidden) hidden.set(outcome, n);
  out.set("hidden", std::move(hidden));
  kube::Json::Array problems, behind;
  for (const auto& [what, nodes] : row.problems)
    problems.push_back(kube::Json::Object{{"what", utf8(what)}, {"nodes", static_cast<int64_t>(nodes)}});
  for (const auto& [policy, nodes] : row.behind) {
    kube::Json where = kube::Json::Object{};
    for (const auto& [node, devices] : nodes) where.set(node, static_cast<int64_t>(devices));
    behind.push_back(kube::Json::Object{{"policy", utf8(describe(policy))}, {"devices", std::move(where)}});
  }
  if (!problems.empty()) out.set("problems", std::move(problems));
  if (!behind.empty()) out.set("behind", std::move(behind));
  kube::Json::Array lagging;
  for (const auto& [node, why] : row.lagging)
    lagging.push_back(kube::Json::Object{{"node", utf8(node)}, {"why", utf8(why)}});
  if (!lagging.empty()) out.set("notApplied", std::move(lagging));
  return out;
}

}  // namespace

PolicyCounts::PolicyCounts(const FleetPolicies& policies,
                           std::function<std::optional<int64_t>(const std::string& node)> silent_for)
    : policies_(policies), silent_for_(std::move(silent_for)), set_(policies.set()) {
  const auto add = [&](PolicyRow row, const policy::Problems& problems) {
    for (const policy::Problem& problem : problems) row.problems[problem.field + ": " + problem.what] = 0;
    at_[row.policy] = rows_.size();
    rows_.push_back(std::move(row));
  };
  for (const auto& one : set_->sriov)
    add({.policy = {"SriovResourcePolicy", one->id.namespace_, one->id.name},
         .action = "expose",
         .priority = one->priority,
         .generation = one->generation},
        policy::problems_of(*one));
  for (const auto& one : set_->exposures)
    add({.policy = {"DeviceExposurePolicy", "", one->id.name},
         .action = std::string(policy::name_of(one->action)),
         .priority = one->priority,
         .generation = one->generation},
        one->problems);
}

void PolicyCounts::add(const kube::NodeView& node, const reports::NodeReport* report) {
  if (knows_nodes_)
    for (const PolicyRef& policy : policies_selecting(*set_, node)) {
      PolicyRow& row = rows_[at_.at(policy)];
      ++row.selected;
      note_lag(node.name, report, row);
    }
  if (report == nullptr) return;
  for (const reports::PolicyReport& one : report->policies) {
    is_reported_ |= one.policy.namespace_ == policies_.namespace_of_policies();
    if (unlisted_.contains(one.policy.kind)) add_unlisted(one);
    const auto at = at_.find(one.policy);
    if (at == at_.end() || rows_[at->second].generation != one.generation) continue;
    PolicyRow& row = rows_[at->second];
    ++row.reported;
    row.matched += one.matched;
    row.offered += one.offered;
    for (const auto& [outcome, n] : one.hidden) row.hidden[outcome] += n;
    constexpr size_t kProblemsOfPolicyMax = 20;
    if (!one.problem.empty() &&
        (row.problems.size() < kProblemsOfPolicyMax || row.problems.contains(one.problem)))
      ++row.problems[one.problem];
  }
}

// From reports: the newest reported generation counts as the current one.
void PolicyCounts::add_unlisted(const reports::PolicyReport& policy) {
  const auto [at, is_new] = at_.emplace(policy.policy, rows_.size());
  if (is_new) rows_.push_back({.policy = policy.policy, .action = policy.action, .knows_selected = false});
  PolicyRow& row = rows_[at->second];
  if (policy.generation <= row.generation) return;
  row = {.policy = policy.policy,
         .action = policy.action,
         .generation = policy.generation,
         .knows_selected = false};
}

void PolicyCounts::note_lag(const std::string& node, const reports::NodeReport* report,
                            PolicyRow& row) const {
  int64_t reported = 0;
  if (report != nullptr) {
    const auto at = std::ranges::find(report->policies, row.policy, &reports::PolicyReport::policy);
    if (at != report->policies.end()) reported = at->generation;
    if (reported == row.generation || row.lagging.size() >= kLaggingMax) return;
  }
  std::string what = report == nullptr               ? "no report"
                     : reported > 0                  ? "reports generation " + std::to_string(reported)
                     : report->left_out.policies > 0 ? "its report has no room for it"
                                                     : "does not report it";
  if (const auto silent = silent_for_ ? silent_for_(node) : std::nullopt)
    what = "daemon silent for " + age_text(*silent) + ", " + what;
  if (row.lagging.size() < kLaggingMax) row.lagging[node] = std::move(what);
}

void PolicyCounts::add_precedence(const kube::NodeView& node, const reports::NodeReport& report,
                                  const PolicyRef& policy) {
  const auto at = at_.find(policy);
  if (at == at_.end()) return;
  const JudgedNode own = judge_node(report, node, alone(*set_, policy), policies_.drivers());
  if (own.entries.empty()) return;
  const JudgedNode all = judge_node(report, node, set_, policies_.drivers());
  std::map<std::string, PolicyRef> takers;  // by device, of entries under other names or of the other kind
  for (const auto& [key, entry] : all.entries) takers.try_emplace(entry.device, entry.policy);
  for (const auto& [key, entry] : own.entries) {
    const auto same = all.entries.find(key);
    if (same != all.entries.end() && same->second.policy == policy) continue;
    const auto taker = takers.find(entry.device);
    PolicyRef who = same != all.entries.end() ? same->second.policy
                    : taker != takers.end()   ? taker->second
                                              : PolicyRef{};
    ++rows_[at->second].behind[who][node.name];
  }
}

void PolicyCounts::set_knows_nodes(bool knows) {
  knows_nodes_ = knows;
  for (PolicyRow& row : rows_) row.knows_selected = knows;
}

std::vector<PolicyRow> PolicyCounts::rows() const { return rows_; }

std::vector<PolicyRow> PolicyCounts::rows_of_another_namespace() const {
  std::vector<PolicyRow> out = rows_;
  for (PolicyRow& row : out) {
    row.is_read = is_reported_;
    row.knows_selected = false;
    row.lagging.clear();
    if (!row.is_read)
      row.problems["no daemon reads policies of namespace " + row.policy.namespace_ + ": it has no effect"] =
          0;
  }
  return out;
}

std::string policies_text(const std::vector<PolicyRow>& rows, const TableStyle& style) {
  std::vector<std::string> heading = {"POLICY", "KIND", "ACTION", "PRIORITY"};
  if (style.is_wide) heading.emplace_back("GENERATION");
  heading.insert(heading.end(), {"NODES", "REPORTED", "MATCHED", "OFFERED", "HIDDEN", "PROBLEMS"});
  std::vector<std::vector<std::string>> cells;
  for (const PolicyRow& row : rows) cells.push_back(cells_of(row, style.is_wide));
  const auto paint = [&](size_t row, size_t column) -> std::string_view {
    if (column + 1 == heading.size()) return rows[row].problems.empty() ? "" : "31";
    return column + 5 == heading.size() && rows[row].reported < rows[row].selected ? "33" : "";
  };
  return table(heading, cells, style.has_colours ? Paint(paint) : Paint());
}

std::string policy_text(const PolicyRow& row, const TableStyle& style) {
  std::string out = policies_text({row}, style);
  if (!row.hidden.empty()) out += "hidden: " + text_of_counts(row.hidden) + "\n";
  if (row.knows_selected && row.selected > row.reported) {
    out += "not applied by " + number_of_nodes(row.selected - row.reported) + ":\n";
    std::vector<std::vector<std::string>> cells;
    for (const auto& [node, why] : row.lagging)
      if (style.is_wide || cells.size() < kLaggingShown) cells.push_back({node, why});
    const size_t shown = cells.size();
    out += indented(table({"NODE", "WHY"}, cells));
    if (row.selected - row.reported > shown)
      out += "  " + and_more(row.selected - row.reported - shown, "node") +
             (style.is_wide ? "" : " (-o wide)") + "\n";
  }
  for (const auto& [policy, nodes] : row.behind)
    out +=
        printable((policy.kind.empty() ? "an exclude or a gate withholds" : describe(policy) + " withholds") +
                      " the devices that it would offer on " + nodes_with_counts(nodes),
                  2'000) +
        "\n";
  return out;
}

kube::Json json_of(const std::vector<PolicyRow>& rows) {
  kube::Json::Array policies;
  for (const PolicyRow& row : rows) policies.push_back(json_of(row));
  return kube::Json::Object{{"policies", std::move(policies)}};
}

namespace {

using NodeNames = std::vector<std::string>;  // natural order

std::string names_text(const NodeNames& nodes, bool is_wide) {
  const size_t shown = is_wide ? nodes.size() : std::min(nodes.size(), kNodesShown);
  std::string out = join({nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ");
  if (shown < nodes.size()) out += " " + and_more(nodes.size() - shown, "node");
  return out;
}

// Texts, each with its nodes, in the order of the first node.
class Stanzas {
 public:
  void add(const std::string& node, const std::string& text) {
    const auto [at, is_new] = at_.emplace(text, stanzas_.size());
    if (is_new) stanzas_.push_back({text, {}});
    stanzas_[at->second].second.push_back(node);
  }
  const std::vector<std::pair<std::string, NodeNames>>& all() const { return stanzas_; }

 private:
  std::map<std::string, size_t> at_;
  std::vector<std::pair<std::string, NodeNames>> stanzas_;
};

NodeNames in_natural_order(const auto& by_node) {
  NodeNames out;
  for (const auto& [node, value] : by_node) out.push_back(node);
  std::ranges::sort(out, natural_less);
  return out;
}

std::string stanza_text(const std::vector<EntryChange>& changes, bool has_colours) {
  std::string out;
  for (const EntryChange& change : changes) {
    const std::string text = printable(change_text(change), 2'000);
    const char* code = change.what == '+' ? "32" : change.what == '-' ? "31" : "33";
    out += has_colours ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m\n" : text + "\n";
  }
  return out;
}

// Returns the holders of allocated devices that would disappear.
std::string allocated_text(const FleetDiff& diff, const NodeNames& nodes, bool is_wide) {
  constexpr size_t kAllocatedShown = 50;
  std::vector<std::vector<std::string>> cells;
  size_t more = 0;
  for (const std::string& node : nodes)
    for (const EntryChange& change : diff.changes.at(node)) {
      if (change.what != '-' || change.claims.empty()) continue;
      if (is_wide || cells.size() < kAllocatedShown)
        cells.push_back({node, change.name, join(change.claims, ", ")});
      else
        ++more;
    }
  if (cells.empty()) return "";
  return "allocated now, and would no longer be offered:\n" +
         indented(table({"NODE", "DEVICE", "CLAIM"}, cells)) +
         (more == 0 ? "" : "  " + and_more(more, "device") + " (-o wide)\n");
}

std::string sums_text(const FleetDiff& diff) {
  size_t coming = 0, going = 0, changing = 0, allocated = 0;
  for (const auto& [node, changes] : diff.changes)
    for (const EntryChange& change : changes) {
      (change.what == '+' ? coming : change.what == '-' ? going : changing) += 1;
      allocated += change.what == '-' && !change.claims.empty();
    }
  std::string out = number_of_nodes(diff.changes.size()) + " would change: " + std::to_string(coming) +
                    (coming == 1 ? " device more, " : " devices more, ") + std::to_string(going) + " fewer";
  if (going > 0)
    out += diff.knows_claims ? " (" + std::to_string(allocated) + " allocated now)"
                             : " (not known how many are allocated: claims cannot be read)";
  out += ", " + std::to_string(changing) + " changed; " + number_of_nodes(diff.same) + " would not";
  if (!diff.unjudged.empty()) out += "; " + number_of_nodes(diff.unjudged.size()) + " cannot be judged";
  return out + "\n";
}

}  // namespace

std::string diff_text(const FleetDiff& diff, const TableStyle& style) {
  const NodeNames nodes = in_natural_order(diff.changes);
  Stanzas stanzas, unjudged;
  for (const std::string& node : nodes)
    stanzas.add(node, stanza_text(diff.changes.at(node), style.has_colours));
  for (const std::string& node : in_natural_order(diff.unjudged)) unjudged.add(node, diff.unjudged.at(node));
  std::string out;
  const auto head = [&](const NodeNames& names) {
    const std::string text = printable(names_text(names, style.is_wide), style.is_wide ? 1u << 20 : 2'000);
    return names.size() == 1 ? text : number_of_nodes(names.size()) + ": " + text;
  };
  for (const auto& [text, names] : stanzas.all()) out += head(names) + "\n" + text;
  for (const auto& [why, names] : unjudged.all())
    out += names.size() == 1 ? printable(names.front() + " cannot be judged: " + why, 2'000) + "\n"
                             : number_of_nodes(names.size()) + " cannot be judged: " + printable(why, 2'000) +
                                   ": " + printable(names_text(names, style.is_wide), 1u << 20) + "\n";
  return out + allocated_text(diff, nodes, style.is_wide) + sums_text(diff);
}

kube::Json json_of(const FleetDiff& diff) {
  kube::Json::Array nodes, unjudged;
  for (const auto& [node, changes] : diff.changes) {
    kube::Json::Array items;
    for (const EntryChange& change : changes) {
      kube::Json item = kube::Json::Object{{"change", change.what == '+'   ? "added"
                                                      : change.what == '-' ? "removed"
                                                                           : "changed"},
                                           {"draDriver", change.driver},
                                           {"entry", utf8(change.name)},
                                           {"device", utf8(change.device)}};
      if (!change.before.empty()) item.set("before", utf8(change.before));
      if (!change.after.empty()) item.set("after", utf8(change.after));
      kube::Json::Array attributes;
      for (const std::string& one : change.attributes) attributes.push_back(utf8(one));
      if (!attributes.empty()) item.set("attributes", std::move(attributes));
      kube::Json::Array claims;
      for (const std::string& one : change.claims) claims.push_back(utf8(one));
      if (!claims.empty()) item.set("claims", std::move(claims));
      items.push_back(std::move(item));
    }
    nodes.push_back(kube::Json::Object{{"name", utf8(node)}, {"changes", std::move(items)}});
  }
  for (const auto& [node, why] : diff.unjudged)
    unjudged.push_back(kube::Json::Object{{"name", utf8(node)}, {"why", utf8(why)}});
  kube::Json out = kube::Json::Object{{"nodes", std::move(nodes)},
                                      {"unjudged", std::move(unjudged)},
                                      {"same", static_cast<int64_t>(diff.same)}};
  if (!diff.knows_claims) out.set("claimsRead", false);
  return out;
}

}  // namespace sliced::kubectl
