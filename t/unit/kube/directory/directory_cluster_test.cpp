#include "kube/directory/directory_cluster.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "kube/objects/kinds.h"
#include "kube/objects/resource_slice.h"
#include "kube/objects/yaml.h"
#include "t/fake/memory_log.h"
#include "t/fixture/loop_fixture.h"
#include "t/fixture/unprivileged.h"
#include "t/unit/kube/objects/json_print.h"

namespace sliced::kube {
namespace {

using namespace std::chrono_literals;

std::string policy(std::string_view name, int priority) {
  return "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\nmetadata:\n  "
         "name: " +
         std::string(name) + "\nspec:\n  priority: " + std::to_string(priority) + "\n";
}

/// What a watch heard, as short lines: "ADDED a 1".
struct Heard {
  std::vector<std::string> lines;
  std::vector<Json> objects;
  std::vector<Failure> failures;
  int ends = 0;
  CallPtr call;

  WatchHandlers handlers() {
    return {[this](const WatchEvent& event) {
              static constexpr const char* kNames[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
              auto object = decode_json(event.object);
              ASSERT_TRUE(object.ok());
              const Json* priority = object->find({"spec", "priority"});
              lines.push_back(std::string(kNames[static_cast<int>(event.type)]) + " " +
                              std::string(object->find("metadata")->text("name")) +
                              (priority == nullptr ? "" : " " + encode_json(*priority)));
              objects.push_back(std::move(*object));
            },
            [this] { ++ends; }, [this](const Failure& failure) { failures.push_back(failure); }};
  }
  bool has(std::string_view line) const { return std::find(lines.begin(), lines.end(), line) != lines.end(); }
  std::string version() const {
    return std::string(objects.back().find("metadata")->text("resourceVersion"));
  }
};

struct Answered {
  bool done = false;
  std::string object;
  std::optional<Failure> failure;
  CallPtr call;
  WriteHandlers handlers() {
    return {[this](std::string_view text) {
              done = true;
              object = text;
            },
            [this](const Failure& why) {
              done = true;
              failure = why;
            }};
  }
};

class DirectoryClusterTest : public fixture::LoopTest {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/sliced-dir-XXXXXX";
    directory = ::mkdtemp(pattern);
  }
  void TearDown() override {
    LoopTest::TearDown();
    std::filesystem::remove_all(directory);
  }

  std::string path(const std::string& name) const { return directory + "/" + name; }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  void put_by_rename(const std::string& name, const std::string& text) const {
    put(".scratch", text);
    std::filesystem::rename(path(".scratch"), path(name));
  }
  std::string get(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path(name)).rdbuf();
    return out.str();
  }
  static WatchRequest policies() {
    return {.scope = {.resource = kSriovResourcePolicies}, .send_initial_events = true};
  }
  static WatchRequest slices() {
    return {.scope = {.resource = kResourceSlices}, .send_initial_events = true};
  }

  /// Opens a watch and waits for its initial events.
  void follow(DirectoryCluster& cluster, Heard& heard, WatchRequest request) {
    heard.call = cluster.watch(std::move(request), heard.handlers());
    ASSERT_TRUE(run_until([&] { return heard.has("BOOKMARK ") || !heard.failures.empty(); }));
    heard.lines.clear();
  }
  std::vector<std::string> listed(DirectoryCluster& cluster,
                                  Scope scope = {.resource = kSriovResourcePolicies}) {
    std::vector<std::string> names;
    bool done = false;
    auto call = cluster.list({.scope = std::move(scope)},
                             {[&](std::string_view object) {
                                names.emplace_back(decode_json(object)->find("metadata")->text("name"));
                              },
                              [&](std::string) { done = true; },
                              [&](const Failure& failure) {
                                names.push_back("failure: " + failure.what);
                                done = true;
                              }});
    EXPECT_TRUE(run_until([&] { return done; }));
    return names;
  }
  Answered write(DirectoryCluster& cluster, WriteRequest request) {
    Answered answered;
    answered.call = cluster.write(std::move(request), answered.handlers());
    EXPECT_FALSE(answered.done) << "no callback from inside the call";
    EXPECT_TRUE(run_until([&] { return answered.done; }));
    return answered;
  }
  std::string directory;
  fake::MemoryLog log;
};

using Lines = std::vector<std::string>;

ResourceSlice slice(std::string name, int64_t generation = 1) {
  return {.meta = {.name = std::move(name)},
          .driver = "dra.networking",
          .pool = {"node/net", generation, 1},
          .node_name = "node",
          .devices = {Device{.name = "0000-03-00-2",
                             .attributes = {{"example.com/address", std::string("0000:03:00.2")}}}}};
}
std::string body(const ResourceSlice& value) { return encode_json(encode_resource_slice(value)); }
ResourceSlice decoded(std::string_view text) { return *decode_resource_slice(*decode_json(text)); }
WriteRequest create(const ResourceSlice& value) {
  return {.verb = Verb::kCreate, .resource = kResourceSlices, .name = value.meta.name, .body = body(value)};
}
WriteRequest update(const ResourceSlice& value) {
  return {.verb = Verb::kUpdate, .resource = kResourceSlices, .name = value.meta.name, .body = body(value)};
}

// Reading
// ----------------------------------------------------------------------------------------------------------

TEST_F(DirectoryClusterTest, ListsObjectsAtAnyDepthInAnyForm) {
  std::filesystem::create_directories(path("sub/deeper"));
  std::filesystem::create_directories(path(".hidden"));
  put("a.yaml", policy("one", 1) + "---\n" + policy("two", 2));
  put("sub/b.yml", policy("three", 3));
  put("sub/deeper/c.json",
      R"({"apiVersion":"sriovnetwork.k8snetworkplumbingwg.io/v1alpha1","kind":"SriovResourcePolicy","metadata":{"name":"four"}})");
  for (const auto* ignored : {".hidden/x.yaml", "README.md", ".a.yaml.swp", "a.yaml~", "#a.yaml#", "4913"})
    put(ignored, policy("ignored", 0));
  DirectoryCluster cluster(loop, log, directory, "here");
  EXPECT_EQ(listed(cluster), (Lines{"four", "one", "three", "two"}));
  EXPECT_EQ(listed(cluster, {.resource = kSriovResourcePolicies, .namespace_ = "here"}),
            (Lines{"four", "one", "three", "two"}));
  EXPECT_EQ(listed(cluster, {.resource = kSriovResourcePolicies, .namespace_ = "there"}), Lines{});
  EXPECT_EQ(listed(cluster, {.resource = kSriovResourcePolicies, .field_selector = "metadata.name=two"}),
            Lines{"two"});
  EXPECT_EQ(listed(cluster, {.resource = kNodes}), Lines{});
  EXPECT_EQ(listed(cluster, {.resource = kNodes, .field_selector = "spec.x=y"}),
            Lines{"failure: list nodes: field selector \"spec.x=y\": the field \"spec.x\" is not supported"});
  EXPECT_EQ(cluster.describe(), "dir:" + directory);
}

TEST_F(DirectoryClusterTest, GetReturnsTheObjectOrNotFound) {
  put("a.yaml", policy("one", 1));
  DirectoryCluster cluster(loop, log, directory, "here");
  Answered there, gone;
  there.call = cluster.get({kSriovResourcePolicies, "here", "one"}, there.handlers());
  gone.call = cluster.get({kSriovResourcePolicies, "elsewhere", "one"}, gone.handlers());
  ASSERT_TRUE(run_until([&] { return there.done && gone.done; }));
  const Json object = *decode_json(there.object);
  EXPECT_EQ(object.find("metadata")->text("namespace"), "here");
  EXPECT_EQ(object.find("metadata")->text("uid").size(), 36u);
  EXPECT_EQ(gone.failure->code, Errc::kNotFound);
  EXPECT_EQ(gone.failure->http_status, 404);
}

TEST_F(DirectoryClusterTest, ReturnsMetadataOnRequest) {
  put("n.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node, labels: {a: b}}\nspec: {x: 1}\n");
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, {.scope = {.resource = kNodes, .metadata_only = true}, .send_initial_events = true});
  ASSERT_EQ(heard.objects.size(), 2u);
  EXPECT_EQ(heard.objects[0].text("kind"), "PartialObjectMetadata");
  EXPECT_EQ(heard.objects[0].find("spec"), nullptr);
  EXPECT_EQ(heard.objects[0].find({"metadata", "labels"})->text("a"), "b");
  EXPECT_EQ(heard.objects[1].find({"metadata", "annotations"})->text("k8s.io/initial-events-end"), "true");
}

TEST_F(DirectoryClusterTest, AnswersDiscoveryLikeAServer) {
  DirectoryCluster cluster(loop, log, directory, "here");
  std::vector<std::string> plurals;
  std::string schema = "?", version = "?";
  int done = 0;
  const auto fail = [](const Failure& failure) { ADD_FAILURE() << failure.what; };
  auto one = cluster.discover(
      "resource.k8s.io", "v1",
      [&](std::vector<std::string> all) {
        plurals = std::move(all);
        ++done;
      },
      fail);
  auto two = cluster.schema(
      "resource.k8s.io", "v1",
      [&](std::string_view text) {
        schema = text;
        ++done;
      },
      fail);
  auto three = cluster.server_info(
      [&](ServerInfo info) {
        version = info.git_version;
        ++done;
      },
      fail);
  ASSERT_TRUE(run_until([&] { return done == 3; }));
  EXPECT_EQ(plurals, (Lines{"resourceslices", "resourceclaims"}));
  EXPECT_EQ(schema, "");
  EXPECT_EQ(version, "v1.36.3") << "a directory refuses no field and has no scheduler that could miscount";
}

TEST_F(DirectoryClusterTest, DroppedCallsAreSilent) {
  put("a.yaml", policy("one", 1) + "---\n" + policy("two", 2));
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  cluster.watch(policies(), heard.handlers()).reset();
  int items = 0;
  CallPtr list;
  list = cluster.list({.scope = {.resource = kSriovResourcePolicies}},
                      {[&](std::string_view) {
                         ++items;
                         list.reset();
                       },
                       [&](std::string) { ADD_FAILURE(); }, [](const Failure&) {}});
  Heard once;
  auto handlers = once.handlers();
  handlers.on_event = [&](const WatchEvent&) {
    ++once.ends;
    once.call.reset();
  };
  once.call = cluster.watch(policies(), handlers);
  ASSERT_TRUE(run_until([&] { return items == 1 && once.ends == 1; }));
  handle_ready();
  EXPECT_EQ(items, 1);
  EXPECT_EQ(once.ends, 1);
  EXPECT_TRUE(heard.lines.empty());
}

TEST_F(DirectoryClusterTest, CallsMayOutliveTheCluster) {
  put("a.yaml", policy("one", 1));
  Heard heard;
  Answered answered;
  {
    DirectoryCluster cluster(loop, log, directory, "here");
    heard.call = cluster.watch(policies(), heard.handlers());
    answered.call = cluster.get({kSriovResourcePolicies, "", "one"}, answered.handlers());
  }
  handle_ready();
  EXPECT_TRUE(heard.lines.empty());
  EXPECT_FALSE(answered.done);
}

// Edits
// ------------------------------------------------------------------------------------------------------------

TEST_F(DirectoryClusterTest, SendsOneEventPerEdit) {
  put("a.yaml", policy("one", 1));
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, policies());

  put("b.yaml", policy("two", 1));  // created
  ASSERT_TRUE(run_until([&] { return heard.lines.size() == 1; }));
  put("a.yaml", policy("one", 2));  // edited in place
  ASSERT_TRUE(run_until([&] { return heard.lines.size() == 2; }));
  put_by_rename("a.yaml", policy("one", 3));  // renamed over
  ASSERT_TRUE(run_until([&] { return heard.lines.size() == 3; }));
  put("a.yaml", policy("one", 3));  // saved with nothing changed
  std::filesystem::remove(path("b.yaml"));
  ASSERT_TRUE(run_until([&] { return heard.lines.size() == 4; }));
  EXPECT_EQ(heard.lines, (Lines{"ADDED two 1", "MODIFIED one 2", "MODIFIED one 3", "DELETED two 1"}));
  EXPECT_EQ(heard.objects[3].find({"metadata", "generation"})->integer()[0], 2);

  std::vector<uint64_t> versions;
  for (size_t i = 2; i < heard.objects.size(); ++i)
    versions.push_back(std::stoull(std::string(heard.objects[i].find("metadata")->text("resourceVersion"))));
  EXPECT_TRUE(std::is_sorted(versions.begin(), versions.end(), std::less_equal<>()))
      << "strictly growing, deletions included";
}

TEST_F(DirectoryClusterTest, SendsNoDeleteWhileAnEditorReplacesAFile) {
  put("a.yaml", policy("one", 1));
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, policies());
  put("4913", "");
  std::filesystem::remove(path("4913"));
  std::filesystem::rename(path("a.yaml"), path("a.yaml~"));
  loop.turn(Millis{5});
  put("a.yaml", policy("one", 2));
  std::filesystem::remove(path("a.yaml~"));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED one 2"); }));
  pass(DirectoryLimits{}.missing_for);
  EXPECT_EQ(heard.lines, Lines{"MODIFIED one 2"});
}

TEST_F(DirectoryClusterTest, SendsNoDeleteWhileAnObjectMovesToAnotherFile) {
  put("a.yaml", policy("one", 1));
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, policies());
  std::filesystem::rename(path("a.yaml"), path("b.yaml"));
  pass(DirectoryLimits{}.missing_for);
  EXPECT_EQ(heard.lines, Lines{});
  put("b.yaml", policy("one", 2));
  ASSERT_TRUE(run_until([&] { return !heard.lines.empty(); }));
  EXPECT_EQ(heard.lines, Lines{"MODIFIED one 2"});
}

TEST_F(DirectoryClusterTest, KeepsTheContentOfAHalfWrittenFile) {
  put("a.yaml", policy("one", 1) + "---\n" + policy("two", 1));
  DirectoryCluster cluster(loop, log, directory, "here", {.broken_for = 1h});
  Heard heard;
  follow(cluster, heard, policies());
  put("a.yaml", "");  // truncated, then a broken half, then whole
  handle_ready();
  put("a.yaml", policy("one", 2) + "---\nspec: [1,\n");
  handle_ready();
  EXPECT_EQ(heard.lines, Lines{});
  EXPECT_EQ(listed(cluster), (Lines{"one", "two"}));
  put("a.yaml", policy("one", 2) + "---\n" + policy("two", 2));
  ASSERT_TRUE(run_until([&] { return heard.lines.size() == 2; }));
  EXPECT_EQ(heard.lines, (Lines{"MODIFIED one 2", "MODIFIED two 2"}));
  EXPECT_EQ(log.count("cannot be read"), 0u) << log.all();
}

// Another file, broken later, loses its objects: by then the time of the first one is over.
TEST_F(DirectoryClusterTest, KeepsTheObjectsOfARepairedFile) {
  put("a.yaml", policy("one", 1));
  put("b.yaml", policy("two", 1));
  DirectoryCluster cluster(loop, log, directory, "here", {.broken_for = 200ms});
  Heard heard;
  follow(cluster, heard, policies());
  put("a.yaml", "spec: [1,\n");
  handle_ready();
  put("a.yaml", policy("one", 2));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED one 2") || heard.has("ADDED one 2"); }));
  put("b.yaml", "spec: [1,\n");
  ASSERT_TRUE(run_until([&] { return heard.has("DELETED two 1"); }));
  EXPECT_EQ(listed(cluster), Lines{"one"});
}

TEST_F(DirectoryClusterTest, DropsTheObjectsOfABrokenFileWithFileAndLine) {
  put("a.yaml", policy("one", 1));
  put("b.yaml", policy("two", 1));
  DirectoryCluster cluster(loop, log, directory, "here", {.broken_for = 200ms});
  Heard heard;
  follow(cluster, heard, policies());
  const auto start = Clock::now();
  put("a.yaml", policy("one", 2) + "---\nspec: [1,\n");
  ASSERT_TRUE(run_until([&] { return heard.has("DELETED one 1"); }));
  EXPECT_GE(Clock::now() - start, 190ms);
  EXPECT_EQ(log.count("file cannot be read: its objects are ignored, except excludes file=" + path("a.yaml") +
                      ":9"),
            1u)
      << log.all();
  EXPECT_EQ(listed(cluster), Lines{"two"});

  put("a.yaml", policy("one", 3) + "---\nspec: [1,\n");  // still broken, nothing new to say
  pass(200ms);
  EXPECT_EQ(log.count("file cannot be read"), 1u) << log.all();
  put("a.yaml", policy("one", 4));
  ASSERT_TRUE(run_until([&] { return heard.has("ADDED one 4"); }));
  EXPECT_EQ(log.count("file readable again"), 1u);
}

TEST_F(DirectoryClusterTest, ReportsABrokenFileAtTheStartAndReadsTheOthers) {
  put("a.yaml", "a: [\n");
  put("b.yaml", policy("two", 1) + "---\nkind: X\n");
  DirectoryCluster cluster(loop, log, directory, "here");
  EXPECT_EQ(log.count("file cannot be read: its objects are ignored, except excludes file=" + path("a.yaml") +
                      ":2"),
            1u)
      << log.all();
  EXPECT_EQ(log.count("object ignored file=" + path("b.yaml") + ":8"), 1u) << log.all();
  EXPECT_EQ(listed(cluster), Lines{"two"});
}

TEST_F(DirectoryClusterTest, DropsTheObjectsOfAnEmptiedFile) {
  put("a.yaml", policy("one", 1));
  DirectoryCluster cluster(loop, log, directory, "here", {.broken_for = 100ms});
  Heard heard;
  follow(cluster, heard, policies());
  put("a.yaml", "\n");
  ASSERT_TRUE(run_until([&] { return heard.has("DELETED one 1"); }));
  EXPECT_EQ(log.count("cannot be read"), 0u);
}

TEST_F(DirectoryClusterTest, PrefersTheFirstFileOfADuplicateObject) {
  put("b.yaml", policy("one", 2));
  put("c.yaml", policy("one", 3));
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, policies());
  EXPECT_EQ(heard.objects[0].find({"spec", "priority"})->integer()[0], 2);
  EXPECT_EQ(log.count("duplicate object"), 1u);
  EXPECT_EQ(log.count("file=" + path("c.yaml") + ":1 counts=" + path("b.yaml") + ":1"), 1u) << log.all();
  put("a.yaml", policy("one", 1));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED one 1"); }));
  std::filesystem::remove(path("a.yaml"));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED one 2"); }));
  std::filesystem::remove(path("b.yaml"));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED one 3"); }));
  EXPECT_EQ(heard.lines.size(), 3u) << "never absent in between";
}

TEST_F(DirectoryClusterTest, FollowsAddedAndRemovedFolders) {
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, policies());
  std::filesystem::create_directories(path("x/y"));
  put("x/y/a.yaml", policy("one", 1));
  ASSERT_TRUE(run_until([&] { return heard.has("ADDED one 1"); }));
  put("x/y/a.yaml", policy("one", 2));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED one 2"); }));
  std::filesystem::rename(path("x"), directory + ".away");
  ASSERT_TRUE(run_until([&] { return heard.has("DELETED one 2"); }));
  std::filesystem::rename(directory + ".away", path("z"));
  ASSERT_TRUE(run_until([&] { return heard.has("ADDED one 2"); }));
  put("z/y/a.yaml", policy("one", 3));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED one 3"); }));
  std::filesystem::remove_all(path("z"));
  ASSERT_TRUE(run_until([&] { return heard.has("DELETED one 3"); }));
  EXPECT_EQ(heard.lines.size(), 6u);
}

TEST_F(DirectoryClusterTest, FollowsTheLinkOfAConfigMapVolume) {
  std::filesystem::create_directories(path("..1"));
  put("..1/a.yaml", policy("one", 1));
  std::filesystem::create_symlink("..1", path("..data"));
  std::filesystem::create_symlink("..data/a.yaml", path("a.yaml"));
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, policies());
  std::filesystem::create_directories(path("..2"));
  put("..2/a.yaml", policy("one", 2));
  std::filesystem::create_symlink("..2", path("..data_tmp"));
  std::filesystem::rename(path("..data_tmp"), path("..data"));
  std::filesystem::remove_all(path("..1"));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED one 2"); }));
  EXPECT_EQ(heard.lines.size(), 1u);
}

TEST_F(DirectoryClusterTest, StopsAtCircularLinks) {
  std::filesystem::create_directories(path("a/b/c/d/e/f/g"));
  put("a/b/c/d/e/f/g/in.yaml", policy("in", 1));
  std::filesystem::create_symlink("..", path("a/up"));
  std::filesystem::create_symlink("nowhere", path("dangling.yaml"));
  DirectoryCluster cluster(loop, log, directory, "here");
  EXPECT_EQ(listed(cluster), Lines{"in"});
}

// Red when its content counts as missing: it may be an exclude.
TEST_F(DirectoryClusterTest, ReportsAFolderThatIsNestedTooDeeply) {
  put("in.yaml", policy("in", 1));
  std::filesystem::create_directories(path("a/b/c/d/e/f/g/h/i"));
  put("a/b/c/d/e/f/g/h/exclude.yaml", policy("out", 1));
  DirectoryCluster cluster(loop, log, directory, "here", {.retry_interval = 1ms});
  EXPECT_NE(listed(cluster).at(0).find("failure"), std::string::npos);
  pass(1ms);  // another look
  EXPECT_EQ(log.count("is nested deeper than 8 folders; move it up, or out"), 1u)
      << "it was said, and is still so";
  std::filesystem::rename(path("a/b/c/d/e/f/g/h"), path("h"));
  ASSERT_TRUE(run_until([&] { return listed(cluster) == Lines({"in", "out"}); }));
}

// Red when files beyond the bound are as good as deleted: one may have an exclude.
TEST_F(DirectoryClusterTest, ReportsFilesBeyondTheLimit) {
  for (int i = 0; i < 3; ++i) put(std::to_string(i) + ".yaml", policy("p" + std::to_string(i), 1));
  DirectoryCluster cluster(loop, log, directory, "here", {.retry_interval = 1ms, .files_max = 3});
  EXPECT_EQ(listed(cluster), (Lines{"p0", "p1", "p2"}));
  put("00.yaml", policy("p00", 1));
  ASSERT_TRUE(run_until([&] { return listed(cluster).at(0).find("room for 3 files") != std::string::npos; }));
  pass(1ms);  // another look
  EXPECT_EQ(log.count("directory cannot be read"), 1u) << "once while it lasts";
  std::filesystem::remove(path("00.yaml"));
  ASSERT_TRUE(run_until([&] { return listed(cluster) == (Lines{"p0", "p1", "p2"}); }));
}

// What a watch of DeviceExposurePolicies has heard of the file "e.yaml", whose exclude is "out" and whose other policy "in".
class ExcludesTest : public DirectoryClusterTest {
 protected:
  static Scope scope() { return {.resource = kDeviceExposurePolicies}; }
  static std::string text_of(const std::string& name, const std::string& action) {
    return "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: " + name +
           "}\nspec: {action: " + action + ", selector: {cel: 'true'}}\n---\n";
  }
  static std::string both() { return text_of("in", "expose") + text_of("out", "exclude"); }
  // The exclude, and the placeholder for the unreadable ones.
  static bool holds(const Lines& names) {
    return names.size() == 2 && names[0] == "out" && names[1].starts_with("unreadable-file-");
  }
};

// Red when an exclude goes because of a typing error, or of a volume that is not mounted.
TEST_F(ExcludesTest, KeepsTheExcludesOfAnUnreadableFile) {
  const std::function<void()> breakers[] = {
      [&] { put("e.yaml", both() + "kind: [DeviceExposurePolicy\n"); },
      [&] {
        std::filesystem::create_symlink("e.yaml", path(".l")),
            std::filesystem::rename(path(".l"), path("e.yaml"));
      },
      [&] {
        std::filesystem::create_symlink("/nowhere", path(".l")),
            std::filesystem::rename(path(".l"), path("e.yaml"));
      },
      [&] {
        EXPECT_EQ(::mkfifo(path(".l").c_str(), 0600), 0);
        std::filesystem::rename(path(".l"), path("e.yaml"));
      },
      [&] { put("e.yaml", ""), std::filesystem::resize_file(path("e.yaml"), 4u << 20); }};
  for (const auto& breaks : breakers) {
    put_by_rename("e.yaml", both());
    DirectoryCluster cluster(loop, log, directory, "here", {.broken_for = 50ms});
    ASSERT_EQ(listed(cluster, scope()), (Lines{"in", "out"}));
    breaks();
    ASSERT_TRUE(run_until([&] { return holds(listed(cluster, scope())); })) << log.all();
    DirectoryCluster restarted(loop, log, directory, "here");
    EXPECT_TRUE(listed(restarted, scope()).at(0).starts_with("unreadable-file-"));
    put_by_rename("e.yaml", both());
    ASSERT_TRUE(run_until([&] { return listed(cluster, scope()) == (Lines{"in", "out"}); })) << log.all();
  }
}

// Red when its content counts as deleted, or is logged at each check.
TEST_F(ExcludesTest, AnUnreadableFolderMayContainExcludes) {
  using std::filesystem::perms;
  for (const char* folder : {"a", "b"}) {
    std::filesystem::create_directories(path(folder) + "/in");
    put(std::string(folder) + "/in/e.yaml", text_of(folder, "exclude"));
  }
  for (const perms mode : {perms::none, perms::owner_exec, perms::owner_read}) {
    fake::MemoryLog log;
    for (const char* folder : {"a", "b"}) std::filesystem::permissions(path(folder), mode);
    {
      const fixture::Unprivileged as_others;
      DirectoryCluster cluster(loop, log, directory, "here", {.retry_interval = 1ms});
      EXPECT_NE(listed(cluster, scope()).at(0).find("failure"), std::string::npos) << log.all();
      pass(1ms);  // another look
      EXPECT_EQ(log.count("directory cannot be read"), 1u) << log.all();
    }
    for (const char* folder : {"a", "b"}) std::filesystem::permissions(path(folder), perms::owner_all);
  }
  DirectoryCluster cluster(loop, log, directory, "here");
  EXPECT_EQ(listed(cluster, scope()), (Lines{"a", "b"}));
}

// Red when one of two files takes an exclude away that the other one has under the same name.
TEST_F(ExcludesTest, UsesNeitherOfTwoDifferentPossibleExcludes) {
  const auto is_unreadable = [&](DirectoryCluster& cluster) {
    Answered answer;
    const CallPtr call = cluster.get({kDeviceExposurePolicies, "", "nics"}, answer.handlers());
    EXPECT_TRUE(run_until([&] { return answer.done; }));
    return answer.object.find("\"spec\":\"(not kept: it is there twice)\"") != std::string::npos;
  };
  put("a.yaml", text_of("nics", "expose"));
  put("b.yaml", text_of("nics", "exclude"));
  DirectoryCluster cluster(loop, log, directory, "here");
  EXPECT_TRUE(is_unreadable(cluster));
  EXPECT_EQ(log.count("neither is used, no device is added"), 1u) << log.all();
  EXPECT_EQ(log.count("file=" + path("a.yaml") + ":1 other=" + path("b.yaml") + ":1"), 1u) << log.all();
  put("a.yaml", text_of("nics", "exclude"));
  ASSERT_TRUE(run_until([&] { return !is_unreadable(cluster); })) << "they say the same";
  EXPECT_EQ(log.count("duplicate object: the first file is used"), 1u);
  put("a.yaml", text_of("nics", "expose"));
  ASSERT_TRUE(run_until([&] { return is_unreadable(cluster); }));
  put("b.yaml", text_of("nics", "expose") + "# the same\n");
  ASSERT_TRUE(run_until([&] { return !is_unreadable(cluster); }));
  EXPECT_EQ(log.count("neither is used"), 2u);
}

// Red when a label without quotes is enough for what an exclude hid to be offered.
TEST_F(ExcludesTest, KeepsAnExcludeThatBecomesInvalid) {
  const std::string good =
      "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: out, labels: {gen: '1'}}\n"
      "spec: {action: exclude, selector: {cel: 'true'}}\n";
  std::string bad = good;
  bad.replace(bad.find("'1'"), 3, "2");
  put("e.yaml", good);
  DirectoryCluster cluster(loop, log, directory, "here", {.broken_for = 10ms});
  ASSERT_EQ(listed(cluster, scope()), Lines{"out"});
  put_by_rename("e.yaml", bad);
  ASSERT_TRUE(run_until([&] {
    const Lines all = listed(cluster, scope());
    return all.size() == 1 && all[0].starts_with("unreadable-file-");
  }));
  EXPECT_EQ(log.count("ignored object may exclude devices: no device is added"), 1u) << log.all();
  put_by_rename("e.yaml", "foo: 1\n---\n" + bad + "---\nkind: [\n");
  pass(10ms);
  EXPECT_EQ(listed(cluster, scope()).size(), 1u) << "it is broken as well";
  put_by_rename("e.yaml", good);
  EXPECT_TRUE(run_until([&] { return listed(cluster, scope()) == Lines{"out"}; }));
}

TEST_F(ExcludesTest, ABrokenFileWithoutExcludesHasNone) {
  put("e.yaml", policy("one", 1) + "---\nspec: [1,\n");
  DirectoryCluster cluster(loop, log, directory, "here");
  EXPECT_EQ(listed(cluster, scope()), Lines{});
}

// Red when a directory is watched and not the path: a link to the current one of several directories is changed.
TEST_F(DirectoryClusterTest, FollowsAChangedLinkToTheDirectory) {
  for (const char* version : {"v1", "v2"}) {
    std::filesystem::create_directories(path(version));
    put(std::string(version) + "/a.yaml", policy(version, 1));
  }
  std::filesystem::create_symlink("v1", path("current"));
  DirectoryCluster cluster(loop, log, path("current"), "here",
                           {.missing_for = 1ms, .path_check_interval = 20ms});
  ASSERT_EQ(listed(cluster), Lines{"v1"});
  std::filesystem::create_symlink("v2", path("next"));
  std::filesystem::rename(path("next"), path("current"));
  ASSERT_TRUE(run_until([&] { return listed(cluster) == Lines{"v2"}; }));
  put("v2/b.yaml", policy("b", 1));
  ASSERT_TRUE(run_until([&] { return listed(cluster) == (Lines{"b", "v2"}); })) << "it is watched";
}

// Red when an exclude in a file behind a link says nothing until the daemon starts anew: no event tells of it.
TEST_F(DirectoryClusterTest, FollowsTheTargetOfALink) {
  std::filesystem::create_directories(path("in"));
  std::filesystem::create_directories(path("out/more"));
  put("out/a.yaml", policy("a", 1));
  put("out/more/b.yaml", policy("b", 1));
  std::filesystem::create_symlink("../out/a.yaml", path("in/a.yaml"));
  std::filesystem::create_symlink("../out/more", path("in/more"));
  DirectoryCluster cluster(loop, log, path("in"), "here",
                           {.broken_for = 1ms, .missing_for = 1ms, .path_check_interval = 20ms});
  ASSERT_EQ(listed(cluster), Lines{"a"});
  EXPECT_EQ(log.count("symbolic link to a directory ignored"), 1u);
  put("out/a.yaml", policy("edited", 10));
  EXPECT_TRUE(run_until([&] { return listed(cluster) == Lines{"edited"}; }));
  put("out/.new", policy("replaced", 1));
  std::filesystem::rename(path("out/.new"), path("out/a.yaml"));
  EXPECT_TRUE(run_until([&] { return listed(cluster) == Lines{"replaced"}; }));
  std::filesystem::remove(path("out/a.yaml"));
  EXPECT_TRUE(run_until([&] { return listed(cluster).empty(); }));
  put("out/a.yaml", policy("back", 1));
  EXPECT_TRUE(run_until([&] { return listed(cluster) == Lines{"back"}; }));
  EXPECT_EQ(log.count("symbolic link to a directory ignored"), 1u);
}

// Red when a directory may take any memory, or when an exclude in it is as good as deleted for want of room.
TEST_F(DirectoryClusterTest, OmitsObjectsBeyondTheLimit) {
  const auto large = [](const std::string& name) {
    return "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: " + name +
           ", labels: {a: b}}\nspec: {action: exclude, x: " + std::string(2'000, 'x') + "}\n";
  };
  for (const char* name : {"a", "b", "c"}) put(std::string(name) + ".yaml", large(name));
  DirectoryCluster cluster(loop, log, directory, "here", {.bytes_max = 7'000});
  EXPECT_EQ(listed(cluster, {.resource = kDeviceExposurePolicies}), (Lines{"a", "b", "c"}));
  EXPECT_EQ(log.count("too many objects in the directory"), 1u);
  Heard heard;
  heard.call = cluster.watch({.scope = {.resource = kDeviceExposurePolicies}, .send_initial_events = true},
                             heard.handlers());
  ASSERT_TRUE(run_until([&] { return heard.has("BOOKMARK "); }));
  const auto spec_of = [&](size_t index) { return encode_json(*heard.objects.at(index).find("spec")); };
  EXPECT_GT(spec_of(0).size(), 2'000u);
  EXPECT_GT(spec_of(1).size(), 2'000u);
  EXPECT_NE(spec_of(2).find("\"(not kept"), std::string::npos) << spec_of(2);
  EXPECT_NE(heard.objects.at(2).find({"metadata", "labels", "a"}), nullptr);
  const size_t before = heard.objects.size();
  std::filesystem::remove(path("a.yaml"));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED c"); })) << "there is room again";
  EXPECT_GT(spec_of(heard.objects.size() - 1).size(), 2'000u);
  EXPECT_GT(heard.objects.size(), before);
}

// Red when objects without number are dropped as if they were not there: one may be an exclude.
TEST_F(DirectoryClusterTest, ReportsMoreObjectsThanNamesCanBeKept) {
  std::string many;
  for (int i = 0; i < 200; ++i) many += policy("p" + std::to_string(i), 1) + "---\n";
  put("many.yaml", many);
  DirectoryCluster cluster(loop, log, directory, "here", {.retry_interval = 1ms, .bytes_max = 20'000});
  const Lines refused = listed(cluster);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("objects more than there is room for"), std::string::npos) << refused[0];
  put_by_rename("many.yaml", policy("one", 1));
  ASSERT_TRUE(run_until([&] { return listed(cluster) == Lines{"one"}; }));
}

// Watches
// ----------------------------------------------------------------------------------------------------------

TEST_F(DirectoryClusterTest, ContinuesAWatchFromAKnownVersion) {
  put("a.yaml", policy("one", 1));
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard first;
  follow(cluster, first, policies());
  const std::string version = first.version();
  put("a.yaml", policy("one", 2));
  ASSERT_TRUE(run_until([&] { return first.has("MODIFIED one 2"); }));
  Heard second;
  second.call = cluster.watch({.scope = {.resource = kSriovResourcePolicies}, .resource_version = version},
                              second.handlers());
  ASSERT_TRUE(run_until([&] { return !second.lines.empty(); }));
  EXPECT_EQ(second.lines, Lines{"MODIFIED one 2"});

  Heard unknown;
  unknown.call = cluster.watch({.scope = {.resource = kSriovResourcePolicies}, .resource_version = "999999"},
                               unknown.handlers());
  ASSERT_TRUE(run_until([&] { return !unknown.failures.empty(); }));
  EXPECT_EQ(unknown.failures[0].code, Errc::kGone);
  EXPECT_EQ(unknown.failures[0].http_status, 410);
}

TEST_F(DirectoryClusterTest, SendsADeleteForAnObjectThatLeavesTheSelector) {
  const auto text = [](const char* driver) {
    return "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: " +
           std::string(driver) + "}\n";
  };
  put("s.yaml", text("mine"));
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard mine;
  auto request = slices();
  request.scope.field_selector = "spec.driver=mine";
  follow(cluster, mine, request);
  put("s.yaml", text("yours"));
  ASSERT_TRUE(run_until([&] { return mine.has("DELETED s"); }));
  put("s.yaml", text("mine"));
  ASSERT_TRUE(run_until([&] { return mine.has("ADDED s"); }));
}

TEST_F(DirectoryClusterTest, EndsAWatchAtItsTimeout) {
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  auto request = policies();
  request.timeout = 50ms;
  heard.call = cluster.watch(request, heard.handlers());
  ASSERT_TRUE(run_until([&] { return heard.ends == 1; }));
  put("a.yaml", policy("one", 1));
  ASSERT_TRUE(run_until([&] { return listed(cluster) == Lines{"one"}; }));
  handle_ready();
  EXPECT_EQ(heard.lines, Lines{"BOOKMARK "});
}

TEST_F(DirectoryClusterTest, SendsBookmarksForChangesOfOtherKinds) {
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard nodes;
  follow(cluster, nodes, {.scope = {.resource = kNodes}, .send_initial_events = true});
  const std::string before = nodes.version();
  std::string many;
  for (int i = 0; i < 300; ++i) many += policy("p" + std::to_string(i), 1) + "---\n";
  put("many.yaml", many);
  ASSERT_TRUE(run_until([&] { return !nodes.lines.empty(); }));
  EXPECT_EQ(nodes.lines, Lines{"BOOKMARK "});
  EXPECT_GT(std::stoull(nodes.version()), std::stoull(before));
}

TEST_F(DirectoryClusterTest, EndsEveryWatchAfterLostEvents) {
  put("a.yaml", policy("one", 1));
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, policies());
  const std::string version = heard.version();
  int queue_max = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> queue_max;
  ASSERT_GT(queue_max, 0);
  for (int i = 0; i <= queue_max / 2 + 1;
       ++i) {  // the loop does not turn: created and deleted, until the queue is full
    const std::string name = path("f" + std::to_string(i) + ".txt");
    ::close(::creat(name.c_str(), 0600));
    ::unlink(name.c_str());
  }
  put("a.yaml", policy("one", 2));  // these are lost
  put("b.yaml", policy("two", 1));
  ASSERT_TRUE(run_until([&] { return !heard.failures.empty(); }));
  EXPECT_EQ(heard.failures[0].code, Errc::kGone);
  EXPECT_EQ(heard.lines, Lines{});
  EXPECT_EQ(listed(cluster), (Lines{"one", "two"}));
  Heard again;
  again.call = cluster.watch({.scope = {.resource = kSriovResourcePolicies}, .resource_version = version},
                             again.handlers());
  ASSERT_TRUE(run_until([&] { return !again.failures.empty(); }));
  EXPECT_EQ(again.failures[0].code, Errc::kGone) << "nobody may skip the relist";
}

// The directory itself
// ---------------------------------------------------------------------------------------------

TEST_F(DirectoryClusterTest, FailsUntilAMissingDirectoryExists) {
  const std::string late = path("late");
  DirectoryCluster cluster(loop, log, late, "here", {.retry_interval = 20ms});
  EXPECT_EQ(listed(cluster).at(0).substr(0, 40),
            std::string("failure: list sriovresourcepolicies.sriovnetwork").substr(0, 40));
  Heard heard;
  heard.call = cluster.watch(policies(), heard.handlers());
  ASSERT_TRUE(run_until([&] { return !heard.failures.empty(); }));
  EXPECT_EQ(heard.failures[0].code, Errc::kIo);
  const auto answered = write(cluster, create(slice("s")));
  ASSERT_TRUE(answered.failure);
  EXPECT_EQ(answered.failure->code, Errc::kIo);
  pass(20ms);  // another look
  EXPECT_EQ(log.count("directory cannot be read"), 1u) << log.all();
  std::filesystem::create_directories(late);
  put("late/a.yaml", policy("one", 1));
  ASSERT_TRUE(run_until([&] { return log.count("directory readable again") == 1; }));
  ASSERT_TRUE(run_until([&] { return listed(cluster) == Lines{"one"}; }));
}

TEST_F(DirectoryClusterTest, KeepsObjectsOfARemovedDirectory) {
  std::filesystem::create_directories(path("root/sub"));
  put("root/a.yaml", policy("one", 1));
  put("root/sub/b.yaml", policy("two", 1));
  DirectoryCluster cluster(loop, log, path("root"), "here", {.retry_interval = 20ms});
  Heard heard;
  follow(cluster, heard, policies());
  std::filesystem::rename(path("root"), path("away"));
  ASSERT_TRUE(run_until([&] { return !heard.failures.empty(); }));
  EXPECT_EQ(heard.failures[0].code, Errc::kIo);
  put("away/sub/b.yaml", policy("two", 2));
  std::filesystem::remove(path("away/a.yaml"));
  pass(DirectoryLimits{}.missing_for + 50ms);  // a look after the time in which a file may be replaced
  EXPECT_EQ(heard.lines, Lines{}) << "unreachable is not deleted";
  std::filesystem::rename(path("away"), path("root"));
  ASSERT_TRUE(run_until([&] { return listed(cluster) == Lines{"two"}; }));
  Heard again;
  follow(cluster, again, policies());
  put("root/sub/b.yaml", policy("two", 3));
  ASSERT_TRUE(run_until([&] { return again.has("MODIFIED two 3"); }));
}

// Writing
// ----------------------------------------------------------------------------------------------------------

TEST_F(DirectoryClusterTest, AWriteCreatesAFileAndOneEvent) {
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, slices());
  const auto created = write(cluster, create(slice("00000-s")));
  ASSERT_FALSE(created.failure) << created.failure->what;
  ResourceSlice stored = decoded(created.object);
  EXPECT_FALSE(stored.meta.uid.empty());
  EXPECT_FALSE(stored.meta.resource_version.empty());
  EXPECT_EQ(get("resourceslices/00000-s.yaml"),
            "apiVersion: resource.k8s.io/v1\n"
            "kind: ResourceSlice\n"
            "metadata:\n"
            "  name: \"00000-s\"\n"
            "spec:\n"
            "  driver: dra.networking\n"
            "  pool:\n"
            "    name: node/net\n"
            "    generation: 1\n"
            "    resourceSliceCount: 1\n"
            "  nodeName: node\n"
            "  devices:\n"
            "  - name: \"0000-03-00-2\"\n"
            "    attributes:\n"
            "      example.com/address:\n"
            "        string: \"0000:03:00.2\"\n");
  ASSERT_TRUE(run_until([&] { return !heard.lines.empty(); }));
  EXPECT_EQ(decoded(encode_json(heard.objects.back())), stored) << "the answer is what watches see";

  stored.pool.generation = 2;
  const auto updated = write(cluster, update(stored));
  ASSERT_FALSE(updated.failure) << updated.failure->what;
  EXPECT_EQ(decoded(updated.object).pool.generation, 2);
  EXPECT_EQ(decoded(updated.object).meta.uid, stored.meta.uid);
  EXPECT_NE(decoded(updated.object).meta.resource_version, stored.meta.resource_version);
  pass(DirectoryLimits{}.missing_for);
  EXPECT_EQ(heard.lines, (Lines{"ADDED 00000-s", "MODIFIED 00000-s"}))
      << "the echo of our own writes is silent";

  const auto same = write(cluster, update(decoded(updated.object)));
  EXPECT_EQ(same.object, updated.object) << "nothing changed";

  const auto erased =
      write(cluster,
            {.verb = Verb::kDelete, .resource = kResourceSlices, .name = "00000-s", .uid = stored.meta.uid});
  EXPECT_FALSE(erased.failure);
  EXPECT_FALSE(std::filesystem::exists(path("resourceslices/00000-s.yaml")));
  pass(DirectoryLimits{}.missing_for);
  EXPECT_EQ(heard.lines, (Lines{"ADDED 00000-s", "MODIFIED 00000-s", "DELETED 00000-s"}));
  EXPECT_TRUE(std::filesystem::is_empty(path("resourceslices"))) << "no scratch files";
}

TEST_F(DirectoryClusterTest, RefusesWritesLikeTheServer) {
  DirectoryCluster cluster(loop, log, directory, "here");
  const ResourceSlice stored = decoded(write(cluster, create(slice("s"))).object);
  ResourceSlice stale = stored, foreign = stored, invalid = slice("t"), renamed = slice("t");
  stale.meta.resource_version = "1";
  foreign.meta.uid = "other";
  invalid.pool.slice_count = 0;
  WriteRequest wrong_name = create(renamed);
  wrong_name.name = "u";
  WriteRequest bad_json = create(slice("t")), unknown_field = create(slice("t")),
               climbing = create(slice("t")), spaced = create(slice("t"));
  bad_json.body = "{";
  unknown_field.body =
      R"({"metadata":{"name":"t"},"spec":{"driver":"d","pool":{"name":"p","resourceSliceCount":1},"nodeName":"n","x":1}})";
  climbing.name = "../t";
  spaced.resource = kSriovResourcePolicies;
  const struct {
    WriteRequest request;
    Errc code;
    int status;
    std::string reason;
  } rows[] = {
      {create(slice("s")), Errc::kConflict, 409, "AlreadyExists"},
      {update(slice("t")), Errc::kNotFound, 404, "NotFound"},
      {update(stale), Errc::kConflict, 409, "Conflict"},
      {update(foreign), Errc::kConflict, 409, "Conflict"},
      {{.verb = Verb::kDelete, .resource = kResourceSlices, .name = "t"}, Errc::kNotFound, 404, "NotFound"},
      {{.verb = Verb::kDelete, .resource = kResourceSlices, .name = "s", .uid = "other"},
       Errc::kConflict,
       409,
       "Conflict"},
      {{.verb = Verb::kDelete, .resource = kResourceSlices, .name = "s", .resource_version = "1"},
       Errc::kConflict,
       409,
       "Conflict"},
      {create(invalid), Errc::kInvalid, 422, "Invalid"},
      {wrong_name, Errc::kInvalid, 400, "BadRequest"},
      {bad_json, Errc::kInvalid, 400, "BadRequest"},
      {unknown_field, Errc::kInvalid, 422, "Invalid"},
      {climbing, Errc::kInvalid, 422, "Invalid"},
      {spaced, Errc::kInvalid, 422, "Invalid"},
  };
  for (const auto& row : rows) {
    const auto answered = write(cluster, row.request);
    ASSERT_TRUE(answered.failure) << row.request.name << " " << row.request.body;
    EXPECT_EQ(answered.failure->code, row.code) << answered.failure->what;
    EXPECT_EQ(answered.failure->http_status, row.status) << answered.failure->what;
    EXPECT_EQ(answered.failure->reason, row.reason) << answered.failure->what;
  }
  EXPECT_EQ(listed(cluster, {.resource = kResourceSlices}), Lines{"s"});
}

TEST_F(DirectoryClusterTest, ADryRunWritesNothing) {
  DirectoryCluster cluster(loop, log, directory, "here");
  auto request = create(slice("s"));
  request.dry_run = true;
  const auto answered = write(cluster, request);
  EXPECT_EQ(decoded(answered.object).devices, slice("s").devices);
  EXPECT_FALSE(std::filesystem::exists(path("resourceslices")));
  EXPECT_EQ(listed(cluster, {.resource = kResourceSlices}), Lines{});
}

TEST_F(DirectoryClusterTest, RefusesToChangeForeignFiles) {
  put("mine.yaml", encode_yaml(encode_resource_slice(slice("s"))));
  DirectoryCluster cluster(loop, log, directory, "here");
  const auto updated = write(cluster, update(slice("s", 2)));
  ASSERT_TRUE(updated.failure);
  EXPECT_EQ(updated.failure->code, Errc::kDenied);
  EXPECT_NE(updated.failure->what.find("mine.yaml"), std::string::npos) << updated.failure->what;
  const auto erased = write(cluster, {.verb = Verb::kDelete, .resource = kResourceSlices, .name = "s"});
  ASSERT_TRUE(erased.failure);
  EXPECT_TRUE(std::filesystem::exists(path("mine.yaml")));
}

TEST_F(DirectoryClusterTest, NamesAFileThatCannotBeWritten) {
  put("resourceslices", "in the way");
  DirectoryCluster cluster(loop, log, directory, "here");
  const auto answered = write(cluster, create(slice("s")));
  ASSERT_TRUE(answered.failure);
  EXPECT_EQ(answered.failure->code, Errc::kIo);
  EXPECT_NE(answered.failure->what.find(path("resourceslices/.s.yaml.new")), std::string::npos)
      << answered.failure->what;
}

// Red when a daemon goes through folders without end, again and again.
TEST_F(DirectoryClusterTest, ReportsFoldersBeyondTheLimit) {
  put("a.yaml", policy("a", 1));
  DirectoryCluster cluster(loop, log, directory, "here", {.retry_interval = 1ms, .folders_max = 2});
  for (const char* folder : {"x", "x/y", "z"}) std::filesystem::create_directory(path(folder));
  ASSERT_TRUE(run_until([&] { return log.count("directory cannot be read") == 1; })) << log.all();
  EXPECT_NE(log.all().find("room for 2 folders"), std::string::npos) << log.all();
  std::filesystem::remove(path("z"));
  ASSERT_TRUE(run_until([&] { return log.count("directory readable again") == 1; })) << log.all();
  EXPECT_EQ(listed(cluster), Lines{"a"});
}

// Red when the file that is one too many is written all the same: nothing of the directory could be read from then on.
TEST_F(DirectoryClusterTest, RefusesAFileWithoutRoom) {
  put("a.yaml", policy("a", 1));
  DirectoryCluster cluster(loop, log, directory, "here", {.files_max = 2});
  EXPECT_FALSE(write(cluster, create(slice("s"))).failure);
  const auto refused = write(cluster, create(slice("t")));
  ASSERT_TRUE(refused.failure);
  EXPECT_NE(refused.failure->what.find("room for 2 files"), std::string::npos) << refused.failure->what;
  EXPECT_FALSE(std::filesystem::exists(path("resourceslices/t.yaml")));
  handle_ready();
  EXPECT_EQ(listed(cluster), Lines{"a"});
}

// Red when watches stay open while lists and writes fail because the directory is unreadable.
TEST_F(DirectoryClusterTest, EndsWatchesAfterAFailedWrite) {
  DirectoryCluster cluster(loop, log, directory, "here", {.retry_interval = 20ms});
  Heard heard;
  follow(cluster, heard, slices());
  {
    const fixture::Unprivileged as_others;
    const mode_t before = ::umask(0400);  // the folder that is made may not be read, and so not be watched
    write(cluster, create(slice("s")));
    ::umask(before);
    EXPECT_NE(listed(cluster).at(0).find("failure"), std::string::npos);
    ASSERT_TRUE(run_until([&] { return !heard.failures.empty(); })) << log.all();
    pass(20ms);  // another look
    EXPECT_EQ(heard.failures.size(), 1u);
    EXPECT_EQ(log.count("directory cannot be read"), 1u) << log.all();
  }
  for (const char* one : {"resourceslices/s.yaml", "resourceslices"})
    std::filesystem::permissions(path(one), std::filesystem::perms::owner_all);
  ASSERT_TRUE(run_until([&] { return log.count("directory readable again") == 1; })) << log.all();
  Heard again;
  follow(cluster, again, slices());
  EXPECT_EQ(listed(cluster, {.resource = kResourceSlices}), Lines{"s"});
}

// Red when slices are written to a place from which they are never read.
TEST_F(DirectoryClusterTest, WritesNothingThroughALinkToAFolder) {
  std::filesystem::create_directories(path("elsewhere"));
  std::filesystem::create_directories(path("in"));
  std::filesystem::create_symlink("../elsewhere", path("in/resourceslices"));
  DirectoryCluster cluster(loop, log, path("in"), "here");
  const Answered answered = write(cluster, create(slice("a")));
  ASSERT_TRUE(answered.failure);
  EXPECT_NE(answered.failure->what.find("is a link, which is not followed; make it a folder"),
            std::string::npos)
      << answered.failure->what;
  EXPECT_TRUE(std::filesystem::is_empty(path("elsewhere")));
}

TEST_F(DirectoryClusterTest, SendsEventsForForeignEditsOfOwnFiles) {
  DirectoryCluster cluster(loop, log, directory, "here");
  Heard heard;
  follow(cluster, heard, slices());
  write(cluster, create(slice("s")));
  put("resourceslices/s.yaml", encode_yaml(encode_resource_slice(slice("s", 7))));
  ASSERT_TRUE(run_until([&] { return heard.has("MODIFIED s"); }));
  std::filesystem::remove_all(path("resourceslices"));
  ASSERT_TRUE(run_until([&] { return heard.has("DELETED s"); }));
  const auto restored = write(cluster, create(slice("s")));
  EXPECT_FALSE(restored.failure) << restored.failure->what;
  ASSERT_TRUE(run_until([&] { return heard.lines.size() == 4; }));
  EXPECT_EQ(heard.lines.back(), "ADDED s");
}

TEST_F(DirectoryClusterTest, ListsTheSameObjectsAfterARestart) {
  put("n.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node}\n");
  ResourceSlice mine = slice("s");
  mine.devices[0].edit([](Device& d) { d.attributes["example.com/v"] = Version{"1.2.3"}; });
  mine.devices[0].edit([](Device& d) { d.attributes["example.com/text"] = std::string("yes"); });
  mine.devices[0].edit([](Device& d) { d.capacity["shares"] = {*Quantity::decode("1k"), std::nullopt}; });
  mine.meta.annotations = {{"sliced/boot", "0x1e3"}};
  ResourceSlice stored;
  std::string uid;
  {
    DirectoryCluster cluster(loop, log, directory, "here");
    stored = decoded(write(cluster, create(mine)).object);
  }
  DirectoryCluster cluster(loop, log, directory, "elsewhere");
  Heard heard;
  follow(cluster, heard, slices());
  ResourceSlice again = decoded(encode_json(heard.objects[0]));
  EXPECT_EQ(again.meta.uid, stored.meta.uid);
  again.meta.resource_version = stored.meta.resource_version;
  EXPECT_EQ(again, stored);
}

}  // namespace
}  // namespace sliced::kube
