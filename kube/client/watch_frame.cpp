#include "kube/client/watch_frame.h"

#include "kube/client/json_cutter.h"
#include "reactor/base/text.h"

namespace sliced::kube {
namespace {

// Returns the value of "type" with its quotes, without decoding escapes, which servers do not use in it.
bool read_type(std::string_view raw, WatchFrame& frame) {
  if (raw == "\"ADDED\"") {
    frame.type = EventType::kAdded;
    return true;
  }
  if (raw == "\"MODIFIED\"") {
    frame.type = EventType::kModified;
    return true;
  }
  if (raw == "\"DELETED\"") {
    frame.type = EventType::kDeleted;
    return true;
  }
  if (raw == "\"BOOKMARK\"") {
    frame.type = EventType::kBookmark;
    return true;
  }
  return raw == "\"ERROR\"";
}

}  // namespace

Result<WatchFrame> decode_watch_frame(std::string_view line) {
  WatchFrame frame;
  std::string type;
  JsonCutter cutter("", line.size(),
                    {.on_member =
                         [&](std::string_view key, std::string_view raw) {
                           if (key == "type") type = raw;
                           if (key == "object") frame.object = raw;
                           return true;
                         },
                     .on_item = {}});
  auto fed = cutter.feed(line);
  if (fed) fed = cutter.finish();
  if (!fed) return std::move(fed.error()).in("watch event");
  if (!read_type(type, frame))
    return Error{Errc::kInvalid, "watch event: type " + in_quotes(type, 64) + " is not known"};
  if (frame.object.empty() || frame.object[0] != '{')
    return Error{Errc::kInvalid, "watch event: it has no object"};
  return frame;
}

Result<WatchFrame> decode_cut_watch_frame(std::string_view line) {
  constexpr std::string_view kObject = "\"object\":";
  const size_t at = line.find(kObject);  // a server writes the type first, and the object last
  if (at == std::string_view::npos || at > 64)
    return Error{Errc::kTooLarge,
                 "watch event: a line of more than " + std::to_string(line.size()) + " bytes"};
  auto frame = decode_watch_frame(std::string(line.substr(0, at)) + std::string(kObject) + "{}}");
  if (frame) frame->object = line.substr(at + kObject.size());
  return frame;
}

}  // namespace sliced::kube
