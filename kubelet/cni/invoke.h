#pragma once
// Runs the chain of a network: ADD, CHECK or DEL (CNI specification 1.1.0, section 3).
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/cni/network.h"
#include "reactor/child.h"
#include "reactor/loop.h"

namespace sliced::cni {

/// Where plugins are and what they inherit.
/// The environment is that of every plugin, with CNI_* of the call in the place of whatever it has of these.
struct Place {
  std::vector<std::string> directories{
      "/opt/cni/bin"};                   // the first that has a plugin's file counts; CNI_PATH
  std::vector<std::string> environment;  // "NAME=value"; what plugins call needs PATH
};

/// A chain that runs. Dropping it kills what runs (its whole process group); nobody is told.
/// Plugins run one after the other, as the daemon's own user, with no descriptor but the three standard ones.
class Run {
 public:
  virtual ~Run() = default;
};

/// What ADD's last plugin said, of the others nothing: {} of CHECK and DEL. An ADD that says nothing has failed.
using OnRun = std::function<void(Result<Attached>)>;

/// ADD and CHECK go through the chain from its first plugin; the first that fails ends it. ADD runs none when one of them is
/// not installed. DEL goes from the last to the first and runs every plugin, also after one that failed; its error is the
/// first. So a companion cannot keep the plugin that has the device from giving it back.
/// After an ADD that failed, DEL undoes what it has done. `previous`: what the last ADD has made, for CHECK
/// and DEL (0.4.0 and later are told); ADD passes on what each plugin says itself.
/// CHECK before 0.4.0, or disabled by the network, ends well at once.
/// deadline: of the whole chain, for DEL in equal shares of what is left; then the process group of the plugin that runs is
/// killed.
/// Reentry:  on_run is called once, never from within this call, and may drop the run.
/// Errors:   kInvalid (attachment, a result that is none), kTimeout, kNotFound (no such plugin file), kDenied (it cannot be started),
///           kIo (the plugin says so). kNotFound and kDenied of an ADD: no plugin was run, and there is nothing to undo. The text names plugin, network and command, and quotes the plugin.
[[nodiscard]] std::unique_ptr<Run> run_chain(reactor::Loop& loop, Place place, Network network,
                                             Command command, Attachment attachment,
                                             std::optional<Attached> previous, Millis deadline, OnRun on_run);

}  // namespace sliced::cni
