#include "kubectl/why/node.h"

#include <algorithm>

#include "kube/objects/object_meta.h"
#include "kube/objects/quantity.h"
#include "kubectl/why/fields.h"
#include "reactor/base/text.h"

namespace sliced::why {
namespace {

constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";

constexpr __int128 kNanosOfOne = 1'000'000'000;

// Returns a whole number; 0 for others.
int64_t read_count(const Fields& amount) {
  const auto found = kube::Quantity::decode(*amount.value());
  if (!found) {
    amount.wrong(found.error().what);
    return 0;
  }
  if (found->nanos() % kNanosOfOne != 0) return 0;
  return static_cast<int64_t>(found->nanos() / kNanosOfOne);
}

Container read_container(const Fields& item, bool is_init) {
  Container out{.name = item["name"].text(), .is_init = is_init};
  out.is_sidecar = is_init && item["restartPolicy"].text() == "Always";
  for (const char* kind : {"requests", "limits"})
    item["resources"][kind].each_member([&](const std::string& key, const Fields& amount) {
      if (amount.is_there()) out.resources.emplace(key, read_count(amount));
    });
  return out;
}

void read_claims(const Fields& root, Pod& out) {
  root["spec"]["resourceClaims"].each([&](const Fields& item) {
    out.claims.push_back(
        {item["name"].text(), item["resourceClaimName"].text(), item["resourceClaimTemplateName"].text()});
  });
  // The claim that was created from a template has its name there; without one, none is required.
  root["status"]["resourceClaimStatuses"].each([&](const Fields& item) {
    for (PodClaim& one : out.claims)
      if (one.name == item["name"].text() && one.claim.empty()) {
        one.claim = item["resourceClaimName"].text();
        if (one.claim.empty()) one.template_.clear();
      }
  });
  std::erase_if(out.claims, [](const PodClaim& one) { return one.claim.empty() && one.template_.empty(); });
}

void read_affinity(const Fields& required, Pod& out) {
  if (!required.is_there()) return;
  kube::FieldProblems problems;
  out.affinity = kube::decode_node_selector(*required.value(), problems);
  if (!problems.empty()) required.wrong(problems.front().field + ": " + problems.front().what);
}

void read_pod(const Fields& root, Pod& out) {
  const Fields spec = root["spec"];
  out.node_name = spec["nodeName"].text();
  out.phase = root["status"]["phase"].text();
  out.reason = root["status"]["reason"].text();
  out.message = root["status"]["message"].text();
  out.scheduled_at = root["metadata"]["creationTimestamp"].text();
  root["status"]["conditions"].each([&](const Fields& item) {
    if (item["type"].text() == "PodScheduled" && item["status"].text() == "True" &&
        item["lastTransitionTime"].is_there())
      out.scheduled_at = item["lastTransitionTime"].text();
  });
  out.is_deleted = root["metadata"]["deletionTimestamp"].is_there();
  out.scheduler = spec["schedulerName"].text();
  spec["nodeSelector"].each_member(
      [&](const std::string& key, const Fields& value) { out.node_selector[key] = value.text(); });
  read_affinity(spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"], out);
  spec["tolerations"].each([&](const Fields& item) {
    out.tolerations.push_back(
        {item["key"].text(), item["operator"].text(), item["value"].text(), item["effect"].text()});
  });
  spec["schedulingGates"].each([&](const Fields& item) { out.gates.push_back(item["name"].text()); });
  for (const bool is_init : {true, false})
    spec[is_init ? "initContainers" : "containers"].each(
        [&](const Fields& item) { out.containers.push_back(read_container(item, is_init)); });
  out.extended_claim = root["status"]["extendedResourceClaimStatus"]["resourceClaimName"].text();
  read_claims(root, out);
}

}  // namespace

Result<Node> decode_node(const kube::Json& object) {
  auto meta = kube::decode_object_meta(object);
  if (!meta) return std::move(meta.error()).in(kube::describe_object(object));
  Node out;
  out.view = {meta->name, meta->labels};
  Error error{Errc::kInvalid, ""};
  const Fields root(&object, "", error);
  const Fields spec = root["spec"];
  root["status"]["allocatable"].each_member([&](const std::string& key, const Fields& amount) {
    if (key.find('/') != std::string::npos && amount.is_there()) out.extended[key] = read_count(amount);
  });
  spec["taints"].each([&](const Fields& item) {
    out.taints.push_back({item["key"].text(), item["value"].text(), item["effect"].text()});
  });
  const bool has_taint = std::any_of(out.taints.begin(), out.taints.end(),
                                     [](const kube::Taint& taint) { return taint.key == kUnschedulable; });
  if (spec["unschedulable"].flag() && !has_taint)
    out.taints.push_back({std::string(kUnschedulable), "", "NoSchedule"});
  if (!error.what.empty()) return std::move(error).in(kube::describe_object(object));
  return out;
}

Result<Pod> decode_pod(const kube::Json& object) {
  auto meta = kube::decode_object_meta(object);
  if (!meta) return std::move(meta.error()).in(kube::describe_object(object));
  Pod out;
  out.namespace_ = meta->namespace_;
  out.name = meta->name;
  out.uid = meta->uid;
  Error error{Errc::kInvalid, ""};
  read_pod(Fields(&object, "", error), out);
  if (!error.what.empty()) return std::move(error).in(kube::describe_object(object));
  return out;
}

std::string scheduling_obstacle(const Pod& pod, const Node& node) {
  for (const kube::Taint& taint : node.taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    if (std::any_of(pod.tolerations.begin(), pod.tolerations.end(),
                    [&](const Toleration& one) { return tolerates(one, taint); }))
      continue;
    return "the pod does not tolerate the node's taint " + taint.key +
           (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
  }
  for (const auto& [key, value] : pod.node_selector) {
    const auto found = node.view.labels.find(key);
    if (found == node.view.labels.end() || found->second != value)
      return "the pod's nodeSelector requires label " + key + "=" + value + "; the node has " +
             (found == node.view.labels.end() ? "none" : key + "=" + found->second);
  }
  if (!pod.affinity) return "";
  const kube::NodeMatch match = kube::match_node(*pod.affinity, node.view);
  if (match.matched) return "";
  return "the pod's node affinity requires " + match.field + (match.field.empty() ? "" : " ") + match.wanted +
         (match.found.empty() ? "; the node has none" : "; the node has " + match.found);
}

}  // namespace sliced::why
