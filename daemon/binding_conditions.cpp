#include "daemon/binding_conditions.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kube/objects/api_time.h"
#include "kube/objects/claim_status.h"
#include "kube/objects/kinds.h"
#include "policy/gates/readiness.h"

namespace sliced::daemon {
namespace {

using kube::Json;

constexpr reactor::BackoffPolicy kWriteAgain{.initial = Millis{500},
                                             .factor = 2.0,
                                             .cap = Millis{30'000},
                                             .jitter = 0.5,
                                             .reset_after = Millis{600'000}};
// Most objects are not kept, so their number uses no memory.
constexpr watchers::ListWatchLimits kLimits{.objects_max = 1'000'000, .list_bytes_max = size_t{4} << 30};
constexpr size_t kMessageBytesMax = 1'024;  // metav1.Condition allows 32768

const Json::Array& array_of(const Json* value) {
  static const Json::Array kNone;
  return value == nullptr || value->array() == nullptr ? kNone : *value->array();
}

bool names(const Json& result, const char* field, const std::string& condition) {
  const Json::Array& all = array_of(result.find(field));
  return std::any_of(all.begin(), all.end(),
                     [&](const Json& one) { return one.string() != nullptr && *one.string() == condition; });
}

bool is_of(const Json& status, const BindingDevice& device) {
  return status.text("driver") == device.driver && status.text("pool") == device.pool &&
         status.text("device") == device.device && status.text("shareID") == device.share_id;
}

void read_conditions(const Json& claim, BindingDevice& device) {
  for (const Json& status : array_of(claim.find({"status", "devices"}))) {
    if (!is_of(status, device)) continue;
    for (const Json& one : array_of(status.find("conditions"))) {
      const std::string type(one.text("type"));
      if (type != policy::ready_condition(device.driver) && type != policy::lost_condition(device.driver))
        continue;
      device.conditions[type] = {one.text("status") == "True", std::string(one.text("lastTransitionTime")),
                                 std::string(one.text("reason")), std::string(one.text("message"))};
    }
  }
}

void set(BindingDevice& device, const std::string& type, ClaimCondition condition, const std::string& now) {
  const auto was = device.conditions.find(type);
  const bool is_same = was != device.conditions.end() && was->second.is_true == condition.is_true;
  condition.since = is_same ? was->second.since : now;
  device.conditions[type] = std::move(condition);
}

void say(BindingDevice& device, const BindingReadiness& word, const std::string& now) {
  const std::string why = word.why.substr(0, kMessageBytesMax);
  const bool is_ready = word.is == BindingReadiness::Is::kReady,
             is_lost = word.is == BindingReadiness::Is::kLost;
  set(device, policy::ready_condition(device.driver),
      {is_ready, "",
       is_ready  ? "Ready"
       : is_lost ? "Lost"
                 : "NotReady",
       is_ready ? "the device is ready" : why},
      now);
  set(device, policy::lost_condition(device.driver),
      {is_lost, "", is_lost ? "Lost" : "Offered", is_lost ? why : "the device is offered"}, now);
}

Json encode(const std::string& type, const ClaimCondition& condition) {
  return Json::Object{{"type", type},
                      {"status", condition.is_true ? "True" : "False"},
                      {"lastTransitionTime", condition.since},
                      {"reason", condition.reason},
                      {"message", condition.message}};
}

}  // namespace

BindingClaim decode_binding_claim(const Json& claim, const std::set<std::string>& drivers) {
  BindingClaim out;
  const Json* metadata = claim.find("metadata");
  if (metadata == nullptr) return out;
  out.namespace_ = metadata->text("namespace");
  out.name = metadata->text("name");
  out.uid = metadata->text("uid");
  for (const Json& result : array_of(claim.find({"status", "allocation", "devices", "results"}))) {
    BindingDevice device{.driver = std::string(result.text("driver")),
                         .pool = std::string(result.text("pool")),
                         .device = std::string(result.text("device")),
                         .share_id = std::string(result.text("shareID"))};
    if (!drivers.contains(device.driver) ||
        !names(result, "bindingConditions", policy::ready_condition(device.driver)))
      continue;
    read_conditions(claim, device);
    out.devices.push_back(std::move(device));
  }
  return out;
}

std::optional<BindingClaim> with_conditions(const BindingClaim& claim, const std::string& driver,
                                            const JudgeDevice& judge, const std::string& now) {
  BindingClaim out{claim.namespace_, claim.name, claim.uid, {}};
  bool is_other = false;
  for (const BindingDevice& device : claim.devices) {
    if (device.driver != driver) continue;
    BindingDevice& written = out.devices.emplace_back(device);
    if (const auto judged = judge(device)) say(written, *judged, now);
    // A server-side apply removes the fields that it omits and this manager owned.
    is_other |= written != device;
    if (written.conditions.empty()) out.devices.pop_back();
  }
  if (!is_other) return std::nullopt;
  return out;
}

std::string encode_conditions(const BindingClaim& claim) {
  Json::Array devices;
  for (const BindingDevice& device : claim.devices) {
    Json::Array conditions;
    for (const auto& [type, condition] : device.conditions) conditions.push_back(encode(type, condition));
    Json entry = kube::encode_status_device(device.driver, device.pool, device.device, device.share_id);
    entry.set("conditions", std::move(conditions));
    devices.push_back(std::move(entry));
  }
  return kube::encode_claim_devices(claim.namespace_, claim.name, claim.uid, std::move(devices));
}

BindingConditions::BindingConditions(Dependencies deps) : deps_(std::move(deps)) {}

void BindingConditions::start() {
  if (watch_) return;
  watchers::ObjectSink& sink = *this;
  watch_ = std::make_unique<watchers::ListWatch>(
      deps_.ports, kube::Scope{kube::kResourceClaims, "", "", false}, sink, kLimits);
  watch_->start();
}

void BindingConditions::look() {
  for (const auto& [id, claim] : claims_) look_at(id);
}

std::optional<BindingClaim> BindingConditions::wanted(const Key& key) const {
  const auto at = claims_.find(key.first);
  if (at == claims_.end() || deps_.is_prepared(key.second, at->second.uid)) return std::nullopt;
  // A claim was just read or watched, so the server's clock is known.
  const auto now = deps_.ports.cluster.server_time();
  if (!now) return std::nullopt;
  return with_conditions(at->second, key.second, deps_.judge, kube::encode_api_time(*now));
}

void BindingConditions::look_at(const Id& id) {
  for (const std::string& driver : deps_.drivers) {
    const Key key{id, driver};
    if (wanted(key))
      due_.try_emplace(key, deps_.ports.scheduler.now(), reactor::Backoff(deps_.ports.random, kWriteAgain));
    else if (writing_ != key)
      due_.erase(key);
  }
  arm();
}

void BindingConditions::arm() {
  if (writing_ || due_.empty()) return;
  const auto first = std::min_element(due_.begin(), due_.end(),
                                      [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
  const TimePoint now = deps_.ports.scheduler.now();
  const Millis wait =
      first->second.at <= now ? Millis{0} : std::chrono::duration_cast<Millis>(first->second.at - now);
  next_ = deps_.ports.scheduler.after(wait, [this] { write_next(); });
}

void BindingConditions::write_next() {
  const TimePoint now = deps_.ports.scheduler.now();
  for (auto at = due_.begin(); at != due_.end() && !writing_;) {
    if (at->second.at > now) {
      ++at;
      continue;
    }
    const Key key = at->first;
    const auto claim = wanted(key);
    if (!claim) {
      at = due_.erase(at);
      continue;
    }
    writing_ = key;
    call_ = deps_.ports.cluster.write(
        {.verb = kube::Verb::kApply,
         .resource = kube::kResourceClaims,
         .namespace_ = claim->namespace_,
         .name = claim->name,
         .body = encode_conditions(*claim),
         .subresource = "status",
         .field_manager = "sliced-binding/" + key.second},
        {.on_done = [this, key, sent = *claim](std::string_view) { on_written(key, sent); },
         .on_failure = [this, key](const kube::Failure& failure) { on_failure(key, failure); }});
  }
  arm();
}

// The sent conditions count as stored: a server that drops them would otherwise get endless writes. The watch
// reports other changes.
void BindingConditions::on_written(const Key& key, const BindingClaim& sent) {
  last_problem_.forget();
  writing_.reset();
  due_.erase(key);
  if (const auto at = claims_.find(key.first); at != claims_.end() && at->second.uid == sent.uid)
    for (BindingDevice& device : at->second.devices)
      for (const BindingDevice& written : sent.devices)
        if (std::tie(device.driver, device.pool, device.device, device.share_id) ==
            std::tie(written.driver, written.pool, written.device, written.share_id))
          device.conditions = written.conditions;
  look_at(key.first);
}

void BindingConditions::on_failure(const Key& key, const kube::Failure& failure) {
  writing_.reset();
  if (!kube::is_claim_gone(failure) && last_problem_.is_new(failure.what))
    deps_.ports.log.warning("binding condition not written: pods with the claim are not bound",
                            {{"claim", key.first.first + "/" + key.first.second},
                             {"problem", failure.what},
                             {"remedy", kube::remedy_for_claim_write(failure)}});
  if (kube::is_claim_write_final(failure)) {
    due_.erase(key);
  } else {
    Due& due = due_.at(key);
    due.at = deps_.ports.scheduler.now() +
             std::max(due.backoff.next(deps_.ports.scheduler.now()), failure.retry_after.value_or(Millis{0}));
  }
  arm();
}

void BindingConditions::put(Claims& claims, const watchers::ObjectHead& head, std::string_view object) const {
  const Id id{head.namespace_, head.name};
  claims.erase(id);
  if (object.find("\"bindingConditions\"") == std::string_view::npos) return;
  const auto claim = kube::decode_json(object);
  if (!claim) return;
  BindingClaim decoded = decode_binding_claim(*claim, deps_.drivers);
  if (!decoded.devices.empty()) claims.insert_or_assign(id, std::move(decoded));
}

void BindingConditions::collect(const watchers::ObjectHead& head, std::string_view object) {
  put(collected_, head, object);
}

void BindingConditions::uncollect(const watchers::ObjectHead& head) {
  collected_.erase({head.namespace_, head.name});
}

void BindingConditions::abandon() { collected_.clear(); }

bool BindingConditions::knows(const watchers::ObjectHead& head) const {
  return claims_.contains({head.namespace_, head.name});
}

size_t BindingConditions::commit(const std::string&, bool) {
  claims_ = std::exchange(collected_, {});
  look();
  return 0;
}

void BindingConditions::lose_all(const std::string&) { claims_.clear(); }

void BindingConditions::changed(const watchers::ObjectHead& head, std::string_view object) {
  put(claims_, head, object);
  look_at({head.namespace_, head.name});
}

void BindingConditions::removed(const watchers::ObjectHead& head) {
  claims_.erase({head.namespace_, head.name});
}

}  // namespace sliced::daemon
