#include "watchers/policy_watcher.h"

#include <string>
#include <utility>

namespace sliced::watchers {
namespace {

Result<PolicyObject> decode_policy_object(std::string_view object, const PolicyKind& how) {
  Result<kube::Json> json = kube::decode_json(object, kPolicyLimits);
  if (!json.ok()) return std::move(json.error());
  const Result<kube::ObjectMeta> meta = kube::decode_object_meta(*json);
  if (!meta.ok()) return meta.error();
  PolicyObject made = how.decode(*json, *meta);
  made.footprint.created_at = meta->created_at;
  return made;
}

}  // namespace

std::unique_ptr<PolicyWatcher> make_policy_watcher(kube::Ports ports, const kube::Resource& kind,
                                                   std::string_view namespace_, PolicyKind how,
                                                   PolicyWatcher::OnEvent on_event,
                                                   PolicyWatcher::OnStanding on_standing,
                                                   PolicyWatcher::KeepMissing keep_missing) {
  const MemoryLimits memory = how.memory;
  auto decode = [how = std::move(how)](std::string_view object) { return decode_policy_object(object, how); };
  return std::make_unique<PolicyWatcher>(
      std::move(ports), kube::Scope{kind, std::string(namespace_), "", false}, std::move(decode),
      std::move(on_event), std::move(on_standing), std::move(keep_missing),
      ListWatchLimits{.list_bytes_max = kPolicyListBytesMax}, memory);
}

}  // namespace sliced::watchers
