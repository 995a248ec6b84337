#include "watchers/policy_watcher.h"

#include <string>
#include <utility>

#include "kube/object_meta.h"
#include "reactor/base/text.h"

namespace sliced::watchers {
namespace {

Result<PolicyObject> decode_policy_object(std::string_view object, const PolicyKind& how) {
  Result<kube::Json> json = kube::decode_json(object, kPolicyLimits);
  if (!json.ok()) return std::move(json.error());
  if (auto meta = kube::decode_object_meta(*json); !meta.ok()) return std::move(meta.error());
  return how.decode(*json);
}

}  // namespace

int64_t created_at(const kube::Json& object) {
  const kube::Json* metadata = object.find("metadata");
  if (metadata == nullptr) return 0;
  std::string digits;  // of "2026-11-22T05:33:52Z"
  for (const char c : metadata->text("creationTimestamp").substr(0, 20))
    if (c >= '0' && c <= '9') digits += c;
  return parse_int(digits).value_or(0);
}

std::unique_ptr<PolicyWatcher> make_policy_watcher(Ports ports, const kube::Resource& kind,
                                                   std::string_view namespace_, PolicyKind how,
                                                   PolicyWatcher::OnEvent on_event,
                                                   PolicyWatcher::OnStanding on_standing,
                                                   PolicyWatcher::KeepMissing keep_missing) {
  const RoomSizes room = how.room;
  auto decode = [how = std::move(how)](std::string_view object) { return decode_policy_object(object, how); };
  return std::make_unique<PolicyWatcher>(
      std::move(ports), kube::Scope{kind, std::string(namespace_), "", false}, std::move(decode),
      std::move(on_event), std::move(on_standing), std::move(keep_missing),
      ListWatchLimits{.list_bytes_max = kPolicyListBytesMax}, room);
}

}  // namespace sliced::watchers
