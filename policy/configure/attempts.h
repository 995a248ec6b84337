#pragma once
// How often a VF's administrative MAC address is tried to be set: once, and again only where it has been lost since. Pure:
// time is an argument.
//
// Restart:  nothing is written down. An address that is set is the kernel's to remember, and is not missing then; one that
//           could not be set is tried once more.
// Two who disagree: where somebody takes the address away each time, it is set again kAgainAfter later at the earliest.
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
  static constexpr Millis kAgainAfter{10'000};

  /// Which of them are due; forgets VFs that are gone, and notes those that have an address now.
  std::vector<MissingMac> due(std::vector<MissingMac> missing, const hotplug::Inventory& host, TimePoint now);
  /// When another one of those is, that were missing at the last call; nullopt: none will be by itself.
  std::optional<TimePoint> next() const { return next_; }

  /// It is tried now.
  void begin(const std::string& vf, TimePoint now) { tried_[vf] = {now, false}; }
  /// It has the address: by us, or somebody was quicker.
  void has(const std::string& vf);
  /// Nothing was written: what was to be done was not so any more. It does not count.
  void forget(const std::string& vf) { tried_.erase(vf); }

 private:
  struct Tried {
    TimePoint at;
    bool was_set = false;  // since
  };
  std::map<std::string, Tried> tried_;
  std::optional<TimePoint> next_;
};

}  // namespace sliced::policy
