#include "watchers/configured/release.h"

#include <algorithm>
#include <utility>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "reactor/base/text.h"
#include "watchers/configured/pod_signal.h"

namespace sliced::configured {
namespace {

using kube::Json;

// Encodes a merge patch: null removes a member, and an absent one is not an error (RFC 7386).
std::string encode_release() {
  Json annotations, metadata, patch;
  annotations = Json::Object{{std::string(kWaitAnnotation), nullptr}};
  metadata.set("annotations", std::move(annotations));
  patch.set("metadata", std::move(metadata));
  return kube::encode_json(patch);
}

bool has_labels(const kube::ObjectMeta& meta, const kube::Labels& required) {
  return std::ranges::all_of(required, [&](const auto& label) {
    const auto at = meta.labels.find(label.first);
    return at != meta.labels.end() && at->second == label.second;
  });
}

}  // namespace

Release::Release(kube::Cluster& cluster, WaitingPods which, std::function<void(Released)> on_done)
    : cluster_(cluster), selection_(std::move(which)), on_done_(std::move(on_done)) {
  call_ = cluster_.list(
      {.scope = {kube::kPods, selection_.namespace_, "spec.nodeName=" + selection_.node, false}},
      {.on_item = [this](std::string_view object) { on_pod(object); },
       .on_done = [this](const std::string&) { next(); },
       .on_failure =
           [this](const kube::Failure& failure) {
             waiting_.clear();
             fail("pods of namespace " + selection_.namespace_ + " on node " + selection_.node, failure,
                  "list");
             next();
           }});
}

void Release::on_pod(std::string_view object) {
  const auto json = kube::decode_json(object);
  const auto meta = json ? kube::decode_object_meta(*json) : Result<kube::ObjectMeta>(json.error());
  if (!meta) return released_.problems.push_back("a pod that cannot be understood: " + meta.error().what);
  if (!meta->annotations.contains(std::string(kWaitAnnotation)) || !has_labels(*meta, selection_.labels))
    return;
  // Other nodes may not be configured.
  const Json* spec = json->find("spec");
  if (spec == nullptr || spec->text("nodeName") != selection_.node ||
      meta->namespace_ != selection_.namespace_)
    return;
  waiting_.push_back(meta->name);
}

void Release::next() {
  if (waiting_.empty()) return callbacks_.run(on_done_, std::move(released_));
  const std::string pod = std::move(waiting_.front());
  waiting_.pop_front();
  call_ = cluster_.write({.verb = kube::Verb::kMerge,
                          .resource = kube::kPods,
                          .namespace_ = selection_.namespace_,
                          .name = pod,
                          .body = encode_release(),
                          .field_manager = "sliced"},
                         {.on_done =
                              [this, pod](std::string_view) {
                                released_.pods.push_back(pod);
                                next();
                              },
                          .on_failure =
                              [this, pod](const kube::Failure& failure) {
                                if (failure.code != Errc::kNotFound)
                                  fail("pod " + selection_.namespace_ + "/" + pod, failure, "patch");
                                next();
                              }});
}

void Release::fail(const std::string& what, const kube::Failure& failure, std::string_view verb) {
  released_.problems.push_back(what + ": cannot " + std::string(verb) + ": " + failure.what +
                               (failure.code == Errc::kDenied
                                    ? "; grant " + std::string(verb) + " on pods in namespace " +
                                          selection_.namespace_ +
                                          " to this account (docs/externally-managed.md)"
                                    : ""));
}

}  // namespace sliced::configured
