#pragma once
// Retries driver binding for functions that pods returned and that have no driver: the module is unloaded or
// refuses them. No pod waits for this. Retries end with this process. A module that is loaded later binds its
// functions without help.
#include <map>
#include <memory>
#include <string>

#include "kubelet/binder.h"
#include "kubelet/prepared.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// Tries the functions one by one. The next round starts 30 s after the end of the last one. A function that
/// has any driver, or no longer exists, is dropped.
/// Ownership: scheduler and log outlive this object. Its destruction ends the retries.
/// Threads: the loop's.
/// Bounds: functions of this node.
class DriverRetries {
 public:
  static constexpr Millis kAgain{30'000};

  DriverRetries(reactor::Scheduler& scheduler, Log& log) : scheduler_(scheduler), log_(log) {}
  /// Requires: called before add().
  void use(std::shared_ptr<Binder> binder) { binder_ = std::move(binder); }

  /// device: with its VfioBinding, of which only the driver counts here; its PF's settings are restored
  /// before. why: a text for people, from Binder. Logs a persistent problem once.
  void add(const PreparedDevice& device, const std::string& why);
  /// Returns the original driver of the function; "" if it is not in this list.
  std::string driver_of(const std::string& pci) const;

 private:
  struct Left {
    PreparedDevice device;
    std::string why;
  };
  // Arms the timer for the next round, unless a round is in progress.
  void wait();
  // Tries the function after `last`, in the order of addresses. One that hangs does not delay the others.
  void try_after(const std::string& last);

  reactor::Scheduler& scheduler_;
  Log& log_;
  std::shared_ptr<Binder> binder_;
  std::map<std::string, Left> left_;  // by PCI address
  reactor::Ticket next_;
  std::unique_ptr<reactor::Job> job_;
};

}  // namespace sliced::kubelet
