#include <map>
#include <tuple>

#include "cli/commands.h"
#include "cli/process.h"
#include "cli/read_file.h"
#include "kube/kinds.h"
#include "kube/yaml.h"
#include "reactor/base/text.h"
#include "webhook/judgement.h"

namespace sliced::cli {
namespace {

constexpr size_t kFileMax = kube::JsonLimits{}.size_max;
// Of selectors, as decisions count it: ten thousand that people write take a tenth of it.
constexpr uint64_t kSelectorWorkMax = 200'000'000;

// Objects whose name another one has, that are named each.
constexpr size_t kTwiceMax = 20;

// Collects "file:line: severity: text".
struct Report {
  std::string text;
  size_t errors = 0, warnings = 0, objects = 0;
  policy::Dearest dearest;   // of all selectors
  std::string dearest_name;  // its policy; "" none
  uint64_t selector_work = 0;
  size_t unchecked = 0;  // selectors, for want of work
  std::map<std::tuple<std::string, std::string, std::string>, std::string>
      places;  // by kind, namespace, name
  size_t twice = 0;
  std::string twice_last;  // the file that the last of them is in

  void add(const std::string& file, int line, bool error, const std::string& what) {
    text += escaped(file) + ":";
    if (line > 0) text += std::to_string(line) + ":";  // of a file that cannot be read there is none
    text += std::string(error ? " error: " : " warning: ") + what + "\n";
    ++(error ? errors : warnings);
  }
  void add(const std::string& file, const webhook::Judgement& judged, const policy::Problems& problems,
           bool error) {
    for (const policy::Problem& problem : problems)
      add(file, problem.line > 0 ? problem.line : judged.line, error, text_of(judged, problem));
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

  // Of one kind and name a cluster keeps one object, whatever namespace one that belongs to none is given. Names that the server makes (generateName) are its own.
  void note_name(const std::string& file, const webhook::Judgement& judged, const kube::Json& object) {
    const kube::Json* meta = object.find("metadata");
    if (!judged.is_read || meta == nullptr || meta->text("name").empty()) return;
    const std::string_view kind = object.text("kind");
    const bool has_namespace =
        kind != kube::kDeviceExposurePolicies.kind && kind != kube::kDeviceClasses.kind;
    const auto [first, is_new] =
        places.try_emplace({std::string(kind), has_namespace ? std::string(meta->text("namespace")) : "",
                            std::string(meta->text("name"))},
                           escaped(file) + (judged.line > 0 ? ":" + std::to_string(judged.line) : ""));
    if (is_new) return;
    twice_last = file;
    if (twice++ >= kTwiceMax) return;
    add(file, judged.line, true,
        judged.who + ": metadata.name is " + in_quotes(meta->text("name"), 64) +
            ", as that of the object at " + first->second +
            "; one would take the other's place, so give it another name, or remove one");
  }
  void add_more_twice() {
    if (twice <= kTwiceMax) return;
    add(twice_last, 0, true,
        and_more(twice - kTwiceMax, "object") + " with a name that another one of its kind has");
    errors += twice - kTwiceMax - 1;
  }
};

void validate_object(const kube::Json& object, const std::string& file, const webhook::Drivers& drivers,
                     Report& report) {
  if (const kube::Json* items = object.find("items"); items != nullptr && items->array() != nullptr) {
    for (const kube::Json& item : *items->array()) validate_object(item, file, drivers, report);
    return;
  }
  const auto judged = webhook::judge(object, drivers, "", report.selector_work < kSelectorWorkMax);
  if (!judged) return;
  report.add(file, *judged);
  report.note_name(file, *judged, object);
}

}  // namespace

int validate(const config::Options& options) {
  const webhook::Drivers drivers{options.sriov_driver_name, options.exposure_driver_name, options.namespace_};
  Report report;
  for (const std::string& file : options.arguments) {
    const auto text = read_whole(file, kFileMax);
    if (!text) {
      const bool is_directory = text.error().what.find("Is a directory") != std::string::npos;
      report.add(file, 0, true,
                 "cannot be read: " + text.error().what +
                     (is_directory ? "; name its files, as " + escaped(file) + "/*.yaml" : ""));
      continue;
    }
    const kube::YamlDocuments yaml = kube::decode_yaml(*text);
    for (const auto& problem : yaml.problems) report.add(file, problem.line, true, problem.what);
    for (const kube::Json& object : yaml.documents) validate_object(object, file, drivers, report);
  }
  report.add_more_twice();
  if (report.unchecked > 0)
    report.add(options.arguments.back(), 0, true,
               "the selectors of the last " + std::to_string(report.unchecked) +
                   " objects were not checked: those before them take all the work that there "
                   "is for one run; check fewer at once, or make them simpler");
  // Above half of what it may take alone: below it nobody has to know.
  if (!report.dearest_name.empty() && report.dearest.is_near())
    report.text +=
        "the most expensive selector, of " + report.dearest_name + ", costs " + report.dearest.text() + "\n";
  report.text += std::to_string(report.objects) + " objects checked, " + std::to_string(report.errors) +
                 " errors, " + std::to_string(report.warnings) + " warnings\n";
  return print(report.text) && report.errors == 0 ? kExitSame : kExitError;
}

}  // namespace sliced::cli
