#include "kubectl/migrate/dranet.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "kubectl/migrate/dranet_network.h"
#include "kubectl/migrate/dranet_selector.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using kube::Json;

constexpr std::string_view kApiGroup = "resource.k8s.io/", kApiVersion = "resource.k8s.io/v1";
constexpr std::string_view kOfTemplate = "resource.kubernetes.io/pod-claim-name";
constexpr size_t kCommentsMax = 16;

enum class DranetKind { kNone, kClass, kClaim, kTemplate, kDaemon, kValues };

const Json::Array& items_of(const Json* list) {
  static const Json::Array none;
  return list != nullptr && list->array() != nullptr ? *list->array() : none;
}
const Json::Array& items_of(const Json& value, std::string_view field) { return items_of(value.find(field)); }

bool is_dranet_container(const Json& container) {
  if (container.text("image").find("dranet") != std::string_view::npos) return true;
  for (const std::string_view field : {"command", "args"})
    for (const Json& word : items_of(container, field))
      if (word.string() != nullptr && (*word.string() == "/dranet" || word.string()->ends_with("/dranet")))
        return true;
  return false;
}
const Json* dranet_container_of(const Json& object) {
  for (const Json& one : items_of(object.find({"spec", "template", "spec", "containers"})))
    if (is_dranet_container(one)) return &one;
  return nullptr;
}

DranetKind dranet_kind_of(const Json& object) {
  const std::string_view kind = object.text("kind");
  if (kind == "DaemonSet" && dranet_container_of(object) != nullptr) return DranetKind::kDaemon;
  const Json* repository = object.find({"image", "repository"});
  if (kind.empty() && repository != nullptr && repository->string() != nullptr &&
      repository->string()->find("dranet") != std::string::npos)
    return DranetKind::kValues;
  if (!object.text("apiVersion").starts_with(kApiGroup)) return DranetKind::kNone;
  if (kind == kube::kDeviceClasses.kind) return DranetKind::kClass;
  if (kind == kube::kResourceClaims.kind) return DranetKind::kClaim;
  if (kind == kube::kResourceClaimTemplates.kind) return DranetKind::kTemplate;
  return DranetKind::kNone;
}

std::string selector_text(const Json& selector) {
  const Json* text = selector.find({"cel", "expression"});
  return text != nullptr && text->string() != nullptr ? *text->string() : "";
}
bool names_dranet(const Json& selectors_owner) {
  return std::ranges::any_of(items_of(selectors_owner, "selectors"), [](const Json& one) {
    const auto translated = translate_selector(selector_text(one), kDranetDriver);
    return translated && translated->names_dranet;
  });
}
bool is_dranet_config(const Json& config) {
  const Json* driver = config.find({"opaque", "driver"});
  return driver != nullptr && driver->string() != nullptr && *driver->string() == kDranetDriver;
}
bool has_dranet_config(const Json& owner) {
  return std::ranges::any_of(items_of(owner, "config"), is_dranet_config);
}

bool is_dranet_class(const Json& object) {
  const Json* spec = object.find("spec");
  return spec != nullptr && (names_dranet(*spec) || has_dranet_config(*spec));
}

std::string name_in(const Json& object) {
  const Json* meta = object.find("metadata");
  if (meta == nullptr) return "";
  const std::string_view space = meta->text("namespace");
  const std::string_view name = meta->text("name").empty() ? meta->text("generateName") : meta->text("name");
  return (space.empty() ? "" : std::string(space) + "/") + std::string(name);
}

// Converts all objects in three passes: classes, claims and daemons are read before the first object is
// converted.
class DranetConverter {
 public:
  DranetConverter(const Target& target, Complaints& complaints)
      : target_(target), driver_(target.exposure_driver), complaints_(complaints) {}

  void learn_class(const Json& object) {
    ClassFacts facts;
    facts.is_dranets = is_dranet_class(object);
    const Json* spec = object.find("spec");
    if (facts.is_dranets) {
      facts.has_config = has_dranet_config(*spec);
      facts.gets_config = facts.has_config || spec->find("extendedResourceName") != nullptr;
      for (const Json& one : items_of(*spec, "selectors"))
        if (const auto translated = translate_selector(selector_text(one), driver_)) {
          facts.has_no_interface |= translated->selects_without_interface;
          facts.selects_rdma |= translated->selects_rdma;
          note_interfaces(*translated);
        }
    }
    classes_[name_in(object)] = facts;
  }

  void add_daemon(const Json& object, const std::string& file) {
    Daemon daemon;
    daemon.place = {file, object.line()};
    const bool is_daemon_set = object.text("kind") == "DaemonSet";
    daemon.who = is_daemon_set ? "DaemonSet " + escaped(name_in(object)) : "the values of dranet's chart";
    const Json* meta = object.find("metadata");
    daemon.name = is_daemon_set && meta != nullptr ? dns_name_of(std::string(meta->text("name"))) : "dranet";
    if (is_daemon_set)
      read_arguments(*dranet_container_of(object), daemon);
    else
      read_values(object, daemon);
    const Json* pod = is_daemon_set ? object.find({"spec", "template", "spec"}) : &object;
    read_node_selection(*pod, daemon);
    daemons_.push_back(std::move(daemon));
  }

  void convert_class(const Json& object, const std::string& file) {
    Current in = begin(object, file);
    const Json* spec = object.find("spec");
    const ClassFacts& facts = classes_[name_in(object)];
    Json out = Json::Object{};
    for (const auto& [key, value] : *spec->object()) {
      if (key == "selectors")
        out.set(key, selectors_of(*spec, "spec", in).json);
      else if (key != "config")
        out.set(key, value);
    }
    Json::Array configs;
    bool is_first = true;
    const Json::Array& before = items_of(*spec, "config");
    for (size_t i = 0; i < before.size(); ++i) {
      if (!is_dranet_config(before[i])) {
        configs.push_back(before[i]);
        continue;
      }
      const std::string path = "spec.config[" + std::to_string(i) + "]";
      if (!std::exchange(is_first, false)) {
        lose(in, before[i], path, "",
             "dranet obeys the first configuration for its driver alone, and has ignored this one",
             "delete it");
        continue;
      }
      configs.push_back(
          config_of(before[i].find({"opaque", "parameters"}), path + ".opaque.parameters", {}, "", in));
    }
    if (is_first && facts.gets_config && !facts.has_no_interface) {
      in.comments.push_back("Pods with its extended resource get the interface by spec.config.");
      configs.push_back(config_of(nullptr, "", {}, "", in));
    }
    if (!configs.empty()) out.set("config", std::move(configs));
    finish(in, "spec", std::move(out), classes_out_);
  }

  void convert_claim(const Json& object, const std::string& file, bool is_template) {
    const Json* spec = is_template ? object.find({"spec", "spec"}) : object.find("spec");
    const Json* devices = spec == nullptr ? nullptr : spec->find("devices");
    if (devices == nullptr || devices->object() == nullptr) return;
    const Json* of_pod = object.find({"metadata", "annotations", kOfTemplate});
    Current in = begin(object, file);
    in.is_old_form = object.text("apiVersion") == "resource.k8s.io/v1beta1" ||
                     object.text("apiVersion") == "resource.k8s.io/v1alpha3";
    const std::string path = is_template ? "spec.spec.devices" : "spec.devices";
    auto requests = requests_of(*devices, path);
    note_allocated(object, requests);
    const bool has_config = has_dranet_config(*devices);
    const bool is_dranets =
        has_config || std::ranges::any_of(requests, [](const Request& one) { return one.is_dranets; }) ||
        has_dranet_constraint(*devices);
    if (!is_dranets) return warn_of_unknown_classes(requests, in);
    if (of_pod != nullptr)
      return complaints_.warning(
          in.place,
          in.who +
              " is not printed: it is made from a ResourceClaimTemplate for a pod; the template takes its place");
    for (const Request& one : requests)
      if (one.is_dranets && !classes_.contains(one.class_name))
        unknown_classes_.try_emplace(one.class_name, in.place);
    Json out = Json::Object{};
    for (const auto& [key, value] : *devices->object()) {
      if (key == "requests")
        out.set(key, requests_out(*devices, path, in));
      else if (key == "constraints")
        out.set(key, constraints_out(*devices, path, in));
      else if (key != "config")
        out.set(key, value);
    }
    Json::Array configs = configs_out(*devices, path, requests, in);
    if (!configs.empty()) out.set("config", std::move(configs));
    Json inner = Json::Object{};
    for (const auto& [key, value] : *spec->object()) inner.set(key, key == "devices" ? out : value);
    if (!is_template) return finish(in, "spec", std::move(inner), claims_out_);
    Json outer = Json::Object{};
    if (const Json* meta = object.find({"spec", "metadata"})) outer.set("metadata", *meta);
    outer.set("spec", std::move(inner));
    finish(in, "spec", std::move(outer), templates_out_);
  }

  // Collects the interface names in claims. The policies include those virtual links.
  void learn_claim(const Json& object, bool is_template) {
    const Json* devices =
        object.find(is_template ? std::initializer_list<std::string_view>{"spec", "spec", "devices"}
                                : std::initializer_list<std::string_view>{"spec", "devices"});
    if (devices == nullptr) return;
    for (const Request& one : requests_of(*devices, ""))
      for (const Json& selector : items_of(*one.json, "selectors"))
        if (const auto translated = translate_selector(selector_text(selector), driver_))
          note_interfaces(*translated);
  }

  DranetObjects::Out finish_all(const Place& first) {
    DranetObjects::Out out;
    if (daemons_.empty() && !(classes_out_.empty() && templates_out_.empty() && claims_out_.empty())) {
      Daemon defaults;
      defaults.place = first;
      defaults.name = "dranet";
      defaults.who = "dranet's defaults";
      complaints_.warning(
          first,
          "no DaemonSet of dranet is given: the policy is for all nodes, and has dranet's default filter. Give it as another FILE "
          "(kubectl -n kube-system get daemonset dranet -o yaml)");
      daemons_.push_back(std::move(defaults));
    }
    for (const Daemon& daemon : daemons_) add_policy(daemon, out.objects);
    for (auto* list : {&classes_out_, &templates_out_, &claims_out_})
      for (ConvertedObject& one : *list) out.objects.push_back(std::move(one));
    say_once();
    out.lost = lost_;
    return out;
  }

 private:
  struct ClassFacts {
    bool is_dranets = false, has_no_interface = false, selects_rdma = false;
    bool has_config = false;   // dranet uses it for each claim, and ignores those of claims
    bool gets_config = false;  // has_config, or one is added for pods with the extended resource
  };
  struct Daemon {
    Place place;
    std::string who, name;
    std::optional<Json> filter;  // a string
    Json node_selector;          // as in a policy; null: all nodes
  };
  // The object that is being converted.
  struct Current {
    const Json& object;
    Place place;
    std::string who;
    std::vector<std::string> comments;
    bool is_old_form = false;  // v1beta1: the request itself has the fields of `exactly`
  };
  // A request, or one alternative of firstAvailable.
  struct Request {
    std::string name, main;
    const Json* json = nullptr;  // the map with deviceClassName and selectors
    std::string class_name;
    bool is_dranets = false, is_unknown = false;
    bool is_one = false;  // requests exactly one device
    ClassFacts of_class;
  };
  struct SelectorsOut {
    Json json;
    bool has_no_interface = false, selects_rdma = false;
    std::string only_interface;
  };
  struct Sum {
    Place place;
    size_t more = 0;
  };

  Current begin(const Json& object, const std::string& file) const {
    const Place place{file, object.line()};
    const std::string who = std::string(object.text("kind")) + " " + escaped(name_in(object));
    return {object,
            place,
            who,
            {"From " + escaped(file) + ":" + std::to_string(object.line()) + ", " + who + "."}};
  }

  void finish(Current& in, std::string_view field, Json spec, std::vector<ConvertedObject>& out) {
    auto meta = portable_metadata(in.object);
    if (!meta) return complaints_.error(in.place, in.who + ": " + meta.error().what);
    if (in.comments.size() > kCommentsMax) {
      const size_t more = in.comments.size() - kCommentsMax;
      in.comments.resize(kCommentsMax);
      in.comments.push_back(and_more(more, "difference"));
    }
    Json object = Json::Object{};
    object.set("apiVersion", std::string(kApiVersion));
    object.set("kind", std::string(in.object.text("kind")));
    object.set("metadata", *std::move(meta));
    object.set(field, std::move(spec));
    out.push_back({std::move(in.comments), std::move(object)});
  }

  // value: "" if it adds nothing to the field's name.
  void lose(Current& in, const Json& at, const std::string& field, const std::string& value,
            const std::string& why, const std::string& remedy, bool is_error = false) {
    const Place place{in.place.file, at.line() > 0 ? at.line() : in.place.line};
    const std::string what = field + (value.empty() ? "" : " is " + value);
    const std::string text = in.who + ": " + what + ", " +
                             (is_error ? "which is wrong: " : "which has no counterpart: ") + why + "; " +
                             remedy;
    ++lost_;
    if (is_error) return complaints_.error(place, text);
    complaints_.warning(place, text);
    in.comments.push_back("Without counterpart: " + what + ".");
  }

  void note_interfaces(const Translated& translated) {
    for (const std::string& one : translated.interfaces)
      if (!one.empty()) interfaces_.insert(one);
  }

  // owner: a class's spec or a request.
  SelectorsOut selectors_of(const Json& owner, const std::string& path, Current& in) {
    SelectorsOut out;
    Json::Array selectors;
    const Json::Array& before = items_of(owner, "selectors");
    for (size_t i = 0; i < before.size(); ++i) {
      const std::string field = path + ".selectors[" + std::to_string(i) + "].cel.expression";
      const Json* text = before[i].find({"cel", "expression"});
      if (text == nullptr || text->string() == nullptr) {
        selectors.push_back(before[i]);
        continue;
      }
      auto translated = translate_selector(*text->string(), driver_);
      if (!translated) {
        complaints_.error({in.place.file, text->line()},
                          in.who + ": " + field + " " + translated.error().what);
        continue;
      }
      for (const Untranslated& one : translated->untranslated) {
        ++lost_;
        complaints_.warning({in.place.file, text->line()},
                            in.who + ": " + field + " has " + one.part +
                                ", which has no counterpart and is kept, so that no device matches: " +
                                one.why + "; " + one.remedy);
        in.comments.push_back("Without counterpart: " + field + " has " + one.part +
                              ", which no device of sliced has.");
      }
      out.has_no_interface |= translated->selects_without_interface;
      out.selects_rdma |= translated->selects_rdma;
      if (!translated->only_interface.empty()) out.only_interface = translated->only_interface;
      Json cel = Json::Object{};
      cel.set("expression", translated->text);
      Json one = before[i];
      one.set("cel", std::move(cel));
      selectors.push_back(std::move(one));
    }
    out.json = std::move(selectors);
    return out;
  }

  std::vector<Request> requests_of(const Json& devices, const std::string& path) const {
    (void)path;
    std::vector<Request> out;
    for (const Json& request : items_of(devices, "requests")) {
      const std::string name(request.text("name"));
      const Json* exactly = request.find("exactly");
      if (exactly == nullptr && !request.text("deviceClassName").empty()) exactly = &request;
      if (exactly != nullptr) out.push_back(request_of(*exactly, name, name, devices));
      for (const Json& one : items_of(request, "firstAvailable"))
        out.push_back(request_of(one, name + "/" + std::string(one.text("name")), name, devices));
    }
    return out;
  }

  Request request_of(const Json& json, const std::string& name, const std::string& main,
                     const Json& devices) const {
    Request out{
        .name = name, .main = main, .json = &json, .class_name = std::string(json.text("deviceClassName"))};
    const auto known = classes_.find(out.class_name);
    if (known != classes_.end()) out.of_class = known->second;
    out.is_dranets = out.of_class.is_dranets || names_dranet(json);
    for (const Json& config : items_of(devices, "config"))
      if (is_dranet_config(config))
        out.is_dranets |= !items_of(config, "requests").empty() && is_for(config, out);
    out.is_unknown = !out.is_dranets && known == classes_.end();
    const Json* count = json.find("count");
    const std::string_view mode = json.text("allocationMode");
    out.is_one = (mode.empty() || mode == "ExactCount") &&
                 (count == nullptr || count->integer() == nullptr || *count->integer() == 1);
    return out;
  }

  static bool is_for(const Json& config, const Request& request) {
    const Json::Array& named = items_of(config, "requests");
    return named.empty() || std::ranges::any_of(named, [&](const Json& one) {
             return one.string() != nullptr &&
                    (*one.string() == request.name || *one.string() == request.main);
           });
  }

  // The status of an allocated claim names the driver for each request.
  static void note_allocated(const Json& object, std::vector<Request>& requests) {
    const Json* allocated = object.find({"status", "allocation", "devices"});
    if (allocated == nullptr) return;
    for (const Json& result : items_of(*allocated, "results")) {
      if (result.text("driver") != kDranetDriver) continue;
      for (Request& request : requests)
        if (request.name == result.text("request")) {
          request.is_dranets = true;
          request.is_unknown = false;
        }
    }
  }

  static bool has_dranet_constraint(const Json& devices) {
    return std::ranges::any_of(items_of(devices, "constraints"), [](const Json& one) {
      return one.text("matchAttribute").starts_with("dra.net/") ||
             one.text("distinctAttribute").starts_with("dra.net/");
    });
  }

  void warn_of_unknown_classes(const std::vector<Request>& requests, const Current& in) {
    for (const Request& one : requests)
      if (one.is_unknown)
        return complaints_.warning(
            in.place,
            in.who + " is ignored: DeviceClass " + escaped(one.class_name) +
                " is in no file, and nothing else says that the claim is for dranet. Give the classes as another FILE "
                "(kubectl get deviceclasses -o yaml)");
  }

  Json requests_out(const Json& devices, const std::string& path, Current& in) {
    Json::Array out;
    const Json::Array& before = items_of(devices, "requests");
    for (size_t i = 0; i < before.size(); ++i) {
      const std::string at = path + ".requests[" + std::to_string(i) + "]";
      Json request = before[i];
      if (const Json* exactly = request.find("exactly")) {
        request.set("exactly", request_out(*exactly, at + ".exactly", in));
      } else if (in.is_old_form && !request.text("deviceClassName").empty()) {
        Json inner = Json::Object{}, whole = Json::Object{};
        for (const auto& [key, value] : *request.object()) (key == "name" ? whole : inner).set(key, value);
        whole.set("exactly", request_out(inner, at, in));
        request = std::move(whole);
      } else if (request.find("firstAvailable") != nullptr) {
        Json::Array alternatives;
        const Json::Array& all = items_of(request, "firstAvailable");
        for (size_t k = 0; k < all.size(); ++k)
          alternatives.push_back(request_out(all[k], at + ".firstAvailable[" + std::to_string(k) + "]", in));
        request.set("firstAvailable", std::move(alternatives));
      }
      out.push_back(std::move(request));
    }
    return out;
  }

  Json request_out(const Json& request, const std::string& path, Current& in) {
    Json out = request;
    if (request.find("selectors") != nullptr) out.set("selectors", selectors_of(request, path, in).json);
    return out;
  }

  Json constraints_out(const Json& devices, const std::string& path, Current& in) {
    Json::Array out;
    const Json::Array& before = items_of(devices, "constraints");
    for (size_t i = 0; i < before.size(); ++i) {
      Json constraint = before[i];
      for (const char* field : {"matchAttribute", "distinctAttribute"}) {
        const std::string key(constraint.text(field));
        if (key.empty()) continue;
        if (const auto ours = translate_attribute(key, driver_)) {
          if (*ours != key) constraint.set(field, *ours);
          continue;
        }
        const Untranslated why = why_no_attribute(key);
        const std::string at = path + ".constraints[" + std::to_string(i) + "]." + field;
        lose(in, *before[i].find(field), at, in_quotes(key, 128),
             why.why + " and no claim with the constraint is allocated", why.remedy);
      }
      out.push_back(std::move(constraint));
    }
    return out;
  }

  // dranet uses the first configuration for a request; those of the request's class come first.
  Json::Array configs_out(const Json& devices, const std::string& path, const std::vector<Request>& requests,
                          Current& in) {
    const Json::Array& before = items_of(devices, "config");
    struct Group {
      const Json* config;  // nullptr: no configuration
      size_t index;
      std::string only_interface;
      std::vector<std::string> requests;
    };
    std::vector<Group> groups;
    size_t all = 0;
    std::set<size_t> used;
    for (const Request& request : requests) {
      if (!request.is_dranets && !(request.is_unknown && has_dranet_config(devices))) continue;
      ++all;
      const SelectorFacts facts = facts_of(request);
      const Json* found = nullptr;
      size_t index = before.size();
      for (size_t i = 0; i < before.size() && found == nullptr; ++i)
        if (is_dranet_config(before[i]) && is_for(before[i], request)) {
          found = &before[i];
          index = i;
        }
      if (request.of_class.has_config) {
        if (found != nullptr) {
          used.insert(index);
          lose(in, *found, path + ".config[" + std::to_string(index) + "]", "",
               "DeviceClass " + escaped(request.class_name) +
                   " has a configuration, and dranet obeys that one alone",
               "delete it");
        }
        continue;
      }
      if (found != nullptr) used.insert(index);
      if (found == nullptr && facts.has_no_interface) {
        in.comments.push_back("Request " + escaped(request.name) +
                              " is for devices without an interface: it needs no VfConfig.");
        continue;
      }
      if (facts.selects_rdma && facts.only_interface.empty()) add(rdma_, in.place);
      const std::string only = request.is_one ? facts.only_interface : "";
      const auto same = std::ranges::find_if(
          groups, [&](const Group& one) { return one.index == index && one.only_interface == only; });
      if (same == groups.end())
        groups.push_back({found, index, only, {request.name}});
      else
        same->requests.push_back(request.name);
    }
    Json::Array out;
    for (size_t i = 0; i < before.size(); ++i) {
      if (!is_dranet_config(before[i])) out.push_back(before[i]);
      if (is_dranet_config(before[i]) && !used.contains(i))
        lose(
            in, before[i], path + ".config[" + std::to_string(i) + "]", "",
            "it applies to no request for dranet's devices, or comes after another one, and dranet uses only the first",
            "delete it");
    }
    for (const Group& one : groups) {
      const std::vector<std::string> named =
          one.requests.size() == all && groups.size() == 1 ? std::vector<std::string>() : one.requests;
      const Json* parameters = one.config == nullptr ? nullptr : one.config->find({"opaque", "parameters"});
      out.push_back(config_of(parameters,
                              path + ".config[" + std::to_string(one.index) + "].opaque.parameters", named,
                              one.only_interface, in));
    }
    return out;
  }

  struct SelectorFacts {
    bool has_no_interface = false, selects_rdma = false;
    std::string only_interface;
  };
  SelectorFacts facts_of(const Request& request) const {
    SelectorFacts out{request.of_class.has_no_interface, request.of_class.selects_rdma, ""};
    for (const Json& selector : items_of(*request.json, "selectors")) {
      const auto translated = translate_selector(selector_text(selector), driver_);
      if (!translated) continue;
      out.has_no_interface |= translated->selects_without_interface;
      out.selects_rdma |= translated->selects_rdma;
      if (!translated->only_interface.empty()) out.only_interface = translated->only_interface;
    }
    return out;
  }

  Json config_of(const Json* parameters, const std::string& path, const std::vector<std::string>& requests,
                 const std::string& only_interface, Current& in) {
    static const Json none;
    ConvertedNetwork network = convert_network(parameters == nullptr ? none : *parameters, only_interface);
    for (const LostField& one : network.lost) {
      Json at;
      at.set_line(one.line);
      lose(in, at, path + "." + one.field, one.value, one.why, one.remedy, one.is_error);
    }
    sets_mac_ |= network.sets_mac;
    if (!network.names_interface) add(unnamed_, in.place);
    if (!network.has_addresses) add(unaddressed_, in.place);
    Json opaque = Json::Object{};
    opaque.set("driver", driver_);
    opaque.set("parameters", std::move(network.parameters));
    Json out = Json::Object{};
    if (!requests.empty()) out.set("requests", Json::Array(requests.begin(), requests.end()));
    out.set("opaque", std::move(opaque));
    return out;
  }

  static void add(std::optional<Sum>& sum, const Place& place) {
    if (sum)
      ++sum->more;
    else
      sum = Sum{place, 0};
  }

  // Adds each warning that applies to many objects once, with their number.
  void say_once() {
    for (const auto& [name, place] : unknown_classes_)
      complaints_.warning(
          place,
          "DeviceClass " + escaped(name) +
              " is in no file: while it selects devices of dra.net, the claims that are printed get no device. "
              "Give it as another FILE (kubectl get deviceclasses -o yaml)");
    const auto say = [&](const std::optional<Sum>& sum, const std::string& what) {
      if (sum)
        complaints_.warning(sum->place,
                            what + (sum->more == 0 ? "" : " (" + and_more(sum->more, "configuration") + ")"));
    };
    say(unnamed_,
        "the interface's name in the pod is not given: dranet keeps that of the host, here it is vfnet0, vfnet1, ...; where pods expect a name, add ifName "
        "to the VfConfig");
    say(unaddressed_,
        "no addresses are given: dranet moves those of the host's interface into the pod, with its routes, rules and permanent neighbors; here the interface "
        "has none of them. Write network.addresses and network.routes where pods need them");
    say(rdma_,
        "devices are selected by RDMA: of one without an interface (InfiniBand without IPoIB) a claim with network is not prepared; delete the VfConfig "
        "there. The container gets the RDMA device's nodes without it. On nodes whose RDMA devices are in exclusive mode (rdma system) dranet moves them with "
        "the interface: add rdma: move to network there");
  }

  void read_arguments(const Json& container, Daemon& daemon) {
    std::vector<const Json*> words;
    for (const std::string_view field : {"command", "args"})
      for (const Json& word : items_of(container, field))
        if (word.string() != nullptr) words.push_back(&word);
    for (size_t i = 0; i < words.size(); ++i) {
      std::string_view word = *words[i]->string();
      if (!word.starts_with("-")) continue;
      word.remove_prefix(word.starts_with("--") ? 2 : 1);
      const size_t equals = word.find('=');
      const std::string_view option = word.substr(0, equals);
      if (option != "filter") continue;
      Json value = equals != std::string_view::npos ? Json(std::string(word.substr(equals + 1)))
                   : i + 1 < words.size()           ? *words[i + 1]
                                                    : Json(std::string());
      value.set_line(words[i]->line());
      daemon.filter = std::move(value);
    }
  }

  // Reads the values of dranet's own chart (args.filter) and of AWS' aws-dranet (filter). Both charts omit an
  // empty filter.
  static void read_values(const Json& values, Daemon& daemon) {
    for (const Json* filter : {values.find({"args", "filter"}), values.find("filter")})
      if (filter != nullptr && filter->string() != nullptr && !filter->string()->empty())
        daemon.filter = *filter;
  }

  void read_node_selection(const Json& pod, Daemon& daemon) {
    const Json* labels = pod.find("nodeSelector");
    const Json* affinity =
        pod.find({"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
    const bool has_labels = labels != nullptr && labels->object() != nullptr && !labels->object()->empty();
    const bool has_terms = affinity != nullptr && !items_of(*affinity, "nodeSelectorTerms").empty();
    if (!has_terms) {
      if (has_labels) daemon.node_selector = *labels;
      return;
    }
    Json::Array terms;
    for (Json term : items_of(*affinity, "nodeSelectorTerms")) {
      Json::Array expressions = items_of(term, "matchExpressions");
      if (has_labels)
        for (const auto& [key, value] : *labels->object())
          expressions.push_back(
              Json::Object{{"key", key}, {"operator", "In"}, {"values", Json::Array{value}}});
      if (!expressions.empty()) term.set("matchExpressions", std::move(expressions));
      terms.push_back(std::move(term));
    }
    daemon.node_selector = Json::Object{{"nodeSelectorTerms", std::move(terms)}};
  }

  // Returns the condition for devices that dranet can publish: PCI functions whose driver creates interfaces,
  // VLANs, and the virtual links that claims name.
  std::string published_devices(bool knows_virtual_kinds) const {
    const std::string ours = "device.attributes[\"" + driver_ + "\"].";
    std::string out = ours + "type in [\"pf\", \"vf\", \"nic\"] && " + ours + "driver != \"\" && !(" + ours +
                      "driver in [\"vfio-pci\", \"uio_pci_generic\", \"igb_uio\", \"pci-stub\"]) || " + ours +
                      "type == \"vlan\"";
    if (interfaces_.empty() || !knows_virtual_kinds) return out;
    std::string names;
    for (const std::string& one : interfaces_)
      names += (names.empty() ? "" : ", ") + kube::encode_json(Json(one));
    return out + " || " + ours + "type == \"virtual\" && " + ours + "ifName in [" + names + "]";
  }

  void add_policy(const Daemon& daemon, std::vector<ConvertedObject>& out) {
    std::vector<std::string> comments = {
        "From " + escaped(daemon.place.file) +
        (daemon.place.line > 0 ? ":" + std::to_string(daemon.place.line) : "") + ", " + daemon.who + "."};
    std::string condition;
    bool knows_virtual_kinds = true;
    if (daemon.filter && !daemon.filter->string()->empty()) {
      const Place place{daemon.place.file,
                        daemon.filter->line() > 0 ? daemon.filter->line() : daemon.place.line};
      const auto filter = translate_filter(*daemon.filter->string(), driver_);
      if (!filter) return complaints_.error(place, daemon.who + ": --filter " + filter.error().what);
      for (const Untranslated& one : filter->untranslated) {
        if (one.part.starts_with('"')) {
          knows_virtual_kinds = false;
          ++lost_;
          complaints_.warning(place, daemon.who + ": --filter has " + one.part +
                                         ", which has no counterpart: " + one.why + "; " + one.remedy);
          continue;
        }
        complaints_.error(
            place,
            daemon.who + ": --filter has " + one.part + ", which has no counterpart: " + one.why +
                "; leave the DaemonSet out, and narrow selector.cel of the policy that is printed without it");
      }
      condition = filter->text;
    }
    const bool has_virtual = !interfaces_.empty() && knows_virtual_kinds;
    std::string cel = published_devices(knows_virtual_kinds);
    if (!condition.empty()) cel = "(" + cel + ") && (" + condition + ")";
    comments.push_back(
        "It offers PFs, VFs and NICs with a driver for interfaces, and VLANs, each to one pod at a time.");
    comments.push_back(has_virtual ? "Of virtual interfaces it offers those that the claims name."
                                   : "It offers no virtual interfaces (includeVirtual).");
    Json spec = Json::Object{};
    if (!daemon.node_selector.is_null()) spec.set("nodeSelector", daemon.node_selector);
    spec.set("selector", Json::Object{{"cel", cel}});
    if (has_virtual) spec.set("includeVirtual", true);
    spec.set("allow", sets_mac_ ? Json::Array{"mac"} : Json::Array{});
    Json object = object_of(kube::api_version(kube::kDeviceExposurePolicies),
                            kube::kDeviceExposurePolicies.kind, unique_policy_name(daemon.name));
    object.set("spec", std::move(spec));
    out.push_back({std::move(comments), std::move(object)});
  }

  std::string unique_policy_name(const std::string& name) {
    std::string out = name.empty() ? "dranet" : name;
    for (int number = 2; !policy_names_.insert(out).second; ++number)
      out = name + "-" + std::to_string(number);
    return out;
  }

  const Target& target_;
  const std::string driver_;
  Complaints& complaints_;
  std::map<std::string, ClassFacts> classes_;
  std::set<std::string> interfaces_, policy_names_;
  std::vector<Daemon> daemons_;
  std::vector<ConvertedObject> classes_out_, templates_out_, claims_out_;
  std::map<std::string, Place> unknown_classes_;  // classes that requests for dranet's devices name
  std::optional<Sum> unnamed_, unaddressed_, rdma_;
  bool sets_mac_ = false;
  size_t lost_ = 0;
};

}  // namespace

bool DranetObjects::add(const Json& object, const std::string& file) {
  const DranetKind kind = dranet_kind_of(object);
  if (kind == DranetKind::kNone) return false;
  objects_.push_back({object, file});
  return true;
}

bool DranetObjects::has_any(const Target& target) const {
  Complaints ignored;
  return !convert(target, ignored).objects.empty() || ignored.has_errors();
}

DranetObjects::Out DranetObjects::convert(const Target& target, Complaints& complaints) const {
  if (objects_.empty()) return {};
  DranetConverter converter(target, complaints);
  const auto each = [&](auto visit) {
    for (const Source& one : objects_) visit(one, dranet_kind_of(one.object));
  };
  each([&](const Source& one, DranetKind kind) {
    if (kind == DranetKind::kClass) converter.learn_class(one.object);
  });
  each([&](const Source& one, DranetKind kind) {
    if (kind == DranetKind::kClaim || kind == DranetKind::kTemplate)
      converter.learn_claim(one.object, kind == DranetKind::kTemplate);
    if (kind == DranetKind::kDaemon || kind == DranetKind::kValues)
      converter.add_daemon(one.object, one.file);
  });
  each([&](const Source& one, DranetKind kind) {
    if (kind == DranetKind::kClass && is_dranet_class(one.object))
      converter.convert_class(one.object, one.file);
    if (kind == DranetKind::kClaim || kind == DranetKind::kTemplate)
      converter.convert_claim(one.object, one.file, kind == DranetKind::kTemplate);
  });
  const Source& first = objects_.front();
  return converter.finish_all({first.file, first.object.line()});
}

}  // namespace sliced::migrate
