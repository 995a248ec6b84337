#pragma once
// One daemon at a time per driver and node (a rolling update with surge, a mistake): whoever listens on an
// abstract unix socket holds the lock; the kernel frees it when the process ends, however it ends.
#include <functional>
#include <memory>
#include <string>

#include "reactor/base/log.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::reactor::net {

/// The name for a driver on a node: "sliced/<driver>/<node>". Scoped by the network namespace (unix(7)).
std::string interlock_name(const std::string& driver, const std::string& node);

/// Waits its turn from construction on; release by dropping.
/// Waiting: connected to the holder, whose end is an EOF: no polling. Who waits is logged once, with the
/// holder's pid. Foreign: a holder of another uid (SO_PEERCRED) is ignored with a warning: on_acquired comes
/// although it holds on;
///          an unprivileged process must not keep the daemon from working.
/// Reentry: on_acquired is called once, never from the constructor, and may destroy the Interlock.
/// Errors:  are logged and retried every few seconds.
class Interlock {
 public:
  Interlock(Loop& loop, Log& log, std::string name, std::function<void()> on_acquired);
  ~Interlock();
  Interlock(Interlock&&) = delete;

  bool acquired() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sliced::reactor::net
