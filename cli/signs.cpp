#include "cli/signs.h"

#include <utility>

#include "configured/file_sign.h"
#include "configured/pod_sign.h"
#include "reactor/small_file.h"

namespace sliced::cli {

std::string boot_id_of(const Process& process) {
  return process.host->read("proc/sys/kernel/random/boot_id").value_or("");
}

std::unique_ptr<configured::Sign> make_sign(Process& process, const config::Options& options,
                                            const config::ConfiguredBy& by, bool goes_on,
                                            configured::OnChange on_change) {
  reactor::Scheduler& scheduler = process.loop.scheduler();
  if (by.how == config::ConfiguredBy::How::kFile)
    return std::make_unique<configured::FileSign>(
        configured::FileSign::Ports{scheduler, *process.executor, *process.log, reactor::read_small_file},
        by.path, boot_id_of(process), std::move(on_change));
  configured::PodSign::Settings settings{.namespace_ = options.pod_namespace, .pod = options.pod_name};
  if (goes_on) settings.tries_max = 0, settings.boot_id = boot_id_of(process);
  return std::make_unique<configured::PodSign>(
      kube::Ports{*process.cluster, scheduler, *process.log, reactor::system_random()}, std::move(settings),
      std::move(on_change));
}

}  // namespace sliced::cli
