#pragma once
// Who an object is, read from its text without decoding the rest: enough to follow a watch, and to name an
// object that is too large, too deep or too wrong to be decoded.
#include <string>
#include <string_view>

#include "kube/objects/cluster.h"
#include "reactor/base/result.h"

namespace sliced::watchers {

/// Copies of what the text says, escapes removed: it outlives the text.
struct ObjectHead {
  std::string namespace_, name, uid, resource_version;  // "" when absent or null (a bookmark has no name)
  bool initial_events_end =
      false;  // annotation k8s.io/initial-events-end: "true" (meta/v1 InitialEventsAnnotationKey)
  bool operator==(const ObjectHead&) const = default;
};

/// Reads up to the end of the top-level "metadata" and no further; what follows is not checked. Of a text that
/// lacks its end it is enough that name and version are there. Needs no memory beyond the fields, whatever the
/// object's size or depth. Errors: kInvalid when the text is no JSON object that far, has no metadata, or one
/// of the fields is neither null nor a string of at most 512 bytes; kTooLarge when it ends before that can be
/// told.
Result<ObjectHead> decode_object_head(std::string_view object);

/// Whether an object is what the scope asks for: its namespace, and each `path=text` of its field selector.
/// One that does not say so is not; one that lacks its end, and the field with it, is what was asked for: what
/// is too large to be read is there all the same. As cheap as decode_object_head.
bool is_in_scope(const ObjectHead& head, std::string_view object, const kube::Scope& scope);

}  // namespace sliced::watchers
