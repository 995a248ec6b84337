#include "kubectl/migrate/node_policies.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "kubectl/migrate/plugin_resource.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using kube::Json;

constexpr std::string_view kGroup = "sriovnetwork.openshift.io/";
constexpr std::string_view kKind = "SriovNetworkNodePolicy";
constexpr std::string_view kDefaultPolicy = "default";
constexpr size_t kPoliciesOfAResourceMax = 64;  // all pairs are compared

// Fields of api/v1 of the operator. The API server drops other fields. The bounds are those of the CRD.
constexpr std::string_view kSpecFields[] = {
    "resourceName",      "nodeSelector", "priority",     "mtu",         "numVfs",   "nicSelector",
    "deviceType",        "isRdma",       "needVhostNet", "eSwitchMode", "vdpaType", "excludeTopology",
    "externallyManaged", "linkType",     "bridge"};
constexpr int64_t kPriorityMax = 99;
constexpr std::string_view kLinkTypes[] = {"eth", "ETH", "ib", "IB"};
constexpr std::string_view kSwitchModes[] = {"legacy", "switchdev"};
constexpr std::string_view kNicFields[] = {"vendor", "deviceID", "rootDevices", "pfNames", "netFilter"};

bool is_one_of(std::string_view field, std::span<const std::string_view> fields) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

bool is_id(std::string_view text) { return text.size() == 4 && parse_hex(text) && lower(text) == text; }

constexpr std::string_view kGiveDevicePluginConfig =
    "give the ConfigMap device-plugin-config, which the operator makes of its policies, in place of them (kubectl -n "
    "sriov-network-operator get configmap device-plugin-config -o yaml)";

constexpr const char* kCorrectIt =
    ": the operator's CRD refuses the policy with it, correct it or leave it out";

constexpr size_t kInterfaceNameMax = 15;  // IFNAMSIZ of the kernel, without the zero byte

bool is_too_long(const std::string& pf_name) {
  return pf_name.find('#') == std::string::npos ? pf_name.size() > kInterfaceNameMax
                                                : pf_name.find('#') > kInterfaceNameMax;
}

// Replaces an alternative name in "altname#0-3" by the interface's name on the node: "ens1f0#0-3". state
// nullptr: unchanged.
std::string resolved_pf(const std::string& pf_name, const NodeInterfaces* state) {
  if (state == nullptr) return pf_name;
  const size_t hash = std::min(pf_name.find('#'), pf_name.size());
  return state->resolved(pf_name.substr(0, hash)) + pf_name.substr(hash);
}

constexpr std::string_view kGiveNodeStates =
    "give the SriovNetworkNodeStates of the nodes as another FILE (kubectl -n sriov-network-operator get "
    "sriovnetworknodestates -o yaml)";

// Reads one policy, field by field. state: of the node for which the policy is read; nullptr: for all nodes
// that it selects.
class PolicyReader {
 public:
  PolicyReader(const Json& object, const std::string& file, const OperatorFacts& facts,
               const NodeInterfaces* state, Complaints& complaints)
      : file_(file), facts_(facts), state_(state), complaints_(complaints) {
    const Json* meta = object.find("metadata");
    name_ = meta != nullptr ? meta->text("name") : "";
    who_ = "SriovNetworkNodePolicy " + escaped(name_);
    config_.place = {file, object.line()};
    config_.origin = who_;
    config_.name = dns_name_of(name_);
    config_.has_own_name = true;
    if (state == nullptr) return;
    config_.name = dns_name_of(config_.name + "-" + state->node, 253);
    config_.nodes.name = state->node;
  }

  Config read(const Json& spec, const std::string& prefix) {
    refuse_unknown(spec, "spec", kSpecFields, "spec.nicSelector", kNicFields);
    read_nodes(spec);
    config_.priority = integer(spec, "priority", 0, kPriorityMax);
    check_what_is_about_making_vfs(spec);
    Resource resource{.place = config_.place, .name = prefix + "/" + text(spec, "resourceName")};
    if (const std::string wrong = wrong_with_resource_name(resource.name);
        !wrong.empty() && is_text(spec, "resourceName"))
      error(spec, "resourceName", "is " + in_quotes(spec.text("resourceName"), 64) + ": " + wrong);
    if (!text(spec, "vdpaType").empty())
      error(spec, "vdpaType",
            "cannot be carried over: delete it from this file, and select by the attribute vdpa in the "
            "DeviceClass of the resource (docs/attributes.md); the operator still makes the vDPA devices by "
            "its own policy");
    const std::string type = text(spec, "deviceType");
    if (!type.empty() && type != "netdevice" && type != "vfio-pci")
      error(spec, "deviceType",
            "is " + in_quotes(type, 64) + ", expected netdevice or vfio-pci" + kCorrectIt);
    resource.gives_vfio = type == "vfio-pci";
    resource.gives_vhost = is_true(spec, "needVhostNet");
    Selector selector{.place = config_.place, .needs_rdma = is_true(spec, "isRdma")};
    read_link_type(spec, resource.gives_vfio, selector);
    if (const Json* nics = spec.find("nicSelector"); nics != nullptr && nics->object() != nullptr)
      read_nics(*nics, spec, selector);
    else if (nics == nullptr || nics->is_null())
      error(spec, "nicSelector", "is missing");
    else
      error(spec, "nicSelector", wrong_type(*nics, "a map"));
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
  static std::string wrong_type(const Json& value, std::string_view wanted) {
    return "is a " + std::string(value.kind_name()) + ", expected " + std::string(wanted) +
           (wanted == "a string" && value.kind_name() == "number" ? ": put it in quotes" : "");
  }
  static const Json* member(const Json& in, std::string_view field) {
    const Json* value = in.find(field);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  // other: the map to which an unknown field may belong.
  void refuse_unknown(const Json& in, const std::string& path, std::span<const std::string_view> fields,
                      const std::string& other, std::span<const std::string_view> fields_of_other) {
    for (const auto& [key, value] : *in.object()) {
      if (is_one_of(key, fields)) continue;
      const std::string near = nearest(key, {fields.begin(), fields.end()}),
                        near_other = nearest(key, {fields_of_other.begin(), fields_of_other.end()});
      complaints_.error(
          {file_, value.line()},
          who_ + ": " + path + "." + escaped(key, 64) +
              " is not a field of a SriovNetworkNodePolicy, so that it selects nothing: " +
              (is_one_of(key, fields_of_other) ? "move it to " + other
               : !near.empty()                 ? "write " + near + " if that is meant, or delete it"
               : !near_other.empty() ? "write " + other + "." + near_other + " if that is meant, or delete it"
                                     : "delete it"));
    }
  }
  static bool is_text(const Json& in, std::string_view field) {
    const Json* value = member(in, field);
    return value == nullptr || value->string() != nullptr;
  }
  std::string text(const Json& spec, std::string_view field) {
    if (!is_text(spec, field)) error(spec, field, wrong_type(*spec.find(field), "a string"));
    return std::string(spec.text(field));
  }
  int64_t integer(const Json& spec, std::string_view field, int64_t min, int64_t max = INT64_MAX) {
    const Json* value = member(spec, field);
    if (value == nullptr) return 0;
    if (value->integer() == nullptr) {
      error(spec, field, wrong_type(*value, "an integer"));
      return 0;
    }
    const int64_t number = *value->integer();
    if (number >= min && number <= max) return number;
    error(spec, field,
          "is " + std::to_string(number) + ", expected " + std::to_string(min) +
              (max == INT64_MAX ? " or more" : " to " + std::to_string(max)) + kCorrectIt);
    return 0;
  }
  void check_word(const Json& spec, std::string_view field, std::span<const std::string_view> words) {
    const std::string word = text(spec, field);
    if (!word.empty() && !is_one_of(word, words))
      error(spec, field,
            "is " + in_quotes(word, 32) + ", expected " +
                join(std::vector<std::string>(words.begin(), std::prev(words.end())), ", ") + " or " +
                std::string(words.back()) + kCorrectIt);
  }
  bool is_true(const Json& spec, std::string_view field) {
    const Json* value = member(spec, field);
    if (value == nullptr) return false;
    if (value->boolean() == nullptr) error(spec, field, wrong_type(*value, "true or false"));
    return value->boolean() != nullptr && *value->boolean();
  }
  // These fields are not converted. Their types are checked all the same: a wrong type may mean that another
  // field was intended.
  void check_what_is_about_making_vfs(const Json& spec) {
    (void)integer(spec, "mtu", 1);
    (void)integer(spec, "numVfs", 0);
    for (const char* field : {"excludeTopology", "externallyManaged"}) (void)is_true(spec, field);
    check_word(spec, "eSwitchMode", kSwitchModes);
    if (const Json* bridge = member(spec, "bridge"); bridge != nullptr && bridge->object() == nullptr)
      error(spec, "bridge", wrong_type(*bridge, "a map"));
  }
  void read_nodes(const Json& spec) {
    const Json* nodes = member(spec, "nodeSelector");
    if (nodes == nullptr) return;
    if (nodes->object() == nullptr) return error(spec, "nodeSelector", wrong_type(*nodes, "a map of labels"));
    for (const auto& [key, value] : *nodes->object()) {
      if (value.string() != nullptr)
        config_.nodes.labels[key] = *value.string();
      else
        error(spec, "nodeSelector",
              "has a " + std::string(value.kind_name()) + " for " + escaped(key, 128) +
                  ", expected a string: " +
                  (value.is_null() ? "write \"\" if the label has no value" : "put it in quotes"));
    }
  }
  // The operator sets no link type for devices that are bound to vfio-pci: the plugin could not read it.
  void read_link_type(const Json& spec, bool is_vfio, Selector& out) {
    check_word(spec, "linkType", kLinkTypes);
    const std::string type = lower(spec.text("linkType"));
    if (type.empty() || is_vfio) return;
    out.link_types.push_back(type == "ib" ? "infiniband" : "ethernet");
  }
  void read_nics(const Json& nics, const Json& spec, Selector& out) {
    refuse_unknown(nics, "spec.nicSelector", kNicFields, "spec", kSpecFields);
    for (const char* field : {"vendor", "deviceID", "netFilter"})
      if (!is_text(nics, field)) error_in(nics, field, wrong_type(*nics.find(field), "a string"));
    if (const std::string vendor(nics.text("vendor")); !vendor.empty()) {
      out.vendors.push_back(vendor);
      if (!is_id(vendor))
        error_in(nics, "vendor", "is " + in_quotes(vendor, 32) + ", expected four hexadecimal digits");
    }
    read_device(nics, spec, out);
    for (const bool is_address : {false, true}) read_pfs(nics, is_address, out);
    if (const std::string filter(nics.text("netFilter")); !filter.empty()) {
      if (state_ != nullptr)
        out.pci_addresses = state_->addresses_of(filter);
      else
        error_in(nics, "netFilter",
                 "selects functions in a VM by the cloud's network, and the policy does not name them: " +
                     std::string(kGiveNodeStates) + ", or " + std::string(kGiveDevicePluginConfig));
    }
    if (std::none_of(std::begin(kNicFields), std::end(kNicFields),
                     [&](std::string_view field) { return is_set(nics, field); }))
      error_in(nics, "",
               std::string(nics.object()->empty() ? "is empty" : "has no value in any field") +
                   ", which the operator's webhook refuses: name a vendor, deviceID, pfNames or rootDevices");
  }
  // Returns true if the field narrows the selection. Its type is not checked.
  static bool is_set(const Json& nics, std::string_view field) {
    const Json* value = member(nics, field);
    if (value == nullptr) return false;
    if (value->string() != nullptr) return !value->string()->empty();
    return value->array() == nullptr || !value->array()->empty();
  }
  void read_pfs(const Json& nics, bool is_address, Selector& out) {
    const std::string field = is_address ? "rootDevices" : "pfNames";
    const Json* list = member(nics, field);
    if (list == nullptr) return;
    if (list->array() == nullptr) return error_in(nics, field, wrong_type(*list, "a list of strings"));
    if (list->array()->size() > kEntriesMax)
      return error_in(nics, field,
                      "has " + std::to_string(list->array()->size()) + " entries, at most " +
                          std::to_string(kEntriesMax) + " can be said: split the policy in two");
    for (const Json& item : *list->array()) {
      if (item.string() == nullptr) {
        complaints_.error({file_, item.line()}, who_ + ": spec.nicSelector." + field + " has an entry that " +
                                                    wrong_type(item, "a string"));
        continue;
      }
      const std::string text = is_address ? *item.string() : resolved_pf(*item.string(), state_);
      if (!is_address && is_too_long(text))
        complaints_.error({file_, item.line()},
                          who_ + ": spec.nicSelector.pfNames has " + in_quotes(text, 160) +
                              ", longer than the 15 bytes of an interface's name: if it is an alternative "
                              "name, " +
                              std::string(kGiveNodeStates));
      else
        read_pf_entry(text, is_address, who_ + ": spec.nicSelector", {file_, item.line()},
                      is_address ? out.root_devices : out.pf_names, complaints_);
    }
    if (!is_address && state_ == nullptr) ask_about_names(*list);
  }
  // The operator accepts alternative names of interfaces, sliced does not. A node's state shows whether a
  // name is one; without a state for it a warning asks.
  void ask_about_names(const Json& list) {
    std::vector<std::string> unknown;
    const Json* first = nullptr;
    for (const Json& item : *list.array()) {
      if (item.string() == nullptr || is_too_long(*item.string())) continue;
      const std::string name = item.string()->substr(0, item.string()->find('#'));
      if (std::any_of(facts_.states.begin(), facts_.states.end(),
                      [&](const NodeInterfaces& state) { return state.has_name(name); }))
        continue;
      if (std::find(unknown.begin(), unknown.end(), in_quotes(name, 64)) == unknown.end())
        unknown.push_back(in_quotes(name, 64));
      if (first == nullptr) first = &item;
    }
    if (unknown.empty()) return;
    complaints_.warning(
        {file_, first->line()},
        who_ + ": open question: spec.nicSelector.pfNames has " + join(unknown, ", ") +
            (unknown.size() == 1
                 ? ", which is taken for the interface's own name; whether a node has it as an "
                   "alternative name, which selects nothing here, is not known: "
                 : ", which are taken for the interfaces' own names; whether a node has one of "
                   "them as an alternative name, which selects nothing here, is not known: ") +
            std::string(kGiveNodeStates));
  }
  // deviceID is the PF's id; the plugin selects by the id of the VFs.
  void read_device(const Json& nics, const Json& spec, Selector& out) {
    const std::string pf(nics.text("deviceID"));
    if (pf.empty()) return;
    if (!is_id(pf))
      return error_in(nics, "deviceID",
                      "is " + in_quotes(pf, 32) + ", expected four hexadecimal digits in lower case");
    const Json* vfs = member(spec, "numVfs");
    const VfIds& ids = facts_.ids;
    if (vfs == nullptr || (vfs->integer() != nullptr && *vfs->integer() == 0)) {
      out.selects_pfs = true;
      return out.devices.push_back(pf);
    }
    if (const auto vf = ids.find(pf); vf != ids.end()) {
      if (facts_.are_ids_of_states)
        complaints_.warning(
            {file_, nics.find("deviceID")->line()},
            who_ + ": spec.nicSelector.deviceID " + escaped(pf) + ": " +
                (vf->second.empty() ? "its functions have no PF, as in a VM, and no device "
                                      "id is asked for"
                                    : "its VFs have the device id " + escaped(vf->second, 8)) +
                " according to the SriovNetworkNodeStates. The operator reads its ConfigMap "
                "supported-nic-ids: give it as another FILE to be sure");
      if (!vf->second.empty()) out.devices.push_back(vf->second);
      return;
    }
    const auto has_entries = [&nics](std::string_view field) {
      const Json* list = member(nics, field);
      return list != nullptr && list->array() != nullptr && !list->array()->empty();
    };
    const bool names_pfs = has_entries("pfNames") || has_entries("rootDevices");
    if (ids.empty())
      return error_in(
          nics, "deviceID",
          "is " + in_quotes(pf, 32) +
              ", of PFs, and which VFs they have only the operator knows: give its ConfigMap "
              "supported-nic-ids as another FILE, or " +
              (names_pfs ? "delete deviceID, if each PF that pfNames or rootDevices name has this id"
                         : "name the PFs by pfNames or rootDevices") +
              "; in a VM, whose functions have no PF, " + std::string(kGiveNodeStates) + ", or " +
              std::string(kGiveDevicePluginConfig));
    if (facts_.are_ids_of_states)
      return error_in(nics, "deviceID",
                      "is " + in_quotes(pf, 32) +
                          ", and no SriovNetworkNodeState has VFs of a PF with this id, or their ids differ: "
                          "give the operator's ConfigMap supported-nic-ids as another FILE");
    const auto of_vf =
        std::find_if(ids.begin(), ids.end(), [&](const auto& one) { return one.second == pf; });
    error_in(
        nics, "deviceID",
        "is " + in_quotes(pf, 32) + ", and supported-nic-ids has no PF with this id" +
            (of_vf != ids.end() ? ", but VFs with it, of PF " + of_vf->first + ": write " + of_vf->first +
                                      " if these are meant"
                                : "") +
            "; the operator's plugin selects by no device id then: delete deviceID if that is right, or add "
            "the PF to supported-nic-ids");
  }
  void error_in(const Json& nics, std::string_view field, const std::string& what) {
    const Json* at = nics.find(field);
    complaints_.error(
        {file_, at != nullptr ? at->line() : nics.line()},
        who_ + ": spec.nicSelector" + (field.empty() ? "" : ".") + std::string(field) + " " + what);
  }

  const std::string& file_;
  const OperatorFacts& facts_;
  const NodeInterfaces* state_;
  Complaints& complaints_;
  std::string name_, who_;
  Config config_;
};

// The parts of a policy whose meaning depends on the node.
struct NodeDependence {
  bool has_net_filter = false;
  bool has_long_name = false;  // longer than an interface's name: an alternative name, or an error
  std::vector<std::string> pf_names;

  explicit NodeDependence(const Json& spec) {
    const Json* nics = spec.find("nicSelector");
    if (nics == nullptr || nics->object() == nullptr) return;
    has_net_filter = !nics->text("netFilter").empty();
    const Json* names = nics->find("pfNames");
    if (names == nullptr || names->array() == nullptr) return;
    for (const Json& name : *names->array())
      if (name.string() != nullptr) pf_names.push_back(*name.string());
    has_long_name = std::any_of(pf_names.begin(), pf_names.end(), is_too_long);
  }
  bool is_of(const NodeInterfaces& state) const {
    return has_net_filter || std::any_of(pf_names.begin(), pf_names.end(), [&](const std::string& name) {
             return resolved_pf(name, &state) != name;
           });
  }
};

const Resource& only(const Config& config) { return config.resources.front(); }
const Selector& selector_of(const Config& config) { return only(config).selectors.front(); }

template <class T>
void add_new(const std::vector<T>& from, std::vector<T>& to) {
  for (const T& one : from)
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
}

// lists: how many lists differ. only_a, only_b: fields of the policies that are set in one of the two alone.
struct Difference {
  int lists = 0;
  std::vector<std::string> only_a, only_b;
};
Difference difference(const Selector& a, const Selector& b) {
  Difference out;
  const auto look = [&](const char* field, const auto& one, const auto& other) {
    out.lists += one != other;
    if (one.empty() != other.empty()) (one.empty() ? out.only_b : out.only_a).emplace_back(field);
  };
  look("nicSelector.vendor", a.vendors, b.vendors);
  look("nicSelector.deviceID", a.devices, b.devices);
  look("nicSelector.netFilter", a.pci_addresses, b.pci_addresses);
  look("nicSelector.pfNames", a.pf_names, b.pf_names);
  look("nicSelector.rootDevices", a.root_devices, b.root_devices);
  look("linkType", a.link_types, b.link_types);
  return out;
}

// The lists of a policy that are compared with each other policy of the resource, sorted once.
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
    if (a->first <= b->first)
      ++a;
    else
      ++b;
  }
  return false;
}

// "spec.nicSelector.pfNames is only in SriovNetworkNodePolicy a, spec.linkType only in ...".
std::string lopsided_text(const Difference& differ, const std::string& a, const std::string& b) {
  std::vector<std::string> parts;
  for (const auto& [fields, who] : {std::pair(&differ.only_a, &a), std::pair(&differ.only_b, &b)})
    if (!fields->empty())
      parts.push_back("spec." + join(*fields, " and spec.") +
                      (parts.empty() ? fields->size() == 1 ? " is" : " are" : "") + " only in " + *who);
  return join(parts, ", ");
}

void check_pair(const Config& a, const Config& b, const Sorted& sorted_a, const Sorted& sorted_b,
                Complaints& complaints) {
  if (a.nodes.is_disjoint(b.nodes)) return;  // no node has both
  const Difference differ = difference(selector_of(a), selector_of(b));
  const std::string who = b.origin + ": resource " + escaped(only(b).name) + " is also that of " + a.origin;
  if (selector_of(a).needs_rdma != selector_of(b).needs_rdma)
    complaints.error(b.place,
                     who +
                         ", and they differ in isRdma. On a node that both select the operator asks for it "
                         "as the first of them does: set it in both or in none, give one another "
                         "resourceName, or have their nodeSelectors differ in the value of a label");
  else if (!differ.only_a.empty() || !differ.only_b.empty())
    complaints.error(
        b.place,
        who + ": " + lopsided_text(differ, a.origin, b.origin) +
            ". On a node that both select, the operator's plugin then requires these fields of the devices of "
            "both policies: set each in both or in none, or have their "
            "nodeSelectors differ in the value of a label");
  else if (shares_a_pf(sorted_a.pf_names, sorted_b.pf_names) ||
           shares_a_pf(sorted_a.root_devices, sorted_b.root_devices))
    complaints.warning(
        b.place,
        who +
            ", with other VFs of the same PF: of a PF the device plugin takes the first entry alone, "
            "and sliced both; --check shows the additional devices");
  else if (differ.lists > 1)
    complaints.warning(
        b.place,
        who +
            ", and they differ in more than one field: the operator takes every combination of "
            "their values, and sliced those that each of them lists; --check shows whether that matters");
}

// group: the policies of one resource, in order.
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

// The operator evaluates a resource at the position of its first policy on a node, for all its policies. So a
// later policy of the resource moves to the position of the first one, if the first one applies to each node
// that the later one selects.
// Returns true if a policy was moved.
bool gather_resources(std::vector<Config>& configs, Complaints& complaints) {
  std::vector<Config> out;
  bool is_moved = false;
  for (Config& config : configs) {
    const auto is_other = [&](const Config& one) { return only(one).name != only(config).name; };
    const auto first = std::find_if(out.begin(), out.end(), [&](const Config& one) {
      return !is_other(one) && !one.nodes.is_disjoint(config.nodes);
    });
    const auto between = std::find_if(first, out.end(), [&](const Config& one) {
      return is_other(one) && !one.nodes.is_disjoint(config.nodes) && !one.nodes.is_disjoint(first->nodes);
    });
    if (between == out.end()) {
      out.push_back(std::move(config));
    } else if (first->nodes.covers(config.nodes)) {
      out.insert(std::find_if(first, out.end(), is_other), std::move(config));
      is_moved = true;
    } else {
      complaints.error(
          config.place,
          config.origin + ": resource " + escaped(only(config).name) + " is also that of " + first->origin +
              ", and " + between->origin +
              " comes between them by priority. On nodes that all select the operator asks both at the "
              "place of the first, and on others it does not: give them priorities that follow each "
              "other, or the same nodeSelector");
      out.push_back(std::move(config));
    }
  }
  configs = std::move(out);
  return is_moved;
}

}  // namespace

bool is_node_policy(const Json& object) {
  return object.text("kind") == kKind && object.text("apiVersion").starts_with(kGroup);
}

std::string group_of_unknown_node_policy(const Json& object) {
  if (object.text("kind") != kKind || is_node_policy(object)) return "";
  const std::string_view api = object.text("apiVersion");
  const std::string_view group = api.substr(0, api.find('/'));
  return group.empty() ? "(none)" : std::string(group);
}

bool is_nic_ids(const Json& object) {
  const Json* meta = object.find("metadata");
  return object.text("kind") == "ConfigMap" && meta != nullptr && meta->text("name") == "supported-nic-ids";
}

void take_ids_of_states(OperatorFacts& facts) {
  facts.are_ids_of_states = facts.ids.empty() && !facts.states.empty();
  if (facts.are_ids_of_states) facts.ids = ids_of(facts.states);
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
                       "data[" + escaped(key, 64) + "] must be ids of vendor, PF and VF: \"8086 1592 1889\"");
  }
}

void read_node_policy(const Json& object, const std::string& file, const std::string& prefix,
                      const OperatorFacts& facts, std::vector<Config>& out, Complaints& complaints) {
  const Place place{file, object.line()};
  const Json* meta = object.find("metadata");
  const std::string name(meta != nullptr ? meta->text("name") : "");
  const std::string who = "SriovNetworkNodePolicy " + escaped(name);
  if (name == kDefaultPolicy) return;
  const Json* spec = object.find("spec");
  if (spec == nullptr || spec->object() == nullptr) return complaints.error(place, who + ": spec is missing");
  const NodeDependence depends(*spec);
  std::vector<const NodeInterfaces*> states;
  for (const NodeInterfaces& state : facts.states)
    if (depends.is_of(state)) states.push_back(&state);
  const bool is_for_states_alone = !states.empty() && (depends.has_net_filter || depends.has_long_name);
  std::set<std::string> reported;  // most messages are the same for each node
  const auto read_for = [&](const NodeInterfaces* state) {
    Complaints its;
    Config config = PolicyReader(object, file, facts, state, its).read(*spec, prefix);
    for (const Complaint& one : its.all()) {
      if (!reported.insert(one.what).second) continue;
      if (one.is_error)
        complaints.error(one.place, one.what);
      else
        complaints.warning(one.place, one.what);
    }
    return config;
  };
  if (!is_for_states_alone) out.push_back(read_for(nullptr));
  for (const NodeInterfaces* state : states) {
    Config config = read_for(state);
    if (depends.has_net_filter && config.resources.front().selectors.front().pci_addresses.empty())
      complaints.warning(place,
                         who + ": no interface of SriovNetworkNodeState " + escaped(state->node) +
                             " has its netFilter: nothing is printed for this node. If the policy selects "
                             "the node, the operator's plugin offers all functions there that the other "
                             "fields select");
    else
      out.push_back(std::move(config));
  }
  if (is_for_states_alone)
    complaints.warning(place,
                       who + ": printed for " + std::to_string(states.size()) +
                           (states.size() == 1 ? " node" : " nodes") +
                           ", whose SriovNetworkNodeState was given: for other nodes that it selects give "
                           "theirs, too");
}

void order_node_policies(std::vector<Config>& configs, Complaints& complaints) {
  std::sort(configs.begin(), configs.end(), [](const Config& a, const Config& b) {
    return std::tie(b.priority, a.origin, a.name) < std::tie(a.priority, b.origin, b.name);
  });
  std::map<std::string_view, std::vector<const Config*>> groups;
  for (const Config& config : configs) groups[only(config).name].push_back(&config);
  for (const auto& [name, group] : groups) check_group(group, complaints);
  const bool is_by_node =
      std::any_of(configs.begin(), configs.end(), [](const Config& one) { return !one.nodes.name.empty(); });
  // Configurations for single nodes have names in another order than their policies.
  if (!gather_resources(configs, complaints) && !is_by_node) return;
  auto priority = static_cast<int64_t>(configs.size());
  for (Config& config : configs) config.priority = priority--;
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
    add_new(more.pci_addresses, all.pci_addresses);
    add_new(more.pf_names, all.pf_names);
    add_new(more.root_devices, all.root_devices);
    add_new(more.link_types, all.link_types);
  }
  return out;
}

}  // namespace sliced::migrate
