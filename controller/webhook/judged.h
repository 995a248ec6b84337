#pragma once
// The result of checking an object, as a value.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/exposure/max_cost.h"
#include "policy/problem.h"

namespace sliced::webhook {

/// Names of our drivers (spec.driver of ResourceSlices). Policies and claims of other drivers are not
/// checked.
struct Drivers {
  std::string sriov, exposure;
  /// Namespace of the daemons' policies: a policy in another one causes a warning. "" if unknown.
  std::string policies = {};
  /// Driver by name of the DeviceClass, for classes whose selectors name one of our drivers.
  std::map<std::string, std::string, std::less<>> classes = {};
};

struct Judgement {
  std::string who;  // "DeviceExposurePolicy nics"; "" if the object has no kind or name
  int line = 0;     // of the object in its file; 0 if unknown
  /// False for a kind that resembles one of ours: the rest of the object was not read.
  bool is_read = true;
  /// Not empty: the object is refused. On a node such a policy offers nothing, and such a claim is not
  /// prepared. Each has a field, a text and, in a file, a line; the first 20 are stored
  /// (reactor/base/first_few.h).
  policy::Problems errors;
  policy::Problems warnings;  // valid, but probably a mistake
  /// Of a NetworkAttachmentDefinition: errors if a claim names it, but not if a DeviceClass names it from
  /// another namespace.
  policy::Problems user_errors;
  /// Of a claim or template: warnings that apply if the DeviceClass selects devices of that driver.
  struct IgnoredByClass {
    std::string class_name, driver;
    policy::Problem problem;
  };
  std::vector<IgnoredByClass> ignored_by_class = {};
  /// The highest cost of a DeviceExposurePolicy's selector, if it compiles.
  std::optional<policy::MaxCost> dearest;
  uint64_t selector_work = 0;          // its work steps, as decisions count them
  bool is_selector_unchecked = false;  // the budget of work did not suffice
};

}  // namespace sliced::webhook
