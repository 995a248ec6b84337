#pragma once
// Expressions that read a name which no device has, where another name is nearly the same.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kubectl/why/selectors.h"
#include "kubectl/why/slice.h"

namespace sliced::allocation {

/// One name in an expression.
struct Misread {
  std::string wrong, right;  // "pfName", "PFName"; or two domains
  bool is_domain = false;
  std::string corrected;  // the expression with the right name
  /// "reads pfName, which no device has; did you mean PFName?"
  std::string text() const;
};

/// The names of attributes and capacities of all devices. Where the same name is another one's by one letter, the caller
/// knows more: a name of `publishable` is never taken for another one.
class DeviceNames {
 public:
  /// publishable: full keys ("driver/name") that drivers give a device that has such a thing.
  DeviceNames(const std::vector<SlicePtr>& slices, const std::set<std::string>& publishable);
  /// Of the first such name that the expression reads. Its effort is that of compiling it.
  std::optional<Misread> find(const std::string& expression, Selectors& selectors) const;

 private:
  std::map<std::string, std::set<std::string>> attributes_, capacities_;  // by domain
};

}  // namespace sliced::allocation
