#include "cli/fleet/why_reading.h"

#include <map>
#include <set>
#include <string_view>

#include "cli/fleet/fleet_reading.h"
#include "cli/fleet/missing_policy.h"
#include "config/options.h"
#include "kube/kinds.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

// forget: what was added of this list.
ListTold told_to(allocation::Cluster& out, const std::string& namespace_, std::function<void()> forget) {
  return {.on_object = [&out,
                        namespace_](const kube::Json& one) { allocation::add_object(one, namespace_, out); },
          .on_bad = [&out](std::string what) { out.unread.push_back(std::move(what)); },
          .on_anew =
              [&out, before = out.unread, forget = std::move(forget)] {
                out.unread = before;
                forget();
              }};
}

// Releases before 1.37 do not serve them, and their schedulers know of none.
// A kind of all namespaces, or of one where that is all that may be read.
Result<Unit> read_kind(ClusterObjects& objects, const kube::Resource& kind, const std::string& namespace_,
                       allocation::Cluster& out, const std::function<void()>& forget) {
  auto listed = objects.list(kind, "", told_to(out, namespace_, forget));
  if (listed || listed.error().code != Errc::kDenied) return listed;
  const bool is_namespaced = kind.plural == kube::kResourceClaims.plural;
  out.denied[kind.plural] = "list " + kind.plural + (is_namespaced ? " of all namespaces" : "");
  if (!is_namespaced) return Unit{};
  forget();
  listed = objects.list(kind, namespace_, told_to(out, namespace_, forget));
  if (listed || listed.error().code != Errc::kDenied) return listed;
  return Unit{};
}

void read_taint_rules(ClusterObjects& objects, allocation::Cluster& out) {
  const auto listed =
      objects.list(kube::kDeviceTaintRules, "", told_to(out, "", [&] { out.taint_rules.clear(); }));
  if (!listed && listed.error().code == Errc::kDenied) {
    if (out.features.taint_rules) out.denied[kube::kDeviceTaintRules.plural] = "list devicetaintrules";
  } else if (!listed && listed.error().code != Errc::kNotFound)
    out.unread.push_back("DeviceTaintRules cannot be read: " + listed.error().what);
}

}  // namespace

Result<Unit> read_allocation(ClusterObjects& objects, const std::string& namespace_,
                             allocation::Cluster& out) {
  const std::initializer_list<std::pair<const kube::Resource&, std::function<void()>>> kinds = {
      {kube::kNodes, [&] { out.nodes.clear(); }},
      {kube::kDeviceClasses, [&] { out.classes.clear(); }},
      {kube::kResourceSlices, [&] { out.slices.clear(); }},
      {kube::kResourceClaims, [&] { out.claims.clear(); }}};
  for (const auto& [kind, forget] : kinds)
    if (auto listed = read_kind(objects, kind, namespace_, out, forget); !listed) return listed;
  read_taint_rules(objects, out);
  return Unit{};
}

void read_start(ClusterObjects& objects, allocation::Answer& answer) {
  if (!answer.pod || answer.pod->node_name.empty() || answer.pod->phase != "Pending") return;
  const allocation::Pod& pod = *answer.pod;
  std::string last, text;  // RFC 3339 in UTC: later is greater
  const auto on_event = [&](const kube::Json& event) {
    const kube::Json* of = event.find("regarding");
    if (of == nullptr || of->text("kind") != "Pod" || of->text("name") != pod.name ||
        event.text("type") != "Warning")
      return;
    const kube::Json* series = event.find("series");
    std::string when(series != nullptr ? series->text("lastObservedTime") : "");
    for (const char* key : {"deprecatedLastTimestamp", "eventTime"})
      if (when.empty()) when = event.text(key);
    if (when < last) return;
    last = when;
    text = std::string(event.text("reason")) + ": " + std::string(event.text("note"));
  };
  const auto listed = objects.list(
      kube::kEvents, pod.namespace_,
      {.on_object = on_event, .on_bad = [](std::string) {}, .on_anew = [&] { last.clear(), text.clear(); }});
  if (!listed) answer.unsure.push_back("the pod's events are not known: " + listed.error().what);
  if (!text.empty()) answer.notes.push_back(text + (last.empty() ? "" : " (" + last + ")"));
  auto report = objects.get(kube::kNodeDeviceReports, "", pod.node_name);
  if (!report) {
    if (report.error().code != Errc::kNotFound)
      answer.unsure.push_back("the report of node " + pod.node_name +
                              " is not known: " + report.error().what);
    return;
  }
  const kube::Json* plugin = report->find({"status", "kubeletPlugin"});
  if (plugin != nullptr && plugin->string() != nullptr && *plugin->string() != "on")
    answer.notes.push_back("node " + pod.node_name + " reports of its kubelet plugin: " + *plugin->string());
  const kube::Json* silent = report->find({"status", "silentSince"});
  if (silent != nullptr && silent->string() != nullptr && !silent->string()->empty())
    answer.notes.push_back("the daemon of node " + pod.node_name + " is silent since " + *silent->string());
}

namespace {

// Devices that could be offered, where no policy was found that would.
void hint_at_unmatched(const std::map<std::string, int64_t>& unmatched, allocation::Answer& answer) {
  if (unmatched.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [node, devices] : unmatched)
    if (parts.size() < 5) parts.push_back(node + " (" + std::to_string(devices) + ")");
  answer.hints.push_back("Nodes with devices that no policy selects: " + join(parts, ", ") +
                         (unmatched.size() > 5 ? " " + and_more(unmatched.size() - 5, "node") : "") +
                         "; no policy over what they report was found that would offer what is asked for");
}

bool is_any_unmatched(const allocation::Answer& answer) {
  std::set<std::pair<std::string, std::string>> all, matched;
  for (const allocation::NodeAnswer& node : answer.nodes)
    for (const allocation::RequestView& view : node.requests) {
      all.emplace(view.claim, view.request);
      if (view.matching > 0) matched.emplace(view.claim, view.request);
    }
  return all.size() != matched.size() || all.empty();
}

}  // namespace

std::vector<HiddenMatch> find_hidden(ClusterObjects& objects, const FleetDrivers& drivers,
                                     const allocation::Cluster& cluster, allocation::Answer& answer) {
  std::vector<HiddenMatch> out;
  if (answer.verdict != allocation::Verdict::kPending) return out;
  std::vector<reports::NodeReport> reports;
  UnmatchedDevices unmatched;
  auto read = read_reports(
      objects,
      [&](reports::NodeReport report) {
        unmatched.add(report);
        keep_hidden(report);
        if (!report.groups.empty()) reports.push_back(std::move(report));
      },
      [&] { reports.clear(), unmatched.clear(); }, answer.unsure);
  if (!read) answer.unsure.push_back("what nodes hide is not known: " + read.error().what);
  std::map<std::string_view, const kube::NodeView*> nodes;
  for (const allocation::Node& node : cluster.nodes) nodes[node.view.name] = &node.view;
  std::map<std::string, FleetPolicies> policies;  // by the namespace that the node's daemon obeys
  std::set<std::string> unlisted;
  const auto policies_of = [&](const std::string& namespace_) -> const FleetPolicies& {
    const auto [at, is_new] = policies.try_emplace(namespace_, drivers, namespace_);
    if (is_new)
      if (auto listed = read_policies(objects, namespace_, at->second, answer.unsure, &unlisted); !listed)
        answer.unsure.push_back("what nodes hide is not known: " + listed.error().what);
    return at->second;
  };
  const std::string otherwise = config::Options{}.namespace_;
  if (!short_requests(answer).empty() && !unmatched.counts().empty()) {
    for (const auto& shape : unmatched.shapes())
      policies_of(shape.namespace_.empty() ? otherwise : shape.namespace_);
    allocation::Selectors effort;
    const auto advice = missing_policies(answer, unmatched, nodes, policies, drivers, otherwise, effort);
    answer.hints.insert(answer.hints.end(), advice.begin(), advice.end());
    if (advice.empty() && is_any_unmatched(answer)) hint_at_unmatched(unmatched.counts(), answer);
  }
  allocation::Selectors selectors;
  for (const reports::NodeReport& report : reports) {
    const auto node = nodes.find(report.node);
    if (node == nodes.end() || out.size() >= kHiddenMatchesMax || selectors.is_spent()) continue;
    const FleetPolicies& its = policies_of(namespace_of(report, otherwise));
    for (HiddenMatch& match : hidden_matches(answer, report, *node->second, its, selectors))
      out.push_back(std::move(match));
  }
  if (selectors.is_spent())
    answer.unsure.push_back("what nodes hide was not asked of all: what expressions take of time is bounded");
  return out;
}

}  // namespace sliced::cli
