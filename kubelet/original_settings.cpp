#include "kubelet/original_settings.h"

#include <algorithm>
#include <utility>

#include "kube/objects/json.h"
#include "kubelet/hardware.h"
#include "kubelet/vf_settings.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr std::string_view kKind = "sliced-original-settings-1";
constexpr std::string_view kEnd = ".json";
// Enough for a PF with some thousands of VFs; present hardware has 256 at most.
constexpr size_t kBytesMax = 2u << 20;
constexpr kube::JsonLimits kLimits{.size_max = kBytesMax, .depth_max = 8, .nodes_max = 100'000};

std::string sum_of(const Json& state) { return hex(stable_hash(kube::encode_json(state)), 16); }

template <class T>
Json json_of_value(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const hotplug::VfConfig& from) {
  Json out = Json::Object{};
  const auto set = [&](const char* key, Json value) {
    const bool is_empty = value.is_null() || (value.string() != nullptr && value.string()->empty());
    if (!is_empty) out.set(key, std::move(value));
  };
  set("mac", Json(from.mac));
  set("vlan", json_of_value(from.vlan));
  set("qos", json_of_value(from.vlan_qos));
  set("proto", Json(from.vlan_protocol));
  set("trust", json_of_value(from.trust));
  set("spoofchk", json_of_value(from.spoof_check));
  set("queryRSS", json_of_value(from.rss_query));
  set("minTxRate", json_of_value(from.min_rate_mbps));
  set("maxTxRate", json_of_value(from.max_rate_mbps));
  set("state", Json(from.link_state));
  set("nodeGUID", Json(from.node_guid));
  set("portGUID", Json(from.port_guid));
  return out;
}

template <class T>
void take_number(const Json& from, const char* key, std::optional<T>& out) {
  const Json* at = from.find(key);
  if (at != nullptr && at->integer() != nullptr) out = static_cast<T>(*at->integer());
}

void take_switch(const Json& from, const char* key, std::optional<bool>& out) {
  const Json* at = from.find(key);
  if (at != nullptr && at->boolean() != nullptr) out = *at->boolean();
}

hotplug::VfConfig vf_of(const Json& from) {
  hotplug::VfConfig out;
  out.mac = from.text("mac");
  take_number(from, "vlan", out.vlan);
  take_number(from, "qos", out.vlan_qos);
  out.vlan_protocol = from.text("proto");
  take_switch(from, "trust", out.trust);
  take_switch(from, "spoofchk", out.spoof_check);
  take_switch(from, "queryRSS", out.rss_query);
  take_number(from, "minTxRate", out.min_rate_mbps);
  take_number(from, "maxTxRate", out.max_rate_mbps);
  out.link_state = from.text("state");
  out.node_guid = from.text("nodeGUID");
  out.port_guid = from.text("portGUID");
  return out;
}

Json json_of(const OriginalInterface& from) {
  Json out = Json::Object{{"name", from.name},
                          {"mac", from.mac},
                          {"mtu", from.mtu},
                          {"up", from.is_up},
                          {"promisc", from.is_promisc},
                          {"allmulti", from.is_allmulti},
                          {"nameOnly", from.is_name_only}};
  if (from.alternative_names) {
    Json::Array names;
    for (const std::string& name : *from.alternative_names) names.push_back(Json(name));
    out.set("alternativeNames", Json(std::move(names)));
  }
  if (from.alias) out.set("alias", Json(*from.alias));
  if (from.broadcast) out.set("broadcast", Json(*from.broadcast));
  Json::Object numbers, programs;
  for (const auto& [name, number] : from.numbers)
    numbers.emplace_back(name, Json(static_cast<int64_t>(number)));
  out.set("numbers", Json(std::move(numbers)));
  if (!from.xdp) return out;
  for (const auto& [mode, program] : *from.xdp)
    programs.emplace_back(std::to_string(mode), Json(static_cast<int64_t>(program)));
  out.set("xdp", Json(std::move(programs)));
  return out;
}

OriginalInterface interface_of(const Json& from) {
  OriginalInterface out{.name = std::string(from.text("name")), .mac = std::string(from.text("mac"))};
  std::optional<int> mtu;
  std::optional<bool> up, promisc, allmulti, only;
  take_number(from, "mtu", mtu);
  take_switch(from, "up", up);
  take_switch(from, "promisc", promisc);
  take_switch(from, "allmulti", allmulti);
  take_switch(from, "nameOnly", only);
  out.is_name_only = only.value_or(false);
  if (const Json* names = from.find("alternativeNames"); names != nullptr && names->array() != nullptr) {
    out.alternative_names.emplace();
    for (const Json& name : *names->array())
      if (name.string() != nullptr) out.alternative_names->push_back(*name.string());
  }
  if (const Json* alias = from.find("alias"); alias != nullptr && alias->string() != nullptr)
    out.alias = *alias->string();
  if (const std::string_view broadcast = from.text("broadcast"); !broadcast.empty())
    out.broadcast = broadcast;
  if (const Json* numbers = from.find("numbers"); numbers != nullptr && numbers->object() != nullptr)
    for (const auto& [name, number] : *numbers->object())
      if (number.integer() != nullptr) out.numbers.emplace(name, static_cast<uint32_t>(*number.integer()));
  if (const Json* programs = from.find("xdp"); programs != nullptr && programs->object() != nullptr) {
    out.xdp.emplace();
    for (const auto& [mode, program] : *programs->object())
      if (const auto key = parse_int(mode); key && program.integer() != nullptr)
        out.xdp->emplace(static_cast<uint32_t>(*key), static_cast<uint32_t>(*program.integer()));
  }
  out.mtu = mtu.value_or(0);
  out.is_up = up.value_or(false);
  out.is_promisc = promisc.value_or(false);
  out.is_allmulti = allmulti.value_or(false);
  return out;
}

Json json_of(const OwnAddresses& own) { return Json::Object{{"mac", own.mac}, {"guid", own.guid}}; }

OwnAddresses own_of(const Json& from) {
  return {.mac = std::string(from.text("mac")), .guid = std::string(from.text("guid"))};
}

Json json_of(const std::map<int, OriginalVf>& vfs) {
  Json::Object out;
  for (const auto& [index, vf] : vfs) {
    Json one = Json::Object{{"vf", json_of(vf.config)}};
    if (vf.own != OwnAddresses{}) one.set("own", json_of(vf.own));
    out.emplace_back(std::to_string(index), std::move(one));
  }
  return Json(std::move(out));
}

std::map<int, OriginalVf> vfs_of(const Json& from) {
  std::map<int, OriginalVf> out;
  for (const auto& [index, one] : from.object() != nullptr ? *from.object() : Json::Object{}) {
    const auto number = parse_int(index);
    const Json* vf = one.find("vf");
    if (!number || vf == nullptr) continue;
    OriginalVf& added = out[static_cast<int>(*number)];
    added.config = vf_of(*vf);
    if (const Json* own = one.find("own")) added.own = own_of(*own);
  }
  return out;
}

bool names_device(const std::string& text) {
  constexpr size_t kNameMax = 15;  // IFNAMSIZ
  if (hotplug::PciAddress::decode(text) || !hardware_of_sf_id(text).empty()) return true;
  return !text.empty() && text.size() <= kNameMax && text.find('/') == std::string::npos && text[0] != '.';
}

}  // namespace

std::string encode_original_settings(const OriginalSettings& value) {
  Json state = Json::Object{{"device", value.device}, {"bootID", value.boot_id}, {"known", value.is_known}};
  if (value.vf) state.set("vf", json_of(*value.vf));
  if (value.interface) state.set("interface", json_of(*value.interface));
  if (value.left) state.set("left", json_of(*value.left));
  if (!value.claim.empty()) state.set("claim", value.claim);
  state.set("unrestored", value.is_unrestored);
  if (value.own != OwnAddresses{}) state.set("own", json_of(value.own));
  if (!value.pf.empty()) state.set("pf", Json(value.pf));
  if (!value.vfs.empty()) state.set("vfs", json_of(value.vfs));
  Json out = Json::Object{{"kind", kKind}, {"checksum", sum_of(state)}};
  out.set("state", std::move(state));
  return kube::encode_json(out) + "\n";
}

Result<OriginalSettings> decode_original_settings(std::string_view text) {
  const auto json = kube::decode_json(text, kLimits);
  if (!json) return Error(json.error());
  const Json* state = json->find("state");
  if (json->text("kind") != kKind || state == nullptr || json->text("checksum") != sum_of(*state))
    return Error{Errc::kInvalid, "it was cut short, edited, or written by another version"};
  OriginalSettings out{.device = std::string(state->text("device")),
                       .boot_id = std::string(state->text("bootID")),
                       .is_known = state->find("known") != nullptr && *state->find("known") == Json(true),
                       .vf = {},
                       .interface = {}};
  out.claim = state->text("claim");
  // Releases up to 0.1 did not write it.
  out.is_unrestored = state->find("unrestored") == nullptr || *state->find("unrestored") == Json(true);
  if (const Json* vf = state->find("vf")) out.vf = vf_of(*vf);
  if (const Json* interface = state->find("interface")) out.interface = interface_of(*interface);
  if (const Json* left = state->find("left")) out.left = vf_of(*left);
  if (const Json* own = state->find("own")) out.own = own_of(*own);
  out.pf = std::string(state->text("pf"));
  if (const Json* vfs = state->find("vfs")) out.vfs = vfs_of(*vfs);
  return out;
}

std::string unknown_settings_text(const OriginalSettings& one) {
  return "device " + one.device + ": original VF settings unknown: " +
         (one.left ? "the VF keeps " + text_of(*one.left) + ", which may be those of a former pod"
                   : "the VF keeps its current settings, which may be those of a former pod") +
         ". After its pod ends: ip link set PF vf NUMBER vlan 0 spoofchk on trust off state auto (or what your site uses)";
}

Result<std::string> OriginalSettingsFiles::path_of(const std::string& device) const {
  if (names_device(device)) return directory_ + "/" + device + std::string(kEnd);
  return Error{Errc::kInvalid, in_quotes(device, 64) + " is neither a PCI address nor an interface's name"};
}

Result<std::vector<OriginalSettings>> OriginalSettingsFiles::read() const {
  const auto names = reactor::list_names(directory_, kFilesMax);
  if (!names) return names.error();
  std::vector<OriginalSettings> out;
  for (const std::string& name : *names) {
    const std::string device = name.substr(0, name.size() - std::min(name.size(), kEnd.size()));
    if (!name.ends_with(kEnd) || !names_device(device)) continue;
    const auto text = reactor::read_whole(directory_ + "/" + name, kBytesMax);
    auto one = text ? decode_original_settings(*text) : Result<OriginalSettings>(text.error());
    if (one && one->device == device)
      out.push_back(*std::move(one));
    else
      out.push_back({.device = device, .boot_id = "", .is_known = false, .vf = {}, .interface = {}});
  }
  return out;
}

Result<Unit> OriginalSettingsFiles::write(const OriginalSettings& value) const {
  auto file = file_of(value);
  if (!file) return std::move(file.error());
  return reactor::write_durably({*std::move(file)});
}

Result<reactor::DurableFile> OriginalSettingsFiles::file_of(const OriginalSettings& value) const {
  auto path = path_of(value.device);
  if (!path) return std::move(path.error());
  return reactor::DurableFile{*std::move(path), encode_original_settings(value), 0600};
}

Result<Unit> OriginalSettingsFiles::remove(const std::string& device) const {
  const auto path = path_of(device);
  if (!path) return path.error();
  return reactor::remove_durably(*path);
}

Result<Unit> OriginalSettingsFiles::remove_temporaries() const {
  const auto removed = reactor::remove_temporaries(directory_, [](std::string_view) { return true; });
  return removed ? Result<Unit>(Unit{}) : Result<Unit>(removed.error());
}

bool is_prepared(const PreparedClaims& prepared, const std::string& device) {
  return std::any_of(prepared.begin(), prepared.end(), [&](const auto& claim) {
    const auto& devices = claim.second.devices;
    return std::any_of(devices.begin(), devices.end(), [&](const PreparedDevice& one) {
      return !one.is_admin && settings_key(one) == device;
    });
  });
}

policy::NotReturnedDevices unrestored_of(const OriginalSettingsByDevice& settings,
                                         const PreparedClaims& prepared,
                                         const std::map<std::string, std::string>& problems) {
  policy::NotReturnedDevices out;
  for (const auto& [device, kept] : settings) {
    const bool is_name_only = kept.interface && kept.interface->is_name_only;
    if (!kept.is_known || is_name_only || is_prepared(prepared, device)) continue;
    // The entry is not of the pool, so any entry of the device is withheld; with settings of VFs, any entry
    // of the PF.
    policy::NotReturned& one = out.emplace_back();
    one.holding.entry = one.holding.device = device;
    one.pf = !kept.vfs.empty() ? device : kept.vf ? kept.pf : "";
    const auto problem = problems.find(device);
    one.why = "it does not have its original settings back: " +
              (problem == problems.end() || problem->second.empty() ? std::string(kInterfaceIsAway)
                                                                    : problem->second) +
              "; the daemon tries again";
  }
  return out;
}

}  // namespace sliced::kubelet
