#pragma once
// metadata of an API object, as far as the daemon looks at it (k8s.io/apimachinery meta/v1 ObjectMeta).
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// Whose object this is: when the owner goes, the garbage collector takes it away.
struct OwnerReference {
  std::string api_version, kind, name, uid;
  bool controller = false;
  std::optional<bool> block_owner_deletion = {};
  bool operator==(const OwnerReference&) const = default;
};

/// What was not there is empty. namespace_ "" is a cluster-scoped object's; uid and resource_version are
/// the server's, and empty in what has not been written yet.
struct ObjectMeta {
  std::string name, namespace_, uid, resource_version;
  int64_t generation = 0;
  std::map<std::string, std::string> labels, annotations;
  std::vector<OwnerReference> owner_references;
  bool being_deleted = false;  // deletionTimestamp is set
  std::vector<std::string> finalizers = {};
  std::string generate_name = {};
  int64_t created_at = 0;  // creationTimestamp as a number that grows with time: 20261122053352; 0 none
  bool operator==(const ObjectMeta&) const = default;
};

/// From a whole object (reads its "metadata"). kInvalid when metadata or name is missing or of the wrong
/// kind.
/// Members of a wrong kind below it are kInvalid too, with their path: labels that are no text decide
/// nothing.
Result<ObjectMeta> decode_object_meta(const Json& object);
/// The "metadata" value; empty fields are left out, and so is what belongs to the server (timestamps,
/// managedFields), which an update that does not name it leaves as it is.
Json encode_object_meta(const ObjectMeta& meta);

/// Who wrote the object last, its subresources aside, as metadata.managedFields tell it; "" they do not, or not as they
/// should: it is for people alone. At most 128 bytes, which is the API server's own bound.
std::string last_manager(const Json& object);

/// When that was, in seconds since 1970, by the API server's clock; 0 unknown. Writes of subresources do not count.
int64_t last_edited(const Json& object);

/// When status.FIELD was last changed, by the API server's clock, in seconds since 1970: the time of the managers of
/// subresource status that own it (metadata.managedFields). The server sets that time when a write changes a field of the
/// manager's, so the value may be older, and never newer. nullopt: no manager owns it, or the object has no managedFields.
std::optional<int64_t> status_written_at(const Json& object, std::string_view field);

/// "group/version, kind, namespace/name" of any object, for error texts; tolerant of everything.
std::string describe_object(const Json& object);

}  // namespace sliced::kube
