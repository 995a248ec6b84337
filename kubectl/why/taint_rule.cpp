#include "kubectl/why/taint_rule.h"

#include <algorithm>

#include "kubectl/why/fields.h"

namespace sliced::why {
namespace {

std::optional<std::string> wanted(const Fields& field) {
  if (!field.is_there()) return std::nullopt;
  return field.text();
}

bool is_of(const TaintRule& rule, const Slice& slice) {
  return rule.selects && rule.driver.value_or(slice.common.driver) == slice.common.driver &&
         rule.pool.value_or(slice.common.pool.name) == slice.common.pool.name;
}

// Copies each device at most once for all rules. left: remaining room for taints.
void taint(const std::vector<const TaintRule*>& rules, Slice& slice, size_t& left, size_t& left_out) {
  for (kube::DevicePtr& device : slice.common.devices) {
    std::vector<const TaintRule*> of_it;
    for (const TaintRule* rule : rules)
      if (!rule->device || *rule->device == device->name) of_it.push_back(rule);
    left_out += of_it.size() - std::min(of_it.size(), left);
    of_it.resize(std::min(of_it.size(), left));
    left -= of_it.size();
    if (of_it.empty()) continue;
    device.edit([&](kube::Device& entry) {
      for (const TaintRule* rule : of_it) entry.taints.push_back(rule->taint);
    });
  }
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

std::string rules_of(const std::vector<TaintRule>& rules, const Slice& slice, const kube::Device& device,
                     const kube::Taint& taint) {
  std::string out;
  for (const TaintRule& rule : rules)
    if (is_of(rule, slice) && rule.device.value_or(device.name) == device.name && rule.taint == taint)
      out += (out.empty() ? "" : ", ") + rule.name;
  return out;
}

Tainted with_taints(const std::vector<SlicePtr>& slices, const std::vector<TaintRule>& rules,
                    size_t taints_max) {
  Tainted out{slices};
  for (SlicePtr& slice : out.slices) {
    std::vector<const TaintRule*> of_it;
    for (const TaintRule& rule : rules)
      if (is_of(rule, *slice)) of_it.push_back(&rule);
    if (of_it.empty()) continue;
    auto tainted = std::make_shared<Slice>(*slice);
    taint(of_it, *tainted, taints_max, out.left_out);
    slice = std::move(tainted);
  }
  return out;
}

}  // namespace sliced::why
