#include <algorithm>
#include <utility>

#include "cli/commands.h"
#include "cli/host_once.h"
#include "cli/process.h"
#include "cli/read_file.h"
#include "cli/show.h"
#include "cli/table.h"
#include "kube/yaml.h"
#include "migrate/comparing.h"
#include "migrate/dra_driver.h"
#include "migrate/node_policies.h"
#include "migrate/objects.h"
#include "migrate/plugin_config.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using migrate::Compared;
using migrate::Complaints;
using migrate::Config;
using migrate::Made;

migrate::Target target_of(const config::Options& options) {
  migrate::Target target{.namespace_ = options.namespace_,
                         .sriov_driver = options.sriov_driver_name,
                         .exposure_driver = options.exposure_driver_name};
  if (options.form == config::PolicyForm::kSriov) target.form = migrate::Form::kSriov;
  if (options.form == config::PolicyForm::kExposure) target.form = migrate::Form::kExposure;
  return target;
}

constexpr const char* kOperatorsPrefix = "openshift.io";

// What the files say, whatever it is.
struct Sources {
  std::vector<Config> plugin, node_policies;
  std::vector<Made> of_dra_driver;
  Complaints complaints;
  size_t kinds() const { return !plugin.empty() + !node_policies.empty() + !of_dra_driver.empty(); }
};

class Reader {
 public:
  Reader(const config::Options& options, const migrate::Target& target, Sources& out)
      : target_(target), node_prefix_(options.resource_prefix), out_(out) {
    if (!options.resource_prefix.empty()) plugin_.resource_prefix = options.resource_prefix;
    if (node_prefix_.empty()) node_prefix_ = kOperatorsPrefix;
  }

  void read_file(const std::string& file) {
    const auto text = read_whole(file, kube::JsonLimits{}.size_max);
    if (!text) return out_.complaints.error({file, 0}, "cannot be read: " + text.error().what);
    const kube::YamlDocuments yaml = kube::decode_yaml(*text);
    for (const auto& problem : yaml.problems) out_.complaints.error({file, problem.line}, problem.what);
    const migrate::Lines lines = split(*text, '\n');
    for (const kube::Json& document : yaml.documents) read_document(document, file, *text, lines);
  }

  // What needs all files.
  void finish() {
    for (const auto& [file, object] : node_policies_)
      read_node_policy(object, file, node_prefix_, ids_, out_.node_policies, out_.complaints);
    order_node_policies(out_.node_policies, out_.complaints);
    check_one_config_a_node(out_.plugin, out_.complaints);
    check_filters(out_.of_dra_driver, out_.complaints);
  }

 private:
  void read_document(const kube::Json& document, const std::string& file, const std::string& text,
                     const migrate::Lines& lines) {
    if (migrate::is_plugin_config(document)) {
      // The file is that one document, or wrong as a whole.
      if (std::exchange(plugin_file_, file) != file)
        migrate::read_plugin_config(file, text, plugin_, out_.plugin, out_.complaints);
      return;
    }
    if (const kube::Json* items = document.find("items"); items != nullptr && items->array() != nullptr) {
      for (const kube::Json& item : *items->array()) read_document(item, file, text, lines);
      return;
    }
    if (document.text("kind") == "ConfigMap" && migrate::is_plugin_config_map(document))
      return migrate::read_plugin_config_map(document, file, lines, plugin_, out_.plugin, out_.complaints);
    if (migrate::is_nic_ids(document)) return migrate::read_nic_ids(document, file, ids_, out_.complaints);
    if (migrate::is_node_policy(document)) return void(node_policies_.emplace_back(file, document));
    if (migrate::is_of_dra_driver(document))
      return migrate::read_dra_object(document, file, target_, out_.of_dra_driver, out_.complaints);
    const std::string_view kind = document.text("kind");
    out_.complaints.warning({file, document.line()},
                            (kind.empty() ? "a document without a kind" : escaped(kind)) +
                                " is passed over: nothing of it says which devices are offered");
  }

  const migrate::Target& target_;
  migrate::PluginSettings plugin_;
  std::string node_prefix_;
  std::string plugin_file_;  // whose JSON was read last
  migrate::VfIds ids_;
  std::vector<std::pair<std::string, kube::Json>> node_policies_;  // with their files
  Sources& out_;
};

void complain_of_all(const Complaints& complaints) {
  std::string lines;
  for (const migrate::Complaint& complaint : complaints.all()) lines += text_of(complaint) + "\n";
  if (const size_t more = complaints.all().more(); more > 0) lines += and_more(more, "complaint") + "\n";
  std::fputs(lines.c_str(), stderr);
}

std::string text_of(const std::vector<Made>& objects, config::OutputFormat format) {
  if (format == config::OutputFormat::kJson) {
    std::vector<kube::Json> all;
    for (const Made& made : objects) all.push_back(made.object);
    return formatted(list_of(std::move(all)), format);
  }
  std::string out;
  for (const Made& made : objects) {
    if (!out.empty()) out += "---\n";
    for (const std::string& comment : made.comments) out += "# " + comment + "\n";
    out += kube::encode_yaml(made.object);
  }
  return out;
}

std::string text_of(const std::vector<Compared>& rows, config::OutputFormat format) {
  const auto differ =
      std::count_if(rows.begin(), rows.end(), [](const Compared& row) { return !row.is_same(); });
  if (format == config::OutputFormat::kTable) {
    std::vector<std::vector<std::string>> cells;
    for (const Compared& row : rows)
      cells.push_back({row.device, row.interface, row.before, row.after, row.why});
    return table({"DEVICE", "INTERFACE", "BEFORE", "AFTER", "WHY"}, cells) + std::to_string(rows.size()) +
           " devices, " + std::to_string(differ) + " differ\n";
  }
  std::vector<kube::Json> items;
  for (const Compared& row : rows) {
    kube::Json item = kube::Json::Object{};
    item.set("device", row.device);
    for (const auto& [key, text] : {std::pair("interface", &row.interface), std::pair("before", &row.before),
                                    std::pair("after", &row.after)})
      if (!text->empty()) item.set(key, *text);
    item.set("same", row.is_same());
    if (!row.is_same()) item.set("why", row.why);
    items.push_back(std::move(item));
  }
  return formatted(list_of(std::move(items)), format);
}

// Under which resource whatever was read has the node's devices offered.
migrate::Before before_of(const Sources& sources, const hotplug::InventoryPtr& inventory,
                          const kube::NodeView& node, const migrate::Target& target) {
  if (!sources.plugin.empty()) return migrate::by_plugin(sources.plugin, node);
  if (!sources.of_dra_driver.empty()) return by_dra_driver(sources.of_dra_driver, inventory, node, target);
  return migrate::by_plugin({operators_config(sources.node_policies, node)}, node);
}

int check_host(const config::Options& options, const Sources& sources, const std::vector<Made>& objects) {
  if (sources.kinds() > 1)
    return complain(
               "--check compares with one way of offering devices, and the files are of several: check them one "
               "after the other"),
           kExitError;
  auto process = Process::open_host_only(options);
  if (!process) return complain(process.error().what), kExitError;
  const hotplug::InventoryPtr inventory = read_host_once(**process);
  if (inventory == nullptr) return (*process)->leave(kExitError);
  const kube::NodeView node{options.node_name, options.node_labels};
  const migrate::Target target = target_of(options);
  const auto rows = compare(before_of(sources, inventory, node, target), objects, inventory, node, target);
  const bool is_same =
      std::all_of(rows.begin(), rows.end(), [](const Compared& row) { return row.is_same(); });
  const bool is_printed = print(text_of(rows, options.output));
  return (*process)->leave(!is_printed ? kExitError : is_same ? kExitSame : kExitChanges);
}

// Of each way by itself: what they offer is told apart by resources, which they may both have.
std::vector<Made> objects_of_all(Sources& sources, const migrate::Target& target) {
  std::vector<Made> out = sources.of_dra_driver;
  for (const auto* configs : {&sources.plugin, &sources.node_policies})
    for (Made& made : objects_of(*configs, target, sources.complaints)) out.push_back(std::move(made));
  return out;
}

}  // namespace

int migrate(const config::Options& options) {
  Sources sources;
  const migrate::Target target = target_of(options);
  Reader reader(options, target, sources);
  for (const std::string& file : options.arguments) reader.read_file(file);
  reader.finish();
  std::vector<Made> objects;
  if (!sources.complaints.has_errors()) objects = objects_of_all(sources, target);
  if (!sources.complaints.has_errors() && objects.empty())
    sources.complaints.error(
        {options.arguments.front(), 0},
        "has nothing to carry over: give a ConfigMap of the SR-IOV network device plugin or its JSON, "
        "SriovNetworkNodePolicies, or objects of dra-driver-sriov");
  complain_of_all(sources.complaints);
  if (sources.complaints.has_errors()) return kExitError;
  if (options.check) return check_host(options, sources, objects);
  return print(text_of(objects, options.output)) ? kExitSame : kExitError;
}

}  // namespace sliced::cli
