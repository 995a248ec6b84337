#include "cli/slice_sources.h"

#include "t/unit/watchers/watch_fixture.h"

namespace sliced::cli {
namespace {

using Words = std::vector<std::string>;
using Lines = FirstFew<std::string>;

std::string slice_text(const std::string& name, const std::string& driver, const std::string& generation,
                       int count = 1) {
  return R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":")" + name +
         R"("},"spec":{"driver":")" + driver + R"(","nodeName":"n1","pool":{"name":"p","generation":)" +
         generation + R"(,"resourceSliceCount":)" + std::to_string(count) + R"(},"devices":[]}})";
}

Words names(const FoundSlices& found) {
  Words out;
  for (const auto& slice : found.slices) out.push_back(slice.meta.name);
  return out;
}

struct SlicesOfCluster : watchers::WatchTest {
  Result<FoundSlices> ask() {
    const TimePoint begin = scheduler.now();
    auto found = slices_of_cluster(ports(),
                                   [this](const auto& done, Millis longest) {
                                     for (const TimePoint until = scheduler.now() + longest;
                                          !done() && scheduler.now() < until;)
                                       scheduler.advance(Millis{1});
                                   },
                                   "n1", {"own.example", "also-own.example"});
    took = scheduler.now() - begin;
    return found;
  }
  void refuse_where(std::function<bool(const fake::Request&)> is_refused) {
    cluster.on_request = [is_refused](const fake::Request& request) -> std::optional<kube::Failure> {
      if (!is_refused(request)) return std::nullopt;
      return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "you may not"};
    };
  }
  void put_slices() {
    for (const char* driver : {"own.example", "also-own.example", "other.example"})
      cluster.put_text(kube::kResourceSlices, slice_text(std::string("of-") + driver, driver, "1"));
    cluster.put_text(kube::kResourceSlices,
                     R"({"metadata":{"name":"elsewhere"},"spec":{"driver":"own.example","nodeName":"n2",)"
                     R"("pool":{"name":"p","generation":1,"resourceSliceCount":1}}})");
  }
  TimePoint::duration took{};
};

// Red when slices of another driver are not asked, or those of another node are.
TEST_F(SlicesOfCluster, ReturnsThoseOfTheNodeOfAllDrivers) {
  put_slices();
  const auto found = ask();
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(names(*found), (Words{"of-also-own.example", "of-other.example", "of-own.example"}));
  EXPECT_TRUE(found->is_whole);
  EXPECT_EQ(found->lines, Lines{});
}

// Red when a refusal of the wide list ends the command where the narrow ones are allowed, or when the answer
// then passes for a whole one.
TEST_F(SlicesOfCluster, ReturnsOwnSlicesIfOthersMayNotBeListed) {
  put_slices();
  refuse_where([](const fake::Request& request) {
    return request.field_selector.find("spec.driver=own.example,") == std::string::npos;
  });
  const auto found = ask();
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(names(*found), (Words{"of-own.example"}));
  EXPECT_FALSE(found->is_whole);
  ASSERT_EQ(found->lines.size(), 1u);
  EXPECT_EQ(found->lines[0].find("only the slices of own.example are read"), 0u) << found->lines[0];
  EXPECT_NE(found->lines[0].find("you may not"), std::string::npos) << found->lines[0];
}

TEST_F(SlicesOfCluster, IfAllListsAreRefusedItFailsImmediately) {
  refuse_where([](const fake::Request&) { return true; });
  const auto found = ask();
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().what.find("you may not"), std::string::npos) << found.error().what;
  EXPECT_LT(took, Millis{1'000});
}

// Red when the command waits for ever, or takes silence for "nothing is published".
TEST_F(SlicesOfCluster, TimesOutWithoutAnAnswer) {
  put_slices();
  cluster.set_network(Network::kBlackHole);
  const auto found = ask();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kTimeout);
  EXPECT_EQ(took, Millis{30'000});
}

TEST_F(SlicesOfCluster, ReportsAKindThatIsNotServed) {
  cluster.uninstall(kube::kResourceSlices);
  const auto found = ask();
  ASSERT_FALSE(found) << "an API server without DRA publishes nothing, and says nothing";
  EXPECT_NE(found.error().what.find("resourceslices"), std::string::npos) << found.error().what;
}

// Red when the command waits as a daemon does: an API server before 1.34 will not change while it looks.
TEST_F(SlicesOfCluster, AServerWithoutTheKindIsReportedImmediately) {
  cluster.unserve(kube::kResourceSlices);
  const auto found = ask();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kNotFound);
  EXPECT_NE(found.error().what.find("from 1.34 on"), std::string::npos) << found.error().what;
  EXPECT_LT(took, Millis{1'000});
}

TEST_F(SlicesOfCluster, NamesASliceThatCannotBeDecoded) {
  cluster.put_text(kube::kResourceSlices, slice_text("bad", "own.example", "\"huge\""));
  cluster.put_text(kube::kResourceSlices, slice_text("good", "own.example", "1"));
  const auto found = ask();
  ASSERT_TRUE(found);
  EXPECT_EQ(names(*found), Words{"good"});
  EXPECT_FALSE(found->is_whole);
  ASSERT_EQ(found->lines.size(), 1u);
  EXPECT_EQ(found->lines[0].find("slice bad: "), 0u) << found->lines[0];
}

// Red when a cluster full of slices that cannot be read makes as many lines.
TEST_F(SlicesOfCluster, LinesAreBounded) {
  for (int i = 0; i < 100; ++i)
    cluster.put_text(kube::kResourceSlices, slice_text("bad" + std::to_string(i), "own.example", "\"huge\""));
  const auto found = ask();
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_whole);
  EXPECT_EQ(found->lines.kept(), kProblemsMax);
  EXPECT_EQ(found->lines.more(), 100 - kProblemsMax);
}

FoundSlices of_text(const std::string& text) {
  FoundSlices found;
  add_slices_of_text("f.yaml", text, found);
  return found;
}

// Red when the output of kubectl (JSON or YAML, a List or documents) is not read.
TEST(SlicesOfText, ReadsEveryForm) {
  const std::string a = slice_text("a", "x.example", "1"), b = slice_text("b", "x.example", "1");
  const std::string yaml =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: c}\n"
      "spec:\n  driver: x.example\n  nodeName: n2\n  pool: {name: p, generation: 1, resourceSliceCount: 1}\n";
  const std::string node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}})";
  for (const auto& [text, wanted] : std::vector<std::pair<std::string, Words>>{
           {a, {"a"}},
           {R"({"apiVersion":"v1","kind":"List","items":[)" + a + "," + b + "]}", {"a", "b"}},
           {R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSliceList","items":[)" + a + "]}", {"a"}},
           {yaml + "---\n" + b, {"c", "b"}},
           {node + "\n---\n" + a, {"a"}}}) {
    const FoundSlices found = of_text(text);
    EXPECT_EQ(names(found), wanted) << text;
    EXPECT_EQ(found.lines, Lines{}) << text;
  }
}

// Red when a file that holds something else, or is broken, passes for one without devices.
TEST(SlicesOfText, ReportsErrorsWithTheirPosition) {
  const struct {
    const char* why;
    std::string text, says;
  } rows[] = {
      {"an older version",
       "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceSlice\nmetadata: {name: a}\nspec: {}\n",
       "f.yaml:1: resource.k8s.io/v1beta1 ResourceSlice a: its apiVersion must be resource.k8s.io/v1;"},
      {"none at all", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n",
       "f.yaml:1: holds no ResourceSlice"},
      {"nothing", "", "f.yaml:1: holds no ResourceSlice"},
      {"no YAML", "a: [", "f.yaml:2: "},
      {"no object", "- 5\n", "f.yaml:1: no object"},
      {"a wrong shape", slice_text("a", "x.example", "\"huge\""),
       "f.yaml:1: resource.k8s.io/v1 ResourceSlice a: "},
  };
  for (const auto& row : rows) {
    const FoundSlices found = of_text(row.text);
    EXPECT_FALSE(found.is_whole) << row.why;
    ASSERT_EQ(found.lines.size(), 1u) << row.why;
    EXPECT_EQ(found.lines[0].find(row.says), 0u) << row.why << ": " << found.lines[0];
  }
}

TEST(SlicesOfFiles, NamesAMissingFile) {
  const FoundSlices found = slices_of_files({"/nowhere/a\n.yaml"});
  EXPECT_EQ(found.lines, Lines{"/nowhere/a\\x0a.yaml: No such file or directory"});
  EXPECT_FALSE(found.is_whole);
}

// Red when a device that the scheduler no longer sees is asked, or a pool that it does not use passes for one
// that it does.
TEST(KeepNewest, KeepsTheSlicesThatTheSchedulerUses) {
  FoundSlices found;
  for (const auto& [name, driver, generation, count] :
       std::vector<std::tuple<std::string, std::string, std::string, int>>{{"old-1", "x.example", "2", 2},
                                                                           {"new-1", "x.example", "10", 2},
                                                                           {"old-2", "x.example", "9", 2},
                                                                           {"new-2", "x.example", "10", 2},
                                                                           {"cut", "y.example", "1", 3}})
    add_slices_of_text("f", slice_text(name, driver, generation, count), found);
  keep_newest(found);
  EXPECT_EQ(names(found), (Words{"new-1", "new-2", "cut"}));
  EXPECT_TRUE(found.is_whole);
  EXPECT_EQ(
      found.lines,
      (Lines{
          "pool p of y.example: only 1 of its 3 slices exist; devices of an incomplete pool are not allocated"}));
}

}  // namespace
}  // namespace sliced::cli
