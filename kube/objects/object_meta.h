#pragma once
// metadata of an API object, the fields that the daemon reads (k8s.io/apimachinery meta/v1 ObjectMeta).
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// The owner of the object. When it is deleted, the garbage collector deletes the object.
struct OwnerReference {
  std::string api_version, kind, name, uid;
  bool controller = false;
  std::optional<bool> block_owner_deletion = {};
  bool operator==(const OwnerReference&) const = default;
};

/// Absent fields are empty. namespace_ is "" for cluster-scoped objects; the server sets uid and
/// resource_version, which are empty before the first write.
struct ObjectMeta {
  std::string name, namespace_, uid, resource_version;
  int64_t generation = 0;
  std::map<std::string, std::string> labels, annotations;
  std::vector<OwnerReference> owner_references;
  bool being_deleted = false;  // deletionTimestamp is set
  std::vector<std::string> finalizers = {};
  std::string generate_name = {};
  int64_t created_at = 0;  // creationTimestamp as an increasing number: 20261122053352; 0 if absent
  bool operator==(const ObjectMeta&) const = default;
};

/// Reads "metadata" of a whole object. Errors: kInvalid, with the path, if metadata or name is missing, or a
/// member has the wrong type.
Result<ObjectMeta> decode_object_meta(const Json& object);
/// Returns the "metadata" value without empty fields and without those of the server (timestamps,
/// managedFields), which an update leaves unchanged if they are absent.
Json encode_object_meta(const ObjectMeta& meta);

/// Returns the last writer of the object, without subresources, from metadata.managedFields; "" if absent or
/// invalid. For people only. At most 128 bytes, the API server's limit.
std::string last_manager(const Json& object);

/// Returns the time of that write in seconds since 1970, by the API server's clock; 0 if unknown. Ignores
/// writes of subresources.
int64_t last_edited(const Json& object);

/// Returns the time of the last change of status.FIELD, by the API server's clock, in seconds since 1970:
/// that of the managers of subresource status that own it (metadata.managedFields). The server sets it when a
/// write changes a field of the manager, so the value may be later than the change of this field, and never
/// earlier. nullopt: no manager owns it, or the object has no managedFields.
std::optional<int64_t> status_written_at(const Json& object, std::string_view field);

/// Returns "group/version, kind, namespace/name" of any object, for error texts. Accepts invalid objects.
std::string describe_object(const Json& object);

}  // namespace sliced::kube
