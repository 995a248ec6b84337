#pragma once
// What is said of an object that was judged, as a value.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/exposure/max_cost.h"
#include "policy/problem.h"

namespace sliced::webhook {

/// Under which names devices are published (spec.driver of ResourceSlices); policies and claims of other
/// drivers are nobody's here.
struct Drivers {
  std::string sriov, exposure;
  /// The namespace whose policies the daemons use: a policy in another one is a warning. "" it is not known.
  std::string policies = {};
  /// DeviceClasses whose selectors name one of our two drivers, which they select: to that driver.
  std::map<std::string, std::string, std::less<>> classes = {};
};

struct Judgement {
  std::string who;  // "DeviceExposurePolicy nics"; "" where the object does not say what it is
  int line = 0;     // of the object, where it came from a file
  /// False of a kind that was only meant to be one of ours: nothing more of the object was read.
  bool is_read = true;
  /// Not empty: it is refused. On a node such a policy offers nothing, such a claim is not prepared.
  /// Each with its field, its words and, of a file, its line; the first 20 are kept (reactor/base/first_few.h).
  policy::Problems errors;
  policy::Problems warnings;  // legal, and probably not meant
  /// Of a NetworkAttachmentDefinition: errors when a claim names it, and none when a DeviceClass names it from another namespace.
  policy::Problems user_errors;
  /// Of a claim or a template: warnings that hold where the DeviceClass selects devices of that driver.
  struct IgnoredByClass {
    std::string class_name, driver;
    policy::Problem problem;
  };
  std::vector<IgnoredByClass> ignored_by_class = {};
  /// Of a DeviceExposurePolicy's selector, where it can be compiled.
  std::optional<policy::MaxCost> dearest;
  uint64_t selector_work = 0;          // that it took, as decisions count it
  bool is_selector_unchecked = false;  // for want of work
};

}  // namespace sliced::webhook
