#pragma once
// Runs the plugin chain of a network: ADD, CHECK or DEL (CNI specification 1.1.0, section 3).
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/cni/network.h"
#include "reactor/child.h"
#include "reactor/loop.h"

namespace sliced::cni {

/// Plugin directories and inherited environment. Every plugin gets the environment, in which CNI_* of the
/// call replace existing ones.
struct Place {
  std::vector<std::string> directories{"/opt/cni/bin"};  // searched in order; CNI_PATH
  std::vector<std::string> environment;  // "NAME=value"; plugins need PATH to run other programs
};

/// A running chain. Dropping it kills the current plugin's process group without a callback. Plugins run one
/// after the other as the daemon's user, with only the three standard descriptors.
class Run {
 public:
  virtual ~Run() = default;
};

/// The result of ADD's last plugin; empty for CHECK and DEL. An ADD without a result fails.
using OnRun = std::function<void(Result<Attached>)>;

/// ADD and CHECK run the plugins in order, up to the first failure. ADD runs none if one is not installed.
/// DEL runs all in reverse order, also after a failure, and returns the first error. So a companion plugin
/// cannot prevent the main plugin from returning the device.
/// After a failed ADD, the caller runs DEL. `previous`: the result of the last ADD, for CHECK and DEL (CNI
/// 0.4.0 and later). ADD passes on each plugin's own result. CHECK before 0.4.0, or disabled by the network,
/// succeeds immediately.
/// deadline: of the whole chain; for DEL the remaining time is shared equally. At the deadline the process
/// group of the current plugin is killed.
/// Reentry: on_run is called once, never from within this call, and may drop the run.
/// Errors: kInvalid (attachment, or an invalid result), kTimeout, kNotFound (no plugin file), kDenied (the
/// plugin cannot be started), kIo (the plugin reports an error). After kNotFound and kDenied of an ADD no
/// plugin was run, so no DEL is required. The text names plugin, network and command, and quotes the plugin.
[[nodiscard]] std::unique_ptr<Run> run_chain(reactor::Loop& loop, Place place, Network network,
                                             Command command, Attachment attachment,
                                             std::optional<Attached> previous, Millis deadline, OnRun on_run);

}  // namespace sliced::cni
