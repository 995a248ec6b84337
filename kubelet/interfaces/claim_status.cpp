#include "kubelet/interfaces/claim_status.h"

#include <algorithm>
#include <utility>

#include "kube/objects/api_time.h"
#include "kube/objects/claim_status.h"
#include "kube/objects/kinds.h"
#include "kubelet/device_metadata.h"
#include "kubelet/recall.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr reactor::BackoffPolicy kWriteAgain{.initial = Millis{500},
                                             .factor = 2.0,
                                             .cap = Millis{60'000},
                                             .jitter = 0.5,
                                             .reset_after = Millis{600'000}};

Json vf_config_of(const VfConfig& config, bool has_network) {
  Json out;
  out.set("apiVersion", Json("sriovnetwork.k8snetworkplumbingwg.io/v1alpha1"));
  out.set("kind", Json("VfConfig"));
  const auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) out.set(key, Json(value));
  };
  put("driver", config.driver);
  put("ifName", config.if_name);
  put("netAttachDefName", config.nad_name);
  put("netAttachDefNamespace", config.nad_namespace);
  if (config.adds_vhost) out.set("addVhostMount", Json(true));
  if (config.network && has_network) out.set("network", encode_native_network(*config.network));
  return out;
}

Json data_of(const PreparedDevice& device, const cni::Attached* made) {
  Json data;
  const auto add = [&data](const char* key, Json value) {
    Json larger = data;
    larger.set(key, std::move(value));
    const bool has_room = kube::encode_json(larger).size() <= kStatusDataBytesMax;
    if (has_room) data = std::move(larger);
    return has_room;
  };
  // Each of several VfConfigs may be as large as the limit.
  if (!add("vfConfig", vf_config_of(device.config, /*has_network=*/true)))
    add("vfConfig", vf_config_of(device.config, /*has_network=*/false));
  if (made != nullptr) add("cniResult", cni::encode_result(*made));
  if (const auto config = kube::decode_json(device.network); made != nullptr && config)
    add("cniConfig", *config);
  return data;
}

std::string encode(const PreparedClaim& claim, Json::Array devices) {
  return kube::encode_claim_devices(claim.namespace_, claim.name, claim.uid, std::move(devices));
}

// metav1.Condition; dranet writes one of that type, too.
Json ready_condition(const PreparedDevice& device, const ReadySince& ready) {
  const bool has_interface = ready.is_ready && !device.network.empty();
  const char* reason = has_interface ? "Attached" : ready.is_ready ? "Prepared" : "WaitsForSandbox";
  const std::string message = has_interface ? "interface " + device.config.if_name + " is in the pod"
                              : ready.is_ready
                                  ? "the device is prepared"
                                  : "the device is prepared, its interface is not in the pod yet";
  return Json::Object{{"type", "Ready"},
                      {"status", ready.is_ready ? "True" : "False"},
                      {"lastTransitionTime", ready.since},
                      {"reason", reason},
                      {"message", message}};
}

StatusKey key_of(const PreparedDevice& device) { return {device.pool, device.device, device.share_id}; }

}  // namespace

Ready ready_of(const PreparedClaim& claim, const std::map<StatusKey, cni::Attached>& attached,
               const Ready& before, const std::string& now) {
  Ready out;
  for (const PreparedDevice& device : claim.devices) {
    const StatusKey key = key_of(device);
    const bool is_ready = device.network.empty() || attached.contains(key);
    const auto was = before.find(key);
    const bool is_same = was != before.end() && was->second.is_ready == is_ready;
    out[key] = {is_ready, is_same ? was->second.since : now};
  }
  return out;
}

Ready decode_ready(const Json& claim, const std::string& driver) {
  Ready out;
  const Json* devices = claim.find({"status", "devices"});
  if (devices == nullptr || devices->array() == nullptr) return out;
  for (const Json& device : *devices->array()) {
    const Json* conditions = device.find("conditions");
    if (device.text("driver") != driver || conditions == nullptr || conditions->array() == nullptr) continue;
    for (const Json& condition : *conditions->array())
      if (condition.text("type") == "Ready" && kube::decode_api_time(condition.text("lastTransitionTime")))
        out[{std::string(device.text("pool")), std::string(device.text("device")),
             std::string(device.text("shareID"))}] = {condition.text("status") == "True",
                                                      std::string(condition.text("lastTransitionTime"))};
  }
  return out;
}

std::string encode_claim_status(const PreparedClaim& claim,
                                const std::map<StatusKey, cni::Attached>& attached, const Ready& ready) {
  Json::Array devices;
  for (const PreparedDevice& device : claim.devices) {
    if (device.is_admin) continue;
    const auto at = attached.find(key_of(device));
    const cni::Attached* made = at == attached.end() ? nullptr : &at->second;
    Json entry = kube::encode_status_device(claim.driver, device.pool, device.device, device.share_id);
    if (const auto condition = ready.find(key_of(device)); condition != ready.end())
      entry.set("conditions", Json::Array{ready_condition(device, condition->second)});
    entry.set("data", data_of(device, made));
    if (made != nullptr)
      entry.set("networkData", encode_network(pod_network_of(device.config.if_name, *made)));
    devices.push_back(std::move(entry));
  }
  return encode(claim, std::move(devices));
}

std::string encode_no_status(const PreparedClaim& claim) { return encode(claim, {}); }

ClaimStatus::ClaimStatus(kube::Cluster& cluster, reactor::Scheduler& scheduler, Log& log,
                         std::function<const PreparedClaims&()> prepared, reactor::Random random)
    : cluster_(cluster),
      scheduler_(scheduler),
      log_(log),
      prepared_(std::move(prepared)),
      random_(std::move(random)) {}

void ClaimStatus::tell(const PreparedKey& key) {
  if (const auto at = prepared_().find(key); at != prepared_().end()) enqueue(at->second);
}

void ClaimStatus::attached(const AttachedInterface& interface) {
  const RequiredInterface& wanted = interface.wanted;
  attached_[wanted.claim][{wanted.pool, wanted.device, wanted.share_id}] = interface.result;
  tell(wanted.claim);
}

void ClaimStatus::released(const PreparedClaim& claim) {
  attached_.erase(kubelet::key_of(claim));
  ready_.erase(kubelet::key_of(claim));
  enqueue(claim);
}

void ClaimStatus::enqueue(const PreparedClaim& claim) {
  const PreparedKey key = kubelet::key_of(claim);
  if (claim.name.empty() || claim.devices.empty() || is_nameless(claim)) return;
  const auto [at, added] =
      waiting_.try_emplace(key, Waiting{claim, reactor::Backoff(random_, kWriteAgain), scheduler_.now()});
  at->second.claim = claim;
  if (!added) at->second.due = std::min(at->second.due, scheduler_.now());
  if (writing_ == key)
    changed_since_sent_ = true;
  else if (!writing_)
    next_ = scheduler_.after(Millis{0}, [this] { look(); });
}

void ClaimStatus::look() {
  if (writing_ || waiting_.empty()) return;
  const auto first = std::min_element(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) {
    return a.second.due < b.second.due;
  });
  if (const TimePoint now = scheduler_.now(); first->second.due > now) {
    next_ = scheduler_.after(std::chrono::duration_cast<Millis>(first->second.due - now), [this] { look(); });
    return;
  }
  writing_ = first->first;
  const auto at = prepared_().find(first->first);
  if (at != prepared_().end() && at->second.is_complete && !ready_.contains(first->first))
    read_status(first->first, first->second);
  else
    write(first->first, first->second);
}

void ClaimStatus::read_status(const PreparedKey& key, const Waiting& one) {
  changed_since_sent_ = false;
  call_ = cluster_.get(
      {.resource = kube::kResourceClaims, .namespace_ = one.claim.namespace_, .name = one.claim.name},
      {.on_done =
           [this, key](std::string_view text) {
             const auto claim = kube::decode_json(text);
             ready_[key] = claim ? decode_ready(*claim, key.first) : Ready{};
             writing_.reset();
             next_ = scheduler_.after(Millis{0}, [this] { look(); });
           },
       .on_failure = [this, key](const kube::Failure& failure) { on_failure(key, failure); }});
}

void ClaimStatus::write(const PreparedKey& key, const Waiting& one) {
  changed_since_sent_ = false;
  const auto at = prepared_().find(key);
  const bool is_prepared = at != prepared_().end() && at->second.is_complete;
  // The claim was just read, so the server's clock is known.
  if (const auto now = cluster_.server_time(); is_prepared && now)
    ready_[key] = ready_of(at->second, attached_[key], ready_[key], kube::encode_api_time(*now));
  call_ =
      cluster_.write({.verb = kube::Verb::kApply,
                      .resource = kube::kResourceClaims,
                      .namespace_ = one.claim.namespace_,
                      .name = one.claim.name,
                      .body = is_prepared ? encode_claim_status(at->second, attached_[key], ready_[key])
                                          : encode_no_status(one.claim),
                      .subresource = "status",
                      .field_manager = "sliced/" + key.first},
                     {.on_done =
                          [this, key](std::string_view) {
                            last_problem_.forget();
                            writing_.reset();
                            if (!changed_since_sent_) waiting_.erase(key);
                            look();
                          },
                      .on_failure = [this, key](const kube::Failure& failure) { on_failure(key, failure); }});
}

void ClaimStatus::on_failure(const PreparedKey& key, const kube::Failure& failure) {
  writing_.reset();
  const auto at = waiting_.find(key);
  if (!kube::is_claim_gone(failure) && last_problem_.is_new(failure.what))
    log_.warning("ResourceClaim status not written", {{"claim", describe(request_of(at->second.claim))},
                                                      {"problem", failure.what},
                                                      {"remedy", kube::remedy_for_claim_write(failure)}});
  if (kube::is_claim_write_final(failure) && !changed_since_sent_) {
    waiting_.erase(at);
  } else {
    const Millis wait =
        std::max(at->second.backoff.next(scheduler_.now()), failure.retry_after.value_or(Millis{0}));
    at->second.due = scheduler_.now() + wait;
  }
  next_ = scheduler_.after(Millis{0}, [this] { look(); });
}

}  // namespace sliced::kubelet
