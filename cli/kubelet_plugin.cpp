#include "cli/kubelet_plugin.h"

#include <ctime>
#include <utility>

namespace sliced::cli {

KubeletPlugin::KubeletPlugin(Process& process, const config::Options& options, const daemon::Daemon& daemon)
    : daemon_(daemon),
      preparer_(process.loop.scheduler()),
      plugin_({.loop = process.loop,
               .log = *process.log,
               .preparer = preparer_,
               .clock = [] { return static_cast<int64_t>(std::time(nullptr)); }},
              {.directories = {.plugins = options.kubelet_plugins_directory,
                               .registrar = options.kubelet_registrar_directory},
               .pod_uid = options.pod_uid},
              {driver(options.sriov_driver_name), driver(options.exposure_driver_name)}) {}

kubelet::Plugin::Driver KubeletPlugin::driver(const std::string& name) {
  return {.name = name, .judge = [this, name, book = std::make_shared<kubelet::HealthBook>(name)] {
            return book->judge(daemon_.offer_of(name).desired_last(), *daemon_.inventory());
          }};
}

std::unique_ptr<KubeletPlugin> open_kubelet_plugin(Process& process, const config::Options& options,
                                                   const daemon::Daemon& daemon) {
  if (options.kubelet_plugin == config::Switch::kOff) return nullptr;
  return std::make_unique<KubeletPlugin>(process, options, daemon);
}

}  // namespace sliced::cli
