#include "daemon/reports/node_report.h"

#include <algorithm>
#include <utility>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "policy/link_type.h"
#include "policy/verdict.h"
#include "reactor/base/text.h"

namespace sliced::reports {
namespace {

using hotplug::HostDevice;
using hotplug::PciAddress;
using kube::Json;

// Limit of one text of a report: names are shorter, and the beginning of a sentence is sufficient.
constexpr size_t kTextBytesMax = 256;
constexpr size_t kReadBytesMax = 2 * kTextBytesMax;  // written texts may end with an escape
constexpr size_t kItemsMax = 1'024;                  // per list; the schema has the same limit
constexpr int kVfsMax = 4'096;
// Limit of decoded numbers, so that their sum over all possible nodes does not overflow.
constexpr int64_t kNumberMax = 1'000'000'000'000;

// ---- members of each part, by their keys: read and written by the same rows

template <class Part>
using Texts = std::pair<std::string_view, std::string Part::*>;
template <class Part>
using Numbers = std::pair<std::string_view, int64_t Part::*>;

constexpr Texts<PolicyRef> kRefTexts[] = {
    {"kind", &PolicyRef::kind}, {"namespace", &PolicyRef::namespace_}, {"name", &PolicyRef::name}};
constexpr Texts<PolicyReport> kPolicyTexts[] = {{"action", &PolicyReport::action},
                                                {"overruledBy", &PolicyReport::overruled_by},
                                                {"problem", &PolicyReport::problem}};
constexpr Numbers<PolicyReport> kPolicyNumbers[] = {{"generation", &PolicyReport::generation},
                                                    {"matched", &PolicyReport::matched},
                                                    {"offered", &PolicyReport::offered},
                                                    {"overruled", &PolicyReport::overruled},
                                                    {"moreProblems", &PolicyReport::more_problems}};
constexpr Texts<PoolReport> kPoolTexts[] = {{"driver", &PoolReport::driver}, {"name", &PoolReport::name}};
constexpr Numbers<PoolReport> kPoolNumbers[] = {{"generation", &PoolReport::generation},
                                                {"devices", &PoolReport::devices},
                                                {"slices", &PoolReport::slices}};
constexpr Texts<PolicyVerdict> kVerdictTexts[] = {{"outcome", &PolicyVerdict::outcome},
                                                  {"why", &PolicyVerdict::why}};
constexpr Texts<DeviceGroup> kGroupTexts[] = {
    {"type", &DeviceGroup::type},
    {"pf", &DeviceGroup::pf},
    {"pfName", &DeviceGroup::pf_name},
    {"pciAddress", &DeviceGroup::pci_address},
    {"interface", &DeviceGroup::interface},
    {"interfaceBase", &DeviceGroup::interface_base},
    {"vendor", &DeviceGroup::vendor},
    {"product", &DeviceGroup::product},
    {"subsystemVendor", &DeviceGroup::subsystem_vendor},
    {"subsystemProduct", &DeviceGroup::subsystem_product},
    {"driver", &DeviceGroup::driver},
    {"linkType", &DeviceGroup::link_type},
    {"eswitchMode", &DeviceGroup::eswitch_mode},
    {"pfProduct", &DeviceGroup::pf_product},
    {"master", &DeviceGroup::master},
    {"hostUse", &DeviceGroup::host_use},
    {"disposition", &DeviceGroup::disposition},
};
constexpr Texts<LastChange> kChangeTexts[] = {{"time", &LastChange::time},
                                              {"change", &LastChange::change},
                                              {"policy", &LastChange::policy},
                                              {"why", &LastChange::why}};
constexpr Numbers<LastChange> kChangeNumbers[] = {{"devices", &LastChange::devices}};
constexpr Texts<NodeReport> kReportTexts[] = {
    {"daemonVersion", &NodeReport::daemon_version}, {"bootID", &NodeReport::boot_id},
    {"kubeletPlugin", &NodeReport::kubelet_plugin}, {"waitsFor", &NodeReport::waits_for},
    {"droppedFields", &NodeReport::dropped_fields}, {"silentSince", &NodeReport::silent_since}};
constexpr Numbers<NodeReport> kCountNumbers[] = {{"devices", &NodeReport::devices},
                                                 {"offered", &NodeReport::offered},
                                                 {"heldBack", &NodeReport::held_back},
                                                 {"hidden", &NodeReport::hidden},
                                                 {"unmatched", &NodeReport::unmatched}};
constexpr Numbers<NodeReport::LeftOut> kLeftOutNumbers[] = {{"pools", &NodeReport::LeftOut::pools},
                                                            {"policies", &NodeReport::LeftOut::policies},
                                                            {"problems", &NodeReport::LeftOut::problems},
                                                            {"groups", &NodeReport::LeftOut::groups},
                                                            {"devices", &NodeReport::LeftOut::devices}};

// An already truncated text stays unchanged, so that encoding a decoded report gives the same text.
std::string cut_text(const std::string& text) {
  constexpr size_t kToldBytesMax = kTextBytesMax + 6;  // printable()'s, with dots and an escape at the end
  if (text.size() <= kToldBytesMax && printable(text, 2 * kToldBytesMax) == text) return text;
  return printable(text, kTextBytesMax);
}

// Omits empty texts and zeros.
template <class Part, size_t kCount>
void put(Json& out, const Texts<Part> (&rows)[kCount], const Part& part) {
  for (const auto& [key, text] : rows)
    if (!(part.*text).empty()) out.set(key, cut_text(part.*text));
}
template <class Part, size_t kCount>
void put(Json& out, const Numbers<Part> (&rows)[kCount], const Part& part) {
  for (const auto& [key, number] : rows)
    if (part.*number != 0) out.set(key, part.*number);
}

int64_t number_in(const Json& json, std::string_view key, int64_t otherwise = 0) {
  const Json* found = json.find(key);
  return found != nullptr && found->integer() != nullptr ? std::min(*found->integer(), kNumberMax)
                                                         : otherwise;
}
int small_number_in(const Json& json, std::string_view key, int otherwise = 0) {
  return static_cast<int>(std::clamp<int64_t>(number_in(json, key, otherwise), -65'536, 65'536));
}
bool is_set_in(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  return found != nullptr && found->boolean() != nullptr && *found->boolean();
}

template <class Part, size_t kCount>
void take(const Json& json, const Texts<Part> (&rows)[kCount], Part& part) {
  for (const auto& [key, text] : rows) part.*text = cut(std::string(json.text(key)), kReadBytesMax);
}
template <class Part, size_t kCount>
void take(const Json& json, const Numbers<Part> (&rows)[kCount], Part& part) {
  for (const auto& [key, number] : rows) part.*number = std::max<int64_t>(number_in(json, key), 0);
}

template <class Visit>
void for_each_item(const Json& json, std::string_view key, Visit visit) {
  const Json* found = json.find(key);
  if (found == nullptr || found->array() == nullptr) return;
  size_t count = 0;
  for (const Json& item : *found->array())
    if (++count <= kItemsMax) visit(item);
}

Json json_of(const Counts& counts) {
  Json out = Json::Object{};
  for (const auto& [outcome, count] : counts)
    if (count != 0) out.set(cut_text(outcome), count);
  return out;
}
// The present name of an outcome: a report of an older daemon has "charged"
// (docs/design/renamed-interfaces.md).
std::string present_outcome(std::string_view outcome) {
  if (outcome == "charged") return std::string(name_of(policy::Outcome::kReserved));
  return cut(std::string(outcome), kReadBytesMax);
}

Counts counts_in(const Json& json, std::initializer_list<std::string_view> path) {
  Counts out;
  const Json* found = json.find(path);
  if (found == nullptr || found->object() == nullptr) return out;
  for (const auto& [outcome, count] : *found->object())
    if (count.integer() != nullptr && *count.integer() > 0 && out.size() < kItemsMax)
      out[present_outcome(outcome)] = std::min(*count.integer(), kNumberMax);
  return out;
}

// ---- one item of each list

Json json_of(const std::string& problem) { return cut_text(problem); }

Json json_of(const PoolReport& pool) {
  Json out = Json::Object{};
  put(out, kPoolTexts, pool);
  put(out, kPoolNumbers, pool);
  return out;
}
PoolReport pool_of(const Json& json) {
  PoolReport out;
  take(json, kPoolTexts, out);
  take(json, kPoolNumbers, out);
  return out;
}

Json json_of(const PolicyReport& policy) {
  Json out = Json::Object{};
  put(out, kRefTexts, policy.policy);
  put(out, kPolicyTexts, policy);
  put(out, kPolicyNumbers, policy);
  if (!policy.hidden.empty()) out.set("hidden", json_of(policy.hidden));
  return out;
}
PolicyReport policy_of(const Json& json) {
  PolicyReport out;
  take(json, kRefTexts, out.policy);
  take(json, kPolicyTexts, out);
  take(json, kPolicyNumbers, out);
  out.hidden = counts_in(json, {"hidden"});
  return out;
}

Json json_of(const PolicyVerdict& verdict) {
  Json out = Json::Object{};
  put(out, kRefTexts, verdict.policy);
  put(out, kVerdictTexts, verdict);
  return out;
}
PolicyVerdict verdict_of(const Json& json) {
  PolicyVerdict out;
  take(json, kRefTexts, out.policy);
  take(json, kVerdictTexts, out);
  out.outcome = present_outcome(out.outcome);
  return out;
}

Json json_of(const DeviceGroup& group) {
  Json out = Json::Object{};
  put(out, kGroupTexts, group);
  if (!group.vfs.empty()) out.set("vfs", text_of(group.vfs));
  if (group.stride != 1) out.set("stride", group.stride);
  if (group.numa_node) out.set("numaNode", *group.numa_node);
  if (group.mtu) out.set("mtu", *group.mtu);
  if (group.total_vfs != 0) out.set("totalVFs", group.total_vfs);
  if (group.num_vfs != 0) out.set("numVFs", group.num_vfs);
  if (group.rdma) out.set("rdma", true);
  if (group.named_otherwise) out.set("namedOtherwise", true);
  Json::Array verdicts;
  for (const PolicyVerdict& one : group.verdicts) verdicts.push_back(json_of(one));
  if (!verdicts.empty()) out.set("verdicts", std::move(verdicts));
  return out;
}
DeviceGroup group_of(const Json& json) {
  DeviceGroup out;
  take(json, kGroupTexts, out);
  out.vfs = vf_ranges_of(json.text("vfs")).value_or(std::vector<VfRange>{});
  out.stride = small_number_in(json, "stride", 1);
  if (json.find("numaNode") != nullptr) out.numa_node = small_number_in(json, "numaNode");
  if (json.find("mtu") != nullptr) out.mtu = small_number_in(json, "mtu");
  out.total_vfs = small_number_in(json, "totalVFs");
  out.num_vfs = small_number_in(json, "numVFs");
  out.rdma = is_set_in(json, "rdma");
  out.named_otherwise = is_set_in(json, "namedOtherwise");
  // The old names of both fields, which daemons of an older release write
  // (docs/design/renamed-interfaces.md).
  if (out.disposition.empty()) out.disposition = cut(std::string(json.text("standing")), kReadBytesMax);
  const std::string_view key = json.find("verdicts") != nullptr ? "verdicts" : "said";
  for_each_item(json, key, [&](const Json& item) { out.verdicts.push_back(verdict_of(item)); });
  return out;
}

template <class List>
Json list_of(const List& list) {
  Json::Array out;
  for (const auto& one : list) out.push_back(json_of(one));
  return out;
}

bool is_node(const kube::OwnerReference& owner, const std::string& node) {
  return owner.kind == "Node" && owner.name == node;
}

// Additions by others (labels, annotations, finalizers, owners) stay.
Json metadata_of(const NodeReport& report, kube::ObjectMeta meta) {
  meta.name = report.node;
  meta.generation = 0;  // the server's
  std::erase_if(meta.owner_references, [&](const auto& owner) { return is_node(owner, report.node); });
  meta.owner_references.insert(
      meta.owner_references.begin(),
      {.api_version = "v1", .kind = "Node", .name = report.node, .uid = report.node_uid});
  return encode_object_meta(meta);
}

Json counts_of(const NodeReport& report) {
  Json out = Json::Object{};
  for (const auto& [key, number] : kCountNumbers) out.set(key, report.*number);
  out.set("problems", static_cast<int64_t>(report.problems.size()) + report.left_out.problems);
  return out;
}

Json status_of(const NodeReport& report) {
  Json out = Json::Object{};
  put(out, kReportTexts, report);
  Json change = Json::Object{};
  put(change, kChangeTexts, report.last_change);
  put(change, kChangeNumbers, report.last_change);
  if (!report.last_change.time.empty()) out.set("lastChange", std::move(change));
  out.set("counts", counts_of(report));
  Json outcomes = Json::Object{};
  outcomes.set("sriov", json_of(report.sriov));
  outcomes.set("exposure", json_of(report.exposure));
  out.set("outcomes", std::move(outcomes));
  out.set("problems", list_of(report.problems));
  out.set("policies", list_of(report.policies));
  out.set("pools", list_of(report.pools));
  out.set("groups", list_of(report.groups));
  Json left_out = Json::Object{};
  put(left_out, kLeftOutNumbers, report.left_out);
  if (!left_out.object()->empty()) out.set("leftOut", std::move(left_out));
  return out;
}

// ---- devices of a group

uint32_t routing_id(const PciAddress& address) {
  return static_cast<uint32_t>(address.bus) << 8 | static_cast<uint32_t>(address.device) << 3 |
         address.function;
}
std::optional<PciAddress> moved(const PciAddress& address, int64_t by) {
  const int64_t id = int64_t{routing_id(address)} + by;
  if (id < 0 || id > 0xffff) return std::nullopt;
  return PciAddress{address.domain, static_cast<uint8_t>(id >> 8), static_cast<uint8_t>(id >> 3 & 31),
                    static_cast<uint8_t>(id & 7)};
}

// Returns a device with the facts that all devices of the group share.
HostDevice device_like(const DeviceGroup& group, hotplug::DeviceType type) {
  HostDevice out;
  out.type = type;
  out.vendor = group.vendor;
  out.product = group.product;
  out.subsystem_vendor = group.subsystem_vendor;
  out.subsystem_product = group.subsystem_product;
  out.driver = group.driver;
  out.numa_node = group.numa_node;
  out.total_vfs = group.total_vfs;
  out.num_vfs = group.num_vfs;
  out.eswitch_mode = group.eswitch_mode;
  out.pf = PciAddress::decode(group.pf);
  out.pf_name = group.pf_name;
  out.pf_product = group.pf_product;
  out.host_use = group.host_use;
  if (out.pf) out.pf_link_type = policy::link_type_of_text(group.link_type);
  if (group.rdma) out.rdma_device = hotplug::kUnknownRdmaDevice;
  return out;
}

void set_interface(HostDevice& device, const DeviceGroup& group, std::string name) {
  if (name.empty() && !group.named_otherwise) return;
  device.netdev = hotplug::Netdev{.name = name, .kernel_name = name};
  device.netdev->mtu = group.mtu;
  device.netdev->master = group.master;
  device.netdev->link_type = policy::link_type_of_text(group.link_type);
}

std::vector<HostDevice> vfs_of(const DeviceGroup& group, const HostDevice& like, const PciAddress& first) {
  std::vector<HostDevice> out;
  for (const VfRange& range : group.vfs)
    for (int number = range.first; number <= range.last; ++number) {
      const auto address = moved(first, int64_t{number - group.vfs.front().first} * group.stride);
      if (!address) return out;
      HostDevice& vf = out.emplace_back(like);
      vf.pci = address;
      vf.id.text = address->text();
      vf.vf_index = number;
      const std::string& base = group.interface_base;
      set_interface(vf, group, base.empty() ? group.interface : base + std::to_string(number));
    }
  return out;
}

// ---- fitting

size_t bytes_of(const Json& json) { return kube::encode_json(json).size() + 1; }

// Keeps the first items that fit; counts the others.
template <class List, class Drop>
void keep_first(List& list, size_t& left, Drop drop) {
  size_t kept = 0;
  for (; kept < list.size() && kept < kItemsMax; ++kept) {
    const size_t bytes = bytes_of(json_of(list[kept]));
    if (bytes > left) break;
    left -= bytes;
  }
  for (size_t at = kept; at < list.size(); ++at) drop(list[at]);
  list.resize(kept);
}

}  // namespace

size_t device_count(const DeviceGroup& group) {
  if (group.vfs.empty()) return 1;
  size_t out = 0;
  for (const VfRange& range : group.vfs) out += static_cast<size_t>(range.last - range.first) + 1;
  return out;
}

std::string text_of(const std::vector<VfRange>& ranges) {
  std::vector<std::string> parts;
  for (const VfRange& range : ranges)
    parts.push_back(std::to_string(range.first) +
                    (range.last == range.first ? "" : "-" + std::to_string(range.last)));
  return join(parts, ",");
}

std::optional<std::vector<VfRange>> vf_ranges_of(std::string_view text) {
  std::vector<VfRange> out;
  for (const std::string_view part : split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kVfsMax) return std::nullopt;
    if (!out.empty() && *first <= out.back().last) return std::nullopt;
    out.push_back({static_cast<int>(*first), static_cast<int>(*last)});
  }
  return out;
}

std::vector<HostDevice> devices_of(const DeviceGroup& group) {
  const auto type = hotplug::device_type_of(group.type);
  const auto address = PciAddress::decode(group.pci_address);
  const bool is_function = type == hotplug::DeviceType::kPf || type == hotplug::DeviceType::kVf ||
                           type == hotplug::DeviceType::kNic;
  if (!type || (is_function && !address) || (!is_function && group.interface.empty())) return {};
  HostDevice like = device_like(group, *type);
  if (!group.vfs.empty()) return vfs_of(group, like, *address);
  if (is_function) like.pci = address;
  like.id.text = is_function ? address->text() : group.interface;
  set_interface(like, group, group.interface);
  return {std::move(like)};
}

NodeReport fit(NodeReport report, size_t bytes_max) {
  NodeReport rest = report;  // without the lists, and with counts as wide as they get
  rest.pools.clear(), rest.policies.clear(), rest.problems.clear(), rest.groups.clear();
  constexpr int64_t kWide = 999'999;
  rest.left_out = {kWide, kWide, kWide, kWide, kWide};
  const size_t fixed = bytes_of(json_of(rest, {.resource_version = "9999999999999999999"}));
  const size_t room = bytes_max > fixed ? bytes_max - fixed : 0;
  size_t used = 0;
  // Each list is limited to a share, so that none displaces the others; unused space goes to the next one.
  const auto keep = [&](auto& list, size_t percent, auto drop) {
    const size_t share = room * percent / 100;
    size_t left = share > used ? share - used : 0;
    const size_t before = left;
    keep_first(list, left, drop);
    used += before - left;
  };
  auto& out = report.left_out;
  keep(report.problems, 25, [&](const auto&) { ++out.problems; });
  keep(report.policies, 55, [&](const auto&) { ++out.policies; });
  keep(report.pools, 75, [&](const auto&) { ++out.pools; });
  keep(report.groups, 100, [&](const DeviceGroup& group) {
    ++out.groups;
    out.devices += static_cast<int64_t>(device_count(group));
  });
  return report;
}

Json json_of(const NodeReport& report, const kube::ObjectMeta& stored) {
  Json out = Json::Object{};
  out.set("apiVersion", kube::api_version(kube::kNodeDeviceReports));
  out.set("kind", kube::kNodeDeviceReports.kind);
  out.set("metadata", metadata_of(report, stored));
  out.set("status", status_of(report));
  return out;
}

Result<NodeReport> decode_node_report(const Json& object) {
  auto meta = kube::decode_object_meta(object);
  if (!meta) return std::move(meta.error());
  NodeReport out{.node = meta->name};
  for (const kube::OwnerReference& owner : meta->owner_references)
    if (is_node(owner, meta->name)) out.node_uid = owner.uid;
  const Json* status = object.find("status");
  if (status == nullptr || status->object() == nullptr) return out;
  take(*status, kReportTexts, out);
  if (const Json* change = status->find("lastChange"); change != nullptr) {
    take(*change, kChangeTexts, out.last_change);
    take(*change, kChangeNumbers, out.last_change);
  }
  if (const Json* counts = status->find("counts"); counts != nullptr) take(*counts, kCountNumbers, out);
  if (const Json* left_out = status->find("leftOut"); left_out != nullptr)
    take(*left_out, kLeftOutNumbers, out.left_out);
  out.sriov = counts_in(*status, {"outcomes", "sriov"});
  out.exposure = counts_in(*status, {"outcomes", "exposure"});
  for_each_item(*status, "problems", [&](const Json& item) {
    if (item.string() != nullptr) out.problems.push_back(cut(*item.string(), kReadBytesMax));
  });
  for_each_item(*status, "policies", [&](const Json& item) { out.policies.push_back(policy_of(item)); });
  for_each_item(*status, "pools", [&](const Json& item) { out.pools.push_back(pool_of(item)); });
  int64_t devices = 0;
  for_each_item(*status, "groups", [&](const Json& item) {
    DeviceGroup group = group_of(item);
    const auto count = static_cast<int64_t>(device_count(group));
    devices += count;
    if (devices <= int64_t{kReportedDevicesMax}) return out.groups.push_back(std::move(group));
    ++out.left_out.groups, out.left_out.devices += count;
  });
  return out;
}

}  // namespace sliced::reports
