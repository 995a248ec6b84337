#pragma once
// One line of a watch: {"type":"ADDED","object":{...}} (k8s.io/apimachinery meta/v1 WatchEvent).
#include <optional>
#include <string>
#include <string_view>

#include "kube/objects/cluster.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// One decoded line, with the object as text.
struct WatchFrame {
  std::optional<EventType> type;  // nullopt: ERROR, and object is a Status
  std::string object;             // raw text of one JSON object
  bool operator==(const WatchFrame&) const = default;
};
/// Errors: kInvalid for a line of another shape or an unknown type. The content of the object is not checked.
/// Members may be in any order, with others beside them.
Result<WatchFrame> decode_watch_frame(std::string_view line);
/// Decodes a truncated line: object is the truncated text. kTooLarge if the object has not started.
Result<WatchFrame> decode_cut_watch_frame(std::string_view line);

}  // namespace sliced::kube
