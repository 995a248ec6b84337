#pragma once
// Checks selectors of DeviceClasses, claims and their templates for devices of our drivers. Pure.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cel/evaluation.h"
#include "controller/webhook/judged.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// Limit of compiling all selectors of an object. The API server refuses a selector beyond it, too.
inline constexpr uint64_t kSelectorStepsMax = cel::kCompileStepsMax;

/// A CEL selector with its location.
struct Expression {
  std::string field, text;  // "spec.selectors[0].cel.expression"
  int line = 0;
};
/// Returns the selectors of a list of DeviceSelectors (nullptr: none), in order, at most 32, as in
/// resource.k8s.io/v1.
std::vector<Expression> expressions_of(const kube::Json* selectors, const std::string& path);

/// Returns true if the text contains the name of one of our drivers.
bool names_our_driver(const Expression& expression, const Drivers& drivers);
/// Returns the driver whose devices the expressions select: by `device.driver == "NAME"`, or the only one
/// whose name is in their text. "" if none or both.
std::string selected_driver(const std::vector<Expression>& expressions, const Drivers& drivers);

/// Returns a warning for each quoted text that resembles the name of one of our drivers without being one.
policy::Problems nearly_our_drivers(const std::vector<Expression>& expressions, const Drivers& drivers);
/// Returns the driver whose name it resembles; "" if none, or if it is equal to one.
std::string near_driver(std::string_view name, const Drivers& drivers);

/// Returns why no device can satisfy a constraint with the attribute ("domain/name"), for domains of ours, of
/// Kubernetes, and those that resemble them; "" if one may. of_devices: the known drivers of the devices to which
/// the constraint applies.
std::string wrong_with_constraint(const std::string& attribute, const std::set<std::string>& of_devices,
                                  const Drivers& drivers);

/// Adds compile errors to out.errors. Adds to out.warnings attributes that no device has by itself, domains
/// that resemble ours, and comparisons with another type. driver: of the selected devices; "" if unknown. If
/// out.selector_work reaches steps_max, sets out.is_selector_unchecked instead.
void judge_selectors(const std::vector<Expression>& expressions, const std::string& driver,
                     const Drivers& drivers, uint64_t steps_max, Judgement& out);

}  // namespace sliced::webhook
