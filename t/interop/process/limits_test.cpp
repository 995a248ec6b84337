// build/sliced as a process: what others write into the cluster, or do not read of its output, neither ends
// it nor holds it up. The memory limit is a real one (RLIMIT_DATA: heap, stacks and whatever else is private
// and writable), the same figure that docs/scale.md names; and no more than that is ever resident.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "reactor/base/text.h"
#include "reactor/thread_executor.h"
#include "t/fixture/sysfs_tree.h"
#include "t/interop/process/api_server.h"
#include "t/interop/process/child.h"

namespace sliced::process {
namespace {

constexpr rlim_t kMemoryMax = 64u << 20;
// A cgroup's limit counts what is touched; RLIMIT_DATA counts the workers' stacks as they are reserved.
constexpr rlim_t kReservedStacks =
    reactor::ThreadExecutor::Limits{}.workers * reactor::ThreadExecutor::kStackBytes;
constexpr size_t kPolicyText = 360u << 10;

void limit_memory() {
  const rlimit limit{kMemoryMax + kReservedStacks, kMemoryMax + kReservedStacks};
  if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(99);
}

std::string object(const std::string& name, const std::string& spec, const std::string& meta = "") {
  return R"({"metadata":{"name":")" + name + R"(","resourceVersion":"7")" + meta + R"(},"spec":)" + spec +
         "}";
}
std::string policy(const std::string& name, const std::string& spec) {
  return object(name, spec, R"(,"namespace":"dra-driver-sriov")");
}
// Repeats `piece` with its number in the place of '#', up to about that many bytes.
std::string repeated(std::string_view piece, size_t bytes) {
  std::string out;
  for (size_t i = 0; out.size() < bytes; ++i) {
    if (i > 0) out += ',';
    for (const char c : piece)
      if (c == '#')
        out += std::to_string(i);
      else
        out += c;
  }
  return out;
}

struct ProcessTest : testing::Test {
  ProcessTest() {
    std::signal(SIGPIPE, SIG_IGN);
    tree.boot_id("boot-1");
    auto pf = tree.pci("0000:3b:00.0").id("8086", "1592").driver("ice").numa(0).netdev("ens1f0");
    pf.sriov(8).vfs(4, [](fixture::SysfsTree::Pci vf, int index) {
      vf.id("8086", "1889").driver("iavf").netdev("ens1f0v" + std::to_string(index));
    });
    scratch = std::filesystem::temp_directory_path() / ("sliced-process-" + std::to_string(getpid()));
    std::filesystem::create_directories(scratch);
  }
  ~ProcessTest() override {
    child.reset();
    std::filesystem::remove_all(scratch);
  }

  /// A server with this node, and nothing else yet.
  void serve(bool has_watch_list) {
    server = std::make_unique<ApiServer>(has_watch_list);
    server->serve("nodes", {1, [this](size_t) { return object(node, "{}", R"(,"uid":"uid-1")"); }});
  }
  /// The hostile objects, and behind them, by name, the two that are meant.
  void serve_policies(size_t count, std::function<std::string(size_t)> hostile) {
    server->serve("sriovresourcepolicies", {count + 1, [count, hostile](size_t i) {
                                              return i == count ? policy("valid", kAll) : hostile(i);
                                            }});
    server->serve("deviceexposurepolicies", {1, [](size_t) { return object("zz-exclude", kExcludeFirst); }});
  }

  void start(std::vector<std::string> more = {}, int out = -1, int err = -1) {
    write_kubeconfig();
    start_on("kubeconfig:" + (scratch / "kubeconfig").string(), std::move(more), out, err);
  }
  void write_kubeconfig() {
    std::ofstream(scratch / "kubeconfig")
        << "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, "
           "user: u}}]\n"
           "users: [{name: u, user: {token: t}}]\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:"
        << server->port() << "\"}}]\n";
  }
  void start_on(const std::string& cluster, std::vector<std::string> more = {}, int out = -1, int err = -1) {
    std::vector<std::string> words = {SLICED_PROGRAM, command,       "--cluster", cluster,        "--host",
                                      tree.root(),    "--node-name", node,        "--log-format", "text"};
    if (command == "run") words.insert(words.end(), {"--runtime-directory", scratch / "run"});
    words.insert(words.end(), more.begin(), more.end());
    const int file = open((scratch / "log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    child = std::make_unique<Child>();
    ASSERT_EQ(child->start(words, {"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + scratch.string()},
                           out >= 0 ? out : file, err >= 0 ? err : file, limit_memory),
              "");
    close(file);
  }
  bool wait_for_devices(const std::set<std::string>& wanted) const {
    return child->wait_until([&] { return server->has_devices(wanted); });
  }
  /// An edit that open watches report.
  void tell_policy(const std::string& object) const {
    EXPECT_TRUE(
        child->wait_until([&] { return server->tell("sriovresourcepolicies", "MODIFIED", object) > 0; }));
  }
  std::string log() const {
    std::ifstream file(scratch / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The most that it ever had in memory, files included, in KiB.
  size_t peak() const {
    std::ifstream status("/proc/" + std::to_string(child->pid()) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) return std::strtoul(line.c_str() + 6, nullptr, 10);
    return 0;
  }
  /// Serves what is meant, follows an edit, offers nothing that is excluded, and has not said too much.
  void expect_served() {
    EXPECT_TRUE(wait_for_devices({"0000-3b-02-1", "0000-3b-02-2", "0000-3b-02-3"})) << tail();
    tell_policy(policy("valid", kTwo));
    EXPECT_TRUE(wait_for_devices({"0000-3b-02-1"})) << "an edit is followed\n" << tail();
    EXPECT_FALSE(server->devices_ever().contains("0000-3b-02-0")) << "it is excluded";
    const size_t most = peak();
    RecordProperty("peak_kib", static_cast<int>(most));
    std::printf("peak %zu KiB, log %zu bytes\n", most, log().size());
    EXPECT_LT(most, kMemoryMax >> 10);
    EXPECT_GT(most, 0u) << "it is alive";
    EXPECT_LT(log().size(), 1u << 20);
    EXPECT_EQ(child->stop(), 0) << tail();
  }
  std::string tail() const {
    const std::string all = log();
    return all.size() > 4'000 ? all.substr(all.size() - 4'000) : all;
  }

  static constexpr const char* kAll = R"({"configs":[{}]})";
  static constexpr const char* kTwo = R"({"configs":[{"resourceFilters":[{"pfNames":["ens1f0#0-1"]}]}]})";
  static constexpr const char* kExcludeFirst =
      R"({"action":"exclude","selector":{"cel":"device.attributes['dra.networking'].ifName == 'ens1f0v0'"}})";

  const std::string node = "node-" + std::to_string(getpid());
  std::string command = "run";
  fixture::SysfsTree tree;
  std::filesystem::path scratch;
  std::unique_ptr<ApiServer> server;
  std::unique_ptr<Child> child;
};

TEST(Child, ThatCannotBeRunOrHasEndedIsNotWaitedFor) {
  Child none;
  EXPECT_EQ(none.start({"/no/such/program"}, {}, 1, 2), "/no/such/program: No such file or directory");
  Child ended;
  EXPECT_EQ(ended.start({"/bin/false"}, {}, 1, 2), "");
  EXPECT_FALSE(ended.wait_until([] { return false; }));
  EXPECT_EQ(ended.wait(), 1);
}

// Without this the others show nothing.
TEST(MemoryLimit, IsReal) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    limit_memory();
    volatile char* block = static_cast<char*>(std::malloc(kMemoryMax + kReservedStacks));
    if (block != nullptr) block[0] = 1;
    _exit(block == nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "RLIMIT_DATA limits nothing here: this machine cannot judge";
}

struct Hostile {
  const char* name;
  size_t count;
  std::string (*make)(size_t index);
};

std::string named(size_t index) { return "h-" + std::to_string(index); }

const Hostile kHostile[] = {
    {"ManyLargePoliciesThatAreGood", 320,
     [](size_t i) {
       return policy(
           named(i),
           R"({"configs":[{"resourceFilters":[)" +
               repeated(R"({"pciAddresses":["0000:aa:00.1","0000:aa:00.2"],"vendors":["15b3"]})", 4'000) +
               R"(]}],"nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":[)" +
               repeated(R"("value-#")", 100'000) + R"(]},{"key":"b","operator":"NotIn","values":[)" +
               repeated(R"("value-of-a-node-#")", kPolicyText - 110'000) + "]}]}]}}");
     }},
    {"ManyLargePoliciesOfUnknownFields", 320,
     [](size_t i) { return policy(named(i), "{" + repeated(R"("k#":1)", kPolicyText) + "}"); }},
    {"ManyLargePoliciesOfTinyValues", 320,
     [](size_t i) { return policy(named(i), R"({"x":[)" + repeated("[]", kPolicyText) + "]}"); }},
    {"UnknownFieldsByTheHundredThousand", 10,
     [](size_t i) { return policy(named(i), "{" + repeated(R"("k#":1)", 1'400'000) + "}"); }},
    {"LongKeys", 20,
     [](size_t i) { return policy(named(i), "{\"" + std::string(1'400'000, 'k') + "\":1}"); }},
    {"LargerThanAnyServerStores", 20,
     [](size_t i) { return policy(named(i), "{\"k\":\"" + std::string(5'000'000, 'v') + "\"}"); }},
    {"DeepNesting", 20,
     [](size_t i) {
       return policy(named(i), "{\"x\":" + std::string(600'000, '[') + std::string(600'000, ']') + "}");
     }},
    {"ManySmallObjects", 49'000, [](size_t i) { return policy(named(i), "{}"); }},
    {"ManyFilters", 320,
     [](size_t i) {
       const std::string filters = R"({"resourceFilters":[)" + repeated("{\"vendors\":[]}", 63 * 15) + "]}";
       std::string configs;
       for (int c = 0; c < 64; ++c) configs += (c == 0 ? "" : ",") + filters;
       return policy(named(i), R"({"nodeSelector":{"not":"here"},"configs":[)" + configs + "]}");
     }},
};

struct HostileSets : ProcessTest, testing::WithParamInterface<std::tuple<Hostile, bool>> {};

TEST_P(HostileSets, LeaveWhatIsMeantServed) {
  const auto& [hostile, has_watch_list] = GetParam();
  serve(has_watch_list);
  serve_policies(hostile.count, hostile.make);
  start();
  expect_served();
}

INSTANTIATE_TEST_SUITE_P(All, HostileSets, testing::Combine(testing::ValuesIn(kHostile), testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) ? "ByWatchList" : "ByList");
                         });

TEST_F(ProcessTest, HostileExposurePoliciesLeaveTheExcludeInForce) {
  serve(true);
  server->serve("sriovresourcepolicies", {1, [](size_t) { return policy("valid", kAll); }});
  server->serve("deviceexposurepolicies", {101, [](size_t i) {
                                             if (i == 100) return object("zz-exclude", kExcludeFirst);
                                             return object(named(i), R"({"selector":{"cel":"false"},)" +
                                                                         repeated(R"("k#":1)", kPolicyText) +
                                                                         "}");
                                           }});
  start();
  expect_served();
}

// 60 MiB of slices that say that they are of this driver and node. Red when all of them are decoded and kept.
TEST_F(ProcessTest, SlicesOfOthersUnderOurNameAreTakenAway) {
  serve(true);
  serve_policies(0, [](size_t) { return std::string(); });
  std::string devices;
  for (int d = 0; d < 120; ++d) {
    devices += (d == 0 ? R"({"name":"d)" : R"(,{"name":"d)") + std::to_string(d) + R"(","attributes":{)";
    for (int a = 0; a < 30; ++a) devices += (a == 0 ? "\"a" : ",\"a") + std::to_string(a) + R"(":{"int":1})";
    devices += "}}";
  }
  const std::string driver = "sriovnetwork.k8snetworkplumbingwg.io";
  for (int i = 0; i < 1'000; ++i) {
    const std::string name = "00000-theirs-" + std::to_string(i);
    server->hold_slice(driver, name,
                       R"({"metadata":{"name":")" + name +
                           R"(","uid":"u","resourceVersion":"7"},"spec":)"
                           R"({"driver":")" +
                           driver + R"(","nodeName":")" + node +
                           R"(","pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[)" +
                           devices + "]}}");
  }
  start();
  expect_served();
}

// The same without a server. The files are read one at a time, and what they say is kept as text.
struct DirectoryTest : ProcessTest {
  DirectoryTest() {
    std::filesystem::create_directories(cluster / "resourceslices");
    put("a-valid", kSriov, "SriovResourcePolicy",
        policy("valid", R"({"configs":[{"resourceFilters":[{"pfNames":["ens1f0"]}]}]})"));
    put("a-exclude", kExposure, "DeviceExposurePolicy", object("zz-exclude", kExcludeFirst));
  }
  void put(const std::string& file, const std::string& version, const std::string& kind,
           const std::string& rest) {
    std::ofstream(cluster / (file + ".json"))
        << R"({"apiVersion":")" << version << R"(","kind":")" << kind << R"(",)" << rest.substr(1);
  }
  /// Until the slices name each of these.
  bool wait_for(const std::vector<std::string>& wanted) {
    return child->wait_until([&] {
      slices.clear();
      for (const auto& file : std::filesystem::directory_iterator(cluster / "resourceslices")) {
        std::ifstream in(file.path());
        slices.append(std::istreambuf_iterator<char>(in), {});
      }
      return std::all_of(wanted.begin(), wanted.end(),
                         [&](const std::string& one) { return slices.find(one) != std::string::npos; });
    });
  }
  void expect_followed(const std::vector<std::string>& wanted) {
    start_on("dir:" + cluster.string());
    EXPECT_TRUE(wait_for(wanted)) << tail();
    EXPECT_EQ(slices.find("0000-3b-02-0"), std::string::npos) << "it is excluded";
    std::printf("peak %zu KiB, log %zu bytes\n", peak(), log().size());
    EXPECT_GT(peak(), 0u) << "it is alive";
    EXPECT_EQ(child->stop(), 0) << tail();
  }
  static constexpr const char* kSriov = "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1";
  static constexpr const char* kExposure = "networking.dra.io/v1alpha1";
  const std::filesystem::path cluster = scratch / "cluster";
  std::string slices;
};

TEST_F(DirectoryTest, ManyLargePoliciesLeaveTheExcludeInForce) {
  for (size_t i = 0; i < 320; ++i)
    put(named(i), kSriov, "SriovResourcePolicy",
        policy(named(i), "{" + repeated(R"("k#":1)", kPolicyText) + "}"));
  expect_followed({"0000-3b-02-1", "0000-3b-02-3"});
}

// More objects than even their names have room for. Red when a command waits for that to change.
TEST_F(DirectoryTest, ACommandSaysWhatADirectoryHasNoRoomFor) {
  for (int file = 0; file < 4; ++file) {
    std::ofstream out(cluster / ("many" + std::to_string(file) + ".yaml"));
    for (int i = 0; i < 12'000; ++i)
      out << "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c" << file << "-" << i << "}\n";
  }
  command = "plan";
  start_on("dir:" + cluster.string());
  EXPECT_EQ(child->wait(), 1);
  EXPECT_NE(log().find("no decision"), std::string::npos) << tail();
  EXPECT_NE(log().find("remove some, or split the directory"), std::string::npos) << tail();
}

// A pipe that nobody reads, for both outputs.
TEST_F(ProcessTest, OutputThatNobodyReadsHoldsNothingUp) {
  int out[2], err[2];
  ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(err, O_CLOEXEC), 0);
  for (const int fd : {out[1], err[1]}) {  // full from the start
    ASSERT_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    const std::string some(4'096, 'x');
    while (write(fd, some.data(), some.size()) > 0) {
    }
    while (write(fd, "x", 1) > 0) {
    }
    ASSERT_EQ(fcntl(fd, F_SETFL, 0), 0);
  }
  serve(true);
  serve_policies(200, [](size_t i) { return policy(named(i), R"({"typo":1})"); });
  start({"--show", "--log-level", "debug"}, out[1], err[1]);
  EXPECT_TRUE(wait_for_devices({"0000-3b-02-1", "0000-3b-02-2", "0000-3b-02-3"}));
  tell_policy(policy("valid", kTwo));
  EXPECT_TRUE(wait_for_devices({"0000-3b-02-1"}));
  EXPECT_EQ(fcntl(err[1], F_GETFL) & O_NONBLOCK, 0) << "the descriptor is others', too";
  EXPECT_EQ(child->stop(), 0);
  for (const int fd : {out[0], out[1], err[0], err[1]}) close(fd);
}

// Whoever read the output is gone.
TEST_F(ProcessTest, OutputWithoutAReaderEndsNothing) {
  int err[2];
  ASSERT_EQ(pipe2(err, O_CLOEXEC), 0);
  close(err[0]);
  serve(true);
  serve_policies(1, [](size_t i) { return policy(named(i), R"({"typo":1})"); });
  start({"--show", "--log-level", "debug"}, err[1], err[1]);
  close(err[1]);
  EXPECT_TRUE(wait_for_devices({"0000-3b-02-1", "0000-3b-02-2", "0000-3b-02-3"}));
  EXPECT_EQ(child->stop(), 0);
}

}  // namespace
}  // namespace sliced::process
