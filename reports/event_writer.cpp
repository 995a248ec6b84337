#include "reports/event_writer.h"

#include <algorithm>
#include <utility>

#include "kube/kinds.h"
#include "reactor/base/text.h"

namespace sliced::reports {
namespace events {
namespace {

constexpr size_t kNoteBytesMax = 1'000, kInstanceBytesMax = 128;  // k8s.io/api/events/v1 Event
constexpr const char* kNamespaceOfNoNamespace = "default";

kube::Json object(std::initializer_list<std::pair<const char*, std::string>> members) {
  kube::Json out = kube::Json::Object{};
  for (const auto& [key, text] : members)
    if (!text.empty()) out.set(key, text);
  return out;
}

}  // namespace
}  // namespace events

EventWriter::EventWriter(kube::Ports ports, Settings settings)
    : ports_(std::move(ports)), settings_(std::move(settings)) {}

void EventWriter::look(const Happenings& now) {
  if (!is_permitted_) return;
  const TimePoint at = ports_.scheduler.now();
  std::map<Key, const Happening*> is_so;
  for (const Happening& one : now) is_so.emplace(one.key(), &one);
  for (auto& [key, series] : series_)
    if (!is_so.contains(key)) series.is_now = false;
  for (const auto& [key, one] : is_so) {
    const auto known = series_.find(key);
    if (known == series_.end() && series_.size() >= kSeriesMax) {
      ++counters_.left_out;
      continue;
    }
    Series& series = known == series_.end() ? series_[key] : known->second;
    series.seen_at = at;
    if (std::exchange(series.is_now, true)) continue;
    series.last = *one;
    ++series.count;
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
  if (call_) return;
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
    if (!room_.take(now)) {
      ++counters_.left_out;
      continue;
    }
    return send(series);
  }
  timer_.reset();
  if (later) timer_ = ports_.scheduler.after(*later - now, [this] { next(); });
}

kube::Json EventWriter::regarding(const PolicyRef& policy) const {
  if (policy.kind.empty())
    return events::object(
        {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", settings_.node}, {"uid", settings_.node_uid()}});
  const kube::Resource& kind = policy.kind == kube::kSriovResourcePolicies.kind
                                   ? kube::kSriovResourcePolicies
                                   : kube::kDeviceExposurePolicies;
  return events::object({{"apiVersion", kube::api_version(kind)},
                         {"kind", policy.kind},
                         {"namespace", policy.namespace_},
                         {"name", policy.name},
                         {"uid", settings_.policy_uid(policy)}});
}

kube::Json EventWriter::event_of(const Series& series) const {
  kube::Json out = events::object({{"apiVersion", kube::api_version(kube::kEvents)},
                                   {"kind", kube::kEvents.kind},
                                   {"eventTime", settings_.now()},
                                   {"reportingController", "dra.networking/sliced"},
                                   {"reportingInstance", cut(settings_.node, events::kInstanceBytesMax)},
                                   {"action", "Offer"},
                                   {"reason", series.last.reason},
                                   {"type", "Warning"}});
  out.set("metadata", events::object({{"namespace", series.namespace_}, {"name", series.name}}));
  out.set("regarding", regarding(series.last.policy));
  out.set("note", cut(printable(settings_.node + ": " + series.last.note, events::kNoteBytesMax),
                      events::kNoteBytesMax));
  return out;
}

void EventWriter::send(Series& series) {
  series.written_at = ports_.scheduler.now();
  kube::WriteRequest request{.resource = kube::kEvents};
  if (series.name.empty()) {
    const PolicyRef& policy = series.last.policy;
    series.namespace_ = policy.namespace_.empty() ? events::kNamespaceOfNoNamespace : policy.namespace_;
    const std::string& of = policy.name.empty() ? settings_.node : policy.name;
    // The same after a restart: an Event that is there is gone on with.
    const std::string same = settings_.node + "/" + series.last.reason + "/" + policy.kind + "/" +
                             policy.namespace_ + "/" + policy.name + "/" + series.last.what;
    series.name = of.substr(0, 200) + "." + hex(stable_hash(same), 16);
    series.count = 1;
    request.verb = kube::Verb::kCreate;
    request.body = kube::encode_json(event_of(series));
  } else {
    kube::Json times = kube::Json::Object{};
    times.set("count", series.count);
    times.set("lastObservedTime", settings_.now());
    kube::Json body = kube::Json::Object{};
    body.set("series", std::move(times));
    request.verb = kube::Verb::kMerge;
    request.field_manager = "sliced";
    request.body = kube::encode_json(body);
  }
  request.namespace_ = series.namespace_;
  request.name = series.name;
  call_ = ports_.cluster.write(
      std::move(request),
      {[this, key = Key(series.last.key())](std::string_view) { on_written(key); },
       [this, key = Key(series.last.key())](const kube::Failure& failure) { on_failure(key, failure); }});
}

void EventWriter::on_written(const Key&) {
  ++counters_.taken;
  failure_.forget();
  ended();
}

void EventWriter::on_failure(const Key& key, const kube::Failure& failure) {
  const auto at = series_.find(key);
  if (at != series_.end() && failure.code == Errc::kConflict) return go_on_with(at->second);
  ++counters_.failed;
  // The next is another Event; one that has expired is made anew at once.
  if (at != series_.end()) {
    at->second.name.clear();
    at->second.is_due = failure.code == Errc::kNotFound && at->second.count > 1;
  }
  if (failure_.is_new(failure.what))
    ports_.log.warning("an event was not written; nothing waits for it",
                       {{"reason", std::get<0>(key)}, {"why", failure.what}});
  ended();
}

// It is there, of the process before: how often it was seen stands in it.
void EventWriter::go_on_with(const Series& series) {
  const auto failed = std::move(call_);
  const Key key = series.last.key();
  call_ = ports_.cluster.get(
      {kube::kEvents, series.namespace_, series.name},
      {[this, key](std::string_view object) {
         const auto json = kube::decode_json(object);
         const kube::Json* count = json ? json->find({"series", "count"}) : nullptr;
         if (const auto at = series_.find(key); at != series_.end()) {
           at->second.count = std::max<int64_t>(
               (count != nullptr && count->integer() != nullptr ? *count->integer() : 1) + 1, 2);
           at->second.is_due = true;
           at->second.written_at = ports_.scheduler.now() - kSeriesEvery;
         }
         ended();
       },
       [this, key](const kube::Failure& failure) {
         on_failure(key, {.code = Errc::kIo, .what = failure.what});
       }});
}

// On a turn of its own: what failed at once would be followed by the next at once.
void EventWriter::ended() {
  const auto call = std::move(call_);
  timer_ = ports_.scheduler.after(Millis{0}, [this] { next(); });
}

}  // namespace sliced::reports
