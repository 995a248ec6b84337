#pragma once
// Until when additions settle (policy/gates/settling.h): what the host adds or changes waits for a quiet
// window per PF. Pure: time is a parameter, never before that of the last call. Removals do not come here.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "reactor/base/time.h"

namespace sliced::daemon {

/// Which host devices are in motion. A window ends `quiet` after the last event of its group, and `longest`
/// after the first at the latest: a PF that never rests is published once in that time.
/// Memory: of what is in motion; nothing of those that rest.
class Debouncer {
 public:
  Debouncer(Millis quiet, Millis longest) : quiet_(quiet), longest_(longest) {}

  /// The device appeared or changed. group: its PF's id, or its own.
  /// A device that moves to another group leaves the window of the one before.
  void touch(const std::string& device, const std::string& group, TimePoint now);
  /// It is gone. The window of its group ends with its last device.
  void forget(const std::string& device);
  /// Ends windows that are over; true when one ended.
  bool expire(TimePoint now);
  /// When expire() has something to do next; nullopt: nothing is in motion.
  std::optional<TimePoint> next_deadline() const;
  bool is_waiting(const std::string& device) const { return group_of_.contains(device); }
  /// Of windows that are open, too (SIGHUP).
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

}  // namespace sliced::daemon
