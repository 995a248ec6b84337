#include "watchers/configured/pod_signal.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "reactor/base/text.h"

namespace sliced::configured {
namespace {

using kube::Json;

constexpr reactor::BackoffPolicy kTries{.initial = Millis{1'000},
                                        .factor = 2.0,
                                        .cap = Millis{30'000},
                                        .jitter = 0.0,
                                        .reset_after = Millis{600'000}};
constexpr Millis kCheckInterval{30'000};

// With a UID the API server refuses it for another pod of the name (409).
std::string encode_wait(const std::string& boot_id, const std::string& uid) {
  Json annotations;
  annotations.set(kWaitAnnotation, "true");
  if (!boot_id.empty()) annotations.set(kWaitBootAnnotation, boot_id);
  Json metadata, patch;
  if (!uid.empty()) metadata.set("uid", uid);
  metadata.set("annotations", std::move(annotations));
  patch.set("metadata", std::move(metadata));
  return kube::encode_json(patch);
}

}  // namespace

Result<PodWait> decode_pod_wait(std::string_view object) {
  const auto json = kube::decode_json(object);
  if (!json) return json.error();
  const auto meta = kube::decode_object_meta(*json);
  if (!meta) return meta.error();
  PodWait out;
  out.waits = meta->annotations.contains(std::string(kWaitAnnotation));
  const auto boot = meta->annotations.find(std::string(kWaitBootAnnotation));
  if (boot != meta->annotations.end()) out.boot_id = boot->second;
  out.name = meta->name;
  out.namespace_ = meta->namespace_;
  out.uid = meta->uid;
  return out;
}

PodSignal::PodSignal(kube::ClusterPorts ports, Settings settings, OnChange on_change)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      on_change_(std::move(on_change)),
      backoff_(ports_.random, kTries),
      awaited_(pod() + ": the annotation " + std::string(kWaitAnnotation) + " is not set yet"),
      uid_(settings_.uid) {}

PodSignal::~PodSignal() = default;

void PodSignal::start() {
  timer_ = ports_.scheduler.after(Millis{0}, [this] { settings_.boot_id.empty() ? set() : read_own_pod(); });
}

void PodSignal::read_own_pod() {
  call_ = ports_.cluster.get(
      {kube::kPods, settings_.namespace_, settings_.pod},
      {.on_done =
           [this](std::string_view object) {
             const auto found = own(object);
             failed_ = 0;
             if (!replaced_.empty()) return give_up(replaced_);
             if (found && found->waits && found->boot_id == settings_.boot_id) return begin_wait();
             if (found && found->boot_id == settings_.boot_id)
               return mark_seen("it was released earlier in this boot");
             set();
           },
       .on_failure =
           [this](const kube::Failure& failure) { try_again(failure, "read", &PodSignal::read_own_pod); }});
}

void PodSignal::set() {
  call_ = ports_.cluster.write(
      {.verb = kube::Verb::kMerge,
       .resource = kube::kPods,
       .namespace_ = settings_.namespace_,
       .name = settings_.pod,
       .body = encode_wait(settings_.boot_id, uid_),
       .field_manager = "sliced"},
      {.on_done = [this](std::string_view object) { on_set(object); },
       .on_failure = [this](const kube::Failure& failure) { try_again(failure, "patch", &PodSignal::set); }});
}

void PodSignal::on_set(std::string_view object) {
  const auto set = own(object);
  if (!replaced_.empty()) return give_up(replaced_);
  begin_wait();
}

std::string PodSignal::remedy(const kube::Failure& failure, std::string_view verbs) const {
  if (failure.code == Errc::kDenied)
    return "; grant " + std::string(verbs) + " on pods in namespace " + settings_.namespace_ +
           " to this account (docs/externally-managed.md)";
  if (failure.code == Errc::kNotFound)
    return "; --pod-name and --pod-namespace must be this pod's (metadata.name, metadata.namespace)";
  return "";
}

void PodSignal::try_again(const kube::Failure& failure, std::string_view step, void (PodSignal::*again)()) {
  ++failed_;
  const std::string why = pod() + ": cannot " + std::string(step) + " it: " + failure.what +
                          remedy(failure, settings_.boot_id.empty() ? "patch" : "get and patch");
  if (settings_.tries_max != 0 && failed_ >= settings_.tries_max)
    return give_up(why + "; this was attempt " + std::to_string(failed_) + ", and the last");
  const Millis wait =
      std::max(backoff_.next(ports_.scheduler.now()), failure.retry_after.value_or(Millis{0}));
  ports_.log.warning("annotation of the own pod not set: will retry",
                     {{"pod", settings_.namespace_ + "/" + settings_.pod},
                      {"try", failed_},
                      {"why", why},
                      {"again_in_ms", wait.count()}});
  timer_ = ports_.scheduler.after(wait, [this, again] { (this->*again)(); });
  await(why);
}

void PodSignal::begin_wait() {
  call_.reset();
  failed_ = 0;
  backoff_.reset();
  ports_.log.info(
      "waiting for the configuration of this node: remove the annotation from this pod when it is done",
      {{"pod", settings_.namespace_ + "/" + settings_.pod}, {"annotation", kWaitAnnotation}});
  kube::Scope scope{kube::kPods, settings_.namespace_, "metadata.name=" + settings_.pod, true};
  watcher_ = std::make_unique<Watcher>(ports_, std::move(scope), decode_pod_wait,
                                       [this](const auto& event) { on_event(event); });
  watcher_->start();
  schedule_check(kCheckInterval);
  await(pod() + " has the annotation " + std::string(kWaitAnnotation) +
        ", which who configures this node removes");
}

void PodSignal::on_event(const SourceEvent<Watcher::Item>& event) {
  const auto may_be_over = [](const Watcher::Item& item) { return !item.value || !item.value->waits; };
  if (const auto* changed = std::get_if<Changed<Watcher::Item>>(&event)) {
    if (may_be_over(changed->now)) check_pod();
  } else if (const auto* list = std::get_if<Relisted<Watcher::Item>>(&event)) {
    if (std::ranges::any_of(list->all, may_be_over)) check_pod();
  }
}

void PodSignal::check_pod() {
  if (call_) {
    must_recheck_ = true;
    return;
  }
  timer_.reset();
  call_ = ports_.cluster.get(
      {kube::kPods, settings_.namespace_, settings_.pod},
      {.on_done = [this](std::string_view object) { on_pod_read(own(object)); },
       .on_failure = [this](const kube::Failure& failure) { on_pod_read_failed(failure); }});
}

Result<PodWait> PodSignal::own(std::string_view object) {
  auto found = decode_pod_wait(object);
  if (found && (found->name != settings_.pod || found->namespace_ != settings_.namespace_))
    return Error{Errc::kInvalid, "the answer is about " + in_quotes(found->namespace_ + "/" + found->name) +
                                     ", not about it"};
  if (found && uid_.empty()) uid_ = found->uid;
  if (found && found->uid != uid_) {
    replaced_ = pod() + " was replaced: its UID is " + escaped(found->uid) +
                ", and this process runs in the one with " + escaped(uid_) + "; the new pod waits separately";
    return Error{Errc::kInvalid, replaced_};
  }
  return found;
}

void PodSignal::on_pod_read(const Result<PodWait>& found) {
  call_.reset();
  failed_ = 0;
  backoff_.reset();
  if (!replaced_.empty()) return give_up(replaced_);
  if (found && !found->waits) return mark_seen("the annotation is gone");
  if (!found) ports_.log.warning("own pod invalid: reading it again", {{"why", found.error().what}});
  schedule_check(std::exchange(must_recheck_, false) ? Millis{0} : kCheckInterval);
}

// A failed read does not release the pod.
void PodSignal::on_pod_read_failed(const kube::Failure& failure) {
  call_.reset();
  must_recheck_ = false;
  const std::string why = pod() + ": cannot read it: " + failure.what + remedy(failure, "get");
  failed_ = failure.code == Errc::kDenied ? failed_ + 1 : 0;
  if (settings_.tries_max != 0 && failed_ >= settings_.tries_max)
    return give_up(why + "; this was attempt " + std::to_string(failed_) + ", and the last");
  ports_.log.warning("own pod cannot be read: still waiting for the configuration", {{"why", why}});
  schedule_check(std::max(backoff_.next(ports_.scheduler.now()), failure.retry_after.value_or(Millis{0})));
  await(why);
}

void PodSignal::schedule_check(Millis delay) {
  timer_ = ports_.scheduler.after(delay, [this] { check_pod(); });
}

void PodSignal::mark_seen(std::string_view why) {
  is_seen_ = true;
  ports_.log.info("node configured", {{"pod", settings_.namespace_ + "/" + settings_.pod}, {"why", why}});
  await("");
}

void PodSignal::give_up(std::string why) {
  given_up_ = std::move(why);
  await(given_up_);
}

void PodSignal::await(std::string what) {
  const bool is_over = is_seen_ || !given_up_.empty();
  if (is_over) {
    watcher_.reset();
    timer_.reset();
  }
  if (!is_over && what == awaited_) return;
  awaited_ = std::move(what);
  if (on_change_) callbacks_.run(on_change_);
}

}  // namespace sliced::configured
