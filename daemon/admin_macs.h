#pragma once
// Does what policy/configure/ finds to be done: sets administrative MAC addresses that are missing, one after the other,
// on a worker.
//
// Pace:      one VF at a time; each once, and again only where the address was lost since (policy/configure/attempts.h).
// Unhappy:   without CAP_NET_ADMIN it says so once, and does nothing more. What a driver refuses is said of that VF. A PF
//            whose driver hangs is left alone.
// Log:       each address that was set, with who asks for it: the audit of what this daemon changes of the host.
// Ownership: ports outlive this. Dropping it begins nothing more; a write on its way may still be done.
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "policy/configure/attempts.h"
#include "policy/configure/missing_mac.h"
#include "reactor/base/log.h"
#include "reactor/base/result.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::daemon {

/// Blocks; on a worker. Looks whether all of it is so still, writes, reads back. Errors: kDenied; others of the driver.
using SetMissingMac = std::function<Result<policy::MacOutcome>(const policy::MissingMac& what)>;

class AdminMacs {
 public:
  /// The kernel answers within ten seconds, or is taken for one that does not.
  static constexpr Millis kSetMax{15'000};

  struct Ports {
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    Log& log;
    SetMissingMac set;
  };
  struct Handlers {
    /// Asked again right before each.
    std::function<bool(const std::string& vf)> is_taken;
    /// A PF enforces something else now, which its driver need not tell.
    std::function<void(const hotplug::PciAddress& pf)> on_set;
    /// What was not due yet at the last take() is: it is to be called again.
    std::function<void()> on_due;
  };
  AdminMacs(Ports ports, Handlers handlers);

  /// All that is missing now, in the place of what was told before and is not begun.
  void take(std::vector<policy::MissingMac> missing, const hotplug::Inventory& host);

 private:
  void begin_next();
  void end(const policy::MissingMac& what, const Result<policy::MacOutcome>& outcome);
  void fail(const policy::MissingMac& what, const Error& why);

  const Ports ports_;
  const Handlers handlers_;
  policy::MacAttempts attempts_;
  std::deque<policy::MissingMac> due_;
  std::unique_ptr<reactor::Job> job_;
  reactor::Ticket ticket_;
  bool is_denied_ = false;
  std::set<hotplug::PciAddress> hung_;
};

}  // namespace sliced::daemon
