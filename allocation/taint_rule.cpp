#include "allocation/taint_rule.h"

#include "allocation/fields.h"

namespace sliced::allocation {
namespace {

std::optional<std::string> wanted(const Fields& field) {
  if (!field.is_there()) return std::nullopt;
  return field.text();
}

bool is_of(const TaintRule& rule, const Slice& slice) {
  return rule.selects && rule.driver.value_or(slice.common.driver) == slice.common.driver &&
         rule.pool.value_or(slice.common.pool.name) == slice.common.pool.name;
}

void taint(const std::vector<const TaintRule*>& rules, Slice& slice) {
  for (kube::DevicePtr& device : slice.common.devices)
    for (const TaintRule* rule : rules)
      if (rule->device.value_or(device->name) == device->name)
        device.edit([&](kube::Device& entry) { entry.taints.push_back(rule->taint); });
}

}  // namespace

Result<TaintRule> decode_taint_rule(const kube::Json& object) {
  TaintRule out;
  Error error{Errc::kInvalid, ""};
  const Fields root(&object, "", error);
  out.name = root["metadata"]["name"].text();
  const Fields selector = root["spec"]["deviceSelector"], taint = root["spec"]["taint"];
  out.selects = selector.is_there();
  out.driver = wanted(selector["driver"]);
  out.pool = wanted(selector["pool"]);
  out.device = wanted(selector["device"]);
  out.taint = {taint["key"].text(), taint["value"].text(), taint["effect"].text()};
  if (!error.what.empty()) return std::move(error).in(kube::describe_object(object));
  return out;
}

std::vector<SlicePtr> with_taints(const std::vector<SlicePtr>& slices, const std::vector<TaintRule>& rules) {
  std::vector<SlicePtr> out = slices;
  for (SlicePtr& slice : out) {
    std::vector<const TaintRule*> of_it;
    for (const TaintRule& rule : rules)
      if (is_of(rule, *slice)) of_it.push_back(&rule);
    if (of_it.empty()) continue;
    auto tainted = std::make_shared<Slice>(*slice);
    taint(of_it, *tainted);
    slice = std::move(tainted);
  }
  return out;
}

}  // namespace sliced::allocation
