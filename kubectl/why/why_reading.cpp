#include "kubectl/why/why_reading.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "config/options.h"
#include "kube/objects/api_time.h"
#include "kube/objects/kinds.h"
#include "kubectl/fleet/fleet_reading.h"
#include "kubectl/why/missing_policy.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

constexpr std::string_view kIgnoredReason = "ConfigurationIgnored";  // docs/reports.md#events

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

namespace {

// A pod's Event, as far as it says what its kubelet does.
struct PodEvent {
  int64_t at = 0;  // seconds since 1970 of the last time that it happened; 0 not known
  bool is_warning = false;
  std::string reason, text;
};

PodEvent pod_event_of(const kube::Json& event) {
  PodEvent out{.is_warning = event.text("type") == "Warning", .reason = std::string(event.text("reason"))};
  const kube::Json* series = event.find("series");
  std::string when(series != nullptr ? series->text("lastObservedTime") : "");
  for (const char* key : {"deprecatedLastTimestamp", "eventTime"})
    if (when.empty()) when = event.text(key);
  out.at = kube::decode_api_time(when).value_or(0);
  out.text = out.reason + ": " + std::string(event.text("note"));
  return out;
}

bool is_of_pod(const kube::Json& event, const allocation::Pod& pod) {
  const kube::Json* of = event.find("regarding");
  if (of == nullptr || of->text("kind") != "Pod" || of->text("name") != pod.name) return false;
  // A pod of before may have had the name.
  return pod.uid.empty() || of->text("uid").empty() || of->text("uid") == pod.uid;
}

// What a kubelet reports when it has got further: what it warned of before is over.
bool is_progress(const PodEvent& event) {
  constexpr std::string_view kReasons[] = {"Pulling", "Pulled", "Created", "Started"};
  return !event.is_warning && std::ranges::find(kReasons, event.reason) != std::end(kReasons);
}

// A kubelet tries again within 2 minutes, and writes the Event again at least every 5.
constexpr int64_t kHoldsFor = 600;  // seconds

std::string age_note(const PodEvent& event, int64_t now) {
  if (event.at == 0) return "";
  const int64_t age = std::max<int64_t>(0, now - event.at);
  return " (" + age_text(age) + " ago" + (age > kHoldsFor ? "; it may be over" : "") + ")";
}

// The last warning that nothing has superseded since the pod was bound: scheduling is over, and so is what came before the last
// progress. nullopt: none.
std::optional<PodEvent> last_warning(const std::vector<PodEvent>& events, const allocation::Pod& pod) {
  int64_t since = kube::decode_api_time(pod.scheduled_at).value_or(0);
  for (const PodEvent& event : events)
    if (is_progress(event)) since = std::max(since, event.at);
  std::optional<PodEvent> last;
  for (const PodEvent& event : events) {
    if (!event.is_warning || event.reason == "FailedScheduling" || event.reason == kIgnoredReason) continue;
    if (event.at != 0 && event.at < since) continue;
    if (!last || event.at >= last->at) last = event;
  }
  return last;
}

bool has_claims_of(const allocation::Answer& answer, const FleetDrivers& drivers) {
  return std::ranges::any_of(answer.claims, [&](const allocation::Claim& claim) {
    return !claim.allocation ||
           std::ranges::any_of(claim.allocation->devices, [&](const allocation::AllocatedDevice& device) {
             return device.driver == drivers.sriov || device.driver == drivers.exposure;
           });
  });
}

// What the node reports of itself now, with the remedy.
std::vector<std::string> node_notes(const kube::Json& report, const std::string& node) {
  std::vector<std::string> out;
  const auto status = [&](const char* key) {
    const kube::Json* found = report.find({"status", key});
    return found != nullptr && found->string() != nullptr ? *found->string() : std::string();
  };
  if (const std::string silent = status("silentSince"); !silent.empty())
    out.push_back(
        "the daemon of node " + node + " is silent since " + silent +
        ": nothing is prepared there until it runs again (kubectl get pods -o wide, journalctl -u sliced)");
  const std::string plugin = status("kubeletPlugin");
  if (plugin == "off")
    out.push_back("the kubelet plugin of node " + node +
                  " is off: no claim is prepared there; run its daemon with --kubelet-plugin on (chart: "
                  "kubeletPlugin.enabled=true)");
  else if (plugin == "waiting")
    out.push_back(
        "the kubelet plugin of node " + node +
        " waits for another program that serves the kubelet for one of its drivers: stop that program on "
        "the node (docs/from-dra-driver-sriov.md)");
  return out;
}

}  // namespace

void read_start(ClusterObjects& objects, const FleetDrivers& drivers, allocation::Answer& answer) {
  if (!answer.pod || answer.pod->node_name.empty()) return;
  const allocation::Pod& pod = *answer.pod;
  const bool is_starting = pod.phase == "Pending";
  if (!is_starting && pod.phase != "Running") return;
  std::vector<PodEvent> events;
  const auto listed = objects.list(kube::kEvents, pod.namespace_,
                                   {.on_object =
                                        [&](const kube::Json& event) {
                                          if (is_of_pod(event, pod)) events.push_back(pod_event_of(event));
                                        },
                                    .on_bad = [](std::string) {},
                                    .on_anew = [&] { events.clear(); }});
  if (!listed) answer.unsure.push_back("the pod's events are not known: " + listed.error().what);
  const auto add_ignored = [&] {
    for (const PodEvent& event : events)
      if (event.reason == kIgnoredReason) answer.notes.push_back(event.text + age_note(event, objects.now()));
  };
  if (!is_starting) return add_ignored();
  if (const auto report = objects.get(kube::kNodeDeviceReports, "", pod.node_name);
      report && has_claims_of(answer, drivers)) {
    answer.notes = node_notes(*report, pod.node_name);
  } else if (!report && report.error().code != Errc::kNotFound) {
    answer.unsure.push_back("the report of node " + pod.node_name + " is not known: " + report.error().what);
  }
  if (const auto last = last_warning(events, pod))
    answer.notes.push_back(last->text + age_note(*last, objects.now()));
  add_ignored();
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

// SriovResourcePolicies of namespaces that no node's daemon reads; none where they may not be listed.
std::map<std::string, FleetPolicies> policies_elsewhere(ClusterObjects& objects, const FleetDrivers& drivers,
                                                        const std::set<std::string>& read) {
  constexpr size_t kNamespacesMax = 64;
  std::map<std::string, FleetPolicies> out;
  const auto add = [&](const kube::Json& object) {
    const kube::Json* namespace_ = object.find({"metadata", "namespace"});
    if (namespace_ == nullptr || namespace_->string() == nullptr) return;
    const std::string& name = *namespace_->string();
    if (read.contains(name) || (out.size() >= kNamespacesMax && !out.contains(name))) return;
    out.try_emplace(name, drivers, name).first->second.put(object);
  };
  for (const auto* kind : {&kube::kDeviceAttributes, &kube::kSriovResourcePolicies})
    // Without this list there is only less to suggest.
    (void)objects.list(*kind, "",
                       {.on_object = add, .on_bad = [](std::string) {}, .on_anew = [&] { out.clear(); }});
  return out;
}

// Requests ("claim, request") that would have enough on a node if what it hides were offered.
std::set<std::string> hidden_enough(const std::vector<HiddenMatch>& hidden,
                                    const allocation::Answer& answer) {
  std::map<std::pair<std::string, std::string>, size_t> devices;  // by node and request
  for (const HiddenMatch& match : hidden) devices[{match.node, match.request}] += match.devices;
  std::set<std::string> out;
  for (const allocation::NodeAnswer& node : answer.nodes)
    for (const allocation::RequestView& view : node.requests)
      if (const auto at = devices.find({node.name, view.request});
          at != devices.end() && (view.all || static_cast<int64_t>(at->second + view.free) >= view.wanted))
        out.insert(view.claim + ", " + view.request);
  return out;
}

}  // namespace

std::vector<HiddenMatch> find_hidden(ClusterObjects& objects, const FleetDrivers& drivers,
                                     const allocation::Cluster& cluster, allocation::Answer& answer) {
  std::vector<HiddenMatch> out;
  if (answer.verdict != allocation::Verdict::kPending) return out;
  std::vector<reports::NodeReport> reports;
  UnmatchedDevices unmatched;
  const std::string otherwise = config::Options{}.namespace_;
  std::set<std::string> namespaces = {otherwise};  // that daemons read
  auto read = read_reports(
      objects,
      [&](reports::NodeReport report) {
        unmatched.add(report);
        namespaces.insert(namespace_of(report, otherwise));
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
  answer.causes = hidden_causes(out);
  allocation::drop_selector_changes(hidden_enough(out, answer), answer);
  if (!short_requests(answer).empty() && !unmatched.counts().empty()) {
    for (const auto& shape : unmatched.shapes())
      policies_of(shape.namespace_.empty() ? otherwise : shape.namespace_);
    std::set<std::string> hidden;
    for (const HiddenMatch& match : out) hidden.insert(match.request);
    allocation::Selectors effort;
    std::set<std::string> enough;
    const auto advice = missing_policies(answer, unmatched, nodes, policies, drivers, otherwise, effort,
                                         hidden, &enough, policies_elsewhere(objects, drivers, namespaces));
    allocation::drop_selector_changes(enough, answer);
    answer.hints.insert(answer.hints.end(), advice.begin(), advice.end());
    if (advice.empty() && hidden.empty() && is_any_unmatched(answer))
      hint_at_unmatched(unmatched.counts(), answer);
  }
  return out;
}

}  // namespace sliced::cli
