#include "policy/node_state/node_state.h"

#include <algorithm>

#include "policy/field_reader.h"
#include "policy/prologue.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::PciAddress;
using kube::Json;

constexpr size_t kInterfacesMax = 1024;
constexpr size_t kGroupsMax = 256;
constexpr size_t kSeenVfsMax = 4096;
constexpr size_t kTextBytesMax = 256;
constexpr size_t kSyncErrorBytesMax = 1024;
constexpr int64_t kVfsMax = 65535;
constexpr int64_t kMtuMax = 1 << 20;
constexpr const char* kCurrentState = "sriovnetwork.openshift.io/current-state";

// Returns a text of limited length. A longer one is a problem and left out.
std::string short_text(FieldReader& reader, std::string_view key) {
  std::string text = reader.text(key);
  if (text.size() <= kTextBytesMax) return text;
  reader.problem(key, "has " + std::to_string(text.size()) + " bytes, at most " +
                          std::to_string(kTextBytesMax) + " are read");
  return "";
}

int number(FieldReader& reader, std::string_view key, int64_t max) {
  return static_cast<int>(reader.integer(key, 0, max, 0));
}

// Reads like FieldReader::items(), with a remedy for an object that a program wrote.
std::vector<const Json*> list(FieldReader& reader, std::string_view key, size_t count_max) {
  const Json* value = reader.member(key);
  if (value == nullptr || value->array() == nullptr || value->array()->size() <= count_max)
    return reader.items(key, count_max);
  reader.problem(key, "has " + std::to_string(value->array()->size()) + " entries, at most " +
                          std::to_string(count_max) + " are read");
  return {};
}

std::optional<PciAddress> address(FieldReader& reader) {
  const std::string text = reader.text("pciAddress");
  const auto pci = PciAddress::decode(lower(text));
  if (!pci)
    reader.problem("pciAddress", text.empty() ? "is missing; it names the PF"
                                              : "is " + in_quotes(text, 64) +
                                                    ", expected a PCI address as \"0000:3b:00.0\"");
  return pci;
}

std::string one_of(FieldReader& reader, std::string_view key, std::string_view a, std::string_view b) {
  std::string text = reader.text(key);
  if (text.empty() || text == a || text == b) return text;
  reader.problem(key, "is " + in_quotes(text, 64) + ", expected \"" + std::string(a) + "\" or \"" +
                          std::string(b) + "\"");
  return "";
}

// "ETH" and "IB" in any case: both spellings occur.
std::optional<int> link_type(FieldReader& reader) {
  const std::string text = reader.text("linkType");
  if (text.empty()) return std::nullopt;
  if (lower(text) == "eth") return 1;
  if (lower(text) == "ib") return 32;
  reader.problem("linkType", "is " + in_quotes(text, 64) + ", expected \"ETH\" or \"IB\"");
  return std::nullopt;
}

// "0-7". An invalid range would contain no VF, as in the operator, so that no VF could differ. So it is a
// problem.
void read_range(FieldReader& reader, SriovNodeState::VfGroup& group) {
  const std::string text = reader.text("vfRange");
  const size_t dash = text.find('-');
  const auto first = parse_int(std::string_view(text).substr(0, dash));
  const auto last =
      dash == std::string::npos ? std::nullopt : parse_int(std::string_view(text).substr(dash + 1));
  if (!first || !last || *first < 0 || *first > kVfsMax || *last < 0 || *last > kVfsMax)
    return reader.problem("vfRange", text.empty() ? "is missing; it names the VFs of the group"
                                                  : "is " + in_quotes(text, 64) +
                                                        ", expected the first and the last VF as \"0-7\"");
  group.first = static_cast<int>(*first);
  group.last = static_cast<int>(*last);
}

SriovNodeState::VfGroup read_group(const Json& value, std::string path, Problems& problems) {
  FieldReader reader(&value, std::move(path), problems);
  SriovNodeState::VfGroup group;
  group.resource_name = short_text(reader, "resourceName");
  group.policy_name = short_text(reader, "policyName");
  group.device_type = short_text(reader, "deviceType");
  group.vdpa_type = one_of(reader, "vdpaType", "virtio", "vhost");
  group.mtu = number(reader, "mtu", kMtuMax);
  group.is_rdma = reader.boolean("isRdma", false);
  read_range(reader, group);
  return group;
}

SriovNodeState::Wanted read_wanted(const Json& value, const std::string& path) {
  SriovNodeState::Wanted wanted;
  FieldReader reader(&value, path, wanted.problems);
  wanted.pci = address(reader);
  wanted.name = short_text(reader, "name");
  wanted.num_vfs = number(reader, "numVfs", kVfsMax);
  wanted.mtu = number(reader, "mtu", kMtuMax);
  wanted.link_type = link_type(reader);
  wanted.eswitch_mode = one_of(reader, "eSwitchMode", "legacy", "switchdev");
  if (wanted.eswitch_mode.empty()) wanted.eswitch_mode = "legacy";
  wanted.externally_managed = reader.boolean("externallyManaged", false);
  size_t index = 0;
  for (const Json* group : list(reader, "vfGroups", kGroupsMax))
    wanted.groups.push_back(
        read_group(*group, path + ".vfGroups[" + std::to_string(index++) + "]", wanted.problems));
  return wanted;
}

SriovNodeState::SeenVf read_seen_vf(const Json& value, const std::string& path, Problems& problems) {
  FieldReader reader(&value, path, problems);
  SriovNodeState::SeenVf vf;
  vf.index = static_cast<int>(reader.integer("vfID", 0, kVfsMax, -1));
  vf.mtu = number(reader, "mtu", kMtuMax);
  vf.driver = short_text(reader, "driver");
  vf.mac = short_text(reader, "mac");
  vf.guid = short_text(reader, "guid");
  vf.vdpa_type = short_text(reader, "vdpaType");
  return vf;
}

SriovNodeState::Seen read_seen(const Json& value, const std::string& path, Problems& problems) {
  FieldReader reader(&value, path, problems);
  SriovNodeState::Seen seen;
  seen.pci = address(reader);
  seen.num_vfs = number(reader, "numVfs", kVfsMax);
  seen.mtu = number(reader, "mtu", kMtuMax);
  seen.link_type = short_text(reader, "linkType");
  seen.link_admin_state = short_text(reader, "linkAdminState");
  seen.eswitch_mode = short_text(reader, "eSwitchMode");
  size_t index = 0;
  for (const Json* vf : list(reader, "Vfs", kSeenVfsMax))
    seen.vfs.push_back(read_seen_vf(*vf, path + ".Vfs[" + std::to_string(index++) + "]", problems));
  return seen;
}

void read_spec(const Json& object, SriovNodeState& state) {
  const size_t before = state.problems.size();
  FieldReader spec(object.find("spec"), "spec", state.problems);
  size_t index = 0;
  for (const Json* value : list(spec, "interfaces", kInterfacesMax))
    state.wanted.push_back(read_wanted(*value, "spec.interfaces[" + std::to_string(index++) + "]"));
  state.is_spec_unknown = state.problems.size() > before;
}

void read_status(const Json& object, SriovNodeState& state) {
  FieldReader status(object.find("status"), "status", state.problems);
  state.sync_status = short_text(status, "syncStatus");
  state.last_sync_error = cut(status.text("lastSyncError"), kSyncErrorBytesMax);
  size_t index = 0;
  for (const Json* value : list(status, "interfaces", kInterfacesMax))
    state.seen.push_back(
        read_seen(*value, "status.interfaces[" + std::to_string(index++) + "]", state.problems));
}

}  // namespace

const SriovNodeState::VfGroup* SriovNodeState::Wanted::group_of(int vf_index) const {
  for (const VfGroup& group : groups)
    if (group.covers(vf_index)) return &group;
  return nullptr;
}

const SriovNodeState::SeenVf* SriovNodeState::Seen::vf(int index) const {
  for (const SeenVf& vf : vfs)
    if (vf.index == index) return &vf;
  return nullptr;
}

const SriovNodeState::Seen* SriovNodeState::seen_of(const hotplug::PciAddress& pf) const {
  for (const Seen& one : seen)
    if (one.pci == pf) return &one;
  return nullptr;
}

SriovNodeState decode_node_state(const kube::Json& object, const Result<kube::ObjectMeta>& meta) {
  SriovNodeState state;
  const kube::ObjectMeta known = meta_of(meta, object, state.problems);
  state.is_spec_unknown = !meta;
  state.namespace_ = known.namespace_;
  state.name = known.name;
  state.uid = known.uid;
  state.sync_status_at = kube::status_written_at(object, "syncStatus");
  state.generation = known.generation;
  if (const auto at = known.annotations.find(kCurrentState); at != known.annotations.end())
    state.current_state = cut(at->second, kTextBytesMax);
  if (state.is_spec_unknown) return state;
  read_spec(object, state);
  read_status(object, state);
  return state;
}

}  // namespace sliced::policy
