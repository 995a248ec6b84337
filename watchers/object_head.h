#pragma once
// Reads the identity of an object from its text without decoding the rest: for the watch, and for objects
// that are too large or invalid.
#include <string>
#include <string_view>

#include "kube/objects/cluster.h"
#include "reactor/base/result.h"

namespace sliced::watchers {

/// Unescaped copies.
struct ObjectHead {
  std::string namespace_, name, uid, resource_version;  // "" when absent or null (a bookmark has no name)
  bool initial_events_end =
      false;  // annotation k8s.io/initial-events-end: "true" (meta/v1 InitialEventsAnnotationKey)
  bool operator==(const ObjectHead&) const = default;
};

/// Reads to the end of the top-level "metadata"; the rest is not checked. A truncated text is accepted if it
/// contains name and version. Allocates only the fields. Errors: kInvalid if the text is not a JSON object up
/// to there, has no metadata, or a field is neither null nor a string of at most 512 bytes; kTooLarge if it
/// ends before name and version.
Result<ObjectHead> decode_object_head(std::string_view object);

/// Returns true if the object has the scope's namespace and each `path=text` of its field selector. A
/// truncated object without the field counts as inside the scope. As cheap as decode_object_head.
bool is_in_scope(const ObjectHead& head, std::string_view object, const kube::Scope& scope);

}  // namespace sliced::watchers
