#include "kube/client/watch_frame.h"

#include <gtest/gtest.h>

namespace sliced::kube {
namespace {

TEST(DecodeWatchFrame, Types) {
  const struct {
    const char* line;
    WatchFrame frame;
  } rows[] = {
      {R"({"type":"ADDED","object":{"a":[1]}})", {EventType::kAdded, R"({"a":[1]})"}},
      {R"({"object":{},"type":"MODIFIED"})", {EventType::kModified, "{}"}},
      {R"( { "type" : "DELETED" , "object" : {} , "more": 1 } )", {EventType::kDeleted, "{}"}},
      {R"({"type":"BOOKMARK","object":{"type":"x"}})", {EventType::kBookmark, R"({"type":"x"})"}},
      {R"({"type":"ERROR","object":{"kind":"Status"}})", {std::nullopt, R"({"kind":"Status"})"}},
  };
  for (const auto& row : rows) {
    const auto frame = decode_watch_frame(row.line);
    ASSERT_TRUE(frame) << row.line << ": " << frame.error().what;
    EXPECT_EQ(*frame, row.frame) << row.line;
  }
}

TEST(DecodeWatchFrame, Refuses) {
  for (const char* line :
       {"", "x", "{}", R"({"type":"ADDED"})", R"({"object":{}})", R"({"type":"ADDED","object":null})",
        R"({"type":"ADDED","object":[]})", R"({"type":"SYNCED","object":{}})", R"({"type":1,"object":{}})",
        R"({"type":"ADDED","object":{}} {"type":"ADDED","object":{}})", R"({"type":"ADDED","object":{})"})
    EXPECT_FALSE(decode_watch_frame(line)) << line;
}

}  // namespace
}  // namespace sliced::kube
