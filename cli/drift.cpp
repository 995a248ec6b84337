#include "policy/node_state/drift.h"

#include <optional>

#include "cli/commands.h"
#include "cli/drift_report.h"
#include "cli/host_once.h"
#include "cli/prepared_facts.h"
#include "cli/process.h"
#include "cli/read_file.h"
#include "cli/show.h"
#include "kube/kinds.h"
#include "kube/manifest.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace drift_command {

constexpr Millis kAskMax{30'000};

std::string named(const config::Options& options) {
  return "SriovNetworkNodeState " + options.node_state_namespace + "/" + options.node_name;
}

// The node's own among those of the file; one that stands alone is meant, whatever it is called.
Result<kube::Json> node_state_of_file(const config::Options& options) {
  const auto text = read_whole(options.node_state, kube::JsonLimits{}.size_max);
  if (!text) return text.error();
  const kube::Manifest manifest = kube::decode_manifest(*text, "");
  if (!manifest.problems.empty())
    return Error{Errc::kInvalid, "line " + std::to_string(manifest.problems.front().line) + ": " +
                                     manifest.problems.front().what};
  const kube::Json *only = nullptr, *own = nullptr;
  std::string only_name;
  size_t count = 0;
  for (const auto& [key, object] : manifest.objects) {
    if (key.kind != kube::kSriovNetworkNodeStates.kind ||
        key.api_version != kube::api_version(kube::kSriovNetworkNodeStates))
      continue;
    if (key.name == options.node_name && own != nullptr)
      return Error{Errc::kInvalid, "holds two SriovNetworkNodeStates of " + options.node_name +
                                       ", in lines " + std::to_string(own->line()) + " and " +
                                       std::to_string(object.line()) + "; keep the one that counts"};
    if (key.name == options.node_name) own = &object;
    only = &object;
    only_name = key.name;
    ++count;
  }
  if (own != nullptr) return *own;
  if (count == 1) {
    complain(escaped(options.node_state) + ": is of " + in_quotes(only_name) +
             ", and compared with this host, " + options.node_name);
    return *only;
  }
  return Error{
      Errc::kNotFound,
      count == 0 ? "holds no SriovNetworkNodeState of " + kube::api_version(kube::kSriovNetworkNodeStates)
                 : "holds " + std::to_string(count) + " SriovNetworkNodeStates, and none is of this node (" +
                       options.node_name + "); say --node-name"};
}

// Why there is none, and what to do.
Error refused(const kube::Failure& failure, const config::Options& options) {
  if (failure.code == Errc::kNotFound)
    return {failure.code, "there is no " + named(options) +
                              "; say --node-state-namespace where the operator works elsewhere (" +
                              failure.what + ")"};
  if (failure.code == Errc::kDenied)
    return {failure.code, named(options) +
                              " may not be read; it takes get on sriovnetworknodestates in that namespace (" +
                              failure.what + ")"};
  return {failure.code, named(options) + ": " + failure.what};
}

Result<kube::Json> node_state_of_cluster(Process& process, const config::Options& options) {
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
    complain(escaped(report.state.name) + ": " + problem.field + " " + problem.what);
  const bool is_table = options.output == config::OutputFormat::kTable;
  if (!print(is_table ? drift_table(report) : formatted(json_of(report), options.output))) return kExitError;
  return report.exit_code();
}

}  // namespace drift_command

int drift(const config::Options& options) {
  using namespace drift_command;
  const bool is_of_cluster = options.node_state == config::kNodeStateOfCluster;
  auto opened = is_of_cluster ? Process::open(options) : Process::open_host_only(options);
  if (!opened) return complain(opened.error().what), kExitError;
  Process& process = **opened;
  auto object = is_of_cluster ? node_state_of_cluster(process, options) : node_state_of_file(options);
  if (!object) {
    complain((is_of_cluster ? "" : escaped(options.node_state) + ": ") + object.error().what);
    return process.leave(kExitError);
  }
  const hotplug::InventoryPtr inventory = read_host_once(process);
  if (inventory == nullptr) return process.leave(kExitError);
  return process.leave(tell(*object, with_prepared(inventory, options), options));
}

}  // namespace sliced::cli
