#include "daemon/configured_signals.h"

#include <optional>
#include <utility>

#include "daemon/boot_evidence.h"
#include "daemon/node_state_signal.h"
#include "kube/objects/kinds.h"
#include "reactor/base/text.h"
#include "reactor/small_file.h"
#include "watchers/configured/file_signal.h"
#include "watchers/configured/pod_signal.h"

namespace sliced::daemon {

std::string boot_id_of(const HostProcess& process) {
  return process.host->read("proc/sys/kernel/random/boot_id").value_or("");
}

std::unique_ptr<configured::ConfiguredSignal> make_configured_signal(HostProcess& process,
                                                                     const config::Options& options,
                                                                     const config::ConfiguredBy& by,
                                                                     bool is_daemon,
                                                                     configured::OnChange on_change) {
  reactor::Scheduler& scheduler = process.loop.scheduler();
  if (by.how == config::ConfiguredBy::How::kFile)
    return std::make_unique<configured::FileSignal>(
        configured::FileSignalPorts{scheduler, *process.executor, *process.log, reactor::read_small_file},
        by.path, boot_id_of(process), std::move(on_change));
  if (by.how == config::ConfiguredBy::How::kNodeState)
    return std::make_unique<NodeStateSignal>(
        kube::ClusterPorts{*process.cluster, scheduler, *process.log, reactor::system_random()},
        process.host_ports(/*live_events=*/true),
        NodeStateSource::Place{options.node_state_namespace, options.node_name, ignored_of(options)},
        boot_of(process, options), by.allows_empty, std::move(on_change));
  configured::PodSignal::Settings settings{
      .namespace_ = options.pod_namespace, .pod = options.pod_name, .uid = options.pod_uid};
  if (is_daemon) {
    settings.tries_max = 0;
    settings.boot_id = boot_id_of(process);
  }
  return std::make_unique<configured::PodSignal>(
      kube::ClusterPorts{*process.cluster, scheduler, *process.log, reactor::system_random()},
      std::move(settings), std::move(on_change));
}

namespace {

constexpr Millis kPodAnswerMax{5'000};

std::string awaited_of_pod(HostProcess& process, const config::Options& options) {
  const std::string pod = "pod " + options.pod_namespace + "/" + options.pod_name;
  std::optional<Result<configured::PodWait>> found;
  const auto call = process.cluster->get(
      {kube::kPods, options.pod_namespace, options.pod_name},
      {.on_done = [&](std::string_view object) { found = configured::decode_pod_wait(object); },
       .on_failure = [&](const kube::Failure& why) { found = Error{why.code, why.what}; }});
  process.run_until([&] { return found.has_value(); }, kPodAnswerMax);
  if (found && *found)
    return (*found)->waits ? pod + " has the annotation " + std::string(configured::kWaitAnnotation) : "";
  return pod + " cannot be read: " + (found ? found->error().what : "no answer");
}

}  // namespace

std::string awaited_now(HostProcess& process, const config::Options& options) {
  const config::ConfiguredBy& by = options.until_configured;
  if (by.how == config::ConfiguredBy::How::kNothing || by.how == config::ConfiguredBy::How::kNodeState)
    return "";
  if (by.how == config::ConfiguredBy::How::kFile) {
    const std::string fault =
        configured::fault_of_file(reactor::read_small_file(by.path), boot_id_of(process));
    return fault.empty() ? "" : escaped(by.path) + ": " + fault;
  }
  const std::string awaited = options.pod_name.empty() || options.pod_namespace.empty()
                                  ? "the daemon's pod is not named (--pod-name, --pod-namespace)"
                                  : awaited_of_pod(process, options);
  if (!awaited.empty()) print_error("counted as not configured: " + awaited);
  return awaited;
}

}  // namespace sliced::daemon
