#include "kubelet/cni/record.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "kubelet/cni/network.h"
#include "reactor/base/text.h"
#include "reactor/durable_file.h"

namespace sliced::cni {
namespace {

using kube::Json;

constexpr std::string_view kKind = "sliced-cni-1";
constexpr std::string_view kEnd = ".json";
constexpr size_t kRecordBytesMax = 2u << 20;
constexpr kube::JsonLimits kRecordLimits{.size_max = kRecordBytesMax, .depth_max = 32, .nodes_max = 50'000};

std::string sum_of(const Json& body) { return hex(stable_hash(kube::encode_json(body)), 16); }

Json json_of(const Attachment& from) {
  Json out, arguments{Json::Array{}};
  out.set("containerID", Json(from.container_id));
  out.set("netns", Json(from.network_namespace));
  out.set("ifName", Json(from.interface));
  out.set("deviceID", Json(from.device));
  for (const auto& [key, value] : from.arguments)
    arguments.array()->push_back(Json(Json::Array{Json(key), Json(value)}));
  out.set("args", std::move(arguments));
  out.set("capabilityArgs", from.capabilities);
  return out;
}

Result<Attachment> attachment_of(const Json& from) {
  Attachment attachment{.container_id = std::string(from.text("containerID")),
                        .network_namespace = std::string(from.text("netns")),
                        .interface = std::string(from.text("ifName")),
                        .device = std::string(from.text("deviceID"))};
  const Json* arguments = from.find("args");
  for (const Json& pair : arguments && arguments->array() ? *arguments->array() : Json::Array{}) {
    const Json::Array* two = pair.array();
    if (two == nullptr || two->size() != 2 || !(*two)[0].string() || !(*two)[1].string())
      return Error{Errc::kInvalid, "args has an item that is not a pair of strings"};
    attachment.arguments.emplace_back(*(*two)[0].string(), *(*two)[1].string());
  }
  if (const Json* capabilities = from.find("capabilityArgs")) attachment.capabilities = *capabilities;
  if (auto good = check(attachment); !good) return std::move(good.error());
  return attachment;
}

// A power failure ends a sandbox and its interfaces. A CNI plugin may have written files, such as
// host-local's addresses, which only its DEL removes. A `network` leaves no files.
bool outlives_power_cut(const Record& record) {
  const auto network = decode_network(record.config, record.network);
  if (!network || !is_native(*network)) return true;
  const Json* ipam = network->plugins.front().config.find("ipam");
  return ipam != nullptr && ipam->text("type") != "static";
}

}  // namespace

std::string encode_record(const Record& record) {
  Json body;
  body.set("config", Json(record.config));
  body.set("network", Json(record.network));
  body.set("attachment", json_of(record.attachment));
  if (record.result) body.set("result", encode_result(*record.result));
  if (!record.owner.empty()) body.set("owner", Json(record.owner));
  if (!record.users_definition.empty()) body.set("usersDefinition", Json(record.users_definition));
  if (record.host_interface) {
    Json host{Json::Object{{"name", record.host_interface->name},
                           {"kind", record.host_interface->kind},
                           {"ifindexInPod", record.host_interface->ifindex_in_pod}}};
    if (record.host_interface->rdma_index >= 0) {
      host.set("rdmaDevice", Json(record.host_interface->rdma_device));
      host.set("rdmaIndex", Json(record.host_interface->rdma_index));
    }
    body.set("hostInterface", std::move(host));
  }
  if (record.made_ifindex != 0) body.set("madeIfindex", Json(record.made_ifindex));
  if (!record.hardware.empty()) body.set("hardware", Json(record.hardware));
  Json::Object sysctls;
  for (const auto& [path, value] : record.host_sysctls) sysctls.emplace_back(path, value);
  if (!sysctls.empty()) body.set("hostSysctls", Json(std::move(sysctls)));
  Json out;
  out.set("kind", Json(kKind));
  out.set("checksum", Json(sum_of(body)));
  out.set("record", std::move(body));
  return kube::encode_json(out);
}

Result<Record> decode_record(std::string_view text) {
  const auto json = kube::decode_json(text, kRecordLimits);
  if (!json) return Error(json.error());
  if (json->text("kind") != kKind)
    return Error{Errc::kInvalid,
                 "kind is " + in_quotes(json->text("kind")) + ", expected " + std::string(kKind)};
  const Json* body = json->find("record");
  const Json* attachment = json->find({"record", "attachment"});
  if (body == nullptr || attachment == nullptr) return Error{Errc::kInvalid, "it has no record"};
  if (json->text("checksum") != sum_of(*body)) return Error{Errc::kInvalid, "the checksum is another"};
  auto attached = attachment_of(*attachment);
  if (!attached) return std::move(attached.error());
  Record record{.config = std::string(body->text("config")),
                .network = std::string(body->text("network")),
                .attachment = *std::move(attached),
                .result = std::nullopt,
                .owner = std::string(body->text("owner")),
                .users_definition = std::string(body->text("usersDefinition"))};
  if (const Json* host = body->find("hostInterface")) {
    const auto number_of = [&](std::string_view key, int otherwise) {
      const Json* at = host->find(key);
      return at != nullptr && at->integer() != nullptr && std::in_range<int>(*at->integer())
                 ? static_cast<int>(*at->integer())
                 : otherwise;
    };
    record.host_interface = {.name = std::string(host->text("name")),
                             .kind = std::string(host->text("kind")),
                             .ifindex_in_pod = number_of("ifindexInPod", 0),
                             .rdma_device = std::string(host->text("rdmaDevice")),
                             .rdma_index = number_of("rdmaIndex", -1)};
  }
  if (const Json* made = body->find("madeIfindex");
      made != nullptr && made->integer() != nullptr && std::in_range<int>(*made->integer()))
    record.made_ifindex = static_cast<int>(*made->integer());
  record.hardware = body->text("hardware");
  if (const Json* sysctls = body->find("hostSysctls"); sysctls != nullptr && sysctls->object() != nullptr)
    for (const auto& [path, value] : *sysctls->object())
      if (value.string() != nullptr) record.host_sysctls.emplace(path, *value.string());
  if (const Json* result = body->find("result")) {
    auto decoded = decode_result(kube::encode_json(*result), "");
    if (!decoded) return std::move(decoded.error());
    record.result = *std::move(decoded);
  }
  return record;
}

// Ids of containers have no '@', so no two attachments have one name.
std::string record_name(const Attachment& attachment) {
  return attachment.container_id + "@" + attachment.interface + std::string(kEnd);
}

Result<Unit> Records::write(const Record& record) const {
  if (auto good = check(record.attachment); !good) return good;
  const std::string path = directory_ + "/" + record_name(record.attachment);
  return outlives_power_cut(record) ? reactor::write_durably(path, encode_record(record), 0600)
                                    : reactor::write_whole(path, encode_record(record), 0600);
}

Result<Unit> Records::remove(const Attachment& attachment) const {
  if (auto good = check(attachment); !good) return good;
  return reactor::remove_durably(directory_ + "/" + record_name(attachment));
}

Result<Unit> Records::remove_temporaries() const {
  const auto names = reactor::list_names(directory_, kRecordsMax);
  if (!names) return Error(names.error());
  for (const std::string& name : *names) {
    const std::string path = directory_ + "/" + name;
    std::error_code unknown;
    if (std::filesystem::file_size(path, unknown) == 0)
      if (auto removed = reactor::remove_durably(path); !removed) return removed;
  }
  const auto removed = reactor::remove_temporaries(directory_, [](std::string_view) { return true; });
  return removed ? Result<Unit>(Unit{}) : Result<Unit>(removed.error());
}

Result<Records::All> Records::read(std::string_view container_id) const {
  const auto names = reactor::list_names(directory_, kRecordsMax);
  if (!names) return Error(names.error());
  All all;
  for (const std::string& name : *names) {
    if (!container_id.empty() && !name.starts_with(std::string(container_id) + "@")) continue;
    const std::string path = directory_ + "/" + name;
    const auto text = reactor::read_whole(path, kRecordBytesMax);
    if (!text && text.error().code == Errc::kNotFound) continue;  // removed meanwhile
    if (text && text->empty()) continue;                          // left by a power failure
    auto record = text ? decode_record(*text) : Result<Record>(text.error());
    if (record && record_name(record->attachment) != name)
      record = Error{Errc::kInvalid, "it is the record " + escaped(record_name(record->attachment))};
    if (record)
      all.records.push_back(*std::move(record));
    else
      all.broken.push_back(escaped(path) + ": " + record.error().what);
  }
  return all;
}

}  // namespace sliced::cni
