#pragma once
// The interlocks of a node's drivers, one each, always taken in the same order, so that two processes never
// wait for each other.
#include <functional>
#include <optional>

#include "cli/process.h"
#include "reactor/net/interlock.h"

namespace sliced::cli {

/// Waits its turn from construction on; released by dropping. on_acquired: all of them are ours; called once.
class NodeLocks {
 public:
  NodeLocks(Process& process, const config::Options& options, std::function<void()> on_acquired);

 private:
  std::optional<reactor::net::Interlock> second_;  // taken once the first is
  reactor::net::Interlock first_;
};

}  // namespace sliced::cli
