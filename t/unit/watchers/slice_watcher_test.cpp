#include "watchers/slice_watcher.h"

#include "t/unit/watchers/watch_fixture.h"

namespace sliced::watchers {
namespace {

struct SliceWatcherTest : WatchTest {
  void follow_slices(const std::string& driver = "drv.example", size_t bytes_max = SIZE_MAX) {
    watcher = make_slice_watcher(
        ports(), driver, "n1",
        [this](SourceEvent<Watched<kube::ResourceSlice>> event) {
          if (auto* changed = std::get_if<Changed<Watched<kube::ResourceSlice>>>(&event))
            say("changed", changed->now);
          if (auto* removed = std::get_if<Removed<Watched<kube::ResourceSlice>>>(&event))
            words.push_back("removed " + removed->id.name);
          if (auto* list = std::get_if<Relisted<Watched<kube::ResourceSlice>>>(&event)) {
            words.push_back("relisted " + std::to_string(list->all.size()));
            for (const auto& one : list->all) say("has", one);
          }
        },
        {}, false, bytes_max);
    watcher->start();
    settle();
  }
  void say(const std::string& verb, const Watched<kube::ResourceSlice>& slice) {
    words.push_back(verb + " " + slice.id.name +
                    (slice.value.ok() ? " generation=" + std::to_string(slice.value->pool.generation) : "!"));
  }
  void put_slice(const std::string& name, const std::string& driver, const std::string& node,
                 const std::string& generation) {
    cluster.put_text(kube::kResourceSlices, R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":")" +
                                                driver + R"(","nodeName":")" + node +
                                                R"(","pool":{"name":"p","generation":)" + generation +
                                                R"(,"resourceSliceCount":1},"devices":[]}})");
  }
  Words look() { return std::exchange(words, {}); }

  Words words;
  std::unique_ptr<SliceWatcher> watcher;
};

TEST_F(SliceWatcherTest, ReturnsSlicesOfOneDriverOnOneNode) {
  put_slice("mine", "drv.example", "n1", "1");
  put_slice("other-node", "drv.example", "n2", "1");
  put_slice("other-driver", "x.example", "n1", "1");
  follow_slices();
  ASSERT_EQ(cluster.log.size(), 1u);
  EXPECT_EQ(cluster.log[0].field_selector, "spec.driver=drv.example,spec.nodeName=n1");
  EXPECT_EQ(look(), (Words{"relisted 1", "has mine generation=1"}));
  put_slice("other-node", "drv.example", "n2", "2");
  put_slice("mine", "drv.example", "n1", "2");
  cluster.remove(kube::kResourceSlices, "mine");
  settle();
  EXPECT_EQ(look(), (Words{"changed mine generation=2", "removed mine"}));
}

TEST_F(SliceWatcherTest, ReturnsAllSlicesOfTheNodeWithoutADriver) {
  put_slice("mine", "drv.example", "n1", "1");
  put_slice("other-node", "drv.example", "n2", "1");
  put_slice("other-driver", "x.example", "n1", "1");
  follow_slices("");
  EXPECT_EQ(cluster.log[0].field_selector, "spec.nodeName=n1");
  EXPECT_EQ(look(), (Words{"relisted 2", "has mine generation=1", "has other-driver generation=1"}));
}

TEST_F(SliceWatcherTest, KeepsASliceThatCannotBeDecoded) {
  put_slice("mine", "drv.example", "n1", "1");
  put_slice("squatter", "drv.example", "n1", R"("huge")");
  follow_slices();
  EXPECT_EQ(look(), (Words{"relisted 2", "has mine generation=1", "has squatter!"}));
}

// Red when others' slices reach the publishers: they would be deleted as "not ours".
TEST_F(SliceWatcherTest, DropsForeignObjects) {
  cluster.ignores_scopes = true;
  for (const bool watch_list : {true, false}) {
    cluster.watch_list = watch_list;
    put_slice("mine", "drv.example", "n1", "1");
    put_slice("other-node", "drv.example", "n2", "1");
    put_slice("other-driver", "x.example", "n1", "1");
    put_slice("other-unreadable", "x.example", "n1", R"("huge")");
    follow_slices();
    EXPECT_EQ(look(), (Words{"relisted 1", "has mine generation=1"}));
    put_slice("other-driver", "x.example", "n1", watch_list ? "2" : "3");
    put_slice("mine", "drv.example", "n1", "2");
    cluster.remove(kube::kResourceSlices, "other-node");
    settle();
    EXPECT_EQ(look(), (Words{"changed mine generation=2"}));
    EXPECT_EQ(watcher->sync_state().state, State::kLive);
    // The name of ours is given to another.
    put_slice("mine", "x.example", "n1", "2");
    settle();
    EXPECT_EQ(look(), (Words{"removed mine"}));
  }
}

// Red when the memory for slices of a node is unbounded.
TEST_F(SliceWatcherTest, MarksASliceBeyondTheMemoryLimitAsUnread) {
  for (const bool watch_list : {true, false}) {
    cluster.watch_list = watch_list;
    for (const char* name : {"a", "b", "c"}) put_slice(name, "drv.example", "n1", "1");
    std::string devices;
    for (int i = 0; i < 1'000; ++i) devices += R"({"name":"d)" + std::to_string(i) + R"("},)";
    cluster.put_text(kube::kResourceSlices,
                     R"({"metadata":{"name":"b"},"spec":{"driver":"drv.example","nodeName":"n1",)"
                     R"("pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[)" +
                         devices + R"({"name":"z"}]}})");
    follow_slices("drv.example", 100'000);
    EXPECT_EQ(look(), (Words{"relisted 3", "has a generation=1", "has b!", "has c generation=1"}));
    EXPECT_EQ(log.count("name=b why=the memory for this kind is used up"), 1u);
    put_slice("b", "drv.example", "n1", "2");
    settle();
    EXPECT_EQ(look().front(), "changed b generation=2");
    log.lines.clear();
  }
}

// What others have written into its metadata does not make a slice another's, or none.
TEST_F(SliceWatcherTest, MarksASliceThatGrewAsUnread) {
  for (const bool watch_list : {true, false}) {
    cluster.watch_list = watch_list;
    put_slice("mine", "drv.example", "n1", "1");
    // As the API server's bytes are cut: the annotations are before the spec.
    cluster.on_deliver = [](std::string text) { return text.substr(0, text.find("\"spec\"")); };
    follow_slices();
    EXPECT_EQ(look(), (Words{"relisted 1", "has mine!"}));
    cluster.on_deliver = nullptr;
    put_slice("mine", "drv.example", "n1", "2");
    settle();
    EXPECT_EQ(look(), (Words{"changed mine generation=2"}));
  }
}

TEST_F(SliceWatcherTest, ItemsOfAListDoNotNameTheirKind) {
  cluster.watch_list = false;
  put_slice("mine", "drv.example", "n1", "1");
  follow_slices();
  EXPECT_EQ(look(), (Words{"relisted 1", "has mine generation=1"}));
}

}  // namespace
}  // namespace sliced::watchers
