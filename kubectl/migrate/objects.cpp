#include "kubectl/migrate/objects.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "kubectl/migrate/expression.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/programs.h"
#include "policy/sriov/policy.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using kube::Json;

constexpr size_t kConfigsMax = 64;        // in a SriovResourcePolicy
constexpr size_t kFiltersMax = 64;        // in a config
constexpr int64_t kFirstPriority = 1000;  // in DeviceExposurePolicies
constexpr std::string_view kMultusName = "k8s.cni.cncf.io/resourceName";
// Vendors and drivers of functions that hypervisors provide: virtio, Amazon, Google, Microsoft, VMware.
constexpr std::string_view kVendorsOfVms[] = {"1af4", "1d0f", "1ae0", "1414", "15ad"};
constexpr std::string_view kDriversOfVms[] = {"virtio_net", "virtio-pci", "ena",    "gve",
                                              "hv_netvsc",  "mana",       "vmxnet3"};
constexpr std::string_view kApiOfClasses = "resource.k8s.io/v1";

Json list_of(const std::vector<std::string>& texts) { return Json::Array(texts.begin(), texts.end()); }

std::string text_of(const PfVfs& entry) {
  std::string text = entry.pf;
  for (const auto& [first, last] : entry.ranges) {
    text += text.size() == entry.pf.size() ? "#" : ",";
    text += std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
  }
  return text;
}

std::vector<std::string> texts_of(const std::vector<PfVfs>& entries) {
  std::vector<std::string> out;
  for (const PfVfs& entry : entries) out.push_back(text_of(entry));
  return out;
}

std::string describe(const Place& place) {
  return escaped(place.file) + (place.line > 0 ? ":" + std::to_string(place.line) : "");
}

// Adds one filter for each link type: a filter has only one.
void add_filters(const Selector& selector, Json::Array& out) {
  Json filter = Json::Object{};
  const auto set = [&](std::string_view key, const std::vector<std::string>& list) {
    if (!list.empty()) filter.set(key, list_of(list));
  };
  set("vendors", selector.vendors);
  set("devices", selector.devices);
  set("drivers", selector.drivers);
  set("pciAddresses", selector.pci_addresses);
  set("pfNames", texts_of(selector.pf_names));
  set("pfPciAddresses", texts_of(selector.root_devices));
  if (selector.link_types.empty()) return out.push_back(std::move(filter));
  for (const std::string& type : selector.link_types) {
    Json one = filter;
    one.set("linkType", type);
    out.push_back(std::move(one));
  }
}

Json node_selector_of(const Nodes& nodes) {
  Json::Object labels;
  for (const auto& [key, value] : nodes.labels) labels.emplace_back(key, value);
  if (!nodes.terms.is_null()) return nodes.terms;
  if (nodes.name.empty()) return labels;
  const auto requirement = [](const std::string& key, const std::string& value) {
    Json one = Json::Object{};
    one.set("key", key);
    one.set("operator", "In");
    one.set("values", Json::Array{value});
    return one;
  };
  Json term = Json::Object{};
  term.set("matchFields", Json::Array{requirement("metadata.name", nodes.name)});
  Json::Array expressions;
  for (const auto& [key, value] : nodes.labels) expressions.push_back(requirement(key, value));
  if (!expressions.empty()) term.set("matchExpressions", std::move(expressions));
  Json selector = Json::Object{};
  selector.set("nodeSelectorTerms", Json::Array{std::move(term)});
  return selector;
}

Json map_of(std::string_view key, Json value) {
  Json map = Json::Object{};
  map.set(key, std::move(value));
  return map;
}

// A resource as pods see it: the same name in several configurations is one resource.
struct Published {
  std::string name, object_name;
  std::vector<Place> places;
  bool has_vhost = false, has_vfio = false;
};

class Maker {
 public:
  Maker(const std::vector<Config>& configs, const Target& target, Complaints& complaints)
      : configs_(configs), target_(target), complaints_(complaints) {
    is_exposure_ =
        target.form == Form::kExposure ||
        (target.form == Form::kAuto && (asks_rdma() || asks_auxiliary() || names_functions_without_pf()));
    driver_ = is_exposure_ ? target.exposure_driver : target.sriov_driver;
  }

  bool is_without_network() const { return is_without_network_; }
  std::vector<ConvertedObject> make() {
    if (target_.form == Form::kSriov && asks_rdma())
      complaints_.error(
          rdma_, "isRdma cannot be said in a SriovResourcePolicy: leave out --as, or set --as exposure");
    if (target_.form == Form::kSriov && asks_auxiliary())
      complaints_.error(
          auxiliary_,
          "a SriovResourcePolicy offers no scalable functions (deviceType auxNetDevice): leave out --as, or "
          "set --as exposure");
    for (const Config& config : configs_)
      for (const Resource& resource : config.resources) publish(resource);
    if (!is_exposure_ && target_.form == Form::kAuto && !target_.is_compared) warn_of_functions_without_pf();
    for (const Config& config : configs_) {
      if (is_exposure_)
        add_exposures(config);
      else
        add_policies(config);
    }
    for (const auto& published : published_) {
      if (!is_exposure_) add_attributes(published);
    }
    for (const auto& published : published_) add_class(published);
    for (const auto& published : published_) add_template(published);
    return std::move(out_);
  }

 private:
  bool asks_auxiliary() {
    for (const Config& config : configs_)
      for (const Resource& resource : config.resources)
        if (resource.is_auxiliary) {
          auxiliary_ = resource.place;
          return true;
        }
    return false;
  }

  bool asks_rdma() {
    for (const Config& config : configs_)
      for (const Resource& resource : config.resources)
        for (const Selector& selector : resource.selectors)
          if (selector.needs_rdma) {
            rdma_ = selector.place;
            return true;
          }
    return false;
  }

  // SriovResourcePolicies offer only VFs of PFs. In a VM no function has a PF. An address may belong to
  // either.
  bool names_functions_without_pf() const {
    const auto is_any = [](const std::vector<std::string>& list, std::span<const std::string_view> of) {
      return std::any_of(list.begin(), list.end(), [&](const std::string& one) {
        return std::find(of.begin(), of.end(), one) != of.end();
      });
    };
    for (const Config& config : configs_)
      for (const Resource& resource : config.resources)
        for (const Selector& selector : resource.selectors)
          if (selector.selects_pfs ||
              (may_be_without_pf(selector) &&
               (!selector.pci_addresses.empty() || is_any(selector.vendors, kVendorsOfVms) ||
                is_any(selector.drivers, kDriversOfVms))))
            return true;
    return false;
  }

  // pfNames and rootDevices select only VFs of PFs: the device plugin finds no PF for other functions
  // (GetPfName and GetPfAddr of its pkg/utils).
  static bool may_be_without_pf(const Selector& selector) {
    return selector.pf_names.empty() && selector.root_devices.empty();
  }

  // Functions in a VM have the same ids and drivers as VFs on a host, so the text does not show which are
  // meant.
  void warn_of_functions_without_pf() {
    std::set<std::string> names;
    const Selector* first = nullptr;
    for (const Config& config : configs_)
      for (const Resource& resource : config.resources)
        for (const Selector& selector : resource.selectors) {
          if (!may_be_without_pf(selector)) continue;
          if (first == nullptr) first = &selector;
          names.insert(resource.name);
        }
    if (first == nullptr) return;
    constexpr size_t kNamesMax = 3;
    std::vector<std::string> some;
    for (const std::string& name : names)
      if (some.size() < kNamesMax) some.push_back(escaped(name));
    if (names.size() > kNamesMax) some.push_back(and_more(names.size() - kNamesMax, "resource"));
    complaints_.warning(
        first->place,
        join(some, ", ") + (names.size() == 1 ? " selects" : " select") +
            " by neither pfNames nor rootDevices, and may mean functions without a PF (in a VM) or PFs without VFs: "
            "a SriovResourcePolicy offers neither. Set --as exposure if they are meant, --as sriov if not; --check on a "
            "node shows whether any device is affected");
  }

  void publish(const Resource& resource) {
    const auto found = by_name_.find(resource.name);
    if (found == by_name_.end()) {
      by_name_[resource.name] = published_.size();
      return published_.push_back({resource.name,
                                   unique(resource.name),
                                   {resource.place},
                                   resource.gives_vhost,
                                   resource.gives_vfio});
    }
    Published& published = published_[found->second];
    published.places.push_back(resource.place);
    // Without vfio-pci in the class the device's driver at allocation decides whether pods get /dev/vfio.
    published.has_vfio &= resource.gives_vfio;
    if (published.has_vhost != resource.gives_vhost)
      complaints_.error(resource.place,
                        "resource " + escaped(resource.name) + " differs in needVhostNet from " +
                            describe(published.places.front()) +
                            ": a DeviceClass says that for all nodes. Set it in both (pods get "
                            "/dev/vhost-net on all nodes then), or give one another name");
  }

  // Names that differ only in characters that object names cannot have get a number. numbers_ continues at
  // the last number: thousands of names may be alike.
  std::string unique(const std::string& name) {
    const std::string base = dns_name_of(name);
    std::string one = base;
    for (int& number = numbers_.try_emplace(base, 2).first->second; !used_names_.insert(one).second;
         ++number) {
      const std::string end = "-" + std::to_string(number);
      one = base.substr(0, 63 - end.size()) + end;
    }
    return one;
  }

  const Published& published_of(const Resource& resource) const {
    return published_[by_name_.at(resource.name)];
  }

  void add(std::vector<std::string> comments, Json object) {
    out_.push_back({std::move(comments), std::move(object)});
  }

  void add_policies(const Config& config) {
    const size_t parts = (config.resources.size() + kConfigsMax - 1) / kConfigsMax;
    for (size_t part = 0; part < parts; ++part) {
      std::vector<std::string> comments = {"From " + describe(config.place) + ", " + config.origin + "."};
      Json::Array configs;
      const size_t end = std::min(config.resources.size(), (part + 1) * kConfigsMax);
      for (size_t i = part * kConfigsMax; i < end; ++i) {
        const Resource& resource = config.resources[i];
        comments.push_back("configs[" + std::to_string(configs.size()) + "]: " + resource.name + ", " +
                           describe(resource.place));
        configs.push_back(config_of(resource));
      }
      if (parts == 1)
        comments.push_back("It offers VFs alone; --as exposure offers PFs without VFs and NICs, too.");
      // Policies of the same priority are evaluated by name.
      std::string number = std::to_string(part + 1);
      if (number.size() < 2) number.insert(0, "0");
      Json object =
          object_of(kube::api_version(kube::kSriovResourcePolicies), kube::kSriovResourcePolicies.kind,
                    parts == 1 ? config.name : config.name + "-" + number, target_.namespace_);
      Json spec = Json::Object{};
      if (!config.nodes.is_all()) spec.set("nodeSelector", node_selector_of(config.nodes));
      if (config.priority != 0) spec.set("priority", config.priority);
      spec.set("configs", std::move(configs));
      object.set("spec", std::move(spec));
      add(std::move(comments), std::move(object));
    }
  }

  Json config_of(const Resource& resource) {
    Json::Array filters;
    for (const Selector& selector : resource.selectors) add_filters(selector, filters);
    if (filters.size() > kFiltersMax)
      complaints_.error(resource.place, "resource " + escaped(resource.name) + " takes " +
                                            std::to_string(filters.size()) +
                                            " filters, one a selector and link type; at most " +
                                            std::to_string(kFiltersMax) + " can be said: join selectors");
    Json out = Json::Object{};
    out.set("deviceAttributesSelector",
            map_of("matchLabels", map_of(label_key(), published_of(resource).object_name)));
    out.set("resourceFilters", std::move(filters));
    return out;
  }

  std::string label_key() const { return target_.sriov_driver + "/resource"; }

  void add_exposures(const Config& config) {
    // A node has one configuration of the device plugin, but may have several policies of the operator.
    if (!config.nodes.name.empty() && config.priority == 0) priority_ = kFirstPriority;
    for (const Resource& resource : config.resources) {
      const Published& published = published_of(resource);
      // Several configurations may contain the resource, in this run or in a run for another file.
      const std::string suffix = config.has_own_name ? "-" + config.name : "";
      Json object =
          object_of(kube::api_version(kube::kDeviceExposurePolicies), kube::kDeviceExposurePolicies.kind,
                    dns_name_of(published.object_name + suffix, 253));
      Json attributes = Json::Object{};
      attributes.set("resourceName", resource.name);
      attributes.set(kMultusName, resource.name);
      Json spec = Json::Object{};
      if (!config.nodes.is_all()) spec.set("nodeSelector", node_selector_of(config.nodes));
      spec.set("priority", priority_--);
      spec.set("selector", map_of("cel", expression_of(resource, target_.exposure_driver)));
      spec.set("exposure", map_of("additionalAttributes", std::move(attributes)));
      object.set("spec", std::move(spec));
      add({"From " + describe(resource.place) + ", resource " + resource.name + " of " + config.origin + "."},
          std::move(object));
    }
  }

  std::vector<std::string> comments_of(const Published& published) const {
    std::vector<std::string> out;
    for (const Place& place : published.places) {
      if (out.size() == 8) {
        out.push_back("and " + std::to_string(published.places.size() - 8) + " more places");
        break;
      }
      out.push_back((out.empty() ? "From " : "and ") + describe(place) + ", resource " + published.name);
    }
    return out;
  }

  void add_attributes(const Published& published) {
    Json object = object_of(kube::api_version(kube::kDeviceAttributes), kube::kDeviceAttributes.kind,
                            published.object_name, target_.namespace_);
    Json meta = *object.find("metadata");
    meta.set("labels", map_of(label_key(), published.object_name));
    object.set("metadata", std::move(meta));
    Json attributes = Json::Object{};
    attributes.set("resourceName", map_of("string", published.name));
    attributes.set(kMultusName, map_of("string", published.name));
    object.set("spec", map_of("attributes", std::move(attributes)));
    add(comments_of(published), std::move(object));
  }

  void add_class(const Published& published) {
    const std::string domain = "device.attributes[\"" + driver_ + "\"]";
    const std::string cel = "device.driver == \"" + driver_ + "\" && \"resourceName\" in " + domain + " && " +
                            domain + ".resourceName == \"" + published.name + "\"";
    Json spec = Json::Object{};
    spec.set("selectors", Json::Array{map_of("cel", map_of("expression", cel))});
    spec.set("extendedResourceName", published.name);
    auto comments = comments_of(published);
    comments.push_back("Pods that ask for " + published.name + " in their resources get such a device.");
    const NamedNetwork network = network_of(target_.networks, published.name);
    comment_on_network(published, network, comments);
    if (published.has_vfio || published.has_vhost || !network.name.empty()) {
      Json parameters = Json::Object{};
      parameters.set("apiVersion", kube::api_version(kube::kSriovResourcePolicies));
      parameters.set("kind", "VfConfig");
      if (published.has_vfio) parameters.set("driver", "vfio-pci");
      if (published.has_vhost) parameters.set("addVhostMount", true);
      if (!network.name.empty()) {
        parameters.set("netAttachDefName", network.name);
        if (!network.namespace_.empty()) parameters.set("netAttachDefNamespace", network.namespace_);
      }
      Json opaque = Json::Object{};
      opaque.set("driver", driver_);
      opaque.set("parameters", std::move(parameters));
      spec.set("config", Json::Array{map_of("opaque", std::move(opaque))});
    }
    Json object = object_of(std::string(kApiOfClasses), "DeviceClass", published.object_name);
    object.set("spec", std::move(spec));
    add(std::move(comments), std::move(object));
  }

  // Comments on how pods of the class get an interface without Multus.
  void comment_on_network(const Published& published, const NamedNetwork& network,
                          std::vector<std::string>& comments) {
    if (!network.name.empty()) {
      comments.push_back("They get their interface by NetworkAttachmentDefinition " +
                         (network.namespace_.empty() ? "" : network.namespace_ + "/") + network.name +
                         (network.candidates.size() > 1 ? " of their own namespace." : "."));
      if (!published.has_vfio)
        comments.push_back(
            "It is called vfnet0 there (of a second device vfnet1): for pods with one, that expect Multus' name, add "
            "ifName: net1.");
      return;
    }
    std::vector<std::string> names;
    for (const Network* one : network.candidates) names.push_back(one->text());
    if (!names.empty()) {
      comments.push_back(
          "Its NetworkAttachmentDefinitions are " + join(names, ", ") +
          ": name one in spec.config (a VfConfig with netAttachDefName), or in the claims of pods.");
      return complaints_.warning(
          network.candidates[1]->place,
          "resource " + published.name + " has several NetworkAttachmentDefinitions (" + join(names, ", ") +
              "), and a DeviceClass names one: without Multus pods with the extended resource get no interface "
              "by DeviceClass " +
              published.object_name + " before you add one, or a class for each");
    }
    if (published.has_vfio) return;
    is_without_network_ = true;
    comments.push_back(
        "Without Multus they get no interface before spec.config has a VfConfig with netAttachDefName: give migrate "
        "the NetworkAttachmentDefinitions, too.");
  }

  void add_template(const Published& published) {
    Json request = Json::Object{};
    request.set("name", "vf");
    request.set("exactly", map_of("deviceClassName", published.object_name));
    Json object = object_of(std::string(kApiOfClasses), "ResourceClaimTemplate", published.object_name);
    object.set("spec",
               map_of("spec", map_of("devices", map_of("requests", Json::Array{std::move(request)}))));
    auto comments = comments_of(published);
    comments.push_back(
        "For pods with a claim in place of the extended resource; it belongs into their namespace.");
    add(std::move(comments), std::move(object));
  }

  const std::vector<Config>& configs_;
  const Target& target_;
  Complaints& complaints_;
  bool is_exposure_ = false;
  bool is_without_network_ = false;  // a class gives its pods no interface
  std::string driver_;
  int64_t priority_ = kFirstPriority;  // for the next DeviceExposurePolicy
  Place rdma_;                         // place of the first selector that requires it
  Place auxiliary_;                    // place of a resource of scalable functions
  std::vector<Published> published_;
  std::map<std::string, size_t> by_name_;
  std::set<std::string> used_names_;
  std::map<std::string, int> numbers_;  // next number in unique(), by base name
  std::vector<ConvertedObject> out_;
};

}  // namespace

Json object_of(const std::string& api_version, const std::string& kind, const std::string& name,
               const std::string& namespace_) {
  Json meta = Json::Object{};
  meta.set("name", name);
  if (!namespace_.empty()) meta.set("namespace", namespace_);
  Json object = Json::Object{};
  object.set("apiVersion", api_version);
  object.set("kind", kind);
  object.set("metadata", std::move(meta));
  return object;
}

Result<Json> portable_metadata(const Json& object) {
  auto meta = kube::decode_object_meta(object);
  if (!meta) return std::move(meta.error());
  meta->uid.clear();
  meta->resource_version.clear();
  meta->generation = 0;
  meta->owner_references.clear();
  meta->finalizers.clear();
  meta->annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  return kube::encode_object_meta(*meta);
}

void check(const std::vector<ConvertedObject>& objects, const Target& target, const Place& place,
           Complaints& complaints) {
  std::set<std::string> keys;
  for (const ConvertedObject& made : objects) {
    const std::string_view kind = made.object.text("kind");
    const std::string who = std::string(kind) + " " + escaped(made.object.find("metadata")->text("name"));
    if (!keys.insert(who).second)
      complaints.error(place, who + " comes of two objects of one name: rename one of them in the file");
    policy::Problems problems;
    if (kind == kube::kSriovResourcePolicies.kind)
      problems = problems_of(policy::decode_sriov_policy(made.object));
    else if (kind == kube::kDeviceAttributes.kind)
      problems = policy::decode_device_attributes(made.object, target.sriov_driver).problems;
    else if (kind == kube::kDeviceExposurePolicies.kind) {
      auto policy = policy::decode_exposure_policy(made.object, target.exposure_driver);
      policy::check_selector(policy, target.exposure_driver);
      problems = policy.problems;
    }
    for (const policy::Problem& problem : problems)
      complaints.error(place,
                       who + ", which would come of it, is refused: " + problem.field + " " + problem.what);
  }
}

std::vector<ConvertedObject> objects_of(const std::vector<Config>& configs, const Target& target,
                                        Complaints& complaints) {
  Maker maker(configs, target, complaints);
  auto objects = maker.make();
  if (!configs.empty()) check(objects, target, configs.front().place, complaints);
  if (!configs.empty() && maker.is_without_network() && !target.is_compared)
    complaints.warning(
        configs.front().place,
        "without Multus (--configuration-mode STANDALONE) pods with these extended resources run without an interface "
        "before their DeviceClass names a NetworkAttachmentDefinition: give these as further FILEs (kubectl get "
        "network-attachment-definitions -A -o yaml)");
  return objects;
}

}  // namespace sliced::migrate
