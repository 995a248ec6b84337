#pragma once
// Sets the missing administrative MAC addresses that policy/configure/ finds, one after the other, on a
// worker.
//
// Pace:      one VF at a time; each once, and again only if the address was lost since
//            (policy/configure/attempts.h).
// Errors:    without CAP_NET_ADMIN it logs that once, and stops. A driver's refusal is logged for that VF. A
//            PF whose driver hangs is skipped until the daemon restarts.
// Log:       each address that was set, with the policy that requires it: the audit of this daemon's changes
//            of the host.
// Ownership: ports outlive this object. Its destruction starts no further write; one in progress may
//            complete.
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

/// Checks that the facts still hold, writes, and reads back: kubelet::set_missing_mac(), or a test's. Blocks;
/// for a worker. Errors: kDenied; others of the driver.
using SetMissingMac = std::function<Result<policy::MacOutcome>(const policy::MissingMac& what)>;

struct AdminMacPorts {
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  Log& log;
  SetMissingMac set;
};

class AdminMacs {
 public:
  /// The driver's time limit, above the kernel's own ten seconds.
  static constexpr Millis kSetMax{15'000};

  struct Handlers {
    /// Returns whether the VF is in use; called right before each write.
    std::function<bool(const std::string& vf)> is_in_use;
    /// A PF's settings were changed, which its driver may not report.
    std::function<void(const hotplug::PciAddress& pf)> on_set;
    /// An address that was not due at the last take() is due. The owner must call take() again.
    std::function<void()> on_due;
  };
  AdminMacs(AdminMacPorts ports, Handlers handlers);

  /// Replaces the addresses that are not written yet by those that are missing now. host: the current host; a
  /// VF that has an address in it is due again if it loses it.
  void take(std::vector<policy::MissingMac> missing, const hotplug::Inventory& host);

 private:
  void begin_next();
  void end(const policy::MissingMac& what, const Result<policy::MacOutcome>& outcome);
  void fail(const policy::MissingMac& what, const Error& why);

  const AdminMacPorts ports_;
  const Handlers handlers_;
  policy::MacAttempts attempts_;
  std::deque<policy::MissingMac> due_;
  std::unique_ptr<reactor::Job> job_;
  reactor::Ticket ticket_;
  bool is_denied_ = false;
  std::set<hotplug::PciAddress> hung_;
};

}  // namespace sliced::daemon
