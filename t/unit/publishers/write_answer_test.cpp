#include "publishers/write_answer.h"

#include <gtest/gtest.h>

#include "policy/entry_validation.h"

namespace sliced::publishers {
namespace write_answer_test {

using kube::Failure;
using kube::ResourceSlice;

ResourceSlice slice() {
  ResourceSlice out;
  out.meta.name = "s";
  out.meta.uid = "u";
  out.meta.resource_version = "7";
  out.driver = "d";
  out.node_name = "n";
  out.pool.name = "p";
  for (const char* name : {"vf0", "vf1"}) out.devices.push_back(kube::Device{.name = name});
  return out;
}

TEST(WriteAnswer, MatchesTheSentObject) {
  EXPECT_EQ(difference_of_identity(slice(), slice()), "");
  ResourceSlice created = slice();
  created.meta.uid.clear();
  EXPECT_EQ(difference_of_identity(created, slice()), "") << "the server gives the uid";
  const std::vector<std::pair<std::string, void (*)(ResourceSlice&)>> others{
      {"name is \"x\", expected \"s\"; ", [](ResourceSlice& it) { it.meta.name = "x"; }},
      {"uid is \"x\", expected \"u\"; ", [](ResourceSlice& it) { it.meta.uid = "x"; }},
      {"driver is \"x\", expected \"d\"; ", [](ResourceSlice& it) { it.driver = "x"; }},
      {"node is \"x\", expected \"n\"; ", [](ResourceSlice& it) { it.node_name = "x"; }},
      {"pool is \"x\", expected \"p\"; ", [](ResourceSlice& it) { it.pool.name = "x"; }},
      {"it has no resourceVersion", [](ResourceSlice& it) { it.meta.resource_version.clear(); }},
  };
  for (const auto& [difference, change] : others) {
    ResourceSlice stored = slice();
    change(stored);
    EXPECT_EQ(difference_of_identity(slice(), stored), difference);
  }
}

TEST(WriteAnswer, NamesFieldsThatTheServerChanged) {
  EXPECT_TRUE(mutilated_entries(slice(), slice()).empty());
  ResourceSlice stored = slice();
  kube::Device changed{.name = "vf0"};
  changed.attributes["a.example.com/x"] = true;
  stored.devices[0] = changed;
  auto found = mutilated_entries(slice(), stored);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "vf0");
  EXPECT_EQ(found[0].content_hash, policy::content_hash(slice().devices[0])) << "of what was sent";
  stored.devices.pop_back();
  found = mutilated_entries(slice(), stored);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].name, "vf1") << "one that is not there";
}

TEST(WriteAnswer, NamesRefusedEntries) {
  Failure failure;
  failure.what = "no";
  failure.fields = {"spec.devices[1].name", "spec.devices[1].attributes[x]",
                    "spec.devices[2].name", "spec.devices[-1]",
                    "spec.devices[",        "spec.pool"};
  const auto found = refused_entries(slice(), failure);
  ASSERT_EQ(found.size(), 1u) << "each once, and none that was not sent";
  EXPECT_EQ(found[0].name, "vf1");
  EXPECT_EQ(found[0].why, "the API server refuses spec.devices[1].name: no");
}

TEST(WriteAnswer, DistinguishesRefusedFromBusy) {
  const auto failed = [](int status, Errc code, std::vector<std::string> fields = {}) {
    Failure failure;
    failure.http_status = status;
    failure.code = code;
    failure.fields = std::move(fields);
    return failure;
  };
  EXPECT_TRUE(is_refusal(failed(403, Errc::kDenied)));
  EXPECT_FALSE(is_refusal(failed(409, Errc::kConflict)));
  EXPECT_FALSE(is_refusal(failed(0, Errc::kIo))) << "nobody has answered";
  Failure busy = failed(429, Errc::kBusy);
  busy.retry_after = Millis{1'000};
  EXPECT_FALSE(is_refusal(busy));
  EXPECT_TRUE(is_refused_for_metadata(failed(413, Errc::kTooLarge)));
  EXPECT_TRUE(is_refused_for_metadata(failed(422, Errc::kInvalid, {"metadata.annotations"})));
  EXPECT_FALSE(is_refused_for_metadata(failed(422, Errc::kInvalid, {"spec.devices[0].name"})));
}

TEST(WriteAnswer, ReadsShortTextsOfUndecodableAnswers) {
  EXPECT_EQ(text_in(R"({"metadata":{"name":"s"},"spec":17})", {"metadata", "name"}), "s");
  EXPECT_EQ(text_in(R"({"metadata":{"name":17}})", {"metadata", "name"}), "");
  EXPECT_EQ(text_in(R"({"metadata":{}})", {"metadata", "name"}), "");
  EXPECT_EQ(text_in("nonsense", {"metadata", "name"}), "");
  EXPECT_EQ(decode_slice_text("nonsense").ok(), false);
}

}  // namespace write_answer_test
}  // namespace sliced::publishers
