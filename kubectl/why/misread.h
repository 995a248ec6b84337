#pragma once
// Finds expressions that read a name which no device has, or name a driver that publishes none, while a
// similar name exists.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kubectl/why/selectors.h"
#include "kubectl/why/slice.h"

namespace sliced::why {

/// One misspelled name in an expression.
struct Misread {
  std::string wrong, right;  // "pfName", "PFName"; or two domains
  bool is_domain = false, is_driver = false;
  std::string corrected;  // the expression with the right name
  /// Returns "reads pfName, which no device has; did you mean PFName?"
  std::string text() const;
};

/// The names of attributes and capacities of all devices. A name in `publishable` is never treated as
/// misspelled, because a driver may publish it.
class DeviceNames {
 public:
  /// publishable: full keys ("driver/name") that drivers publish for suitable devices. drivers: those that
  /// are suggested in place of a driver without devices, if they have devices.
  DeviceNames(const std::vector<SlicePtr>& slices, const std::set<std::string>& publishable,
              const std::set<std::string>& drivers);
  /// Returns the first misspelled name that the expression reads. Costs the work of compiling it.
  std::optional<Misread> find(const std::string& expression, Selectors& selectors) const;

 private:
  // Returns the slip in `device.driver == "X"`.
  std::optional<Misread> find_driver(const std::string& expression) const;

  std::map<std::string, std::set<std::string>> attributes_, capacities_;  // by domain
  std::set<std::string> drivers_, with_slices_;                           // with_slices_: of any driver
};

}  // namespace sliced::why
