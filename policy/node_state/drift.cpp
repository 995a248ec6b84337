#include "policy/node_state/drift.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "policy/link_type.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::HostDevice;
using hotplug::Netdev;

constexpr std::string_view kNone = "none";

// The subject of a rule. group and vf: for rules of VFs only; vf is nullptr if the function does not exist.
struct Subject {
  const hotplug::Inventory& host;
  const SriovNodeState::Wanted& wanted;
  const HostDevice& pf;
  const SriovNodeState::VfGroup* group = nullptr;
  const HostDevice* vf = nullptr;
  bool is_prepared = false;
};

struct Answer {
  DriftIs is = DriftIs::kSame;
  std::string wanted, found, why;
  bool is_vf_setting = false;
};

Answer same() { return {}; }
Answer exempt(std::string why) { return {DriftIs::kExempt, "", "", std::move(why)}; }
Answer unknown(std::string why) { return {DriftIs::kUnknown, "", "", std::move(why)}; }
Answer compare(bool is_good, std::string wanted, std::string found) {
  if (is_good) return same();
  return {DriftIs::kDiffers, std::move(wanted), std::move(found), ""};
}
Answer vf_setting(Answer answer) {
  answer.is_vf_setting = true;
  return answer;
}

std::string text_or_none(const std::string& text) {
  return text.empty() ? std::string(kNone) : escaped(text);
}

// Returns the host's reason for a missing fact, " (settings: EIO)"; "" if it has none.
std::string note_of(const HostDevice& device, std::string_view fact) {
  for (const std::string& note : device.unreadable)
    if (note.starts_with(std::string(fact) + ":")) return " (" + escaped(note) + ")";
  return "";
}
bool is_unreadable(const HostDevice& device, std::string_view fact) { return !note_of(device, fact).empty(); }

// Returns the interface if it is on the host; the facts of one in a pod are not current.
const Netdev* present_netdev(const HostDevice& device) {
  return device.netdev && !device.netdev->stale ? &*device.netdev : nullptr;
}

Answer without_pf_netdev(const HostDevice& pf) {
  return unknown("the PF has no interface on the host" + note_of(pf, "net"));
}

// ---- rules of a PF

Answer ask_pf_mtu(const Subject& s) {
  if (s.wanted.mtu == 0) return same();
  const Netdev* netdev = present_netdev(s.pf);
  if (netdev == nullptr) return without_pf_netdev(s.pf);
  if (!netdev->mtu) return unknown("the MTU cannot be read");
  return compare(*netdev->mtu >= s.wanted.mtu, "at least " + std::to_string(s.wanted.mtu),
                 std::to_string(*netdev->mtu));
}

Answer ask_link_type(const Subject& s) {
  if (!s.wanted.link_type) return same();
  const Netdev* netdev = present_netdev(s.pf);
  if (netdev == nullptr) return without_pf_netdev(s.pf);
  if (!netdev->link_type) return unknown("the link type cannot be read");
  const std::string_view found = text_of_link_type(netdev->link_type);
  return compare(netdev->link_type == s.wanted.link_type, std::string(text_of_link_type(s.wanted.link_type)),
                 found.empty() ? "ARPHRD " + std::to_string(*netdev->link_type) : std::string(found));
}

// Representors show the mode, so it is unknown without VFs. The rule of numVfs checks that there are VFs.
Answer ask_eswitch_mode(const Subject& s) {
  if (s.pf.num_vfs == 0) return exempt("without VFs the mode is not to be seen");
  if (s.pf.eswitch_mode.empty()) return unknown("the mode is not known yet");
  return compare(s.pf.eswitch_mode == s.wanted.eswitch_mode, s.wanted.eswitch_mode, s.pf.eswitch_mode);
}

Answer ask_num_vfs(const Subject& s) {
  if (is_unreadable(s.pf, "sriov_numvfs"))
    return unknown("the number of VFs cannot be read" + note_of(s.pf, "sriov_numvfs"));
  const std::string found = std::to_string(s.pf.num_vfs), wanted = std::to_string(s.wanted.num_vfs);
  if (!s.wanted.externally_managed) return compare(s.pf.num_vfs == s.wanted.num_vfs, wanted, found);
  if (s.pf.num_vfs > s.wanted.num_vfs)
    return exempt("the manager of the PF may create more VFs (" + found + ") than required (" + wanted + ")");
  return compare(s.pf.num_vfs == s.wanted.num_vfs,
                 wanted + " or more, which another program than the operator makes (externallyManaged)",
                 found);
}

Answer ask_link_admin_state(const Subject& s) {
  const Netdev* netdev = present_netdev(s.pf);
  if (netdev == nullptr) return without_pf_netdev(s.pf);
  if (!netdev->is_up) return unknown("whether the interface is up cannot be read");
  return compare(*netdev->is_up, "up", "down");
}

// ---- rules of a VF

bool wants_network_driver(const SriovNodeState::VfGroup& group) {
  return group.device_type.empty() || group.device_type == "netdevice";
}

Answer ask_driver(const Subject& s) {
  if (is_unreadable(*s.vf, "driver")) return unknown("the driver cannot be read" + note_of(*s.vf, "driver"));
  const std::string& driver = s.vf->driver;
  if (!wants_network_driver(*s.group))
    return compare(driver == s.group->device_type, escaped(s.group->device_type), text_or_none(driver));
  return compare(!driver.empty() && !hotplug::is_handed_over(*s.vf), "a network driver",
                 text_or_none(driver));
}

// Exempts fields that require a network driver. ask_driver reports a wrong driver.
std::optional<Answer> beside_network_drivers(const Subject& s) {
  if (!wants_network_driver(*s.group)) return same();
  if (s.vf->driver.empty() || hotplug::is_handed_over(*s.vf)) return exempt("no network driver is bound");
  return std::nullopt;
}

Answer ask_vf_mtu(const Subject& s) {
  if (s.group->mtu == 0) return same();
  if (const auto beside = beside_network_drivers(s)) return *beside;
  const Netdev* netdev = present_netdev(*s.vf);
  if (netdev == nullptr) return exempt("its interface is not on the host");
  if (!netdev->mtu) return unknown("the MTU cannot be read");
  return compare(*netdev->mtu == s.group->mtu, std::to_string(s.group->mtu), std::to_string(*netdev->mtu));
}

bool is_zeros(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0:") == std::string_view::npos;
}

// Returns the required link type, or else the present one of the PF.
std::optional<int> subject_link_type(const Subject& s) {
  if (s.wanted.link_type) return s.wanted.link_type;
  return s.pf.netdev ? s.pf.netdev->link_type : std::nullopt;
}

// VF settings of a PF come from the running kernel, not from files.
std::optional<Answer> without_vf_settings(const Subject& s) {
  if (!s.host.can_query_pfs) return exempt("VF settings of a PF cannot be read from files");
  if (!s.vf->enforced)
    return unknown("the VF settings of the PF have not been read" + note_of(*s.vf, "settings"));
  return std::nullopt;
}

Answer compare_guids(const Subject& s) {
  if (const auto without = without_vf_settings(s)) return *without;
  const auto& [node, port] = std::tie(s.vf->enforced->node_guid, s.vf->enforced->port_guid);
  if (node.empty() && port.empty()) return exempt("the driver of the PF reports no GUIDs");
  const bool is_node_bad = !node.empty() && is_zeros(node);
  return compare(!is_node_bad && !is_zeros(port), "a GUID", is_node_bad ? node : port);
}

Answer ask_guid(const Subject& s) {
  const auto actual = s.pf.netdev ? s.pf.netdev->link_type : std::nullopt;
  if (!s.group->is_rdma && text_of_link_type(actual) != "infiniband") return same();
  if (const auto beside = beside_network_drivers(s)) return *beside;
  return vf_setting(compare_guids(s));
}

Answer compare_macs(const Subject& s) {
  if (const auto without = without_vf_settings(s)) return *without;
  const std::string& admin = s.vf->enforced->mac;
  if (admin.empty()) return unknown("the driver of the PF reports no administrative MAC address");
  const Netdev* netdev = present_netdev(*s.vf);
  const std::string own = netdev != nullptr && !s.is_prepared && !is_zeros(netdev->mac) ? netdev->mac : "";
  if (is_zeros(admin)) return compare(false, own.empty() ? "a MAC" : own, admin);
  if (own.empty()) return same();
  return compare(own == admin, own, admin);
}

Answer ask_admin_mac(const Subject& s) {
  if (const auto beside = beside_network_drivers(s)) return *beside;
  const auto actual = subject_link_type(s);
  if (text_of_link_type(actual) == "infiniband") return same();
  if (text_of_link_type(actual) != "ethernet") return unknown("the link type of the PF cannot be read");
  return vf_setting(compare_macs(s));
}

Answer ask_vdpa(const Subject& s) {
  if (s.vf->vdpa.driver == hotplug::kUnknownVdpa)
    return unknown("the driver of its vDPA device cannot be read");
  return compare(s.vf->vdpa.driver == s.group->vdpa_type, text_or_none(s.group->vdpa_type),
                 text_or_none(s.vf->vdpa.driver));
}

// ---- fields of the object's status

std::string number_or_nothing(int value) { return value == 0 ? "" : std::to_string(value); }

struct DriftRule {
  std::string_view field;
  bool is_of_vf = false;
};
struct Row {
  DriftRule rule;
  Answer (*ask)(const Subject&);
  std::string (*reported)(const SriovNodeState::Seen&);
  std::string (*reported_of_vf)(const SriovNodeState::SeenVf&);
};
constexpr Row kRows[] = {
    {{"mtu"}, ask_pf_mtu, [](const auto& seen) { return number_or_nothing(seen.mtu); }, nullptr},
    {{"linkType"}, ask_link_type, [](const auto& seen) { return seen.link_type; }, nullptr},
    {{"eSwitchMode"}, ask_eswitch_mode, [](const auto& seen) { return seen.eswitch_mode; }, nullptr},
    {{"numVfs"}, ask_num_vfs, [](const auto& seen) { return std::to_string(seen.num_vfs); }, nullptr},
    {{"linkAdminState"},
     ask_link_admin_state,
     [](const auto& seen) { return seen.link_admin_state; },
     nullptr},
    {{"driver", true}, ask_driver, nullptr, [](const auto& seen) { return text_or_none(seen.driver); }},
    {{"mtu", true}, ask_vf_mtu, nullptr, [](const auto& seen) { return number_or_nothing(seen.mtu); }},
    {{"guid", true}, ask_guid, nullptr, [](const auto& seen) { return seen.guid; }},
    // The kind has no such field.
    {{"adminMac", true}, ask_admin_mac, nullptr, nullptr},
    {{"vdpaType", true}, ask_vdpa, nullptr, [](const auto& seen) { return text_or_none(seen.vdpa_type); }},
};

DriftFinding finding_of(const Row& row, Answer answer, const HostDevice& device) {
  return {.is = answer.is,
          .field = row.rule.field,
          .vf = row.rule.is_of_vf ? device.vf_index : std::nullopt,
          .device = device.id.text,
          .wanted = std::move(answer.wanted),
          .found = std::move(answer.found),
          .why = std::move(answer.why),
          .reported = "",
          .is_vf_setting = answer.is_vf_setting};
}

void judge_pf(const Subject& subject, const SriovNodeState::Seen* seen, InterfaceDrift& out) {
  for (const Row& row : kRows) {
    if (row.rule.is_of_vf) continue;
    Answer answer = row.ask(subject);
    if (answer.is == DriftIs::kSame) continue;
    out.findings.push_back(finding_of(row, std::move(answer), subject.pf));
    DriftFinding& finding = out.findings.back();
    if (finding.is == DriftIs::kDiffers && seen != nullptr) finding.reported = escaped(row.reported(*seen));
  }
}

void judge_vf(const Subject& subject, const SriovNodeState::Seen* seen, InterfaceDrift& out) {
  const SriovNodeState::SeenVf* seen_vf = seen == nullptr ? nullptr : seen->vf(*subject.vf->vf_index);
  for (const Row& row : kRows) {
    if (!row.rule.is_of_vf) continue;
    Answer answer = row.ask(subject);
    out.reads_vf_settings |= answer.is_vf_setting;
    if (answer.is == DriftIs::kSame) continue;
    out.findings.push_back(finding_of(row, std::move(answer), *subject.vf));
    DriftFinding& finding = out.findings.back();
    if (finding.is == DriftIs::kDiffers && seen_vf != nullptr && row.reported_of_vf != nullptr)
      finding.reported = escaped(row.reported_of_vf(*seen_vf));
  }
}

// Returns the VFs by their index in the PF's links.
std::map<int, const HostDevice*> vfs_of(const hotplug::Inventory& host, const HostDevice& pf) {
  std::map<int, const HostDevice*> out;
  for (const auto& [id, device] : host.devices)
    if (device.pf && device.pf == pf.pci && device.vf_index) out[*device.vf_index] = &device;
  return out;
}

void judge_vfs(const DriftRequest& request, const SriovNodeState::Wanted& wanted, const HostDevice& pf,
               InterfaceDrift& out) {
  const SriovNodeState::Seen* seen = request.state.seen_of(*wanted.pci);
  const auto vfs = vfs_of(request.host, pf);
  for (int index = 0; index < pf.num_vfs; ++index) {
    const SriovNodeState::VfGroup* group = wanted.group_of(index);
    if (group == nullptr) continue;
    ++out.vfs;
    const auto at = vfs.find(index);
    const HostDevice* vf = at == vfs.end() ? nullptr : at->second;
    if (vf == nullptr || !vf->broken.empty()) {
      out.findings.push_back(
          {.is = DriftIs::kUnknown,
           .field = "pciAddress",
           .vf = index,
           .device = vf == nullptr ? "" : vf->id.text,
           .why = vf == nullptr ? "the function does not exist yet" : escaped(vf->broken)});
      continue;
    }
    const bool is_prepared = request.is_prepared && request.is_prepared(*vf);
    judge_vf({request.host, wanted, pf, group, vf, is_prepared}, seen, out);
  }
}

}  // namespace

bool InterfaceDrift::differs() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const DriftFinding& finding) { return finding.is == DriftIs::kDiffers; });
}

bool InterfaceDrift::is_in_sync() const {
  return problems.empty() && std::all_of(findings.begin(), findings.end(), [](const DriftFinding& finding) {
           return finding.is == DriftIs::kExempt;
         });
}

bool InterfaceDrift::depends_on_vf_settings() const {
  return reads_vf_settings && problems.empty() &&
         std::all_of(findings.begin(), findings.end(), [](const DriftFinding& finding) {
           return finding.is == DriftIs::kExempt || finding.is_vf_setting;
         });
}

InterfaceDrift judge_interface(const DriftRequest& request, const SriovNodeState::Wanted& wanted) {
  InterfaceDrift out{.pci = wanted.pci ? wanted.pci->text() : "",
                     .name = wanted.name,
                     .externally_managed = wanted.externally_managed,
                     .problems = wanted.problems};
  if (!out.problems.empty()) return out;
  const HostDevice* pf = request.host.find(out.pci);
  if (pf == nullptr) {
    out.findings.push_back({.is = DriftIs::kDiffers,
                            .field = "pciAddress",
                            .device = out.pci,
                            .wanted = "a PF",
                            .found = "no such function"});
    return out;
  }
  if (!pf->broken.empty()) {
    out.findings.push_back(
        {.is = DriftIs::kUnknown, .field = "pciAddress", .device = out.pci, .why = escaped(pf->broken)});
    return out;
  }
  if (pf->netdev) out.name = pf->netdev->name;
  judge_pf({request.host, wanted, *pf}, request.state.seen_of(*wanted.pci), out);
  if (wanted.num_vfs > 0) judge_vfs(request, wanted, *pf, out);
  return out;
}

std::vector<InterfaceDrift> judge_drift(const DriftRequest& request) {
  std::vector<InterfaceDrift> out;
  for (const SriovNodeState::Wanted& wanted : request.state.wanted)
    out.push_back(judge_interface(request, wanted));
  return out;
}

std::string text_of(const DriftFinding& finding) {
  const std::string field =
      std::string(finding.field) + (finding.vf ? " of VF " + std::to_string(*finding.vf) : "");
  if (finding.is == DriftIs::kDiffers) return field + " is " + finding.found + ", expected " + finding.wanted;
  return field + (finding.is == DriftIs::kUnknown ? " is not known: " : " is not asked: ") + finding.why;
}

}  // namespace sliced::policy
