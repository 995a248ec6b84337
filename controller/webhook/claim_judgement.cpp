#include "controller/webhook/claim_judgement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/webhook/opaque_config.h"
#include "controller/webhook/selector_judgement.h"
#include "reactor/base/text.h"

namespace sliced::webhook {
namespace {

using kube::Json;

constexpr size_t kRequestsMax = 32, kAlternativesMax = 8, kConfigsMax = 32, kConstraintsMax = 32;
constexpr std::string_view kClaimTemplateKind = "ResourceClaimTemplate";

// A request, or one alternative of firstAvailable.
struct Request {
  std::string name, main;  // "vf" and "vf", "vf/fast" and "vf"
  std::string class_name;
  std::vector<Expression> selectors;
  std::string driver = {};  // of its devices; "" if unknown
  bool is_several = false;  // asks for more than one device
  bool is_admin = false;
  std::string path = {};
  int line = 0;
};

void add_request(const Json& of, const std::string& name, const std::string& main, const std::string& path,
                 const Drivers& drivers, std::vector<Request>& out) {
  Request one{name, main, std::string(of.text("deviceClassName")),
              expressions_of(of.find("selectors"), path + ".selectors")};
  const auto known = drivers.classes.find(one.class_name);
  if (known != drivers.classes.end()) one.driver = known->second;
  if (one.driver.empty() && is_ours(drivers, one.class_name)) one.driver = one.class_name;
  if (one.driver.empty()) one.driver = selected_driver(one.selectors, drivers);
  const Json* count = of.find("count");
  one.is_several = count != nullptr && count->integer() != nullptr && *count->integer() > 1;
  const Json* admin = of.find("adminAccess");
  one.is_admin = admin != nullptr && admin->boolean() != nullptr && *admin->boolean();
  one.path = path;
  one.line = of.line();
  out.push_back(std::move(one));
}

// Returns a warning for a class whose name resembles that of a class which our installation creates.
void judge_class_names(const std::vector<Request>& requests, const Drivers& drivers, Judgement& out) {
  for (const Request& one : requests) {
    const std::string near =
        drivers.classes.contains(one.class_name) ? "" : near_driver(one.class_name, drivers);
    if (!near.empty())
      out.warnings.push_back(
          {one.path + ".deviceClassName",
           "is " + in_quotes(one.class_name, 128) + "; did you mean DeviceClass " + near + "?", one.line});
  }
}

std::vector<Request> requests_of(const Json& devices, const std::string& path, const Drivers& drivers) {
  std::vector<Request> out;
  const Json* all = devices.find("requests");
  if (all == nullptr || all->array() == nullptr) return out;
  for (size_t i = 0; i < std::min(kRequestsMax, all->array()->size()); ++i) {
    const Json& request = (*all->array())[i];
    const std::string name(request.text("name")), at = path + ".requests[" + std::to_string(i) + "]";
    if (const Json* exactly = request.find("exactly"); exactly != nullptr)
      add_request(*exactly, name, name, at + ".exactly", drivers, out);
    else if (!request.text("deviceClassName").empty())  // v1beta1
      add_request(request, name, name, at, drivers, out);
    const Json* alternatives = request.find("firstAvailable");
    if (alternatives == nullptr || alternatives->array() == nullptr) continue;
    for (size_t k = 0; k < std::min(kAlternativesMax, alternatives->array()->size()); ++k) {
      const Json& one = (*alternatives->array())[k];
      add_request(one, name + "/" + std::string(one.text("name")), name,
                  at + ".firstAvailable[" + std::to_string(k) + "]", drivers, out);
    }
  }
  return out;
}

// resource.k8s.io/v1 and v1beta2 have the fields of a request in `exactly`; v1beta1 has them in the request.
void judge_form(const Json& object, const Json& devices, const std::string& path, Judgement& out) {
  const std::string_view version = object.text("apiVersion");
  const Json* all = devices.find("requests");
  const bool has_exactly = version == "resource.k8s.io/v1" || version == "resource.k8s.io/v1beta2";
  const bool is_flat = version == "resource.k8s.io/v1beta1";
  if ((!has_exactly && !is_flat) || all == nullptr || all->array() == nullptr) return;
  for (size_t i = 0; i < std::min(kRequestsMax, all->array()->size()); ++i) {
    const Json& request = (*all->array())[i];
    const std::string at = path + ".requests[" + std::to_string(i) + "].";
    const Json* exactly = request.find("exactly");
    if (is_flat && exactly != nullptr)
      out.errors.push_back({at + "exactly",
                            "is a field of resource.k8s.io/v1: in " + escaped(version, 64) +
                                " write its fields beside the name of the request",
                            exactly->line()});
    if (has_exactly && exactly == nullptr && !request.text("deviceClassName").empty())
      out.errors.push_back({at + "deviceClassName",
                            "is a field of resource.k8s.io/v1beta1: in " + escaped(version, 64) +
                                " write the fields of the request, without its name, below exactly",
                            request.line()});
  }
}

// Returns the requests to which a configuration or a constraint applies.
std::vector<const Request*> requests_for(const Json& of, const std::vector<Request>& all) {
  std::set<std::string, std::less<>> named;
  if (const Json* names = of.find("requests"); names != nullptr && names->array() != nullptr)
    for (const Json& name : *names->array())
      if (name.string() != nullptr) named.insert(*name.string());
  std::vector<const Request*> out;
  for (const Request& one : all)
    if (named.empty() || named.contains(one.name) || named.contains(one.main)) out.push_back(&one);
  return out;
}

void judge_constraints(const Json& devices, const std::vector<Request>& requests, const std::string& path,
                       const Drivers& drivers, Judgement& out) {
  const Json* all = devices.find("constraints");
  if (all == nullptr || all->array() == nullptr) return;
  for (size_t i = 0; i < std::min(kConstraintsMax, all->array()->size()); ++i) {
    const Json& constraint = (*all->array())[i];
    std::set<std::string> of_devices;
    for (const Request* request : requests_for(constraint, requests))
      // Another alternative may be allocated.
      if (request->name == request->main && !request->driver.empty()) of_devices.insert(request->driver);
    for (const char* field : {"matchAttribute", "distinctAttribute"}) {
      const Json* attribute = constraint.find(field);
      if (attribute == nullptr || attribute->string() == nullptr) continue;
      if (const std::string wrong = wrong_with_constraint(*attribute->string(), of_devices, drivers);
          !wrong.empty())
        out.warnings.push_back(
            {path + ".constraints[" + std::to_string(i) + "]." + field, wrong, attribute->line()});
    }
  }
}

// A configuration, and the requests to which it applies.
struct Config {
  const Json& json;
  std::vector<const Request*> requests;
};

std::vector<Config> configs_of(const Json& devices, const std::vector<Request>& requests) {
  std::vector<Config> out;
  const Json* all = devices.find("config");
  if (all == nullptr || all->array() == nullptr) return out;
  for (size_t i = 0; i < std::min(kConfigsMax, all->array()->size()); ++i)
    out.push_back({(*all->array())[i], requests_for((*all->array())[i], requests)});
  return out;
}

// Drivers of the configurations by request.
using ConfiguredDrivers = std::map<const Request*, std::set<std::string_view>>;

ConfiguredDrivers configured_drivers(const std::vector<Config>& configs) {
  ConfiguredDrivers out;
  for (const Config& config : configs)
    if (const Json* opaque = config.json.find("opaque"))
      for (const Request* request : config.requests) out[request].insert(opaque->text("driver"));
  return out;
}

void judge_ignored(const Config& config, const std::string& path, const ConfiguredDrivers& configured,
                   const Drivers& drivers, Judgement& out) {
  std::set<std::string> known;
  std::string unknown_class;
  bool is_known = true, is_covered = false;
  for (const Request* request : config.requests) {
    if (request->driver.empty()) {
      is_known = false;
      unknown_class = request->class_name;
      continue;
    }
    if (const auto at = configured.find(request); at != configured.end())
      is_covered |= at->second.contains(request->driver);
    known.insert(request->driver);
  }
  if (is_known && !known.empty()) {
    if (is_covered) return;
    if (const auto problem = problem_of_ignored_config(config.json, path, known, drivers))
      out.warnings.push_back(*problem);
    return;
  }
  if (const auto problem = problem_of_ignored_config(config.json, path, {}, drivers))
    return out.warnings.push_back(*problem);
  // A single class determines the driver, and may be among the checked objects.
  if (!known.empty() || unknown_class.empty()) return;
  for (const std::string& driver : {drivers.sriov, drivers.exposure})
    if (const auto problem = problem_of_ignored_config(config.json, path, {driver}, drivers))
      out.ignored_by_class.push_back({unknown_class, driver, *problem});
}

bool gives_interface(const Json& parameters) {
  const Json* network = parameters.find("network");
  return !parameters.text("netAttachDefName").empty() || (network != nullptr && network->object() != nullptr);
}

// Checks `network` of each request as the claim's configurations for one of our drivers together set it.
void judge_networks(const std::vector<Config>& configs, const std::vector<Request>& requests,
                    const std::string& path, const Drivers& drivers, Judgement& out) {
  std::vector<std::optional<kubelet::NativeNetwork>> networks;
  for (const Config& config : configs)
    networks.push_back(is_our_config(config.json, drivers) ? network_in(config.json, /*is_claims=*/true)
                                                           : std::nullopt);
  std::set<std::vector<size_t>> checked;
  for (const Request& request : requests)
    for (const std::string_view driver : {drivers.sriov, drivers.exposure}) {
      if (request.is_admin || (!request.driver.empty() && request.driver != driver)) continue;
      std::vector<size_t> applying;
      kubelet::NativeNetwork merged;
      for (size_t i = 0; i < configs.size(); ++i) {
        if (!networks[i] || configs[i].json.find("opaque")->text("driver") != driver ||
            std::ranges::find(configs[i].requests, &request) == configs[i].requests.end())
          continue;
        applying.push_back(i);
        merged = kubelet::overlay_native_networks(std::move(merged), *networks[i]);
      }
      if (applying.empty() || !checked.insert(applying).second) continue;
      const std::string at = path + ".config[" + std::to_string(applying.back()) + "]";
      if (const auto problem = problem_of_network(merged, configs[applying.back()].json, at))
        out.errors.push_back(*problem);
    }
}

// Checks what nodes check after merging, of requests with a single configuration for our drivers: interface names
// are unique in the pod (kubelet/plan.cpp).
void judge_single_configs(const std::vector<Config>& configs, const std::vector<Request>& requests,
                          const std::string& path, const Drivers& drivers, Judgement& out) {
  std::map<std::string, const Request*, std::less<>> owners;  // by interface name
  for (const Request& request : requests) {
    std::vector<size_t> applying;
    for (size_t i = 0; i < configs.size(); ++i)
      if (is_our_config(configs[i].json, drivers) &&
          std::ranges::find(configs[i].requests, &request) != configs[i].requests.end())
        applying.push_back(i);
    if (applying.size() != 1 || request.is_admin) continue;
    const Json& config = configs[applying.front()].json;
    const Json* parameters = config.find({"opaque", "parameters"});
    const bool is_ignored =
        !request.driver.empty() && request.driver != config.find("opaque")->text("driver");
    if (is_ignored || parameters == nullptr || !gives_interface(*parameters)) continue;
    const std::string at = path + ".config[" + std::to_string(applying.front()) + "]";
    const std::string name(parameters->text("ifName"));
    // A configuration without requests also applies to those for devices of other drivers, which ignore it.
    const Json* named = config.find("requests");
    const bool is_named = named != nullptr && named->array() != nullptr && !named->array()->empty();
    if (name.empty() || (request.driver.empty() && !is_named)) continue;
    const auto [owner, is_first] = owners.try_emplace(name, &request);
    const bool is_shared = !is_first && owner->second->main != request.main;
    if (!is_shared && !request.is_several) continue;
    // Of a class that is unknown here the driver may be another one, and nodes accept the claim.
    const bool is_certain = !request.driver.empty() && !owner->second->driver.empty();
    policy::Problems& problems = is_certain ? out.errors : out.warnings;
    problems.push_back({at + ".opaque.parameters.ifName",
                        "is " + in_quotes(name, 64) + ", and " +
                            (is_shared ? "request " + escaped(owner->second->name) + " has the same name"
                                       : "request " + escaped(request.name) + " is for several devices") +
                            ": each interface of a pod has a name of its own; leave ifName out, or give each "
                            "device a request and a configuration",
                        parameters->line()});
  }
}

}  // namespace

std::optional<Judgement> judge_claim(const kube::Json& object, std::string_view kind, const Drivers& drivers,
                                     const std::string& namespace_, uint64_t steps_max) {
  const bool is_template = kind == kClaimTemplateKind;
  const std::string path = is_template ? "spec.spec.devices" : "spec.devices";
  const Json* devices =
      is_template ? object.find({"spec", "spec", "devices"}) : object.find({"spec", "devices"});
  if (devices == nullptr) return std::nullopt;
  const Json* meta = object.find("metadata");
  std::string home = meta == nullptr ? "" : std::string(meta->text("namespace"));
  if (home.empty()) home = namespace_;
  Judgement out;
  out.who = std::string(kind) + " " + escaped(meta == nullptr ? "" : meta->text("name"));
  out.line = object.line();
  const std::vector<Request> requests = requests_of(*devices, path, drivers);
  bool concerns_us = std::ranges::any_of(requests, [&](const Request& one) {
    return !one.driver.empty() || std::ranges::any_of(one.selectors, [&](const Expression& selector) {
      return names_our_driver(selector, drivers);
    });
  });
  judge_class_names(requests, drivers, out);
  const std::vector<Config> configs = configs_of(*devices, requests);
  const ConfiguredDrivers configured = configured_drivers(configs);
  for (size_t i = 0; i < configs.size(); ++i) {
    const std::string at = path + ".config[" + std::to_string(i) + "]";
    judge_ignored(configs[i], at, configured, drivers, out);
    if (!is_our_config(configs[i].json, drivers)) continue;
    concerns_us = true;
    // A file without a namespace may be applied to any.
    if (const auto problem = problem_of_config(configs[i].json, at, !home.empty(), home))
      out.errors.push_back(*problem);
  }
  if (out.errors.empty()) {
    judge_networks(configs, requests, path, drivers, out);
    judge_single_configs(configs, requests, path, drivers, out);
  }
  concerns_us |= !out.warnings.empty() || !out.ignored_by_class.empty();
  if (!concerns_us) return std::nullopt;
  judge_form(object, *devices, path, out);
  judge_constraints(*devices, requests, path, drivers, out);
  for (const Request& one : requests)
    if (!one.driver.empty() || std::ranges::any_of(one.selectors, [&](const Expression& selector) {
          return names_our_driver(selector, drivers);
        }))
      judge_selectors(one.selectors, one.driver, drivers, steps_max, out);
  return out;
}

}  // namespace sliced::webhook
