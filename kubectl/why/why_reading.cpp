#include "kubectl/why/why_reading.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "config/options.h"
#include "controller/webhook/claim_judgement.h"
#include "controller/webhook/class_judgement.h"
#include "kube/objects/api_time.h"
#include "kube/objects/kinds.h"
#include "kubectl/fleet/fleet_reading.h"
#include "kubectl/why/missing_policy.h"
#include "kubectl/why/users.h"
#include "kubelet/claim.h"
#include "kubelet/vf_config.h"
#include "policy/exposure/attributes.h"
#include "policy/sriov/attributes.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

constexpr size_t kCapacityAdviceMax = 3;
constexpr std::string_view kConfigOf = "ResourceClaim ";             // as the Event's note begins
constexpr std::string_view kIgnoredReason = "ConfigurationIgnored";  // docs/reports.md#events

// forget: removes the objects of this list.
ListHandlers list_handlers(why::Cluster& out, const std::string& namespace_, std::function<void()> forget) {
  return {.on_object = [&out, namespace_](const kube::Json& one) { why::add_object(one, namespace_, out); },
          .on_bad = [&out](std::string what) { out.unread.push_back(std::move(what)); },
          .on_restart =
              [&out, before = out.unread, forget = std::move(forget)] {
                out.unread = before;
                forget();
              }};
}

// Releases before 1.37 do not serve them, and their schedulers ignore them. Reads all namespaces, or one if
// only that may be read.
Result<Unit> read_kind(ClusterObjects& objects, const kube::Resource& kind, const std::string& namespace_,
                       why::Cluster& out, const std::function<void()>& forget) {
  auto listed = objects.list(kind, "", list_handlers(out, namespace_, forget));
  if (listed || listed.error().code != Errc::kDenied) return listed;
  const bool is_namespaced = kind.plural == kube::kResourceClaims.plural;
  out.denied[kind.plural] = "list " + kind.plural + (is_namespaced ? " of all namespaces" : "");
  if (!is_namespaced) return Unit{};
  forget();
  listed = objects.list(kind, namespace_, list_handlers(out, namespace_, forget));
  if (listed || listed.error().code != Errc::kDenied) return listed;
  return Unit{};
}

void read_taint_rules(ClusterObjects& objects, why::Cluster& out) {
  const auto listed =
      objects.list(kube::kDeviceTaintRules, "", list_handlers(out, "", [&] { out.taint_rules.clear(); }));
  if (!listed && listed.error().code == Errc::kDenied) {
    if (out.features.taint_rules) out.denied[kube::kDeviceTaintRules.plural] = "list devicetaintrules";
  } else if (!listed && listed.error().code != Errc::kNotFound)
    out.unread.push_back("DeviceTaintRules cannot be read: " + listed.error().what);
}

}  // namespace

Result<Unit> read_allocation(ClusterObjects& objects, const std::string& namespace_, why::Cluster& out) {
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

// An Event about a pod from its kubelet.
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

bool is_of_pod(const kube::Json& event, const why::Pod& pod) {
  const kube::Json* of = event.find("regarding");
  if (of == nullptr || of->text("kind") != "Pod" || of->text("name") != pod.name) return false;
  // A pod of before may have had the name.
  return pod.uid.empty() || of->text("uid").empty() || of->text("uid") == pod.uid;
}

// Returns whether the kubelet has made progress, which supersedes earlier warnings.
bool is_progress(const PodEvent& event) {
  constexpr std::string_view kReasons[] = {"Pulling", "Pulled", "Created", "Started"};
  return !event.is_warning && std::ranges::find(kReasons, event.reason) != std::end(kReasons);
}

// Returns whether the pod starts in spite of the warning: the kubelet writes these for settings of the node
// or of its DNS that it corrects or ignores (pkg/kubelet/network/dns, pkg/kubelet/kubelet.go).
bool is_hint(const PodEvent& event) {
  constexpr std::string_view kReasons[] = {"MissingClusterDNS", "DNSConfigForming",
                                           "CheckLimitsForResolvConf", "InvalidDiskCapacity",
                                           "PossibleMemoryBackedVolumesOnDisk"};
  return std::ranges::find(kReasons, event.reason) != std::end(kReasons);
}

// A kubelet tries again within 2 minutes, and writes the Event again at least every 5.
constexpr int64_t kHoldsFor = 600;  // seconds

std::string age_note(const PodEvent& event, int64_t now) {
  if (event.at == 0) return "";
  const int64_t age = std::max<int64_t>(0, now - event.at);
  return " (" + age_text(age) + " ago" + (age > kHoldsFor ? "; it may be over" : "") + ")";
}

// Returns the last warning since the pod was bound that no later progress supersedes; nullopt if there is
// none.
std::optional<PodEvent> last_warning(const std::vector<PodEvent>& events, const why::Pod& pod) {
  int64_t since = kube::decode_api_time(pod.scheduled_at).value_or(0);
  for (const PodEvent& event : events)
    if (is_progress(event)) since = std::max(since, event.at);
  std::optional<PodEvent> last;
  for (const PodEvent& event : events) {
    if (!event.is_warning || event.reason == "FailedScheduling" || event.reason == kIgnoredReason ||
        is_hint(event))
      continue;
    if (event.at != 0 && event.at < since) continue;
    if (!last || event.at >= last->at) last = event;
  }
  return last;
}

bool has_claims_of(const why::Answer& answer, const FleetDrivers& drivers) {
  return std::ranges::any_of(answer.claims, [&](const why::Claim& claim) {
    return !claim.allocation ||
           std::ranges::any_of(claim.allocation->devices, [&](const why::AllocationResult& device) {
             return device.driver == drivers.sriov || device.driver == drivers.exposure;
           });
  });
}

// Returns the node's reported problems, with the remedy.
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

bool read_users(ClusterObjects& objects, const why::Answer& answer, why::Cluster& cluster) {
  if (answer.verdict != why::Verdict::kPending) return false;
  std::set<std::string> namespaces;
  bool is_release = false;
  for (const why::NodeAnswer& node : answer.nodes) {
    for (const auto* changes : {&node.changes.all, &node.changes.alone})
      for (const why::Change& change : *changes) {
        if (change.holder == nullptr || change.holder->users.empty()) continue;
        is_release = true;
        namespaces.insert(change.holder->namespace_);
      }
    for (const why::RequestView& view : node.requests)
      for (const auto& [holder, devices] : view.holders)
        namespaces.insert(holder.substr(0, holder.find('/')));
  }
  if (!is_release) return false;
  std::map<std::string, why::PodState> pods;
  std::set<std::string> read;
  for (const std::string& namespace_ : namespaces) {
    if (read.size() >= kUsersNamespacesMax) break;
    const auto listed = objects.list(
        kube::kPods, namespace_,
        {.on_object =
             [&](const kube::Json& pod) {
               const kube::Json* metadata = pod.find("metadata");
               if (metadata != nullptr)
                 pods[namespace_ + "/" + std::string(metadata->text("name"))] = why::pod_state(pod);
             },
         .on_bad = [](std::string) {},
         .on_restart =
             [&] {
               std::erase_if(pods, [&](const auto& one) { return one.first.starts_with(namespace_ + "/"); });
             }});
    if (listed)
      read.insert(namespace_);
    else
      cluster.unread.push_back("how far the pods of namespace " + namespace_ +
                               " are is not known: " + listed.error().what);
  }
  return why::note_users(pods, read, cluster.claims);
}

std::set<std::string> publishable_attributes(const FleetDrivers& drivers) {
  std::set<std::string> out;
  const policy::VfAttributes of_vfs(drivers.sriov);
  for (const SharedText& key : of_vfs.keys()) out.insert(key.str());
  for (const std::string& driver : {drivers.sriov, drivers.exposure})
    out.insert(driver + "/" + std::string(policy::kResourceNameId));
  out.insert(std::string(policy::kMultusResourceName));
  for (const policy::KnownAttribute& known : policy::known_attributes())
    if (known.is_published)
      out.insert((known.is_standard ? "resource.kubernetes.io" : drivers.exposure) + "/" +
                 std::string(known.id));
  out.insert(drivers.exposure + "/" + std::string(policy::kSupportedCnisId));
  for (const char* plugin :
       {"sriov", "host-device", "macvlan", "ipvlan", "bridge", "vlan", "ipoib", "ib-sriov", "rdma"})
    out.insert(drivers.exposure + "/" + policy::cni_attribute_id(plugin));
  return out;
}

void judge_configs(ClusterObjects& objects, const FleetDrivers& drivers, const why::Cluster& cluster,
                   why::Answer& answer) {
  if (answer.pod && (answer.pod->phase == "Failed" || answer.pod->phase == "Succeeded")) return;
  webhook::Drivers known{.sriov = drivers.sriov, .exposure = drivers.exposure};
  for (const why::DeviceClass& one : cluster.classes) {
    kube::Json::Array selectors;
    for (const std::string& selector : one.selectors)
      selectors.push_back(kube::Json::Object{{"cel", kube::Json::Object{{"expression", selector}}}});
    const kube::Json object =
        kube::Json::Object{{"kind", kube::kDeviceClasses.kind},
                           {"metadata", kube::Json::Object{{"name", one.name}}},
                           {"spec", kube::Json::Object{{"selectors", std::move(selectors)}}}};
    if (const std::string driver = webhook::driver_of_class(object, known); !driver.empty())
      known.classes.emplace(one.name, driver);
  }
  for (const why::Claim& claim : answer.claims) {
    if (claim.is_extended || (!claim.is_made && !claim.allocation)) continue;
    const auto object = objects.get(kube::kResourceClaims, claim.namespace_, claim.name);
    if (!object) continue;  // the claim was deleted after the list
    const std::string whose(std::string(kConfigOf) + claim.id() + ": ");
    if (claim.allocation) {
      const auto decoded = kubelet::decode_claim(kube::encode_json(*object));
      if (!decoded) continue;
      for (const std::string& driver : {drivers.sriov, drivers.exposure})
        for (const std::string& ignored : kubelet::ignored_configs(*decoded, driver))
          answer.notes.push_back(whose + ignored);
      continue;
    }
    constexpr uint64_t kStepsMax = 10'000'000;
    const auto judged =
        webhook::judge_claim(*object, kube::kResourceClaims.kind, known, claim.namespace_, kStepsMax);
    if (!judged) continue;
    for (const auto* problems : {&judged->errors, &judged->warnings})
      for (const policy::Problem& problem : *problems)
        if (problem.field.find(".config[") != std::string::npos)
          answer.notes.push_back(whose + problem.field + " " + problem.what);
  }
}

void read_start(ClusterObjects& objects, const FleetDrivers& drivers, why::Answer& answer) {
  if (!answer.pod || answer.pod->node_name.empty()) return;
  const why::Pod& pod = *answer.pod;
  const bool is_starting = pod.phase == "Pending";
  if (!is_starting && pod.phase != "Running") return;
  std::vector<PodEvent> events;
  const auto listed = objects.list(kube::kEvents, pod.namespace_,
                                   {.on_object =
                                        [&](const kube::Json& event) {
                                          if (is_of_pod(event, pod)) events.push_back(pod_event_of(event));
                                        },
                                    .on_bad = [](std::string) {},
                                    .on_restart = [&] { events.clear(); }});
  if (!listed) answer.unsure.push_back("the pod's events are not known: " + listed.error().what);
  const auto is_said = [said = answer.notes](const PodEvent& event) {
    return std::ranges::any_of(
        said, [&](const std::string& note) { return event.text.find(note) != std::string::npos; });
  };
  const auto add_ignored = [&] {
    for (const PodEvent& event : events)
      if (event.reason == kIgnoredReason && !is_said(event))
        answer.notes.push_back(event.text + age_note(event, objects.now()));
  };
  if (!is_starting) return add_ignored();
  if (const auto report = objects.get(kube::kNodeDeviceReports, "", pod.node_name);
      report && has_claims_of(answer, drivers)) {
    const auto notes = node_notes(*report, pod.node_name);
    answer.notes.insert(answer.notes.begin(), notes.begin(), notes.end());
  } else if (!report && report.error().code != Errc::kNotFound) {
    answer.unsure.push_back("the report of node " + pod.node_name + " is not known: " + report.error().what);
  }
  if (const auto last = last_warning(events, pod))
    answer.notes.push_back(last->text + age_note(*last, objects.now()));
  add_ignored();
}

namespace {

// Devices that could be offered, where no policy was found that would.
void hint_at_unmatched(const std::map<std::string, int64_t>& unmatched, why::Answer& answer) {
  if (unmatched.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [node, devices] : unmatched)
    if (parts.size() < 5) parts.push_back(node + " (" + std::to_string(devices) + ")");
  answer.hints.push_back("Nodes with devices that no policy selects: " + join(parts, ", ") +
                         (unmatched.size() > 5 ? " " + and_more(unmatched.size() - 5, "node") : "") +
                         "; no policy was found that would offer what the claim requests");
}

bool is_any_unmatched(const why::Answer& answer) {
  std::set<std::pair<std::string, std::string>> all, matched;
  for (const why::NodeAnswer& node : answer.nodes)
    for (const why::RequestView& view : node.requests) {
      all.emplace(view.claim, view.request);
      if (view.matching > 0) matched.emplace(view.claim, view.request);
    }
  return all.size() != matched.size() || all.empty();
}

// Returns SriovResourcePolicies of namespaces that no daemon reads; none if they may not be listed.
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
    // Without this list only suggestions are missing.
    (void)objects.list(*kind, "",
                       {.on_object = add, .on_bad = [](std::string) {}, .on_restart = [&] { out.clear(); }});
  return out;
}

// Returns requests ("claim, request") that would have enough on a node with its hidden devices.
std::set<std::string> hidden_enough(const std::vector<HiddenMatch>& hidden, const why::Answer& answer) {
  std::map<std::pair<std::string, std::string>, size_t> devices;  // by node and request
  for (const HiddenMatch& match : hidden) devices[{match.node, match.request}] += match.devices;
  std::set<std::string> out;
  for (const why::NodeAnswer& node : answer.nodes)
    for (const why::RequestView& view : node.requests)
      if (const auto at = devices.find({node.name, view.request});
          at != devices.end() && (view.all || static_cast<int64_t>(at->second + view.free) >= view.wanted))
        out.insert(view.claim + ", " + view.request);
  return out;
}

bool is_short(const why::RequestView& view) {
  return view.all ? view.free == 0 || view.free < view.matching
                  : static_cast<int64_t>(view.free) < view.wanted;
}

// Returns whether a larger capacity alone would be sufficient: every lack is a used-up capacity.
bool is_only_used_up(const why::NodeAnswer& node) {
  if (!node.kept_away.empty() || node.found != why::SearchResult::kNo || !node.clashes.empty()) return false;
  bool is_any = false;
  for (const why::RequestView& view : node.requests) {
    if (!is_short(view)) continue;
    if (view.used_up.empty()) return false;
    is_any = true;
  }
  return is_any;
}

std::set<std::string> nodes_with_used_up(const why::Answer& answer) {
  constexpr size_t kNodesMax = 64;
  std::set<std::string> out;
  for (const why::NodeAnswer& node : answer.nodes)
    if (out.size() < kNodesMax && is_only_used_up(node)) out.insert(node.name);
  return out;
}

// Names the policies that set a used-up capacity, before suggesting the end of other pods.
void advise_capacity(const std::map<std::string, reports::NodeReport>& reports,
                     const std::map<std::string_view, const kube::NodeView*>& nodes,
                     const std::map<std::string, FleetPolicies>& policies, const FleetDrivers& drivers,
                     const std::string& otherwise, why::Answer& answer) {
  std::map<std::string, std::vector<std::string>> advice;  // to nodes
  for (const why::NodeAnswer& node : answer.nodes) {
    const auto report = reports.find(node.name);
    const auto view = nodes.find(node.name);
    if (report == reports.end() || view == nodes.end()) continue;
    const policy::PolicySetPtr set = policies.at(namespace_of(report->second, otherwise)).exposing();
    const JudgedNode judged = judge_node(report->second, *view->second, set, drivers);
    for (const why::RequestView& request : node.requests)
      for (const auto& [key, devices] : request.used_up)
        for (const why::DeviceId& id : devices) {
          const auto entry = judged.entries.find({std::string(id.driver), std::string(id.device)});
          if (!is_short(request) || entry == judged.entries.end()) continue;
          for (const auto& one : set->exposures) {
            const std::string full = key.find('/') == std::string::npos ? drivers.exposure + "/" + key : key;
            const auto capacity = one->exposure.capacity.find(full);
            if (one->id.name != entry->second.policy.name || capacity == one->exposure.capacity.end())
              continue;
            auto& its = advice["raise spec.exposure.capacity." + full.substr(full.find('/') + 1) +
                               ".value (" + capacity->second.value.text() + ") of DeviceExposurePolicy " +
                               one->id.name + ", if the device can carry more"];
            if (its.empty() || its.back() != node.name) its.push_back(node.name);
          }
        }
  }
  std::vector<std::string> lines;
  for (auto& [text, names] : advice)
    if (lines.size() < kCapacityAdviceMax) lines.push_back(why::advice_text(text, std::move(names)));
  answer.advice.insert(answer.advice.begin(), lines.begin(), lines.end());
}

// An attribute that a policy sets is not misspelled: that policy determines its devices.
void drop_given_names(const std::map<std::string, FleetPolicies>& policies, why::Answer& answer) {
  if (answer.slips.empty()) return;
  std::set<std::string> names;
  for (const auto& [namespace_, of] : policies) {
    const policy::PolicySetPtr set = of.exposing();
    for (const auto& one : set->exposures)
      for (const auto& [key, value] : one->exposure.additional_attributes) {
        const std::string& full = key;
        names.insert(full.substr(full.find('/') + 1));
      }
    for (const auto& one : set->attributes)
      for (const auto& [key, value] : one->attributes) {
        const std::string& full = key;
        names.insert(full.substr(full.find('/') + 1));
      }
  }
  std::set<std::string> requests;
  for (const why::Answer::Slip& slip : answer.slips)
    if (names.contains(slip.name)) requests.insert(slip.request);
  why::drop_selector_changes(requests, answer);
}

}  // namespace

std::vector<HiddenMatch> find_hidden(ClusterObjects& objects, const FleetDrivers& drivers,
                                     const why::Cluster& cluster, why::Answer& answer) {
  std::vector<HiddenMatch> out;
  if (answer.verdict != why::Verdict::kPending) return out;
  std::vector<reports::NodeReport> reports;
  std::map<std::string, reports::NodeReport> full;  // of nodes with a capacity that is used up
  const std::set<std::string> used_up = nodes_with_used_up(answer);
  UnmatchedDevices unmatched;
  const std::string otherwise = config::Options{}.namespace_;
  std::set<std::string> namespaces = {otherwise};  // that daemons read
  auto read = read_reports(
      objects,
      [&](reports::NodeReport report) {
        unmatched.add(report);
        namespaces.insert(namespace_of(report, otherwise));
        if (used_up.contains(report.node)) full.emplace(report.node, report);
        keep_hidden(report);
        if (!report.groups.empty()) reports.push_back(std::move(report));
      },
      [&] { reports.clear(), unmatched.clear(), full.clear(); }, answer.unsure);
  if (!read) answer.unsure.push_back("the devices that nodes do not offer are unknown: " + read.error().what);
  std::map<std::string_view, const kube::NodeView*> nodes;
  for (const why::Node& node : cluster.nodes) nodes[node.view.name] = &node.view;
  std::map<std::string, FleetPolicies> policies;  // by the namespace that the node's daemon obeys
  std::set<std::string> unlisted;
  const auto policies_of = [&](const std::string& namespace_) -> const FleetPolicies& {
    const auto [at, is_new] = policies.try_emplace(namespace_, drivers, namespace_);
    if (is_new)
      if (auto listed = read_policies(objects, namespace_, at->second, answer.unsure, &unlisted); !listed)
        answer.unsure.push_back("the devices that nodes do not offer are unknown: " + listed.error().what);
    return at->second;
  };
  why::Selectors selectors;
  for (const reports::NodeReport& report : reports) {
    const auto node = nodes.find(report.node);
    if (node == nodes.end() || out.size() >= kHiddenMatchesMax || selectors.is_spent()) continue;
    const FleetPolicies& its = policies_of(namespace_of(report, otherwise));
    for (HiddenMatch& match : hidden_matches(answer, report, *node->second, its, selectors))
      out.push_back(std::move(match));
  }
  if (selectors.is_spent())
    answer.unsure.push_back(
        "the devices that nodes do not offer were not read for every node: the limit of time for expressions is reached");
  answer.causes = hidden_causes(out);
  // A name in a selector that matches is not misspelled.
  std::erase_if(answer.slips, [&](const why::Answer::Slip& slip) {
    return std::ranges::any_of(
        out, [&](const HiddenMatch& match) { return slip.request.ends_with(", " + match.request); });
  });
  why::drop_selector_changes(hidden_enough(out, answer), answer);
  if (!short_requests(answer).empty() && !unmatched.counts().empty()) {
    for (const auto& shape : unmatched.shapes())
      policies_of(shape.namespace_.empty() ? otherwise : shape.namespace_);
    std::set<std::string> hidden;
    for (const HiddenMatch& match : out) hidden.insert(match.request);
    why::Selectors effort;
    const auto found = missing_policies(answer, unmatched, nodes, policies, drivers, otherwise, effort,
                                        hidden, policies_elsewhere(objects, drivers, namespaces));
    why::drop_selector_changes(found.enough, answer);
    answer.causes.insert(answer.causes.end(), found.causes.begin(), found.causes.end());
    answer.hints.insert(answer.hints.end(), found.remedies.begin(), found.remedies.end());
    if (found.causes.empty() && found.remedies.empty() && hidden.empty() && is_any_unmatched(answer))
      hint_at_unmatched(unmatched.counts(), answer);
  }
  drop_given_names(policies, answer);
  for (const auto& [node, report] : full) policies_of(namespace_of(report, otherwise));
  advise_capacity(full, nodes, policies, drivers, otherwise, answer);
  return out;
}

}  // namespace sliced::kubectl
