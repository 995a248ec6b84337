#pragma once
// Bad news first, good news settles: a removal goes out at once, while what the host adds or changes waits
// for a quiet window per PF, so that `echo 64 > sriov_numvfs` is a few writes and not 64. Pure: time is a
// parameter.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/decide.h"
#include "reactor/base/time.h"

namespace sliced::publishers {

/// Which host devices are in motion. A window ends `quiet` after the last event of its group, and `longest`
/// after the first at the latest.
class Settler {
 public:
  Settler(Millis quiet, Millis longest) : quiet_(quiet), longest_(longest) {}

  /// The device appeared or changed. group: its PF's id, or its own.
  void touch(const std::string& device, const std::string& group, TimePoint now);
  void forget(const std::string& device);
  /// Ends windows that are over; true when one ended.
  bool expire(TimePoint now);
  std::optional<TimePoint> next_deadline() const;
  bool settling(const std::string& device) const { return group_of_.contains(device); }
  void set_windows(Millis quiet, Millis longest) { quiet_ = quiet, longest_ = longest; }

 private:
  struct Window {
    TimePoint first, last;
    std::set<std::string> devices;
  };
  TimePoint end_of(const Window& window) const {
    return std::min(window.last + quiet_, window.first + longest_);
  }

  Millis quiet_, longest_;
  std::map<std::string, Window> windows_;        // by group
  std::map<std::string, std::string> group_of_;  // by device
};

/// The pools to publish now: entries of settling devices stay as they were in `before` (or stay out when they
/// were not there); what is no longer desired is gone at once. settling: entry names.
std::vector<policy::DesiredPool> hold_back_news(std::vector<policy::DesiredPool> desired,
                                                const std::vector<policy::DesiredPool>& before,
                                                const std::set<std::string>& settling);

/// For pools with counters, where an entry cannot stay as it was alone: entries of settling devices keep the
/// attributes that they had in `before`, what they take is of now.
void hold_back_attributes(std::vector<policy::DesiredPool>& desired,
                          const std::vector<policy::DesiredPool>& before,
                          const std::set<std::string>& settling);

}  // namespace sliced::publishers
