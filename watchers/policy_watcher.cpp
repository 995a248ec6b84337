#include "watchers/policy_watcher.h"

#include <string>
#include <utility>

namespace sliced::watchers {
namespace {

/// Bookkeeping of the server, often larger than the policy itself.
void drop_managed_fields(kube::Json& object) {
  for (auto& [key, value] : *object.object()) {
    if (key != "metadata" || value.object() == nullptr) continue;
    std::erase_if(*value.object(),
                  [](const kube::Json::Member& member) { return member.first == "managedFields"; });
  }
}

Result<PolicyObject> decode_policy_object(std::string_view object) {
  Result<kube::Json> json = kube::decode_json(object);
  if (!json.ok()) return std::move(json.error());
  Result<kube::ObjectMeta> meta = kube::decode_object_meta(*json);
  if (!meta.ok()) return std::move(meta.error());
  drop_managed_fields(*json);
  return PolicyObject{std::move(*meta), std::move(*json)};
}

}  // namespace

std::unique_ptr<PolicyWatcher> make_policy_watcher(Ports ports, const kube::Resource& kind,
                                                   std::string_view namespace_,
                                                   PolicyWatcher::OnEvent on_event,
                                                   PolicyWatcher::OnStanding on_standing,
                                                   PolicyWatcher::KeepMissing keep_missing) {
  return std::make_unique<PolicyWatcher>(
      std::move(ports), kube::Scope{kind, std::string(namespace_), "", false}, decode_policy_object,
      std::move(on_event), std::move(on_standing), std::move(keep_missing));
}

}  // namespace sliced::watchers
