#include "controller/webhook/class_judgement.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/webhook/opaque_config.h"
#include "controller/webhook/selector_judgement.h"
#include "reactor/base/text.h"

namespace sliced::webhook {
namespace {

constexpr size_t kClassConfigsMax = 32;  // limit of the API

}  // namespace

std::optional<Judgement> judge_class(const kube::Json& object, const Drivers& drivers, bool may_work) {
  const std::vector<Expression> expressions =
      expressions_of(object.find({"spec", "selectors"}), "spec.selectors");
  bool concerns_us =
      std::ranges::any_of(expressions, [&](const Expression& one) { return names_our_driver(one, drivers); });
  const std::string driver = selected_driver(expressions, drivers);
  const kube::Json* meta = object.find("metadata");
  Judgement out{.who = "DeviceClass " + escaped(meta == nullptr ? "" : meta->text("name")),
                .line = object.line()};
  const kube::Json* configs = object.find({"spec", "config"});
  std::map<std::string_view, kubelet::NativeNetwork>
      networks;  // by driver; later configs override earlier ones
  std::map<std::string_view, std::pair<const kube::Json*, std::string>> last;  // with a network, and its path
  if (configs != nullptr && configs->array() != nullptr)
    for (size_t i = 0; i < configs->array()->size() && i < kClassConfigsMax; ++i) {
      const kube::Json& config = (*configs->array())[i];
      const std::string path = "spec.config[" + std::to_string(i) + "]";
      if (const auto ignored = problem_of_ignored_config(
              config, path, driver.empty() ? std::set<std::string>() : std::set{driver}, drivers)) {
        concerns_us = true;
        out.warnings.push_back(*ignored);
      }
      if (!is_our_config(config, drivers)) continue;
      concerns_us = true;
      if (const auto problem = problem_of_config(config, path, /*is_claims=*/false, "")) {
        out.errors.push_back(*problem);
      } else if (const auto network = network_in(config, /*is_claims=*/false)) {
        kubelet::NativeNetwork& merged = networks[config.find("opaque")->text("driver")];
        merged = kubelet::overlay_native_networks(std::move(merged), *network);
        last[config.find("opaque")->text("driver")] = {&config, path};
      }
    }
  if (out.errors.empty())
    for (const auto& [of_driver, network] : networks)
      if (const auto problem = problem_of_network(network, *last[of_driver].first, last[of_driver].second))
        out.errors.push_back(*problem);
  if (!concerns_us) {
    out.warnings = nearly_our_drivers(expressions, drivers);
    if (out.warnings.empty()) return std::nullopt;
    return out;
  }
  judge_selectors(expressions, driver, drivers, may_work ? kSelectorStepsMax : 0, out);
  return out;
}

std::string driver_of_class(const kube::Json& object, const Drivers& drivers) {
  return selected_driver(expressions_of(object.find({"spec", "selectors"}), "spec.selectors"), drivers);
}

}  // namespace sliced::webhook
