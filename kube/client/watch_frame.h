#pragma once
// One line of a watch: {"type":"ADDED","object":{...}} (k8s.io/apimachinery meta/v1 WatchEvent).
#include <optional>
#include <string>
#include <string_view>

#include "kube/objects/cluster.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// What a line says, its object still as text.
struct WatchFrame {
  std::optional<EventType> type;  // nullopt: ERROR, and object is a Status
  std::string object;             // raw text of one JSON object
  bool operator==(const WatchFrame&) const = default;
};
/// kInvalid for a line of another shape or an unknown type; the object's inside is not checked.
/// The members may come in any order, and others may stand beside them.
Result<WatchFrame> decode_watch_frame(std::string_view line);
/// Of a line whose end is missing: the object's text without its end. kTooLarge where not even its beginning
/// is there.
Result<WatchFrame> decode_cut_watch_frame(std::string_view line);

}  // namespace sliced::kube
