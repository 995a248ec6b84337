#include "cli/validate.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "cli/read_file.h"
#include "controller/webhook/class_judgement.h"
#include "controller/webhook/judgement.h"
#include "controller/webhook/network_judgement.h"
#include "daemon/process.h"
#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "kubectl/fleet/ask_cluster.h"
#include "policy/exposure/decode_policy.h"
#include "policy/sriov/policy.h"
#include "reactor/base/text.h"
#include "watchers/served_schema.h"

namespace sliced::cli {
namespace {

constexpr const char* kCluster = "cluster";  // in place of a file
constexpr size_t kFileMax = kube::JsonLimits{}.size_max;
// Work limit of selectors, counted as in decisions: ten thousand typical ones use a tenth of it.
constexpr uint64_t kSelectorWorkMax = 200'000'000;

// Limit of duplicate objects that are listed individually.
constexpr size_t kTwiceMax = 20;

// A definition that a claim may not name, but a DeviceClass in another file may.
struct DeferredNetwork {
  std::string file, namespace_, name;
  webhook::Judgement judged;
};

// Collects "file:line: severity: text".
constexpr size_t kPassedOverMax = 8;

std::string counted(size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// The line of the file for "at line N" of a text in a block scalar ("config: |"), whose lines are lines of
// the file below its own; line itself for any other text.
int line_in_source(std::string_view source, int line, std::string_view what) {
  constexpr std::string_view kPlace = "is not valid JSON at line ";
  const size_t at = what.find(kPlace);
  if (at == std::string_view::npos || line <= 0) return line;
  const std::string_view number = what.substr(at + kPlace.size());
  const auto own = parse_int(number.substr(0, number.find(',')));
  std::string_view rest = source;
  for (int i = 1; i < line && !rest.empty(); ++i)
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  const std::string_view header = trim(rest.substr(0, rest.find('\n')));
  const size_t bar = header.rfind(" |");
  const bool is_block =
      bar != std::string_view::npos &&
      header.substr(bar + 2, header.find(" #", bar) - bar - 2).find_first_not_of("+-123456789") ==
          std::string_view::npos;
  return own && is_block ? line + static_cast<int>(*own) : line;
}

struct Report {
  std::string_view source;                                // the file that is read
  std::set<std::string> passed_over;                      // kinds of ignored objects
  std::map<std::string, std::string> drivers_of_classes;  // DeviceClasses of one of our drivers: which
  struct IgnoredByClass {
    std::string file;
    webhook::Judgement judged;
  };
  std::vector<IgnoredByClass> ignored_by_class;
  std::string text;
  size_t errors = 0, warnings = 0, objects = 0;
  policy::MaxCost dearest;   // of all selectors
  std::string dearest_name;  // its policy; "" if none
  uint64_t selector_work = 0;
  size_t unchecked = 0;  // selectors beyond the work limit
  struct Named {
    std::string place, json;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Named> named;  // by kind, namespace, name
  webhook::NetworkNames networks_of_classes;
  std::vector<DeferredNetwork> networks;
  size_t twice = 0;
  std::string twice_last;  // the file of the last one

  void add(const std::string& file, int line, bool error, const std::string& what) {
    text += escaped(file) + ":";
    if (line > 0) text += std::to_string(line) + ":";  // a file that cannot be read has no line
    text += std::string(error ? " error: " : " warning: ") + what + "\n";
    ++(error ? errors : warnings);
  }
  void add(const std::string& file, const webhook::Judgement& judged, const policy::Problems& problems,
           bool error) {
    for (const policy::Problem& problem : problems)
      add(file, line_in_source(source, problem.line > 0 ? problem.line : judged.line, problem.what), error,
          text_of(judged, problem));
    if (problems.more() == 0) return;
    add(file, judged.line, error,
        judged.who + ": " + and_more(problems.more(), error ? "problem" : "warning"));
    (error ? errors : warnings) += problems.more() - 1;
  }
  void add(const std::string& file, const webhook::Judgement& judged) {
    objects += judged.is_read;
    selector_work += judged.selector_work;
    unchecked += judged.is_selector_unchecked;
    add(file, judged, judged.errors, true);
    add(file, judged, judged.warnings, false);
    if (!judged.dearest || (!dearest_name.empty() && judged.dearest->steps <= dearest.steps)) return;
    dearest = *judged.dearest;
    dearest_name = judged.who;
  }

  // A cluster has one object per kind and name; the namespace of a cluster-scoped one is ignored. The same
  // object twice is applied twice. Names from generateName are unique.
  void record_name_change(const std::string& file, const webhook::Judgement& judged,
                          const kube::Json& object) {
    const kube::Json* meta = object.find("metadata");
    if (!judged.is_read || meta == nullptr || meta->text("name").empty()) return;
    const std::string_view kind = object.text("kind");
    const bool has_namespace =
        kind != kube::kDeviceExposurePolicies.kind && kind != kube::kDeviceClasses.kind;
    const auto [first, is_new] =
        named.try_emplace({std::string(kind), has_namespace ? std::string(meta->text("namespace")) : "",
                           std::string(meta->text("name"))},
                          Named{escaped(file) + (judged.line > 0 ? ":" + std::to_string(judged.line) : ""),
                                kube::encode_json(object)});
    if (is_new || first->second.json == kube::encode_json(object)) return;
    twice_last = file;
    if (twice++ >= kTwiceMax) return;
    add(file, judged.line, true,
        judged.who + ": metadata.name " + in_quotes(meta->text("name"), 64) +
            " is also the name of the object at " + first->second.place +
            ", and one would replace the other; change the name, or remove one of them");
  }
  void note_network(const std::string& file, const webhook::Judgement& judged, const kube::Json& object) {
    if (judged.user_errors.empty()) return;
    const kube::Json* meta = object.find("metadata");
    const auto text_of_meta = [&](const char* key) {
      return std::string(meta == nullptr ? "" : meta->text(key));
    };
    networks.push_back({file, text_of_meta("namespace"), text_of_meta("name"), judged});
  }
  // The class may be in another file.
  void report_ignored(const std::string& file, const webhook::Judgement& judged) {
    if (!judged.ignored_by_class.empty()) ignored_by_class.push_back({file, judged});
  }
  void add_ignored() {
    for (const IgnoredByClass& one : ignored_by_class)
      for (const auto& [class_name, driver, problem] : one.judged.ignored_by_class) {
        const auto at = drivers_of_classes.find(class_name);
        if (at == drivers_of_classes.end() || at->second != driver) continue;
        add(one.file, problem.line > 0 ? problem.line : one.judged.line, false, text_of(one.judged, problem));
      }
  }
  // A file without a namespace may be applied to any.
  bool is_of_class(const DeferredNetwork& network) const {
    if (!network.namespace_.empty()) return networks_of_classes.contains({network.namespace_, network.name});
    return std::any_of(networks_of_classes.begin(), networks_of_classes.end(),
                       [&](const auto& named) { return named.second == network.name; });
  }
  void add_networks() {
    for (const DeferredNetwork& network : networks)
      if (!is_of_class(network)) add(network.file, network.judged, network.judged.user_errors, true);
  }
  void add_more_twice() {
    if (twice <= kTwiceMax) return;
    add(twice_last, 0, true,
        and_more(twice - kTwiceMax, "object") + " with a name that another one of its kind has");
    errors += twice - kTwiceMax - 1;
  }
  // last: the file that contains the last object.
  kubectl::CommandOutput output(const std::string& last) {
    add_networks();
    add_ignored();
    add_more_twice();
    if (unchecked > 0)
      add(last, 0, true,
          "the selectors of the last " + std::to_string(unchecked) +
              " objects were not checked: those before them use the whole budget of a run; check fewer at once, or simplify them");
    // Reported only above half of the limit of a single selector.
    if (!dearest_name.empty() && dearest.is_near())
      text += "the most expensive selector, of " + dearest_name + ", costs " + dearest.text() + "\n";
    if (objects == 0 && !passed_over.empty())
      add(last, 0, false,
          "no object of a checked kind: " + join({passed_over.begin(), passed_over.end()}, ", "));
    text += counted(objects, "object") + " checked, " + counted(errors, "error") + ", " +
            counted(warnings, "warning") + "\n";
    return {std::move(text), errors == 0 ? daemon::kExitSame : daemon::kExitError};
  }
};

// Returns whether the object is a ConfigMap of the SR-IOV network device plugin, which migrate converts to
// policies.
bool is_plugin_config(const kube::Json& object) {
  const kube::Json* data = object.find("data");
  return object.text("kind") == "ConfigMap" && data != nullptr && data->object() != nullptr &&
         std::any_of(data->object()->begin(), data->object()->end(), [](const auto& one) {
           return one.second.string() != nullptr &&
                  lower(*one.second.string()).find("\"resourcelist\"") != std::string::npos;
         });
}

void validate_object(const kube::Json& object, const std::string& file, const webhook::Drivers& drivers,
                     Report& report) {
  if (const kube::Json* items = object.find("items"); items != nullptr && items->array() != nullptr) {
    for (const kube::Json& item : *items->array()) validate_object(item, file, drivers, report);
    return;
  }
  const auto judged = webhook::judge(object, drivers, "", report.selector_work < kSelectorWorkMax);
  if (!judged) {
    if (is_plugin_config(object))
      report.add(
          file, object.line(), false,
          "ConfigMap: it configures the SR-IOV network device plugin, which is not checked here; kubectl sliced "
          "migrate FILE turns it into policies, or names its mistakes");
    else if (const std::string_view kind = object.text("kind"); report.passed_over.size() < kPassedOverMax)
      report.passed_over.insert(kind.empty() ? "an object without a kind" : escaped(kind, 64));
    return;
  }
  report.add(file, *judged);
  report.record_name_change(file, *judged, object);
  report.note_network(file, *judged, object);
  report.report_ignored(file, *judged);
  if (object.text("kind") != kube::kDeviceClasses.kind) return;
  webhook::add_networks_of_class(object, drivers, report.networks_of_classes);
  const kube::Json* meta = object.find("metadata");
  if (const std::string driver = webhook::driver_of_class(object, drivers);
      !driver.empty() && meta != nullptr)
    report.drivers_of_classes.emplace(meta->text("name"), driver);
}

void validate_file(const std::string& file, const webhook::Drivers& drivers, Report& report) {
  const auto text = read_whole(file, kFileMax);
  if (!text) {
    const bool is_directory = text.error().what.find("Is a directory") != std::string::npos;
    return report.add(file, 0, true,
                      "cannot be read: " + text.error().what +
                          (is_directory ? "; name its files, as " + escaped(file) + "/*.yaml" : ""));
  }
  const kube::YamlDocuments yaml = kube::decode_yaml(*text);
  for (const auto& problem : yaml.problems) report.add(file, problem.line, true, problem.what);
  report.source = *text;
  for (const kube::Json& object : yaml.documents) validate_object(object, file, drivers, report);
  report.source = {};
}

// Lists all namespaces, or that of the policies if the others are denied.
Result<Unit> validate_kind(kubectl::ClusterObjects& objects, const kube::Resource& kind,
                           const config::Options& options, const webhook::Drivers& drivers, Report& report) {
  const Report before = report;
  const kubectl::ListHandlers handlers{
      .on_object =
          [&](kube::Json object) {
            object.set("apiVersion", kube::api_version(kind));
            validate_object(object, kCluster, drivers, report);
          },
      .on_bad = [&](const std::string& what) { report.add(kCluster, 0, true, what); },
      .on_restart = [&] { report = before; }};
  auto listed = objects.list(kind, "", handlers);
  if (!listed && listed.error().code == Errc::kDenied && kind.namespaced) {
    report = before;
    const auto all = listed.error();
    listed = objects.list(kind, options.namespace_, handlers);
    if (listed)
      report.add(
          kCluster, 0, false,
          kind.plural + " of namespaces other than " + options.namespace_ + " were not checked: " + all.what);
  }
  if (listed || listed.error().code == Errc::kNotFound) return Unit{};
  report = before;
  if (listed.error().code != Errc::kDenied) return listed;
  report.add(kCluster, 0, false, kind.plural + " were not checked: " + listed.error().what);
  return Unit{};
}

// The API server may drop fields of the cluster's objects. The objects do not show that; the schema does.
void validate_schema(kubectl::ClusterObjects& objects, const kube::Resource& kind,
                     const std::vector<std::string>& fields, Report& report) {
  const auto schema = objects.schema(kind);
  if (!schema) {
    if (schema.error().code != Errc::kNotFound)
      report.add(kCluster, 0, false,
                 "the schema of " + kind.plural + " was not checked: " + schema.error().what);
    return;
  }
  const auto dropped = watchers::fields_dropped_by_schema(*schema, kind, fields);
  if (!dropped && dropped.error().code != Errc::kNotFound)
    report.add(kCluster, 0, false,
               "the schema of " + kind.plural + " was not checked: " + dropped.error().what);
  if (!dropped || dropped->empty()) return;
  report.add(
      kCluster, 0, false,
      "the CRD of " + kind.plural + " that is installed has no " + join(*dropped, ", ") +
          ": the API server drops these fields of each policy, which may then offer more devices than intended; " +
          watchers::remedy_for_dropped(*dropped));
}

Result<kubectl::CommandOutput> validate_cluster(kubectl::ClusterObjects& objects,
                                                const config::Options& options,
                                                const webhook::Drivers& drivers) {
  Report report;
  for (const kube::Resource* kind :
       {&kube::kDeviceClasses, &kube::kSriovResourcePolicies, &kube::kDeviceAttributes,
        &kube::kDeviceExposurePolicies, &kube::kNetworkAttachmentDefinitions, &kube::kResourceClaimTemplates})
    if (auto checked = validate_kind(objects, *kind, options, drivers, report); !checked)
      return std::move(checked.error()).in(kind->plural);
  validate_schema(objects, kube::kSriovResourcePolicies, policy::sriov_policy_fields(), report);
  validate_schema(objects, kube::kDeviceAttributes, policy::device_attributes_fields(), report);
  validate_schema(objects, kube::kDeviceExposurePolicies, policy::exposure_policy_fields(), report);
  return report.output(kCluster);
}

}  // namespace

int validate(const config::Options& options) {
  const webhook::Drivers drivers{options.sriov_driver_name, options.exposure_driver_name, options.namespace_};
  if (options.arguments.empty())
    return kubectl::ask_cluster(options, [&](kubectl::ClusterObjects& objects) {
      return validate_cluster(objects, options, drivers);
    });
  Report report;
  for (const std::string& file : options.arguments) validate_file(file, drivers, report);
  const kubectl::CommandOutput output = report.output(options.arguments.back());
  return daemon::print(output.text) ? output.exit : daemon::kExitError;
}

}  // namespace sliced::cli
