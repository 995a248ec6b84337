#pragma once
// Functions that pods have given back and that their drivers have not taken: the module is unloaded, or refuses. No pod
// waits for that; it is tried again as long as this process lives. (A module that is loaded later takes them by itself.)
#include <map>
#include <memory>
#include <string>

#include "kubelet/binder.h"
#include "kubelet/prepared.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// What has a driver, whichever, is left alone, and forgotten; so is what is gone. The others are tried one by
/// one; 30 s after the last of a round the next one begins.
/// Ownership: scheduler and log outlive it; dropped, nothing is tried any more.
/// Threads:   the loop's.
/// Bounds:    functions of this node.
class Driverless {
 public:
  static constexpr Millis kAgain{30'000};

  Driverless(reactor::Scheduler& scheduler, Log& log) : scheduler_(scheduler), log_(log) {}
  /// Before anything else. It is called on turns of its own.
  void use(std::shared_ptr<Binder> binder) { binder_ = std::move(binder); }

  /// device: with its VfioBinding. why: for people, as Binder says. Said once while it lasts. Of the binding
  ///         only the driver counts here: what its PF had is given back already.
  void add(const PreparedDevice& device, const std::string& why);
  /// The driver that it had; "" it is none of these.
  std::string driver_of(const std::string& pci) const;

 private:
  struct Left {
    PreparedDevice device;
    std::string why;
  };
  // For the next round, unless one goes on.
  void wait();
  // One by one, by address: a driver that hangs with one keeps no other function from its own.
  void try_behind(const std::string& last);

  reactor::Scheduler& scheduler_;
  Log& log_;
  std::shared_ptr<Binder> binder_;
  std::map<std::string, Left> left_;  // by address
  reactor::Ticket next_;
  std::unique_ptr<reactor::Job> job_;
};

}  // namespace sliced::kubelet
