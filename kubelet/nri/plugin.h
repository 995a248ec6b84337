#pragma once
// A plugin of a container runtime (NRI, github.com/containerd/nri v0.12): the runtime reports sandboxes and
// containers and waits for the plugin's answers. It drops a plugin that answers late or has disconnected, and
// continues as if the plugin had agreed. So users of these calls check link() first.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/nri/server.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/net/stream.h"
#include "reactor/scheduler.h"

namespace sliced::nri {

/// The defaults are dra-driver-sriov's.
struct PluginOptions {
  std::string name = "dra-driver-sriov";  // NRI_PLUGIN_NAME: letters, digits and "_.+-"
  std::string index = "42";               // NRI_PLUGIN_IDX: two digits; lower ones are called first
  std::string socket = "/var/run/nri/nri.sock";
  // the consequence of being disconnected, for the log
  std::string lost = "interfaces cannot be attached to pods";
};
/// Refuses options that a runtime would refuse. Errors: kInvalid; names the option, its value and the remedy.
Result<Unit> check(const PluginOptions& options);

/// State of the connection to the runtime.
struct Link {
  bool is_up = false;                 // registered, configured and synchronized: the runtime reports
                                      // sandboxes
  TimePoint since{};                  // of is_up
  std::string why_not = "not begun";  // "" if it is up
  bool has_failed = false;            // an attempt has failed since it was up last, or since the start
};

/// The pending answer to a hook. Dropping it refuses.
class Reply {
 public:
  Reply(Answer answer, std::function<void()> on_agreed = {})
      : answer_(std::move(answer)), on_agreed_(std::move(on_agreed)) {}
  /// Return false if the answer is too late: the runtime has been refused or has disconnected, so the caller
  /// undoes its changes. Call one of them once. After agree() the runtime relies on the answer, and changes
  /// must not be undone.
  bool agree();
  bool refuse(const Error& why);
  /// Answer before this time; otherwise the runtime gets a refusal.
  TimePoint deadline() const { return answer_.deadline(); }

 private:
  Answer answer_;
  std::function<void()> on_agreed_;
};

/// Receiver of events. Replies may be given immediately or later, in any order. Reentry: a hook may drop the
/// plugin.
class Hooks {
 public:
  virtual ~Hooks() = default;
  /// All existing sandboxes and containers, after each connection; the link is up after the agreement.
  virtual void synchronize(std::vector<PodSandbox> pods, std::vector<Container> containers, Reply reply) = 0;
  /// After the pod's own network is set up, before any container. Refused: the sandbox does not start.
  virtual void run_pod_sandbox(PodSandbox pod, Reply reply) = 0;
  /// The network namespace usually still exists. May be called repeatedly, and for sandboxes that never ran.
  virtual void stop_pod_sandbox(PodSandbox pod, Reply reply) = 0;
  virtual void remove_pod_sandbox(PodSandbox pod, Reply reply) = 0;
  /// Refused: the container is not created; the kubelet retries.
  virtual void create_container(PodSandbox pod, Container container, Reply reply) = 0;
  /// link() has changed. May drop the plugin, as any hook.
  virtual void link_changed() {}
};

/// Connects and registers, and reconnects with backoff when the connection ends. Ownership: the destructor
/// closes the connection; later replies are ignored.
class Plugin {
 public:
  /// One attempt to connect to the runtime (reactor::net::connect_unix).
  using Dial = std::function<std::unique_ptr<reactor::net::Connecting>(reactor::net::OnConnected)>;
  /// Starts with the next turn. References outlive this object. Waits 100 ms after a failure, doubling to 5
  /// s, with jitter, and logs the reason once while it stays the same. Closes a connection if the runtime
  /// does not read (1 MiB unsent).
  Plugin(reactor::Scheduler& scheduler, reactor::Random random, Log& log, Dial dial, PluginOptions options,
         Hooks& hooks);
  ~Plugin();
  /// The reference is valid as long as the plugin. Its content changes with link_changed(); why_not also in
  /// between.
  const Link& link() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sliced::nri
