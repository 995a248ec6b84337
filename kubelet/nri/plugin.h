#pragma once
// A plugin of a container runtime (NRI, github.com/containerd/nri v0.12): the runtime tells of sandboxes and
// containers and waits for what we say. It drops a plugin that answers late or is gone, and goes on as if the
// plugin had agreed; so whoever relies on these calls asks link() first.
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
  std::string lost = "interfaces cannot be attached to pods";  // while not connected, for the log
};
/// What a runtime would refuse. Errors: kInvalid; names the option, its value and the remedy.
Result<Unit> check(const PluginOptions& options);

/// How we stand with the runtime.
struct Link {
  bool is_up = false;                 // registered, configured and synchronized: sandboxes are told to us
  TimePoint since{};                  // of is_up
  std::string why_not = "not begun";  // "" when it is up
  bool has_failed = false;            // an attempt has failed since it was up last, or since the start
};

/// The answer to a hook, owed until somebody gives it; dropping it refuses.
class Reply {
 public:
  Reply(Answer answer, std::function<void()> on_agreed = {})
      : answer_(std::move(answer)), on_agreed_(std::move(on_agreed)) {}
  /// False: nobody waits any more, and the runtime has been refused or has gone: what was done is to be undone.
  /// Once; then the Reply owes nothing more. What is agreed to last counts for the runtime, and nothing can
  /// be taken back.
  bool agree();
  bool refuse(const Error& why);
  /// Answer before it: then the runtime is refused in our name.
  TimePoint deadline() const { return answer_.deadline(); }

 private:
  Answer answer_;
  std::function<void()> on_agreed_;
};

/// Who is told. Replies may be given at once or later, in any order.
/// Reentry: a hook may drop the plugin.
class Hooks {
 public:
  virtual ~Hooks() = default;
  /// All that there is, after each connecting; the link is up once this is agreed to.
  virtual void synchronize(std::vector<PodSandbox> pods, std::vector<Container> containers, Reply reply) = 0;
  /// After the pod's own network is there, before any container. Refused: the sandbox does not start.
  virtual void run_pod_sandbox(PodSandbox pod, Reply reply) = 0;
  /// The network namespace is still there, mostly. May come more than once, and for sandboxes never run.
  virtual void stop_pod_sandbox(PodSandbox pod, Reply reply) = 0;
  virtual void remove_pod_sandbox(PodSandbox pod, Reply reply) = 0;
  /// Refused: the container is not created; the kubelet tries again.
  virtual void create_container(PodSandbox pod, Container container, Reply reply) = 0;
  /// link() is another.
  /// May drop the plugin, as any hook.
  virtual void link_changed() {}
};

/// Connects, registers, and connects again, later each time, when the connection ends.
/// Ownership: dropping it ends the connection; replies are not taken any more.
class Plugin {
 public:
  /// One attempt to reach the runtime (reactor::net::connect_unix).
  using Dial = std::function<std::unique_ptr<reactor::net::Connecting>(reactor::net::OnConnected)>;
  /// Begins with the next turn. What is passed by reference outlives it.
  /// After a failure 100 ms, doubling to 5 s, are waited, with jitter; why is said once in the log while it
  /// stays the same. A connection of which the runtime does not read (1 MiB unsent) is given up.
  Plugin(reactor::Scheduler& scheduler, reactor::Random random, Log& log, Dial dial, PluginOptions options,
         Hooks& hooks);
  ~Plugin();
  /// The reference lasts as long as the plugin; its content changes with link_changed(), and why_not between.
  const Link& link() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sliced::nri
