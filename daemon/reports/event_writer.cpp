#include "daemon/reports/event_writer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kube/objects/kinds.h"
#include "reactor/base/text.h"

namespace sliced::reports {
namespace {

constexpr size_t kNoteBytesMax = 1'000, kInstanceBytesMax = 128;  // k8s.io/api/events/v1 Event
constexpr size_t kNameOfBytesMax = 200;
constexpr int64_t kCountMax = INT32_MAX;  // an int32 of the API
constexpr const char* kNamespaceOfNoNamespace = "default";

kube::Json object(std::initializer_list<std::pair<const char*, std::string>> members) {
  kube::Json out = kube::Json::Object{};
  for (const auto& [key, text] : members)
    if (!text.empty()) out.set(key, text);
  return out;
}

std::string instance_of(const std::string& node) { return cut(node, kInstanceBytesMax); }

}  // namespace

EventWriter::EventWriter(kube::ClusterPorts ports, Settings settings)
    : ports_(std::move(ports)), settings_(std::move(settings)) {
  for (const Subject subject : {Subject::kPolicies, Subject::kNode, Subject::kPods})
    room_.emplace(subject, watchers::TokenBucket(10, Millis{120'000}));
}

EventWriter::Subject EventWriter::subject_of(const Key& key) {
  const std::string& kind = std::get<PolicyRef>(key).kind;
  return kind.empty() ? Subject::kNode : kind == kPodKind ? Subject::kPods : Subject::kPolicies;
}

void EventWriter::permit(bool writes) {
  is_permitted_ = writes;
  next();
}

bool EventWriter::is_full(const Key& key) const {
  const auto alike = std::ranges::count_if(
      series_, [&](const auto& one) { return subject_of(one.first) == subject_of(key); });
  return static_cast<size_t>(alike) >= kSeriesMax;
}

void EventWriter::look(const ReportedEvents& now) {
  if (!is_permitted_) return;
  const TimePoint at = ports_.scheduler.now();
  std::map<Key, const ReportedEvent*> is_so;
  for (const ReportedEvent& one : now) is_so.emplace(one.key(), &one);
  for (auto& [key, series] : series_)
    if (!is_so.contains(key)) series.is_now = false;
  for (const auto& [key, one] : is_so) {
    const auto known = series_.find(key);
    if (known == series_.end() && is_full(key)) {
      ++counters_.left_out;
      continue;
    }
    Series& series = known == series_.end() ? series_[key] : known->second;
    series.seen_at = at;
    if (std::exchange(series.is_now, true)) continue;
    series.last = *one;
    series.count = std::min(series.count + 1, kCountMax);
    series.is_due = true;
  }
  forget_old();
  next();
}

void EventWriter::forget_old() {
  const TimePoint now = ports_.scheduler.now();
  std::erase_if(series_, [&](const auto& one) {
    return !one.second.is_now && !one.second.is_due && now - one.second.seen_at >= kSeriesEndsAfter;
  });
}

void EventWriter::next() {
  if (call_ || !is_permitted_) return;
  const TimePoint now = ports_.scheduler.now();
  std::optional<TimePoint> later;
  for (auto& [key, series] : series_) {
    if (!series.is_due) continue;
    const TimePoint due = series.name.empty() ? now : series.written_at + kSeriesEvery;
    if (due > now) {
      later = std::min(later.value_or(due), due);
      continue;
    }
    series.is_due = false;
    const bool is_new = series.name.empty();
    if (is_new) name(series);
    if (is_new && series.last.is_of_fleet) return look_for(series);
    if (is_new ? create(series) : add_to_series(series)) return;
  }
  timer_.reset();
  if (later) timer_ = ports_.scheduler.after(*later - now, [this] { next(); });
}

kube::Json EventWriter::regarding(const PolicyRef& policy) const {
  if (policy.kind.empty())
    return object(
        {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", settings_.node}, {"uid", settings_.node_uid()}});
  const kube::Resource& kind = policy.kind == kPodKind ? kube::kPods
                               : policy.kind == kube::kSriovResourcePolicies.kind
                                   ? kube::kSriovResourcePolicies
                                   : kube::kDeviceExposurePolicies;
  return object({{"apiVersion", kube::api_version(kind)},
                 {"kind", policy.kind},
                 {"namespace", policy.namespace_},
                 {"name", policy.name},
                 {"uid", settings_.object_uid(policy)}});
}

kube::Json EventWriter::event_of(const Series& series) const {
  kube::Json out = object({{"apiVersion", kube::api_version(kube::kEvents)},
                           {"kind", kube::kEvents.kind},
                           {"eventTime", settings_.now()},
                           {"reportingController", "dra.networking/sliced"},
                           {"reportingInstance", instance_of(settings_.node)},
                           {"action", subject_of(series.last.key()) == Subject::kPods ? "Prepare" : "Offer"},
                           {"reason", series.last.reason},
                           {"type", "Warning"}});
  out.set("metadata", object({{"namespace", series.namespace_}, {"name", series.name}}));
  out.set("regarding", regarding(series.last.policy));
  out.set("note",
          cut(printable((subject_of(series.last.key()) == Subject::kNode ? "" : settings_.node + ": ") +
                            series.last.note,
                        kNoteBytesMax),
              kNoteBytesMax));
  return out;
}

// The name is the same after a restart and, for conditions of the fleet, on each node, so that an existing
// Event is found. A policy that was created again under its name gets other ones.
void EventWriter::name(Series& series) const {
  const auto& [reason, policy, what, note, is_of_fleet] = series.last;
  series.namespace_ = policy.namespace_.empty() ? kNamespaceOfNoNamespace : policy.namespace_;
  const std::string same = (is_of_fleet ? "" : settings_.node) + "/" + reason + "/" + policy.kind + "/" +
                           policy.namespace_ + "/" + policy.name + "/" + what + "/" +
                           (policy.kind.empty() ? "" : settings_.object_uid(policy));
  std::string of = (policy.name.empty() ? settings_.node : policy.name).substr(0, kNameOfBytesMax);
  while (of.ends_with('.') || of.ends_with('-'))
    of.pop_back();  // a part of an object's name must not end with these
  series.name = of + "." + hex(stable_hash(same), 16);
}

bool EventWriter::use_budget(Series& series) {
  const TimePoint now = ports_.scheduler.now();
  if (room_.at(subject_of(series.last.key())).take(now)) {
    series.written_at = now;
    return true;
  }
  ++counters_.left_out;
  return false;
}

void EventWriter::write(const Key& key, kube::WriteRequest request) {
  const auto before = std::move(call_);
  call_ = ports_.cluster.write(std::move(request),
                               {[this](std::string_view) {
                                  ++counters_.succeeded;
                                  failure_.forget();
                                  ended();
                                },
                                [this, key](const kube::Failure& failure) { on_failure(key, failure); }});
}

bool EventWriter::create(Series& series) {
  if (!use_budget(series)) {
    series.name.clear();
    return false;
  }
  series.count = 1;
  write(series.last.key(), {.resource = kube::kEvents,
                            .namespace_ = series.namespace_,
                            .name = series.name,
                            .body = kube::encode_json(event_of(series))});
  return true;
}

bool EventWriter::add_to_series(Series& series) {
  if (!use_budget(series)) return false;
  kube::Json times = kube::Json::Object{};
  times.set("count", series.count);
  times.set("lastObservedTime", settings_.now());
  kube::Json body = kube::Json::Object{};
  body.set("series", std::move(times));
  write(series.last.key(), {.verb = kube::Verb::kMerge,
                            .resource = kube::kEvents,
                            .namespace_ = series.namespace_,
                            .name = series.name,
                            .body = kube::encode_json(body),
                            .field_manager = "sliced"});
  return true;
}

void EventWriter::look_for(const Series& series) {
  const auto before = std::move(call_);
  const Key key = series.last.key();
  call_ = ports_.cluster.get({kube::kEvents, series.namespace_, series.name},
                             {[this, key](std::string_view object) { on_found(key, object); },
                              [this, key](const kube::Failure& failure) {
                                const auto at = series_.find(key);
                                const bool is_first = failure.code == Errc::kNotFound &&
                                                      at != series_.end() && at->second.last.is_of_fleet;
                                if (!is_first)
                                  return on_failure(key, {.code = Errc::kIo, .what = failure.what});
                                if (!create(at->second)) ended();
                              }});
}

// An Event of another node is sufficient. An Event of an earlier process has its count.
void EventWriter::on_found(const Key& key, std::string_view object) {
  const auto json = kube::decode_json(object);
  const auto at = series_.find(key);
  if (at == series_.end()) return ended();
  Series& series = at->second;
  if (!json || json->text("reportingInstance") != instance_of(settings_.node)) {
    series.name.clear();
    return ended();
  }
  const kube::Json* count = json->find({"series", "count"});
  const int64_t before = count != nullptr && count->integer() != nullptr ? *count->integer() : 1;
  series.count = std::clamp<int64_t>(before, 1, kCountMax - 1) + 1;
  series.is_due = true;
  series.written_at = ports_.scheduler.now() - kSeriesEvery;
  ended();
}

void EventWriter::on_failure(const Key& key, const kube::Failure& failure) {
  const auto at = series_.find(key);
  if (at != series_.end() && failure.code == Errc::kConflict) return look_for(at->second);
  ++counters_.failed;
  // The next one is another Event; an expired one is created again immediately.
  if (at != series_.end()) {
    at->second.name.clear();
    at->second.is_due = failure.code == Errc::kNotFound && at->second.count > 1;
  }
  if (failure_.is_new(failure.what))
    ports_.log.warning("Kubernetes Event not written", {{"reason", std::get<0>(key)}, {"why", failure.what}});
  ended();
}

// On a turn of its own: an immediate failure would start the next one recursively.
void EventWriter::ended() {
  const auto call = std::move(call_);
  timer_ = ports_.scheduler.after(Millis{0}, [this] { next(); });
}

}  // namespace sliced::reports
