#include "cli/commands.h"
#include "cli/dearest.h"
#include "cli/process.h"
#include "cli/read_file.h"
#include "kube/kinds.h"
#include "kube/object_meta.h"
#include "kube/yaml.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/programs.h"
#include "policy/exposure/selector.h"
#include "policy/sriov/policy.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

constexpr size_t kFileMax = kube::JsonLimits{}.size_max;
// Of selectors, as decisions count it: ten thousand that people write take a tenth of it.
constexpr uint64_t kSelectorWorkMax = 200'000'000;

// Collects "file:line: severity: text".
struct Report {
  std::string text;
  size_t errors = 0, warnings = 0, policies = 0;
  Dearest dearest;           // of all selectors
  std::string dearest_name;  // its policy; "" none
  uint64_t selector_work = 0;
  size_t unchecked = 0;  // selectors, for want of work

  void add(const std::string& file, int line, bool error, const std::string& what) {
    text +=
        escaped(file) + ":" + std::to_string(line) + ": " + (error ? "error: " : "warning: ") + what + "\n";
    ++(error ? errors : warnings);
  }
  void add(const std::string& file, int object_line, const std::string& who, const policy::Problems& problems,
           bool error) {
    for (const policy::Problem& problem : problems)
      add(file, problem.line > 0 ? problem.line : object_line, error,
          who + ": " + (problem.field.empty() ? "" : problem.field + " ") + problem.what);
    if (problems.more() == 0) return;
    add(file, object_line, error, who + ": " + and_more(problems.more(), error ? "problem" : "warning"));
    (error ? errors : warnings) += problems.more() - 1;
  }
};

void validate_policy(const kube::Json& object, const std::string& file, Report& report) {
  const policy::SriovPolicy policy = policy::decode_sriov_policy(object);
  const std::string who = "SriovResourcePolicy " + escaped(policy.id.name);
  ++report.policies;
  report.add(file, object.line(), who, problems_of(policy), true);
  report.add(file, object.line(), who, warnings_of(policy), false);
}

void validate_attributes(const kube::Json& object, const std::string& file, const std::string& driver,
                         Report& report) {
  const policy::DeviceAttributes attributes = policy::decode_device_attributes(object, driver);
  ++report.policies;
  report.add(file, object.line(), "DeviceAttributes " + escaped(attributes.id.name), attributes.problems,
             true);
}

struct Place {
  const std::string& file;
  int line;
  const std::string& who;
  const std::string& driver;
};

// What the selector costs, and whether that is near what it may.
void check_cost(const cel::Program& program, const policy::ExposurePolicy& policy, const Place& at,
                Report& report) {
  const Dearest its = asked_of_nobody(program, at.driver);
  report.selector_work += its.work;
  if (its.is_near())
    report.add(at.file, policy.selector.line > 0 ? policy.selector.line : at.line, false,
               at.who + ": spec.selector.cel costs " + its.text() + ", compiling it " +
                   std::to_string(its.compile_steps) + " of " + std::to_string(cel::kCompileStepsMax) + ": " +
                   std::string(kNearLimit));
  if (report.dearest_name.empty() || its.steps > report.dearest.steps) {
    report.dearest = its;
    report.dearest_name = at.who;
  }
}

void validate_exposure(const kube::Json& object, const std::string& file, const std::string& driver,
                       Report& report) {
  policy::ExposurePolicy policy = policy::decode_exposure_policy(object, driver);
  policy::CompiledSelector compiled;
  if (report.selector_work < kSelectorWorkMax)
    compiled = policy::check_selector(policy, driver);
  else
    ++report.unchecked;
  report.selector_work += compiled.steps;
  const std::string who = "DeviceExposurePolicy " + escaped(policy.id.name);
  ++report.policies;
  report.add(file, object.line(), who, policy.problems, true);
  report.add(file, object.line(), who, warnings_of(policy), false);
  if (compiled.program != nullptr)
    check_cost(*compiled.program, policy, {file, object.line(), who, driver}, report);
}

// The kinds that are checked, with their groups.
const kube::Resource* resource_of(std::string_view kind) {
  for (const kube::Resource* one :
       {&kube::kSriovResourcePolicies, &kube::kDeviceAttributes, &kube::kDeviceExposurePolicies})
    if (one->kind == kind) return one;
  return nullptr;
}

void validate_object(const kube::Json& object, const std::string& file, const config::Options& options,
                     Report& report) {
  const std::string_view kind = object.text("kind");
  if (const kube::Json* items = object.find("items"); items != nullptr && items->array() != nullptr) {
    for (const kube::Json& item : *items->array()) validate_object(item, file, options, report);
    return;
  }
  const std::string group = std::string(object.text("apiVersion"));
  if (const kube::Resource* resource = resource_of(kind)) {
    if (group != kube::api_version(*resource))
      report.add(file, object.line(), true,
                 std::string(kind) + ": apiVersion is " + in_quotes(group) + ", wants " +
                     kube::api_version(*resource));
    else if (resource == &kube::kSriovResourcePolicies)
      validate_policy(object, file, report);
    else if (resource == &kube::kDeviceAttributes)
      validate_attributes(object, file, options.sriov_driver_name, report);
    else
      validate_exposure(object, file, options.exposure_driver_name, report);
  } else if (kind.empty() || group.empty()) {
    report.add(file, object.line(), true, "is no Kubernetes object: apiVersion or kind is missing");
  } else if (const std::string near =
                 nearest(kind, {kube::kSriovResourcePolicies.kind, kube::kDeviceAttributes.kind,
                                kube::kDeviceExposurePolicies.kind});
             !near.empty()) {
    report.add(file, object.line(), true, "kind is " + in_quotes(kind) + "; did you mean " + near + "?");
  }
}

}  // namespace

int validate(const config::Options& options) {
  Report report;
  for (const std::string& file : options.arguments) {
    const auto text = read_whole(file, kFileMax);
    if (!text) {
      report.add(file, 0, true, "cannot be read: " + text.error().what);
      continue;
    }
    const kube::YamlDocuments yaml = kube::decode_yaml(*text);
    for (const auto& problem : yaml.problems) report.add(file, problem.line, true, problem.what);
    for (const kube::Json& object : yaml.documents) validate_object(object, file, options, report);
  }
  if (report.unchecked > 0)
    report.add(options.arguments.back(), 0, true,
               "the selectors of the last " + std::to_string(report.unchecked) +
                   " DeviceExposurePolicies were not checked: those before them take all the work that there "
                   "is for one run; check fewer at once, or make them simpler");
  if (!report.dearest_name.empty())
    report.text +=
        "the dearest selector, of " + report.dearest_name + ", costs " + report.dearest.text() + "\n";
  report.text += std::to_string(report.policies) + " objects checked, " + std::to_string(report.errors) +
                 " errors, " + std::to_string(report.warnings) + " warnings\n";
  return print(report.text) && report.errors == 0 ? kExitSame : kExitError;
}

}  // namespace sliced::cli
