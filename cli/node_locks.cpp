#include "cli/node_locks.h"

#include <algorithm>

namespace sliced::cli {

using reactor::net::interlock_name;

NodeLocks::NodeLocks(Process& process, const config::Options& options, std::function<void()> on_acquired)
    : first_(process.loop, *process.log,
             interlock_name(std::min(options.sriov_driver_name, options.exposure_driver_name),
                            options.node_name),
             [this, &process, on_acquired = std::move(on_acquired),
              name = interlock_name(std::max(options.sriov_driver_name, options.exposure_driver_name),
                                    options.node_name)] {
               second_.emplace(process.loop, *process.log, name, on_acquired);
             }) {}

}  // namespace sliced::cli
