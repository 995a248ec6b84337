#include "kubelet/messages.h"

#include <algorithm>
#include <deque>
#include <map>

#include "kube/objects/names.h"
#include "kubelet/proto/dra.pb-c.h"
#include "kubelet/proto/dra_health.pb-c.h"
#include "kubelet/proto/pluginregistration.pb-c.h"
#include "kubelet/proto/unpack.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using proto::borrowed_bytes;
using proto::bytes_of;

constexpr size_t kMemoryMax = 4u << 20;  // of a decoded message
constexpr size_t kErrorMax = 4096;       // limit for texts of the kubelet
constexpr size_t kUidMax = 128;
constexpr size_t kHealthMessageMax = 1024;  // the kubelet cuts it there

bool is_uid(std::string_view text) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kUidMax && is_alphanumeric(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// Values that a message of protobuf-c points at, and that stay where they are.
template <class Message>
class Many {
 public:
  Message& add(const Message& initial) {
    values_.push_back(initial);
    pointers_.push_back(&values_.back());
    return values_.back();
  }
  size_t size() const { return pointers_.size(); }
  Message** data() { return pointers_.data(); }

 private:
  std::deque<Message> values_;
  std::vector<Message*> pointers_;
};

std::vector<ProtobufCBinaryData> borrowed_list(const std::vector<std::string>& texts) {
  std::vector<ProtobufCBinaryData> list;
  for (const std::string& text : texts) list.push_back(borrowed_bytes(text));
  return list;
}

}  // namespace

std::string encode_plugin_info(const PluginInfo& info) {
  Pluginregistration__PluginInfo message = PLUGINREGISTRATION__PLUGIN_INFO__INIT;
  std::vector<ProtobufCBinaryData> versions = borrowed_list(info.versions);
  message.type = borrowed_bytes(info.type);
  message.name = borrowed_bytes(info.name);
  message.endpoint = borrowed_bytes(info.endpoint);
  message.n_supported_versions = versions.size();
  message.supported_versions = versions.data();
  return proto::packed(message);
}

Result<RegistrationStatus> decode_registration_status(std::string_view bytes) {
  const auto message = proto::unpack<Pluginregistration__RegistrationStatus>(
      pluginregistration__registration_status__descriptor, bytes, kMemoryMax);
  if (!message) return Error(message.error());
  return RegistrationStatus{(*message)->plugin_registered != 0,
                            escaped(bytes_of((*message)->error), kErrorMax)};
}

Result<std::vector<CalledClaim>> decode_claims(std::string_view bytes) {
  const auto message = proto::unpack<Dra__ClaimsRequest>(dra__claims_request__descriptor, bytes, kMemoryMax);
  if (!message) return Error(message.error());
  if ((*message)->n_claims > kClaimsMax)
    return Error{Errc::kTooLarge, std::to_string((*message)->n_claims) + " claims in one call; at most " +
                                      std::to_string(kClaimsMax) + " are taken"};
  std::vector<CalledClaim> claims;
  std::map<std::string_view, size_t> by_uid;
  for (size_t i = 0; i < (*message)->n_claims; ++i) {
    const Dra__Claim& claim = *(*message)->claims[i];
    const std::string_view space = bytes_of(claim.namespace_), name = bytes_of(claim.name),
                           uid = bytes_of(claim.uid);
    const std::string at = "claims[" + std::to_string(i) + "].";
    // The UID is a key of the answer, and gRPC peers accept only UTF-8 strings.
    if (!is_utf8(uid)) return Error{Errc::kInvalid, at + "uid: " + in_quotes(uid) + " is not UTF-8"};
    CalledClaim called{
        .claim = {.namespace_ = std::string(space), .name = std::string(name), .uid = std::string(uid)},
        .error = {}};
    if (!kube::is_dns_label(space))
      called.error = at + "namespace: " + in_quotes(space) + " is not a name of a namespace";
    if (!kube::is_dns_subdomain(name))
      called.error = at + "name: " + in_quotes(name) + " is not a name of a ResourceClaim";
    if (!is_uid(uid)) called.error = at + "uid: " + in_quotes(uid) + " is not a UID";
    const auto [twin, is_first] = by_uid.try_emplace(uid, claims.size());
    if (is_first) {
      claims.push_back(std::move(called));
    } else if (CalledClaim& first = claims[twin->second]; first.claim != called.claim) {
      first.error = at + "uid: " + in_quotes(uid) + " is also that of " +
                    in_quotes(first.claim.namespace_ + "/" + first.claim.name);
    }
  }
  return claims;
}

std::string encode_prepared(const std::vector<std::pair<std::string, PrepareAnswer>>& claims,
                            DraVersion version) {
  Dra__NodePrepareResourcesResponse message = DRA__NODE_PREPARE_RESOURCES_RESPONSE__INIT;
  Many<Dra__NodePrepareResourcesResponse__ClaimsEntry> entries;
  std::deque<Dra__NodePrepareResourceResponse> answers;
  std::deque<Many<Dra__Device>> devices;
  std::deque<std::vector<ProtobufCBinaryData>> texts;
  for (const auto& [uid, answer] : claims) {
    Many<Dra__Device>& of_claim = devices.emplace_back();
    for (const AnsweredDevice& device : answer.devices) {
      Dra__Device& one = of_claim.add(DRA__DEVICE__INIT);
      auto& requests = texts.emplace_back(borrowed_list(device.request_names));
      auto& ids = texts.emplace_back(borrowed_list(device.cdi_ids));
      one.n_request_names = requests.size();
      one.request_names = requests.data();
      one.pool_name = borrowed_bytes(device.pool);
      one.device_name = borrowed_bytes(device.device);
      one.n_cdi_device_ids = ids.size();
      one.cdi_device_ids = ids.data();
      if (version == DraVersion::kV1) one.share_id = borrowed_bytes(device.share_id);
    }
    Dra__NodePrepareResourceResponse& of_uid = answers.emplace_back();
    of_uid = DRA__NODE_PREPARE_RESOURCE_RESPONSE__INIT;
    of_uid.n_devices = of_claim.size();
    of_uid.devices = of_claim.data();
    of_uid.error = borrowed_bytes(answer.error);
    auto& entry = entries.add(DRA__NODE_PREPARE_RESOURCES_RESPONSE__CLAIMS_ENTRY__INIT);
    entry.key = borrowed_bytes(uid);
    entry.value = &of_uid;
  }
  message.n_claims = entries.size();
  message.claims = entries.data();
  return proto::packed(message);
}

std::string encode_unprepared(const std::vector<std::pair<std::string, std::string>>& claims) {
  Dra__NodeUnprepareResourcesResponse message = DRA__NODE_UNPREPARE_RESOURCES_RESPONSE__INIT;
  Many<Dra__NodeUnprepareResourcesResponse__ClaimsEntry> entries;
  std::deque<Dra__NodeUnprepareResourceResponse> answers;
  for (const auto& [uid, error] : claims) {
    Dra__NodeUnprepareResourceResponse& answer = answers.emplace_back();
    answer = DRA__NODE_UNPREPARE_RESOURCE_RESPONSE__INIT;
    answer.error = borrowed_bytes(error);
    auto& entry = entries.add(DRA__NODE_UNPREPARE_RESOURCES_RESPONSE__CLAIMS_ENTRY__INIT);
    entry.key = borrowed_bytes(uid);
    entry.value = &answer;
  }
  message.n_claims = entries.size();
  message.claims = entries.data();
  return proto::packed(message);
}

std::string encode_health(const std::vector<DeviceHealth>& devices, int64_t now,
                          std::chrono::seconds outdated_after) {
  DraHealth__NodeWatchResourcesResponse message = DRA_HEALTH__NODE_WATCH_RESOURCES_RESPONSE__INIT;
  Many<DraHealth__DeviceHealth> all;
  std::deque<DraHealth__DeviceIdentifier> names;
  std::deque<std::string> texts;
  for (const DeviceHealth& device : devices) {
    DraHealth__DeviceIdentifier& name = names.emplace_back();
    name = DRA_HEALTH__DEVICE_IDENTIFIER__INIT;
    name.pool_name = borrowed_bytes(device.pool);
    name.device_name = borrowed_bytes(device.device);
    DraHealth__DeviceHealth& one = all.add(DRA_HEALTH__DEVICE_HEALTH__INIT);
    one.device = &name;
    one.health =
        device.trouble.empty() ? DRA_HEALTH__HEALTH_STATUS__HEALTHY : DRA_HEALTH__HEALTH_STATUS__UNHEALTHY;
    one.last_updated_time = now;
    one.health_check_timeout_seconds = outdated_after.count();
    one.message = borrowed_bytes(texts.emplace_back(cut(device.trouble, kHealthMessageMax)));
  }
  message.n_devices = all.size();
  message.devices = all.data();
  return proto::packed(message);
}

}  // namespace sliced::kubelet
