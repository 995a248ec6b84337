#include "migrate/node_policies.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "migrate/plugin_resource.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using kube::Json;

constexpr std::string_view kGroup = "sriovnetwork.openshift.io/";
constexpr std::string_view kDefaultPolicy = "default";
constexpr size_t kPoliciesOfAResourceMax = 64;  // each is compared with each

bool is_id(std::string_view text) { return text.size() == 4 && parse_hex(text) && lower(text) == text; }

// One policy, field by field.
class PolicyReader {
 public:
  PolicyReader(const Json& object, const std::string& file, Complaints& complaints)
      : file_(file), complaints_(complaints) {
    const Json* meta = object.find("metadata");
    name_ = meta != nullptr ? meta->text("name") : "";
    who_ = "SriovNetworkNodePolicy " + escaped(name_);
    config_.place = {file, object.line()};
    config_.origin = who_;
    config_.name = dns_name_of(name_);
  }
  const std::string& name() const { return name_; }

  Config read(const Json& spec, const std::string& prefix, const VfIds& ids) {
    read_nodes(spec);
    const Json* priority = spec.find("priority");
    if (priority != nullptr && priority->integer() != nullptr) config_.priority = *priority->integer();
    Resource resource{.place = config_.place, .name = prefix + "/" + std::string(spec.text("resourceName"))};
    if (const std::string wrong = wrong_with_resource_name(resource.name); !wrong.empty())
      error(spec, "resourceName", "is " + in_quotes(spec.text("resourceName"), 64) + ": " + wrong);
    if (!spec.text("vdpaType").empty())
      error(spec, "vdpaType", "is not supported: there are no vDPA devices");
    resource.gives_vfio = spec.text("deviceType") == "vfio-pci";
    resource.gives_vhost = is_true(spec, "needVhostNet");
    Selector selector{.place = config_.place, .needs_rdma = is_true(spec, "isRdma")};
    read_link_type(spec, resource.gives_vfio, selector);
    if (const Json* nics = spec.find("nicSelector"); nics != nullptr && nics->object() != nullptr)
      read_nics(*nics, spec, ids, selector);
    else
      error(spec, "nicSelector", "is missing");
    resource.selectors.push_back(std::move(selector));
    config_.resources.push_back(std::move(resource));
    return std::move(config_);
  }

 private:
  void error(const Json& in, std::string_view field, const std::string& what) {
    const Json* at = in.find(field);
    complaints_.error({file_, at != nullptr ? at->line() : in.line()},
                      who_ + ": spec." + std::string(field) + " " + what);
  }
  bool is_true(const Json& spec, std::string_view field) {
    const Json* value = spec.find(field);
    if (value == nullptr || value->is_null()) return false;
    if (value->boolean() == nullptr)
      error(spec, field, "is a " + std::string(value->kind_name()) + ", wants true or false");
    return value->boolean() != nullptr && *value->boolean();
  }
  void read_nodes(const Json& spec) {
    const Json* nodes = spec.find("nodeSelector");
    if (nodes == nullptr || nodes->object() == nullptr) return;
    for (const auto& [key, value] : *nodes->object()) {
      if (value.string() != nullptr)
        config_.nodes.labels[key] = *value.string();
      else
        error(spec, "nodeSelector",
              "has a " + std::string(value.kind_name()) + ", wants strings: put it in quotes");
    }
  }
  // Of what is bound to vfio-pci the operator asks for no type: the plugin could not tell it.
  void read_link_type(const Json& spec, bool is_vfio, Selector& out) {
    const std::string type = lower(spec.text("linkType"));
    if (type.empty() || is_vfio) return;
    if (type == "eth" || type == "ib")
      out.link_types.push_back(type == "eth" ? "ethernet" : "infiniband");
    else
      error(spec, "linkType", "is " + in_quotes(type, 32) + ", wants eth or ib");
  }
  void read_nics(const Json& nics, const Json& spec, const VfIds& ids, Selector& out) {
    if (const std::string vendor(nics.text("vendor")); !vendor.empty()) {
      out.vendors.push_back(vendor);
      if (!is_id(vendor))
        error_in(nics, "vendor", "is " + in_quotes(vendor, 32) + ", wants four hexadecimal digits");
    }
    read_device(nics, spec, ids, out);
    for (const bool is_address : {false, true}) {
      const std::string field = is_address ? "rootDevices" : "pfNames";
      const Json* list = nics.find(field);
      if (list == nullptr || list->array() == nullptr) continue;
      if (list->array()->size() > kEntriesMax) {
        error_in(nics, field,
                 "has " + std::to_string(list->array()->size()) + " entries, at most " +
                     std::to_string(kEntriesMax) + " can be said: split the policy in two");
        continue;
      }
      for (const Json& item : *list->array())
        read_pf_entry(item.string() != nullptr ? *item.string() : "", is_address, who_ + ": spec.nicSelector",
                      {file_, item.line()}, is_address ? out.root_devices : out.pf_names, complaints_);
    }
    if (!nics.text("netFilter").empty())
      error_in(nics, "netFilter", "is not known of devices: name the PFs by pfNames or rootDevices");
  }
  // The device is the PF; the plugin is told of the VFs'.
  void read_device(const Json& nics, const Json& spec, const VfIds& ids, Selector& out) {
    const std::string pf(nics.text("deviceID"));
    if (pf.empty()) return;
    const Json* vfs = spec.find("numVfs");
    if (vfs != nullptr && vfs->integer() != nullptr && *vfs->integer() == 0) return out.devices.push_back(pf);
    const auto vf = ids.find(pf);
    if (vf != ids.end()) return out.devices.push_back(vf->second);
    error_in(nics, "deviceID",
             "is " + in_quotes(pf, 32) +
                 ", of PFs, and which VFs they have only the operator knows: give its ConfigMap "
                 "supported-nic-ids as another FILE, or name the PFs by pfNames or rootDevices");
  }
  void error_in(const Json& nics, std::string_view field, const std::string& what) {
    const Json* at = nics.find(field);
    complaints_.error({file_, at != nullptr ? at->line() : nics.line()},
                      who_ + ": spec.nicSelector." + std::string(field) + " " + what);
  }

  const std::string& file_;
  Complaints& complaints_;
  std::string name_, who_;
  Config config_;
};

const Resource& only(const Config& config) { return config.resources.front(); }
const Selector& selector_of(const Config& config) { return only(config).selectors.front(); }

template <class T>
void add_new(const std::vector<T>& from, std::vector<T>& to) {
  for (const T& one : from)
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
}

// How many of the lists differ, and whether one of them is set in one of the two alone.
struct Difference {
  int lists = 0;
  bool is_lopsided = false;
};
Difference difference(const Selector& a, const Selector& b) {
  Difference out;
  const auto look = [&](const auto& one, const auto& other) {
    out.lists += one != other;
    out.is_lopsided |= one.empty() != other.empty();
  };
  look(a.vendors, b.vendors);
  look(a.devices, b.devices);
  look(a.pf_names, b.pf_names);
  look(a.root_devices, b.root_devices);
  look(a.link_types, b.link_types);
  return out;
}

// What of it is compared with each other policy of the same resource, made once.
struct Sorted {
  using Pfs = std::map<std::string, const std::vector<std::pair<int, int>>*>;  // by name in lower case
  static Pfs pfs_of(const std::vector<PfVfs>& list) {
    Pfs out;
    for (const PfVfs& one : list) out.emplace(lower(one.pf), &one.ranges);
    return out;
  }
  explicit Sorted(const Config& config)
      : pf_names(pfs_of(selector_of(config).pf_names)),
        root_devices(pfs_of(selector_of(config).root_devices)) {}
  Pfs pf_names, root_devices;
};

bool shares_a_pf(const Sorted::Pfs& one, const Sorted::Pfs& other) {
  auto a = one.begin(), b = other.begin();
  while (a != one.end() && b != other.end()) {
    if (a->first == b->first && *a->second != *b->second) return true;
    (a->first <= b->first ? a : b)++;
  }
  return false;
}

void check_pair(const Config& a, const Config& b, const Sorted& sorted_a, const Sorted& sorted_b,
                Complaints& complaints) {
  const Difference differ = difference(selector_of(a), selector_of(b));
  const std::string who = b.origin + ": resource " + escaped(only(b).name) + " is also that of " + a.origin;
  if (selector_of(a).needs_rdma != selector_of(b).needs_rdma || only(a).gives_vhost != only(b).gives_vhost ||
      only(a).gives_vfio != only(b).gives_vfio)
    complaints.error(
        b.place,
        who + ", and they differ in isRdma, needVhostNet or deviceType: give one another resourceName");
  else if (differ.is_lopsided)
    complaints.error(
        b.place,
        who +
            ", and one sets a field of nicSelector, or linkType, that the other does not. The operator "
            "asks both for it: set it in both, or in none");
  else if (shares_a_pf(sorted_a.pf_names, sorted_b.pf_names) ||
           shares_a_pf(sorted_a.root_devices, sorted_b.root_devices))
    complaints.warning(
        b.place,
        who +
            ", with other VFs of the same PF: of a PF the device plugin takes the first entry alone, "
            "and sliced both; --check shows what is offered in addition");
  else if (differ.lists > 1)
    complaints.warning(
        b.place, who +
                     ", and they differ in more than one field: the operator takes every combination of "
                     "their values, and sliced what each of them says; --check shows whether that matters");
}

// Of one resource, in their order.
void check_group(const std::vector<const Config*>& group, Complaints& complaints) {
  if (group.size() > kPoliciesOfAResourceMax)
    return complaints.error(group[kPoliciesOfAResourceMax]->place,
                            "resource " + escaped(only(*group[0]).name) + " is that of " +
                                std::to_string(group.size()) + " SriovNetworkNodePolicies, at most " +
                                std::to_string(kPoliciesOfAResourceMax) +
                                " can be carried over: join those that differ in one field");
  std::vector<Sorted> sorted;
  for (size_t i = 0; i < group.size(); ++i) {
    sorted.emplace_back(*group[i]);
    for (size_t j = 0; j < i; ++j) check_pair(*group[j], *group[i], sorted[j], sorted[i], complaints);
  }
}

}  // namespace

bool is_node_policy(const Json& object) {
  return object.text("kind") == "SriovNetworkNodePolicy" && object.text("apiVersion").starts_with(kGroup);
}

bool is_nic_ids(const Json& object) {
  const Json* meta = object.find("metadata");
  return object.text("kind") == "ConfigMap" && meta != nullptr && meta->text("name") == "supported-nic-ids";
}

void read_nic_ids(const Json& object, const std::string& file, VfIds& out, Complaints& complaints) {
  const Json* data = object.find("data");
  if (data == nullptr || data->object() == nullptr) return;
  for (const auto& [key, value] : *data->object()) {
    const auto ids =
        split(value.string() != nullptr ? std::string_view(*value.string()) : std::string_view(), ' ');
    if (ids.size() == 3 && is_id(ids[1]) && is_id(ids[2]))
      out.emplace(ids[1], ids[2]);
    else
      complaints.error({file, value.line()},
                       "data[" + escaped(key, 64) + "] wants ids of vendor, PF and VF: \"8086 1592 1889\"");
  }
}

void read_node_policy(const Json& object, const std::string& file, const std::string& prefix,
                      const VfIds& ids, std::vector<Config>& out, Complaints& complaints) {
  PolicyReader reader(object, file, complaints);
  if (reader.name() == kDefaultPolicy) return;
  const Json* spec = object.find("spec");
  if (spec == nullptr || spec->object() == nullptr)
    return complaints.error({file, object.line()},
                            "SriovNetworkNodePolicy " + escaped(reader.name()) + ": spec is missing");
  out.push_back(reader.read(*spec, prefix, ids));
}

void order_node_policies(std::vector<Config>& configs, Complaints& complaints) {
  std::sort(configs.begin(), configs.end(), [](const Config& a, const Config& b) {
    return std::tie(b.priority, a.name) < std::tie(a.priority, b.name);
  });
  std::map<std::string_view, std::vector<const Config*>> groups;
  for (const Config& config : configs) groups[only(config).name].push_back(&config);
  for (const auto& [name, group] : groups) check_group(group, complaints);
}

Config operators_config(const std::vector<Config>& configs, const kube::NodeView& node) {
  Config out;
  for (const Config& config : configs) {
    if (!config.nodes.selects(node)) continue;
    const auto same = std::find_if(out.resources.begin(), out.resources.end(),
                                   [&](const Resource& one) { return one.name == only(config).name; });
    if (same == out.resources.end()) {
      out.resources.push_back(only(config));
      continue;
    }
    const Selector& more = selector_of(config);
    Selector& all = same->selectors.front();
    add_new(more.vendors, all.vendors);
    add_new(more.devices, all.devices);
    add_new(more.pf_names, all.pf_names);
    add_new(more.root_devices, all.root_devices);
    add_new(more.link_types, all.link_types);
  }
  return out;
}

}  // namespace sliced::migrate
