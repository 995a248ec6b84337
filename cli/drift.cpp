#include "policy/node_state/drift.h"

#include <optional>

#include "cli/commands.h"
#include "cli/drift_report.h"
#include "cli/host_once.h"
#include "cli/prepared_facts.h"
#include "cli/read_file.h"
#include "cli/recorded_process.h"
#include "cli/show.h"
#include "daemon/host_process.h"
#include "kube/directory/manifest.h"
#include "kube/objects/kinds.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

constexpr Millis kAskMax{30'000};

std::string named(const config::Options& options) {
  return "SriovNetworkNodeState " + options.node_state_namespace + "/" + options.node_name;
}

struct ReadState {
  std::string file;
  kube::Json object;
  std::string at() const { return escaped(file) + ":" + std::to_string(object.line()); }
};

// Adds the SriovNetworkNodeStates of the file. Errors name it.
Result<Unit> read_node_states(const std::string& file, std::vector<ReadState>& out) {
  const auto text = read_whole(file, kube::JsonLimits{}.size_max);
  if (!text) return Error{text.error().code, escaped(file) + ": " + text.error().what};
  const kube::Manifest manifest = kube::decode_manifest(*text, "");
  if (!manifest.problems.empty())
    return Error{Errc::kInvalid, escaped(file) + ":" + std::to_string(manifest.problems.front().line) + ": " +
                                     manifest.problems.front().what};
  for (const auto& [key, object] : manifest.objects)
    if (key.kind == kube::kSriovNetworkNodeStates.kind &&
        key.api_version == kube::api_version(kube::kSriovNetworkNodeStates))
      out.push_back({file, object});
  return Unit{};
}

// Returns the state of this node. If the files contain one state only, that one, even if it is another
// node's.
Result<kube::Json> node_state_of_files(const std::vector<std::string>& files, const std::string& node) {
  std::vector<ReadState> states;
  for (const std::string& file : files)
    if (const auto read = read_node_states(file, states); !read) return read.error();
  const auto name_of = [](const ReadState& state) {
    const kube::Json* meta = state.object.find("metadata");
    return std::string(meta != nullptr ? meta->text("name") : "");
  };
  const ReadState* own = nullptr;
  for (const ReadState& state : states) {
    if (name_of(state) != node) continue;
    if (own != nullptr)
      return Error{Errc::kInvalid, "two SriovNetworkNodeStates of " + escaped(node) + ", " + own->at() +
                                       " and " + state.at() +
                                       ": delete the one that the cluster does not have"};
    own = &state;
  }
  if (own != nullptr) return own->object;
  const std::string where = files.size() == 1 ? escaped(files.front()) : "the files";
  if (states.size() == 1) {
    daemon::print_error(states.front().at() + ": the SriovNetworkNodeState is of " +
                        in_quotes(name_of(states.front())) + ", and compared with this host, " +
                        escaped(node));
    return states.front().object;
  }
  return Error{Errc::kNotFound, states.empty() ? where + ": no SriovNetworkNodeState of " +
                                                     kube::api_version(kube::kSriovNetworkNodeStates)
                                               : where + ": " + std::to_string(states.size()) +
                                                     " SriovNetworkNodeStates, and none is of node " +
                                                     escaped(node) + ": give --node-name"};
}

// Returns why there is none, with the remedy.
Error refused(const kube::Failure& failure, const config::Options& options) {
  if (failure.code == Errc::kNotFound)
    return {failure.code, "there is no " + named(options) +
                              "; set --node-state-namespace if the operator uses another one (" +
                              failure.what + ")"};
  if (failure.code == Errc::kDenied)
    return {failure.code, named(options) +
                              " may not be read; it takes get on sriovnetworknodestates in that namespace (" +
                              failure.what + ")"};
  return {failure.code, named(options) + ": " + failure.what};
}

Result<kube::Json> node_state_of_cluster(daemon::HostProcess& process, const config::Options& options) {
  std::optional<Result<kube::Json>> answer;
  const kube::CallPtr call =
      process.cluster->get({kube::kSriovNetworkNodeStates, options.node_state_namespace, options.node_name},
                           {[&](std::string_view object) { answer = kube::decode_json(object); },
                            [&](const kube::Failure& failure) { answer = refused(failure, options); }});
  if (!process.run_until([&] { return answer.has_value(); }, kAskMax))
    return Error{Errc::kTimeout, named(options) + ": no answer after 30 s"};
  return std::move(*answer);
}

int tell(const kube::Json& object, const HostWithPrepared& host, const config::Options& options) {
  DriftReport report;
  report.state = policy::decode_node_state(object);
  report.interfaces = policy::judge_drift({report.state, *host.inventory, [&](const auto& device) {
                                             return host.prepared.contains(device.id.text);
                                           }});
  for (const policy::Problem& problem : report.state.problems)
    daemon::print_error(escaped(report.state.name) + ": " + problem.field + " " + problem.what);
  const bool is_table = options.output == config::OutputFormat::kTable;
  if (!daemon::print(is_table ? drift_table(report) : formatted(json_of(report), options.output)))
    return daemon::kExitError;
  return report.exit_code();
}

}  // namespace

int drift(const config::Options& options) {
  std::vector<std::string> files = options.arguments;
  if (options.node_state != config::kNodeStateOfCluster) files.push_back(options.node_state);
  const bool is_of_cluster = files.empty();
  auto opened = is_of_cluster ? open_process(options) : open_host_process(options);
  if (!opened) {
    daemon::print_error(opened.error().what);
    return daemon::kExitError;
  }
  daemon::HostProcess& process = **opened;
  auto object =
      is_of_cluster ? node_state_of_cluster(process, options) : node_state_of_files(files, options.node_name);
  if (!object) {
    daemon::print_error(object.error().what);
    return process.leave(daemon::kExitError);
  }
  const hotplug::InventoryPtr inventory = read_host_once(process, process.host_ports(/*live_events=*/false));
  if (inventory == nullptr) return process.leave(daemon::kExitError);
  return process.leave(tell(*object, with_prepared(inventory, options), options));
}

}  // namespace sliced::cli
