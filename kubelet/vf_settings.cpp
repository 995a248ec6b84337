#include "kubelet/vf_settings.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "hotplug/netlink_monitor.h"
#include "kubelet/netlink.h"
#include "kubelet/prepared.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

std::string switch_text(const std::optional<bool>& value) { return !value ? "" : *value ? "on" : "off"; }

template <class Number>
std::string number_text(const std::optional<Number>& value) {
  return value ? std::to_string(*value) : "";
}

// The protocol matters only with a tag.
std::string protocol_text(const hotplug::VfConfig& config) {
  const bool has_tag = config.vlan.value_or(0) != 0 || config.vlan_qos.value_or(0) != 0;
  return has_tag ? config.vlan_protocol : "";
}

// The kernel fills the MAC address of an InfiniBand VF with an invalid value.
std::string mac_of_setting(const hotplug::VfConfig& config) {
  return config.node_guid.empty() ? config.mac : "";
}

bool is_guid_set(const std::string& guid) {
  return guid.find_first_not_of("0:") != std::string::npos &&
         guid.find_first_not_of("f:") != std::string::npos;
}

bool is_as_before(std::string_view setting, const std::string& original, const std::string& now,
                  const OwnAddresses& own) {
  if (original.empty() || original == now) return true;
  if (setting == "mac") return !hotplug::is_address_set(original) && !now.empty() && now == own.mac;
  if (!setting.ends_with("_guid") || is_guid_set(original) || now.empty()) return false;
  return !is_guid_set(now) || now == own.guid;
}

// qede reports the link's speed as the rate of a VF that has no limit: it comes and goes with the link.
hotplug::VfConfig without_limit_of_link(hotplug::VfConfig config, int speed_mbps) {
  if (speed_mbps > 0 && config.max_rate_mbps.value_or(0) >= static_cast<uint32_t>(speed_mbps))
    config.max_rate_mbps = 0;
  return config;
}

struct Setting {
  std::string_view name;
  std::string (*text)(const hotplug::VfConfig&);
};
constexpr Setting kSettings[] = {
    {"mac", &mac_of_setting},
    {"vlan", [](const hotplug::VfConfig& one) { return number_text(one.vlan); }},
    {"qos", [](const hotplug::VfConfig& one) { return number_text(one.vlan_qos); }},
    {"proto", &protocol_text},
    {"spoofchk", [](const hotplug::VfConfig& one) { return switch_text(one.spoof_check); }},
    {"trust", [](const hotplug::VfConfig& one) { return switch_text(one.trust); }},
    {"query_rss", [](const hotplug::VfConfig& one) { return switch_text(one.rss_query); }},
    {"state", [](const hotplug::VfConfig& one) { return one.link_state; }},
    {"min_tx_rate", [](const hotplug::VfConfig& one) { return number_text(one.min_rate_mbps); }},
    {"max_tx_rate", [](const hotplug::VfConfig& one) { return number_text(one.max_rate_mbps); }},
    {"node_guid", [](const hotplug::VfConfig& one) { return one.node_guid; }},
    {"port_guid", [](const hotplug::VfConfig& one) { return one.port_guid; }},
};

template <class T>
std::string_view raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string request_of(const VfOfInterface& vf, int type, std::string_view value) {
  std::string info, list, one;
  put_attribute(info, type, value);
  put_attribute(list, IFLA_VF_INFO | NLA_F_NESTED, info);
  put_attribute(one, IFLA_VFINFO_LIST | NLA_F_NESTED, list);
  struct {
    nlmsghdr header;
    ifinfomsg info;
  } head{};
  head.header = {.nlmsg_len = static_cast<uint32_t>(sizeof head + one.size()),
                 .nlmsg_type = RTM_SETLINK,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                 .nlmsg_seq = 1};
  head.info.ifi_family = AF_UNSPEC;
  head.info.ifi_index = vf.ifindex;
  return std::string(raw(head)) + one;
}

std::string vlan_request(const VfOfInterface& vf, const hotplug::VfConfig& original) {
  const auto number = static_cast<uint32_t>(vf.index);
  const auto vlan = static_cast<uint32_t>(original.vlan.value_or(0));
  const auto qos = static_cast<uint32_t>(original.vlan_qos.value_or(0));
  if (protocol_text(original) != "802.1ad")
    return request_of(vf, IFLA_VF_VLAN, raw(ifla_vf_vlan{.vf = number, .vlan = vlan, .qos = qos}));
  std::string list;
  put_attribute(
      list, IFLA_VF_VLAN_INFO,
      raw(ifla_vf_vlan_info{.vf = number, .vlan = vlan, .qos = qos, .vlan_proto = htons(ETH_P_8021AD)}));
  return request_of(vf, IFLA_VF_VLAN_LIST | NLA_F_NESTED, list);
}

std::string guid_request(const VfOfInterface& vf, int type, const std::string& text) {
  constexpr size_t kBytes = 8;
  ifla_vf_guid out{.vf = static_cast<uint32_t>(vf.index), .guid = 0};
  for (size_t i = 0; i < kBytes && 3 * i + 1 < text.size(); ++i)
    out.guid = out.guid << 8 | parse_hex(std::string_view(text).substr(3 * i, 2)).value_or(0);
  return request_of(vf, type, raw(out));
}

uint32_t link_state_of(const std::string& text) {
  if (text == "enable") return IFLA_VF_LINK_STATE_ENABLE;
  return text == "disable" ? IFLA_VF_LINK_STATE_DISABLE : IFLA_VF_LINK_STATE_AUTO;
}

// Firmware refuses an all-zero GUID.
std::string guid_to_write(const std::string& original, const OwnAddresses& own) {
  if (is_guid_set(original)) return original;
  return is_guid_set(own.guid) ? own.guid : "ff:ff:ff:ff:ff:ff:ff:ff";
}

std::string request_for(std::string_view setting, const VfOfInterface& vf, const hotplug::VfConfig& original,
                        const OwnAddresses& own) {
  const auto number = static_cast<uint32_t>(vf.index);
  if (setting == "mac") return encode_vf_mac(vf, original.mac);
  if (setting == "vlan" || setting == "qos" || setting == "proto") return vlan_request(vf, original);
  if (setting == "spoofchk")
    return request_of(vf, IFLA_VF_SPOOFCHK,
                      raw(ifla_vf_spoofchk{.vf = number, .setting = *original.spoof_check ? 1u : 0u}));
  if (setting == "trust")
    return request_of(vf, IFLA_VF_TRUST,
                      raw(ifla_vf_trust{.vf = number, .setting = *original.trust ? 1u : 0u}));
  if (setting == "query_rss")
    return request_of(vf, IFLA_VF_RSS_QUERY_EN,
                      raw(ifla_vf_rss_query_en{.vf = number, .setting = *original.rss_query ? 1u : 0u}));
  if (setting == "state")
    return request_of(
        vf, IFLA_VF_LINK_STATE,
        raw(ifla_vf_link_state{.vf = number, .link_state = link_state_of(original.link_state)}));
  if (setting == "min_tx_rate" || setting == "max_tx_rate")
    return request_of(
        vf, IFLA_VF_RATE,
        raw(ifla_vf_rate{.vf = number,
                         .min_tx_rate = static_cast<uint32_t>(original.min_rate_mbps.value_or(0)),
                         .max_tx_rate = static_cast<uint32_t>(original.max_rate_mbps.value_or(0))}));
  if (setting == "node_guid")
    return guid_request(vf, IFLA_VF_IB_NODE_GUID, guid_to_write(original.node_guid, own));
  return guid_request(vf, IFLA_VF_IB_PORT_GUID, guid_to_write(original.port_guid, own));
}

std::mutex& writing_to(int ifindex) {
  static std::mutex guard;
  static std::map<int, std::unique_ptr<std::mutex>> all;
  const std::lock_guard alone(guard);
  auto& one = all[ifindex];
  if (!one) one = std::make_unique<std::mutex>();
  return *one;
}

}  // namespace

std::vector<SettingDifference> setting_differences(const hotplug::VfConfig& original,
                                                   const hotplug::VfConfig& now, const OwnAddresses& own) {
  std::vector<SettingDifference> out;
  for (const auto& [name, text] : kSettings) {
    SettingDifference one{std::string(name), text(original), text(now)};
    if (!is_as_before(name, one.original, one.now, own)) out.push_back(std::move(one));
  }
  return out;
}

bool has_settings(const hotplug::VfConfig& original, const hotplug::VfConfig& now, const OwnAddresses& own,
                  int speed_mbps) {
  return setting_differences(without_limit_of_link(original, speed_mbps),
                             without_limit_of_link(now, speed_mbps), own)
      .empty();
}

std::string text_of(const hotplug::VfConfig& settings) {
  std::vector<std::string> out;
  for (const auto& [name, text] : kSettings)
    if (const std::string value = text(settings); !value.empty())
      out.push_back(std::string(name) + " " + value);
  return join(out, ", ");
}

std::vector<SettingWrite> setting_writes(const VfOfInterface& vf, const hotplug::VfConfig& original,
                                         const hotplug::VfConfig& now, const OwnAddresses& own) {
  std::vector<SettingWrite> out;
  for (const SettingDifference& one : setting_differences(original, now, own)) {
    // Without a VLAN tag the protocol is not compared; it is written with the tag.
    if (one.now.empty() && one.setting != "proto") continue;
    SettingWrite write{one.setting, request_for(one.setting, vf, original, own)};
    if (one.setting == "mac" && !hotplug::is_address_set(original.mac) && !own.mac.empty())
      write.otherwise = encode_vf_mac(vf, own.mac);
    // VLAN, priority and protocol are one write, and so are both rates.
    if (out.empty() || out.back().request != write.request) out.push_back(std::move(write));
  }
  return out;
}

VfSettingsKernel running_vf_settings_kernel() {
  return {.read = &hotplug::read_vf_configs,
          .send = [](const std::string& request) { return send_link_request(kOwnNamespace, request); }};
}

namespace {

// Returns "vlan is 100, was 0; trust is on, was off"; original_word: "was".
std::string text_of_differences(const std::vector<SettingDifference>& differences,
                                const std::string& original_word) {
  std::vector<std::string> out;
  for (const auto& [setting, original, now] : differences)
    out.push_back(setting + " is " +
                  (!now.empty()         ? now
                   : setting == "proto" ? "none"
                                        : "not reported") +
                  ", " + original_word + " " + original);
  return join(out, "; ");
}

struct VfWrite {
  const VfSettingsKernel& kernel;
  const VfOfInterface& vf;
  const OwnAddresses& own;
  std::string failure, original_word, remedy;  // of the error: "FAILURE vlan is 5, ORIGINAL_WORD 0REMEDY"

  Result<hotplug::VfConfig> read() const {
    auto all = kernel.read(vf.ifindex);
    if (!all) return std::move(all.error());
    const auto at = all->find(vf.index);
    if (at == all->end()) return Error{Errc::kIo, "its PF does not report VF " + std::to_string(vf.index)};
    return without_limit_of_link(at->second, vf.speed_mbps);
  }

  // target_of: returns the target settings for the settings that the PF reports now.
  Result<Unit> run(const std::function<hotplug::VfConfig(const hotplug::VfConfig&)>& target_of,
                   const std::function<Result<Unit>()>& may_write) const {
    const std::lock_guard alone(writing_to(vf.ifindex));
    const auto before = read();
    if (!before) return before.error();
    const hotplug::VfConfig target = without_limit_of_link(target_of(*before), vf.speed_mbps);
    const auto writes = setting_writes(vf, target, *before, own);
    if (setting_differences(target, *before, own).empty()) return Unit{};
    if (auto may = may_write(); !may) return may;
    std::vector<std::string> refused;
    bool is_denied = false;
    for (const SettingWrite& write : writes) {
      int error = kernel.send(write.request);
      if (error != 0 && !write.otherwise.empty()) error = kernel.send(write.otherwise);
      is_denied |= error == EPERM || error == EACCES;
      if (error != 0) refused.push_back("set " + write.setting + ": " + std::strerror(error));
    }
    const auto after = read();
    if (!after) return after.error();
    const auto left = setting_differences(target, *after, own);
    if (left.empty()) return Unit{};
    return Error{is_denied ? Errc::kDenied : Errc::kIo,
                 failure + text_of_differences(left, original_word) +
                     (refused.empty() ? "" : " (" + join(refused, "; ") + ")") + remedy};
  }
};

}  // namespace

Result<Unit> restore_vf_settings(const VfSettingsKernel& kernel, const VfOfInterface& vf,
                                 const hotplug::VfConfig& was, const OwnAddresses& own,
                                 const std::function<Result<Unit>()>& may_write) {
  const std::string number = std::to_string(vf.index);
  const VfWrite write{kernel, vf,
                      own,    "settings of VF " + number + " differ from before its pod: ",
                      "was",  "; set them with ip link set PF vf " + number};
  return write.run([&](const hotplug::VfConfig&) { return was; }, may_write);
}

std::vector<std::string> unreported_settings(const hotplug::VfConfig& wanted,
                                             const hotplug::VfConfig& original) {
  std::vector<std::string> out;
  for (const auto& [name, text] : kSettings)
    // The VLAN protocol is reported only with a tag.
    if (name != "proto" && !text(wanted).empty() && text(original).empty()) out.emplace_back(name);
  return out;
}

Result<Unit> apply_vf_settings(const VfSettingsKernel& kernel, const VfOfInterface& vf,
                               const hotplug::VfConfig& wanted) {
  // One request has VLAN, priority and protocol, and one both rates.
  const auto target_of = [&](const hotplug::VfConfig& now) {
    hotplug::VfConfig target = wanted;
    if (target.vlan) target.vlan_qos = target.vlan_qos.value_or(0);
    if (target.vlan && target.vlan_protocol.empty()) target.vlan_protocol = "802.1Q";
    if (!target.max_rate_mbps && target.min_rate_mbps) target.max_rate_mbps = now.max_rate_mbps;
    if (!target.min_rate_mbps && target.max_rate_mbps) target.min_rate_mbps = now.min_rate_mbps;
    return target;
  };
  const OwnAddresses none;
  const VfWrite write{
      kernel,
      vf,
      none,
      "VF " + std::to_string(vf.index) + " of its PF: ",
      "expected",
      ": leave out settings that the PF's driver does not support, or select a device of another PF"};
  return write.run(target_of, [] { return Result<Unit>(Unit{}); });
}

}  // namespace sliced::kubelet
