#include "t/sim/oracle.h"

#include <algorithm>

namespace sliced::sim {
namespace {

using kube::Json;

const std::string kDriver = "sriovnetwork.k8snetworkplumbingwg.io";

Json list_of(const std::vector<std::string>& texts) {
  Json::Array out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

Json map_of(const std::map<std::string, std::string>& texts) {
  Json::Object out;
  for (const auto& [key, value] : texts) out.emplace_back(key, value);
  return out;
}

Json choices(const std::vector<PfChoice>& all) {
  std::vector<std::string> texts;
  for (const PfChoice& one : all) {
    std::string text = one.pf;
    for (size_t i = 0; i < one.ranges.size(); ++i) {
      text += (i == 0 ? "#" : ",") + std::to_string(one.ranges[i].first);
      if (one.ranges[i].second != one.ranges[i].first) text += "-" + std::to_string(one.ranges[i].second);
    }
    texts.push_back(text);
  }
  return list_of(texts);
}

Json filter_object(const Filter& filter) {
  Json out = Json::Object{};
  if (!filter.vendors.empty()) out.set("vendors", list_of(filter.vendors));
  if (!filter.devices.empty()) out.set("devices", list_of(filter.devices));
  if (!filter.drivers.empty()) out.set("drivers", list_of(filter.drivers));
  if (!filter.addresses.empty()) out.set("pciAddresses", list_of(filter.addresses));
  if (!filter.pf_names.empty()) out.set("pfNames", choices(filter.pf_names));
  if (!filter.pf_addresses.empty()) out.set("pfPciAddresses", choices(filter.pf_addresses));
  if (!filter.root_devices.empty()) out.set("rootDevices", choices(filter.root_devices));
  if (!filter.numa_nodes.empty()) {
    Json::Array nodes;
    for (const int node : filter.numa_nodes) nodes.emplace_back(std::to_string(node));
    out.set("numaNodes", std::move(nodes));
  }
  if (!filter.link_type.empty()) out.set("linkType", filter.link_type);
  return out;
}

Json named(const std::string& name, const std::string& namespace_,
           const std::map<std::string, std::string>& labels, Json spec) {
  Json meta = Json::Object{{"name", name}, {"namespace", namespace_}};
  if (!labels.empty()) meta.set("labels", map_of(labels));
  return Json::Object{{"metadata", std::move(meta)}, {"spec", std::move(spec)}};
}

template <class T>
bool any_or_has(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

bool any_or_covers(const std::vector<PfChoice>& wanted, const std::string& pf, int index) {
  if (wanted.empty()) return true;
  for (const PfChoice& choice : wanted) {
    if (choice.pf != pf) continue;
    if (choice.ranges.empty()) return true;
    for (const auto& [first, last] : choice.ranges)
      if (first <= index && index <= last) return true;
  }
  return false;
}

enum class Word { kNo, kUnknown, kYes };

Word named_pf(const std::vector<PfChoice>& wanted, const std::string& pf, int index) {
  if (!pf.empty() || wanted.empty()) return any_or_covers(wanted, pf, index) ? Word::kYes : Word::kNo;
  const bool may_be = std::any_of(wanted.begin(), wanted.end(), [&](const PfChoice& choice) {
    return any_or_covers({choice}, choice.pf, index);
  });
  return may_be ? Word::kUnknown : Word::kNo;
}

Word says(const Filter& filter, const VfFacts& vf, const std::string& address, const std::string& pf_name) {
  const bool is_known_to_fit =
      any_or_has(filter.vendors, vf.vendor) && any_or_has(filter.devices, vf.device) &&
      any_or_has(filter.drivers, vf.driver) && any_or_has(filter.addresses, address) &&
      any_or_covers(filter.pf_addresses, vf.pf, vf.index) &&
      any_or_covers(filter.root_devices, vf.pf, vf.index) && any_or_has(filter.numa_nodes, vf.numa);
  if (!is_known_to_fit) return Word::kNo;
  const Word link_type = filter.link_type.empty()         ? Word::kYes
                         : pf_name.empty()                ? Word::kUnknown
                         : filter.link_type == "ethernet" ? Word::kYes
                                                          : Word::kNo;
  return std::min(link_type, named_pf(filter.pf_names, pf_name, vf.index));
}

bool has_all(const std::map<std::string, std::string>& labels,
             const std::map<std::string, std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
    const auto at = labels.find(one.first);
    return at != labels.end() && at->second == one.second;
  });
}

int64_t number(const Json* value) { return value != nullptr && value->integer() ? *value->integer() : -1; }
std::string text(const Json* value) { return value != nullptr && value->string() ? *value->string() : ""; }

}  // namespace

Json object_of(const Policy& policy, const std::string& namespace_) {
  Json::Array configs;
  for (const Config& config : policy.configs) {
    Json one = Json::Object{};
    if (!config.resource_name.empty()) one.set("resourceName", config.resource_name);
    if (!config.attributes_of.empty())
      one.set("deviceAttributesSelector", Json::Object{{"matchLabels", map_of(config.attributes_of)}});
    Json::Array filters;
    for (const Filter& filter : config.filters) filters.push_back(filter_object(filter));
    if (!filters.empty()) one.set("resourceFilters", std::move(filters));
    if (config.is_broken) one.set("resourceFilter", Json::Array{});
    configs.push_back(std::move(one));
  }
  Json spec = Json::Object{{"configs", std::move(configs)}};
  if (policy.priority != 0) spec.set("priority", policy.priority);
  if (policy.allow_host_use) spec.set("allowHostUse", true);
  if (policy.wants_mac_for)
    spec.set("readiness", Json::Object{{"require", list_of({"adminMac"})},
                                       {"stableFor", std::to_string(policy.wants_mac_for->count()) + "ms"},
                                       {"onLoss", policy.keeps ? "keep" : "withdraw"}});
  if (!policy.nodes.empty()) spec.set("nodeSelector", Json::Object{{"matchLabels", map_of(policy.nodes)}});
  if (policy.is_broken) spec.set("prority", 1);
  return named(policy.name, namespace_, {}, std::move(spec));
}

Json object_of(const Attributes& attributes, const std::string& namespace_) {
  Json::Object values;
  for (const auto& [key, value] : attributes.texts) values.emplace_back(key, Json::Object{{"string", value}});
  return named(attributes.name, namespace_, attributes.labels,
               Json::Object{{"attributes", std::move(values)}});
}

Taken taken_by(const VfFacts& vf, const PfFacts& pf, const std::string& address, const std::string& pf_name,
               const Policies& policies, const Labels& node) {
  if (!vf.is_there || !pf.is_there) return {nullptr, nullptr, "absent"};
  std::vector<const Policy*> order;
  for (const auto& [name, policy] : policies)
    if (!policy.is_broken && has_all(node, policy.nodes)) order.push_back(&policy);
  if (order.empty()) return {nullptr, nullptr, "no-policy"};
  std::stable_sort(order.begin(), order.end(),
                   [](const Policy* a, const Policy* b) { return a->priority > b->priority; });
  Taken out{nullptr, nullptr, "no-match"};
  for (const Policy* policy : order)
    for (const Config& config : policy->configs) {
      if (config.is_broken) continue;
      Word word = config.filters.empty() ? Word::kYes : Word::kNo;
      for (const Filter& filter : config.filters) word = std::max(word, says(filter, vf, address, pf_name));
      if (word == Word::kNo) continue;
      out.may_be.emplace_back(policy, &config);
      out.is_unknown = out.is_unknown || word == Word::kUnknown;
      if (word == Word::kUnknown) continue;
      if (vf.host_use && !policy->allow_host_use) {
        out.why_not = "in-use-by-host";
        return out;
      }
      out.policy = policy;
      out.config = &config;
      out.why_not.clear();
      return out;
    }
  return out;
}

std::string name_of_entry(const std::string& vf_address) {
  std::string name = vf_address;
  std::replace(name.begin(), name.end(), ':', '-');
  std::replace(name.begin(), name.end(), '.', '-');
  return name;
}

Entry entry_of(const VfFacts& vf, const PfFacts& pf, const std::string& address, const std::string& pf_name,
               bool has_rdma, const Config& config, const AttributeObjects& attributes) {
  const std::string own = kDriver + "/";
  Entry out = {{"dra.net/numaNode", "int " + std::to_string(pf.numa)},
               {"k8s.cni.cncf.io/deviceID", "string " + address},
               {"resource.kubernetes.io/pciBusID", "string " + address},
               {"resource.kubernetes.io/pcieRoot", "string pci0000:00"},
               {own + "EswitchMode", "string legacy"},
               {own + "deviceID", "string " + vf.device},
               {own + "linkType", pf_name.empty() ? "string unknown" : "string ethernet"},
               {own + "pciAddress", "string " + address},
               {own + "pfDeviceID", "string " + pf.device},
               {own + "pfPciAddress", "string " + vf.pf},
               {own + "rdmaCapable", has_rdma ? "bool true" : "bool false"},
               {own + "vendor", "string " + pf.vendor},
               {own + "vfID", "int " + std::to_string(vf.index)}};
  if (!vf.driver.empty()) out[own + "driver"] = "string " + vf.driver;
  if (!pf_name.empty()) out[own + "PFName"] = "string " + pf_name;
  const int numa = vf.numa >= 0 ? vf.numa : pf.numa;
  if (numa >= 0) out["resource.kubernetes.io/numaNode"] = "int " + std::to_string(numa);
  if (!config.attributes_of.empty())
    for (const auto& [name, object] : attributes)
      if (has_all(object.labels, config.attributes_of))
        for (const auto& [key, value] : object.texts)
          out[key.find('/') == std::string::npos ? own + key : key] = "string " + value;
  if (!config.resource_name.empty()) out[own + "resourceName"] = "string " + config.resource_name;
  return out;
}

StoredSlice stored_slice(const Json& object) {
  StoredSlice out;
  out.name = text(object.find({"metadata", "name"}));
  out.resource_version = text(object.find({"metadata", "resourceVersion"}));
  out.is_terminating = object.find({"metadata", "deletionTimestamp"}) != nullptr;
  out.driver = text(object.find({"spec", "driver"}));
  out.node = text(object.find({"spec", "nodeName"}));
  out.pool = text(object.find({"spec", "pool", "name"}));
  out.generation = number(object.find({"spec", "pool", "generation"}));
  out.slice_count = number(object.find({"spec", "pool", "resourceSliceCount"}));
  if (const Json* owners = object.find({"metadata", "ownerReferences"}); owners != nullptr && owners->array())
    for (const Json& owner : *owners->array()) out.owner_uid = std::string(owner.text("uid"));
  if (const Json* notes = object.find({"metadata", "annotations"}); notes != nullptr)
    out.boot_id = std::string(notes->text("dra.networking/boot-id"));
  const Json* devices = object.find({"spec", "devices"});
  if (devices == nullptr || devices->array() == nullptr) return out;
  for (const Json& device : *devices->array()) {
    Entry entry;
    const Json* attributes = device.find("attributes");
    if (attributes != nullptr && attributes->object() != nullptr)
      for (const auto& [key, value] : *attributes->object())
        for (const auto& [kind, content] : *value.object())
          entry[key] = kind + " " + (content.string() ? *content.string() : kube::encode_json(content));
    out.devices.emplace_back(std::string(device.text("name")), std::move(entry));
  }
  return out;
}

std::map<std::string, PoolView> pools_of(const std::vector<StoredSlice>& slices) {
  std::map<std::string, PoolView> pools;
  for (const StoredSlice& slice : slices) {
    PoolView& pool = pools[slice.driver + "/" + slice.pool];
    pool.generation = std::max(pool.generation, slice.generation);
  }
  for (const StoredSlice& slice : slices) {
    PoolView& pool = pools[slice.driver + "/" + slice.pool];
    if (slice.generation == pool.generation) ++pool.slices;
  }
  for (auto& [name, pool] : pools) pool.is_complete = true;
  for (const StoredSlice& slice : slices) {
    PoolView& pool = pools[slice.driver + "/" + slice.pool];
    if (slice.generation != pool.generation) continue;
    if (slice.slice_count != static_cast<int64_t>(pool.slices)) pool.is_complete = false;
    for (const auto& [name, entry] : slice.devices)
      if (!pool.devices.emplace(name, entry).second)
        pool.flaws.push_back("device " + name + " is there twice");
  }
  return pools;
}

std::vector<std::string> exclusion_flaws(const std::map<std::string, PoolView>& pools) {
  std::vector<std::string> flaws;
  std::map<std::string, std::string> holders;
  for (const auto& [pool_name, pool] : pools)
    for (const auto& [name, entry] : pool.devices) {
      const auto function = entry.find("resource.kubernetes.io/pciBusID");
      if (function == entry.end()) continue;
      const auto [at, fresh] = holders.emplace(function->second, pool_name + "/" + name);
      if (!fresh)
        flaws.push_back(function->second + " is offered by " + at->second + " and " + pool_name + "/" + name);
    }
  return flaws;
}

}  // namespace sliced::sim
