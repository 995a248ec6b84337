#include "publishers/slice_cache.h"

#include <gtest/gtest.h>

#include "t/fixture/pools.h"

namespace sliced::publishers {
namespace {

using namespace std::chrono_literals;
using kube::ResourceSlice;

ResourceSlice slice(const std::string& name, int64_t version, int64_t generation = 1) {
  ResourceSlice out;
  out.meta.name = name;
  out.meta.uid = "u";
  out.meta.resource_version = std::to_string(version);
  out.pool.generation = generation;
  return out;
}
TimePoint at(int64_t ms) { return TimePoint{Millis{ms}}; }
SourceEvent<ResourceSlice> changed(ResourceSlice s) { return Changed<ResourceSlice>{std::move(s)}; }
SourceEvent<ResourceSlice> removed(const std::string& name) { return Removed<ResourceSlice>{{name}}; }
SourceEvent<ResourceSlice> relisted(std::vector<ResourceSlice> all) {
  return Relisted<ResourceSlice>{std::move(all), "test"};
}

struct SliceCacheTest : testing::Test {
  SliceCacheTest() { cache.on_event(relisted({}), at(0)); }
  SliceCache cache;
};

TEST_F(SliceCacheTest, PrefersTheOwnAnswerUntilTheWatchShowsIt) {
  cache.on_stored(slice("a", 10));
  EXPECT_TRUE(cache.slices().contains("a"));
}

// A lagging watch reports old versions; using them would cause endless deletes, creates and conflicts.
TEST_F(SliceCacheTest, IgnoresOlderWatchEvents) {
  cache.on_event(changed(slice("a", 5)), at(1));
  cache.on_stored(slice("a", 10, 2));
  EXPECT_FALSE(cache.on_event(changed(slice("a", 7)), at(3)));
  EXPECT_FALSE(cache.on_event(removed("a"), at(4)));
  EXPECT_EQ(cache.slices().at("a").pool.generation, 2);
}

TEST_F(SliceCacheTest, AppliesNewerWatchEventsImmediately) {
  cache.on_stored(slice("a", 10));
  cache.on_event(changed(slice("a", 10)), at(2));
  EXPECT_TRUE(cache.on_event(removed("a"), at(3)));
  EXPECT_FALSE(cache.slices().contains("a"));

  cache.on_stored(slice("b", 20));
  EXPECT_TRUE(cache.on_event(changed(slice("b", 21, 9)), at(5)))
      << "somebody edited it right after our write";
  EXPECT_EQ(cache.slices().at("b").pool.generation, 9);
}

// The watch event that repeats our write needs no decoding; any other version, and another object of the name, does.
TEST_F(SliceCacheTest, KnowsOnlyTheWrittenVersionBeforeTheWatch) {
  cache.on_written(slice("a", 10));
  ASSERT_NE(cache.find_written("a", "u", "10"), nullptr);
  EXPECT_EQ(cache.find_written("a", "u", "10")->meta.resource_version, "10");
  EXPECT_EQ(cache.find_written("a", "u", "9"), nullptr);
  EXPECT_EQ(cache.find_written("a", "u", "11"), nullptr);
  EXPECT_EQ(cache.find_written("a", "other", "10"), nullptr);
  EXPECT_EQ(cache.find_written("b", "u", "10"), nullptr);
  cache.on_event(changed(*cache.find_written("a", "u", "10")), at(1));
  EXPECT_EQ(cache.find_written("a", "u", "10"), nullptr) << "from now on the watch is the source";
  cache.on_not_found("a");
  EXPECT_EQ(cache.find_written("a", "u", "10"), nullptr);
}

TEST_F(SliceCacheTest, AcceptsAWatchEventBeforeTheAnswer) {
  cache.on_event(changed(slice("a", 10)), at(1));
  cache.on_event(changed(slice("a", 12, 7)), at(2));
  cache.on_stored(slice("a", 10));
  EXPECT_EQ(cache.slices().at("a").pool.generation, 7) << "the answer is older than what was seen";
  EXPECT_TRUE(cache.on_event(removed("a"), at(4)));
}

TEST_F(SliceCacheTest, IgnoresALateAnswerForADeletedSlice) {
  cache.on_event(changed(slice("a", 10)), at(1));
  cache.on_event(removed("a"), at(2));
  cache.on_written(slice("a", 10));
  EXPECT_FALSE(cache.slices().contains("a"));
  cache.on_written(slice("a", 13));
  EXPECT_TRUE(cache.slices().contains("a")) << "of that the watch has not told";
  cache.on_event(relisted({}), at(3));
  cache.on_written(slice("b", 9));
  EXPECT_TRUE(cache.slices().contains("b")) << "the list may be of a server that is behind";
}

TEST_F(SliceCacheTest, ASliceRecreatedBeforeTheDeletesAnswerIsAnother) {
  cache.on_event(changed(slice("a", 5)), at(1));
  cache.on_event(removed("a"), at(2));
  cache.on_event(changed(slice("a", 8)), at(3));
  cache.on_delete_succeeded("a", "5");
  EXPECT_TRUE(cache.slices().contains("a"));
  cache.on_delete_succeeded("a", "8");
  EXPECT_FALSE(cache.slices().contains("a"));
}

TEST_F(SliceCacheTest, AnOldEventDoesNotRestoreADeletedSlice) {
  cache.on_event(changed(slice("a", 5)), at(1));
  cache.on_not_found("a");
  EXPECT_FALSE(cache.on_event(changed(slice("a", 5)), at(3)));
  EXPECT_FALSE(cache.slices().contains("a"));
  cache.on_event(removed("a"), at(4));
  EXPECT_TRUE(cache.on_event(changed(slice("a", 9)), at(5))) << "made anew by somebody";
}

// A list may come from a cache behind our write, or show that the write was undone: it is believed after a
// while.
TEST_F(SliceCacheTest, AcceptsAListWithoutTheOwnWriteLater) {
  cache.on_stored(slice("a", 10));
  cache.on_event(relisted({}), at(2));
  EXPECT_TRUE(cache.slices().contains("a"));
  ASSERT_TRUE(cache.next_deadline().has_value());
  EXPECT_FALSE(cache.expire_answers(*cache.next_deadline() - 1ms));
  EXPECT_TRUE(cache.expire_answers(*cache.next_deadline()));
  EXPECT_FALSE(cache.slices().contains("a"));
}

TEST_F(SliceCacheTest, AListWithTheOwnWriteConfirmsIt) {
  cache.on_stored(slice("a", 10));
  cache.on_event(relisted({slice("a", 10)}), at(2));
  EXPECT_EQ(cache.next_deadline(), std::nullopt);
  EXPECT_TRUE(cache.on_event(removed("a"), at(3)));
}

TEST_F(SliceCacheTest, AListReplacesEverythingElse) {
  cache.on_event(changed(slice("a", 5)), at(1));
  EXPECT_TRUE(cache.on_event(relisted({slice("b", 6)}), at(2)));
  EXPECT_FALSE(cache.slices().contains("a"));
  EXPECT_TRUE(cache.slices().contains("b"));
  EXPECT_FALSE(cache.on_event(relisted({slice("b", 6)}), at(3))) << "nothing new";
}

// A node may have thousands of entries. Holding them twice, as desired and as stored, doubles the daemon's
// memory.
TEST(SliceCache, SharesEqualEntries) {
  SliceCache cache;
  ResourceSlice stored = slice("a", 1);
  stored.devices = fixture::devices(0, 3);
  cache.on_event(relisted({stored}), at(0));
  auto desired = fixture::devices(1, 3);
  desired[0].edit([](kube::Device& d) { d.taints.push_back({"a.com/b", "", "NoSchedule"}); });
  cache.share(desired);
  const auto& held = cache.slices().at("a").devices;
  EXPECT_EQ(held, stored.devices) << "nothing that is said has changed";
  EXPECT_TRUE(is_same(held[2], desired[1]));
  EXPECT_FALSE(is_same(held[1], desired[0])) << "another content is another entry";
}

}  // namespace
}  // namespace sliced::publishers
