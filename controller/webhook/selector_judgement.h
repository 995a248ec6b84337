#pragma once
// Selectors of DeviceClasses, claims and their templates, as far as they speak of our drivers' devices. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/evaluation.h"
#include "controller/webhook/judged.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// What the selectors of one object may take to compile together; one that takes more the API server refuses, too.
inline constexpr uint64_t kSelectorStepsMax = cel::kCompileStepsMax;

/// A CEL selector, with where it is.
struct Expression {
  std::string field, text;  // "spec.selectors[0].cel.expression"
  int line = 0;
};
/// Of a list of DeviceSelectors, which nullptr is none of; in their order, at most 32, as resource.k8s.io/v1 has them.
std::vector<Expression> expressions_of(const kube::Json* selectors, const std::string& path);

/// Whether the name of one of our drivers is anywhere in its text.
bool names_our_driver(const Expression& expression, const Drivers& drivers);
/// The one of our two drivers whose devices the expressions select: `device.driver == "NAME"`, or the only one whose name is in their
/// text. "" none, or both.
std::string selected_driver(const std::vector<Expression>& expressions, const Drivers& drivers);

/// Texts in quotes of the expressions that are not the name of one of our drivers, and nearly one: a warning each.
policy::Problems nearly_our_drivers(const std::vector<Expression>& expressions, const Drivers& drivers);
/// The driver whose name it nearly is; "" none, or it is one of them.
std::string near_driver(std::string_view name, const Drivers& drivers);

/// Adds to out.errors what does not compile, and to out.warnings attributes that no device has by itself, a domain that is nearly one of
/// ours, and comparisons with a value of another type. driver: whose devices are selected; "" not known.
/// Where out.selector_work has reached steps_max, or one takes more, out.is_selector_unchecked is set instead.
void judge_selectors(const std::vector<Expression>& expressions, const std::string& driver,
                     const Drivers& drivers, uint64_t steps_max, Judgement& out);

}  // namespace sliced::webhook
