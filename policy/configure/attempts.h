#pragma once
// Limits the attempts to set the admin MAC of a VF: once, and again only if the address was lost since. Pure:
// time is a parameter.
//
// Restart:  nothing is stored. An address that is set is in the kernel and not missing; a failed attempt is
// repeated once.
// Conflict: if another program removes the address each time, it is set again after kRetryAfter at the
// earliest.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "policy/configure/missing_mac.h"
#include "reactor/base/time.h"

namespace sliced::policy {

class MacAttempts {
 public:
  static constexpr Millis kRetryAfter{10'000};

  /// Returns those that are due. Forgets VFs that no longer exist, and records VFs that have an address now.
  std::vector<MissingMac> due(std::vector<MissingMac> missing, const hotplug::Inventory& host, TimePoint now);
  /// Returns the time at which one of the addresses that were missing in the last due() becomes due; nullopt
  /// if none becomes due by waiting.
  std::optional<TimePoint> next() const { return next_; }

  /// Records the start of an attempt.
  void begin(const std::string& vf, TimePoint now) { attempts_[vf] = {now, false}; }
  /// Records that the VF has the address, set by this daemon or another program.
  void has(const std::string& vf);
  /// Forgets an attempt that wrote nothing because its preconditions no longer held. It does not count.
  void forget(const std::string& vf) { attempts_.erase(vf); }

 private:
  struct Attempt {
    TimePoint at;
    bool was_set = false;  // since the attempt
  };
  std::map<std::string, Attempt> attempts_;
  std::optional<TimePoint> next_;
};

}  // namespace sliced::policy
