#pragma once
// Quiet windows for host changes (policy/gates/settling.h): devices that are added or change wait for a quiet
// window per PF. Removals do not wait. Pure: time is a parameter that never decreases.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "reactor/base/time.h"

namespace sliced::daemon {

/// The devices that wait. A window ends `quiet` after the last event of its group, and `longest` after the
/// first at the latest, so a PF that never rests is still published. Memory: waiting devices only.
class Debouncer {
 public:
  Debouncer(Millis quiet, Millis longest) : quiet_(quiet), longest_(longest) {}

  /// The device appeared or changed. group: its PF's id, or its own. A device that changes its group leaves
  /// the former window.
  void touch(const std::string& device, const std::string& group, TimePoint now);
  /// The device was removed. The window of its group ends with its last device.
  void forget(const std::string& device);
  /// Ends windows that are over; returns whether one ended.
  bool expire(TimePoint now);
  /// Returns when expire() is due; nullopt if no device waits.
  std::optional<TimePoint> next_deadline() const;
  bool is_waiting(const std::string& device) const { return group_of_.contains(device); }
  /// Also applies to open windows (SIGHUP).
  void set_windows(Millis quiet, Millis longest) {
    quiet_ = quiet;
    longest_ = longest;
  }

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
