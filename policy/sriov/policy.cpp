#include "policy/sriov/policy.h"

#include <algorithm>
#include <tuple>

#include "policy/field_reader.h"
#include "policy/given_attribute.h"
#include "policy/prologue.h"
#include "policy/readiness/decode_readiness.h"
#include "policy/sriov/attributes.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

// Names of the filter fields, by FilterField.
constexpr std::string_view kFilterFields[kFilterFieldCount] = {"vendors",      "devices",   "drivers",
                                                               "pciAddresses", "pfNames",   "pfPciAddresses",
                                                               "rootDevices",  "numaNodes", "linkType"};

using hotplug::PciAddress;
using kube::Json;

// Limits of the kind, equal to config/crd.
constexpr size_t kConfigsMax = 64;
constexpr size_t kFiltersMax = 64;
constexpr size_t kEntriesMax = 256;
constexpr size_t kEntryBytesMax = 256;
constexpr size_t kGivenAttributesMax = 256;  // more than a device can have
constexpr int kVfIndexMax = 65535;
constexpr int64_t kSriovPriorityMax = 1'000'000;

constexpr std::string_view kSriovSpecFields[] = {
    "nodeSelector", "priority", "allowHostUse", "allowDefaultRoutes", "allow", "configs", "readiness"};
constexpr std::string_view kConfigFields[] = {"resourceName", "resourceFilters", "deviceAttributesSelector"};

std::vector<std::string> read_ids(FieldReader& reader, std::string_view key) {
  std::vector<std::string> ids;
  for (const auto& [text, line] : reader.texts(key, kEntriesMax, kEntryBytesMax)) {
    std::string id = lower(text);
    if (id.starts_with("0x")) id.erase(0, 2);
    if (id.size() != 4 || !parse_hex(id))
      reader.problem(
          key, "has " + in_quotes(text, 64) + ", expected four hexadecimal digits such as \"8086\"", line);
    ids.push_back(std::move(id));
  }
  return ids;
}

std::optional<std::vector<PfMatch<int>::Range>> decode_ranges(std::string_view text) {
  std::vector<PfMatch<int>::Range> ranges;
  for (const std::string_view part : split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kVfIndexMax) return std::nullopt;
    ranges.push_back({static_cast<int>(*first), static_cast<int>(*last)});
  }
  return ranges;
}

// "KEY" or "KEY#RANGES". decode_key returns nullopt for an invalid key.
template <class Key, class DecodeKey>
std::vector<PfMatch<Key>> read_pf_matches(FieldReader& reader, std::string_view key, std::string_view wanted,
                                          DecodeKey decode_key) {
  std::vector<PfMatch<Key>> out;
  for (const auto& [text, line] : reader.texts(key, kEntriesMax, kEntryBytesMax)) {
    const size_t hash = text.find('#');
    const std::optional<Key> pf = decode_key(std::string_view(text).substr(0, hash));
    PfMatch<Key> match;
    bool ranges_good = true;
    if (hash != std::string::npos) {
      const auto ranges = decode_ranges(std::string_view(text).substr(hash + 1));
      ranges_good = ranges.has_value();
      if (ranges)
        for (const auto& range : *ranges) match.ranges.push_back({range.first, range.last});
    }
    if (!pf || !ranges_good) {
      reader.problem(key,
                     "has " + in_quotes(text, 96) + ", expected " + std::string(wanted) +
                         ", optionally with VF ranges such as #0-3,7",
                     line);
      continue;
    }
    match.pf = *pf;
    out.push_back(std::move(match));
  }
  return out;
}

std::vector<PfMatch<PciAddress>> read_pf_addresses(FieldReader& reader, std::string_view key) {
  return read_pf_matches<PciAddress>(reader, key, "a PCI address such as \"0000:3b:00.0\"",
                                     [](std::string_view text) { return PciAddress::decode(lower(text)); });
}

std::vector<int> read_numa_nodes(FieldReader& reader) {
  std::vector<int> nodes;
  for (const Json* item : reader.items("numaNodes", kEntriesMax)) {
    const auto number = item->integer() != nullptr  ? std::optional(*item->integer())
                        : item->string() != nullptr ? parse_int(*item->string())
                                                    : std::nullopt;
    if (number && *number >= 0 && *number <= 4096)
      nodes.push_back(static_cast<int>(*number));
    else
      reader.problem("numaNodes",
                     "has " + (item->string() ? in_quotes(*item->string(), 64) : kube::encode_json(*item)) +
                         ", expected NUMA node numbers such as 0 or \"1\"",
                     item->line());
  }
  return nodes;
}

ResourceFilter decode_filter(const Json& value, const std::string& path, ResourceConfig& config) {
  FieldReader reader(&value, path, config.problems);
  reader.only(kFilterFields);
  ResourceFilter filter;
  filter.vendors = read_ids(reader, "vendors");
  filter.devices = read_ids(reader, "devices");
  for (auto& [text, line] : reader.texts("drivers", kEntriesMax, kEntryBytesMax))
    filter.drivers.push_back(std::move(text));
  for (const auto& [text, line] : reader.texts("pciAddresses", kEntriesMax, kEntryBytesMax)) {
    if (const auto address = PciAddress::decode(lower(text)))
      filter.pci_addresses.push_back(*address);
    else
      reader.problem("pciAddresses",
                     "has " + in_quotes(text, 64) + ", expected PCI addresses such as \"0000:3b:00.2\"",
                     line);
  }
  filter.pf_names = read_pf_matches<std::string>(
      reader, "pfNames", "an interface name", [](std::string_view text) -> std::optional<std::string> {
        return text.empty() ? std::nullopt : std::optional(std::string(text));
      });
  filter.pf_pci_addresses = read_pf_addresses(reader, "pfPciAddresses");
  filter.root_devices = read_pf_addresses(reader, "rootDevices");
  filter.numa_nodes = read_numa_nodes(reader);
  const std::string link_type = lower(reader.text("linkType"));
  if (link_type == "eth" || link_type == "ethernet")
    filter.link_type = "ethernet";
  else if (link_type == "ib" || link_type == "infiniband")
    filter.link_type = "infiniband";
  else if (!link_type.empty())
    reader.problem("linkType",
                   "is " + in_quotes(link_type, 64) + ", expected eth, ethernet, ib or infiniband");
  for (int field = 0; field < kFilterFieldCount; ++field) {
    const std::string_view name = name_of(static_cast<FilterField>(field));
    const Json* list = reader.member(name);
    if (list != nullptr && list->array() != nullptr && list->array()->empty())
      config.remarks.push_back({reader.path_of(name),
                                "is an empty list, which matches any value: remove the field, or list values",
                                list->line()});
  }
  return filter;
}

std::vector<std::string> config_fields() {
  const std::string config = "spec.configs[].";
  std::vector<std::string> out;
  for (const std::string_view field : kConfigFields) {
    if (field == "resourceFilters")
      for (const std::string_view part : kFilterFields)
        out.push_back(config + "resourceFilters[]." + std::string(part));
    else
      out.push_back(config + std::string(field));
  }
  return out;
}

// problems_max: remaining limit of the whole policy.
ResourceConfig decode_config(const Json& value, const std::string& path, size_t problems_max) {
  ResourceConfig config{.problems = Problems(problems_max)};
  config.line = value.line();
  FieldReader reader(&value, path, config.problems);
  reader.only(kConfigFields);
  if (value.is_null()) config.problems.push_back({path, "is null, expected a map", value.line()});
  config.resource_name = reader.text("resourceName");
  if (config.resource_name.size() > kube::kAttributeValueBytesMax) {
    reader.problem("resourceName", "has " + std::to_string(config.resource_name.size()) + " bytes, at most " +
                                       std::to_string(kube::kAttributeValueBytesMax) + " can be published");
    config.resource_name = {};
  }
  if (const Json* selector = reader.member("deviceAttributesSelector")) {
    kube::FieldProblems found;
    config.attributes_selector = kube::decode_label_selector(*selector, found);
    reader.adopt("deviceAttributesSelector", found);
  }
  size_t index = 0;
  for (const Json* filter : reader.items("resourceFilters", kFiltersMax)) {
    const std::string at = reader.path_of("resourceFilters") + "[" + std::to_string(index++) + "]";
    if (filter->is_null()) config.problems.push_back({at, "is null, expected a map", filter->line()});
    config.filters.push_back(decode_filter(*filter, at, config));
  }
  return config;
}

}  // namespace

std::string_view name_of(FilterField field) { return kFilterFields[static_cast<int>(field)]; }

std::string text_of(const SriovPolicy::Id& id) { return id.namespace_ + "/" + id.name; }

bool has_same_content(const SriovPolicy& a, const SriovPolicy& b) {
  const auto is_one_config = [](const ResourceConfig& x, const ResourceConfig& y) {
    return x.problems.empty() == y.problems.empty() && x.resource_name == y.resource_name &&
           x.attributes_selector == y.attributes_selector && x.filters == y.filters;
  };
  return a.id == b.id && a.uid == b.uid && a.priority == b.priority && a.host_use == b.host_use &&
         a.allow == b.allow && a.readiness == b.readiness && a.node_selector == b.node_selector &&
         a.problems.empty() == b.problems.empty() &&
         std::equal(a.configs.begin(), a.configs.end(), b.configs.begin(), b.configs.end(), is_one_config);
}

SriovPolicy decode_sriov_policy(const Json& object, const Result<kube::ObjectMeta>& its_meta) {
  SriovPolicy policy;
  const kube::ObjectMeta meta = meta_of(its_meta, object, policy.problems);
  policy.id = {meta.namespace_, meta.name};
  policy.uid = meta.uid;
  policy.generation = meta.generation;
  policy.manager = kube::last_manager(object);
  check_members(object, policy.problems);
  const Json* spec = spec_of(object, policy.problems);
  if (spec == nullptr) return policy;
  FieldReader reader(spec, "spec", policy.problems);
  reader.only(kSriovSpecFields);
  policy.priority = reader.integer("priority", -kSriovPriorityMax, kSriovPriorityMax, 0);
  policy.host_use = {reader.boolean("allowHostUse", false), decode_allowed_routes(reader)};
  policy.allow = decode_allow(*spec, reader);
  policy.readiness = decode_readiness(reader.member("readiness"), "spec.readiness", policy.problems);
  policy.node_selector = reader.node_selector("nodeSelector");
  size_t kept = policy.problems.kept();
  for (const Json* config : reader.items("configs", kConfigsMax)) {
    const std::string path = "spec.configs[" + std::to_string(policy.configs.size()) + "]";
    policy.configs.push_back(decode_config(*config, path, kProblemsMax - std::min(kept, kProblemsMax)));
    kept += policy.configs.back().problems.kept();
  }
  return policy;
}

Problems problems_of(const SriovPolicy& policy) {
  Problems all = policy.problems;
  for (const ResourceConfig& config : policy.configs) {
    for (const Problem& problem : config.problems) all.push_back(problem);
    all.count_more(config.problems);
  }
  return all;
}

SriovPolicy unreadable_sriov_policy(SriovPolicy::Id id, std::string why) {
  SriovPolicy policy;
  policy.id = std::move(id);
  policy.problems.push_back({"", std::move(why)});
  return policy;
}

DeviceAttributes decode_device_attributes(const Json& object, const std::string& driver,
                                          const Result<kube::ObjectMeta>& its_meta) {
  DeviceAttributes out;
  const kube::ObjectMeta meta = meta_of(its_meta, object, out.problems);
  out.id = {meta.namespace_, meta.name};
  out.labels = meta.labels;
  check_members(object, out.problems);
  FieldReader spec(object.find("spec"), "spec", out.problems);
  spec.only({"attributes"});
  const Json* attributes = spec.member("attributes");
  if (attributes == nullptr) return out;
  if (attributes->object() == nullptr) {
    spec.problem("attributes", "is a " + std::string(attributes->kind_name()) + ", expected a map");
    return out;
  }
  if (const size_t count = attributes->object()->size(); count > kGivenAttributesMax) {
    spec.problem("attributes", "has " + std::to_string(count) + " entries, at most " +
                                   std::to_string(kGivenAttributesMax) +
                                   " are read, and a device holds fewer");
    return out;
  }
  const auto refuse = [&](const std::string& key, const Json& value, const std::string& why) {
    out.refused[cut(full_key(key, driver), kMessageBytesMax)] = why;
    out.problems.push_back({"spec.attributes[" + escaped(key, 128) + "]", why, value.line()});
  };
  for (const auto& [key, value] : *attributes->object()) {
    const std::string full = full_key(key, driver);
    auto decoded = decode_given_attribute(key, value, is_reserved_attribute(full, driver));
    if (decoded)
      out.attributes[full] = std::move(*decoded);
    else
      refuse(key, value, decoded.error().what);
  }
  return out;
}

bool is_reserved_attribute(const std::string& key, const std::string& driver) {
  if (key.starts_with(std::string(kStandardDomain) + "/")) return true;
  const VfAttributes own(driver);
  return std::find(own.keys().begin(), own.keys().end(), key) != own.keys().end();
}

Problems warnings_of(const SriovPolicy& policy) {
  Problems out;
  if (!policy.problems.empty()) return out;  // it offers nothing
  if (policy.configs.empty()) out.push_back({"spec.configs", "is empty: the policy offers nothing"});
  for (size_t c = 0; c < policy.configs.size(); ++c) {
    const ResourceConfig& config = policy.configs[c];
    if (!config.problems.empty()) continue;
    for (const Problem& remark : config.remarks) out.push_back(remark);
    out.count_more(config.remarks);
    const std::string at = "spec.configs[" + std::to_string(c) + "].resourceFilters";
    const auto open = std::find(config.filters.begin(), config.filters.end(), ResourceFilter{});
    if (config.filters.empty())
      out.push_back({at, "is empty: every VF of the selected nodes is offered", config.line});
    else if (open != config.filters.end())
      out.push_back({at + "[" + std::to_string(open - config.filters.begin()) + "]",
                     "has no field: every VF of the selected nodes is offered", config.line});
    else
      continue;
    if (c + 1 < policy.configs.size())
      out.push_back({at, "takes every VF, so the configs after it never match", config.line});
  }
  return out;
}

std::vector<std::string> sriov_policy_fields() {
  std::vector<std::string> out;
  for (const std::string_view field : kSriovSpecFields) {
    if (field == "configs")
      for (std::string& path : config_fields()) out.push_back(std::move(path));
    else if (field == "readiness")
      for (std::string& path : readiness_fields()) out.push_back(std::move(path));
    else
      out.push_back("spec." + std::string(field));
  }
  return out;
}

std::vector<std::string> device_attributes_fields() { return {"spec.attributes"}; }

}  // namespace sliced::policy
