#include "watchers/policy_watcher.h"

#include <utility>

namespace sliced::watchers {

Result<PolicyText> decode_policy_text(std::string_view object) {
  Result<kube::Json> json = kube::decode_json(object, kPolicyLimits);
  if (!json.ok()) return std::move(json.error());
  Result<kube::ObjectMeta> meta = kube::decode_object_meta(*json);
  if (!meta.ok()) return std::move(meta.error());
  return PolicyText{std::move(*json), std::move(*meta)};
}

}  // namespace sliced::watchers
