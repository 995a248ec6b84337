#include "kubelet/cni/invoke.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "kubelet/cni/record.h"
#include "t/fixture/golden.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::cni {
namespace {

// Plugins are shell scripts below a directory of the test's.
struct InvokeTest : fixture::LoopTest {
  InvokeTest() {
    std::string pattern = testing::TempDir() + "plugins.XXXXXX";
    directory = mkdtemp(pattern.data());
  }
  ~InvokeTest() override { std::filesystem::remove_all(directory); }

  void plugin(const std::string& name, const std::string& script) const {
    const std::string path = directory + "/" + name;
    std::ofstream(path) << "#!/bin/sh\ncd " << directory << "\n" << script << "\n";
    chmod(path.c_str(), 0755);
  }
  // Says what it was told, then a result that says who it is.
  void recording(const std::string& name) const {
    plugin(name, "echo \"$CNI_COMMAND " + name + " $CNI_IFNAME\" >>calls; cat >" + name + ".$CNI_COMMAND\n" +
                     R"(echo '{"cniVersion":"1.0.0","interfaces":[{"name":")" + name + R"("}]}')");
  }
  std::string text(const std::string& name) const {
    std::ifstream file(directory + "/" + name);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  Result<Attached> run(const std::string& config, Command command, std::optional<Attached> previous = {},
                       Millis deadline = fixture::patience()) {
    std::optional<Result<Attached>> outcome;
    const auto running = run_chain(
        loop, {.directories = {directory + "/absent", directory}, .environment = {"PATH=/usr/bin:/bin"}},
        *decode_network(config, "nad"), command,
        {.container_id = "c1", .network_namespace = "/run/netns/a", .interface = "net1"}, std::move(previous),
        deadline, [&](Result<Attached> what) { outcome = std::move(what); });
    EXPECT_FALSE(outcome);
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return outcome ? *outcome : Result<Attached>(Error{Errc::kTimeout, "never called"});
  }
  static std::string chain(const std::string& version = "1.0.0") {
    return R"({"cniVersion":")" + version + R"(","name":"n","plugins":[{"type":"one"},{"type":"two"}]})";
  }
  std::string directory;
};

TEST_F(InvokeTest, AddPassesResultsAndDelRunsInReverse) {
  recording("one");
  recording("two");
  const auto added = run(chain(), Command::kAdd);
  ASSERT_TRUE(added.ok()) << added.error().what;
  EXPECT_EQ(added->interfaces.at(0).name, "two");
  EXPECT_EQ(kube::decode_json(text("one.ADD"))->find("prevResult"), nullptr);
  EXPECT_EQ(
      kube::decode_json(text("two.ADD"))->find({"prevResult", "interfaces"})->array()->at(0).text("name"),
      "one");
  ASSERT_TRUE(run(chain(), Command::kCheck, *added).ok());
  ASSERT_TRUE(run(chain(), Command::kDel, *added).ok());
  EXPECT_EQ(text("calls"),
            "ADD one net1\nADD two net1\nCHECK one net1\nCHECK two net1\nDEL two net1\nDEL one net1\n");
  for (const auto* input : {"one.CHECK", "two.CHECK", "one.DEL", "two.DEL"})
    EXPECT_EQ(*kube::decode_json(text(input))->find("prevResult"), encode_result(*added)) << input;
}

TEST_F(InvokeTest, Before040SkipsCheckAndPrevResult) {
  recording("one");
  recording("two");
  const Attached made{.cni_version = "0.3.1"};
  ASSERT_TRUE(run(chain("0.3.1"), Command::kCheck, made).ok());
  ASSERT_TRUE(run(chain("0.3.1"), Command::kDel, made).ok());
  EXPECT_EQ(text("calls"), "DEL two net1\nDEL one net1\n");
  EXPECT_EQ(kube::decode_json(text("one.DEL"))->find("prevResult"), nullptr);
}

TEST_F(InvokeTest, TheFirstFailureEndsTheChainAndIsQuoted) {
  plugin("one", R"(echo '{"code":7,"msg":"no VF left","details":"pf ens1f0"}'; exit 1)");
  recording("two");
  const auto outcome = run(chain(), Command::kAdd);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Errc::kIo);
  EXPECT_EQ(outcome.error().what, "network n: plugin one: ADD: no VF left; pf ens1f0 (code 7)");
  EXPECT_EQ(text("calls"), "");
}

TEST_F(InvokeTest, QuotesStandardError) {
  plugin("one", "echo 'a\tline' >&2; exit 3");
  recording("two");
  EXPECT_EQ(run(chain(), Command::kDel).error().what,
            "network n: plugin one: DEL: exit status 3: a\\x09line");
  plugin("one", "kill -9 $$");
  EXPECT_EQ(run(chain(), Command::kAdd).error().what, "network n: plugin one: ADD: killed by signal 9");
}

// Red when the plugin that has the device is not asked to give it back, because a companion behind it failed.
TEST_F(InvokeTest, DelRunsEveryPluginAndReportsTheFirstFailure) {
  recording("one");
  plugin("two", "exit 5");
  EXPECT_EQ(run(chain(), Command::kDel).error().what, "network n: plugin two: DEL: exit status 5");
  EXPECT_EQ(text("calls"), "DEL one net1\n");
  plugin("one", "exit 6");
  EXPECT_EQ(run(chain(), Command::kDel).error().what, "network n: plugin two: DEL: exit status 5");
}

TEST_F(InvokeTest, DelRunsTheInstalledPlugins) {
  recording("one");
  const auto outcome = run(chain(), Command::kDel);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Errc::kNotFound);
  EXPECT_EQ(outcome.error().what,
            "network n: plugin two: DEL: there is no plugin two in " + directory + "/absent:" + directory);
  EXPECT_EQ(text("calls"), "DEL one net1\n");
}

// Red when a plugin that hangs takes the time of those that follow it.
TEST_F(InvokeTest, AHangingDelLeavesTimeForTheNext) {
  recording("one");
  plugin("two", "sleep 1000");
  // A slow machine needs more than the first share to start a shell.
  for (Millis deadline{2'000}; text("calls").empty() && deadline < Millis{900'000}; deadline *= 4)
    EXPECT_EQ(run(chain(), Command::kDel, {}, deadline).error().code, Errc::kTimeout);
  EXPECT_EQ(text("calls"), "DEL one net1\n");
}

// Red when ADD runs the first plugin of a chain that cannot be run to its end.
TEST_F(InvokeTest, AddRunsNothingIfAPluginIsMissing) {
  recording("one");
  const auto outcome = run(chain(), Command::kAdd);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Errc::kNotFound);
  EXPECT_EQ(outcome.error().what,
            "network n: plugin two: ADD: there is no plugin two in " + directory + "/absent:" + directory);
  EXPECT_EQ(text("calls"), "");
}

// Red when who is told kNotFound or kDenied of an ADD takes it for one that ran nothing, and a plugin has run.
TEST_F(InvokeTest, AFailedAddIsNeitherNotFoundNorDenied) {
  plugin("one", "rm " + directory + "/two; echo '{}'");
  recording("two");
  const auto vanished = run(chain(), Command::kAdd);
  ASSERT_FALSE(vanished.ok());
  EXPECT_EQ(vanished.error().code, Errc::kIo) << vanished.error().what;
  plugin("one", "exit 0");
  std::filesystem::permissions(directory + "/one", std::filesystem::perms::owner_read);
  recording("two");
  EXPECT_EQ(run(chain(), Command::kAdd).error().code, Errc::kDenied);
  EXPECT_EQ(text("calls"), "");
}

// host-device has moved the interface already when it finds that its IPAM plugin is not there, and does not move it back.
TEST_F(InvokeTest, AddRunsNothingIfAnIpamPluginIsMissing) {
  recording("one");
  const std::string config =
      R"({"cniVersion":"1.0.0","name":"n","plugins":[{"type":"one","ipam":{"type":"two"}}]})";
  EXPECT_EQ(run(config, Command::kAdd).error().what,
            "network n: plugin one: ADD: there is no plugin two in " + directory + "/absent:" + directory);
  EXPECT_EQ(text("calls"), "");
  recording("two");
  EXPECT_TRUE(run(config, Command::kAdd).ok());
}

// Red when ADD takes what its record, with all that the result left out, could not be read with: DEL would never be run.
TEST_F(InvokeTest, RefusesOversizedOutput) {
  const std::string empty = R"({"interfaces":[{"name":""}]})";
  for (const bool fits : {true, false}) {
    const size_t name = kResultBytesMax - empty.size() - (fits ? 64 : 8);
    plugin("one", R"(printf '{"interfaces":[{"name":"'; head -c )" + std::to_string(name) +
                      R"( /dev/zero | tr '\0' x; printf '"}]}')");
    const auto added = run(R"({"cniVersion":"1.0.0","name":"n","type":"one"})", Command::kAdd);
    EXPECT_EQ(added.ok(), fits);
    if (!added.ok()) {
      EXPECT_EQ(added.error().code, Errc::kTooLarge) << added.error().what.substr(0, 200);
      continue;
    }
    const Record record{.config = "{}",
                        .network = "n",
                        .attachment = {.container_id = "c1", .interface = "net1"},
                        .result = *added};
    EXPECT_TRUE(decode_record(encode_record(record)).ok());
  }
}

TEST_F(InvokeTest, RefusesAnInvalidResult) {
  recording("two");
  plugin("one", "echo junk");
  fixture::expect_golden(run(chain(), Command::kAdd).error().what);
  plugin("one", "true");
  EXPECT_EQ(run(chain(), Command::kAdd).error().code, Errc::kInvalid) << "it has said nothing";
  plugin("one", "head -c 300000 /dev/zero");
  EXPECT_EQ(run(chain(), Command::kAdd).error().code, Errc::kTooLarge);
  plugin("one", "echo junk");
  EXPECT_TRUE(run(chain(), Command::kDel).ok()) << "nobody reads it";
}

TEST_F(InvokeTest, TheDeadlineCoversTheChainAndTheProcessGroup) {
  recording("two");
  plugin("one", "trap '' TERM; sleep 1000000 & echo $! >sleeper; wait; sleep 1000000");
  // A slow machine needs more than the first deadline to start the shell.
  for (Millis deadline{500}; text("sleeper").empty(); deadline *= 2) {
    const auto outcome = run(chain(), Command::kAdd, {}, deadline);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, Errc::kTimeout);
    EXPECT_EQ(outcome.error().what, "network n: plugin one: ADD: not done within the chain's " +
                                        std::to_string(deadline.count()) + " ms");
  }
  const int sleeper = std::stoi(text("sleeper"));
  EXPECT_TRUE(run_until([&] {
    return kill(sleeper, 0) != 0 ||
           text("/../../../proc/" + std::to_string(sleeper) + "/stat").find(") Z") != std::string::npos;
  }));
}

TEST_F(InvokeTest, DroppingItKillsRunningPlugins) {
  recording("two");
  plugin("one", "echo $$ >pid; exec sleep 1000");
  bool is_called = false;
  auto running =
      run_chain(loop, {.directories = {directory}, .environment = {"PATH=/usr/bin:/bin"}},
                *decode_network(chain(), "nad"), Command::kAdd, {.container_id = "c", .interface = "i"}, {},
                Millis{60'000}, [&](const Result<Attached>&) { is_called = true; });
  ASSERT_TRUE(run_until([&] { return text("pid").find('\n') != std::string::npos; }));
  const int pid = std::stoi(text("pid"));
  running.reset();
  EXPECT_TRUE(run_until([&] { return kill(pid, 0) != 0; }));
  EXPECT_FALSE(is_called);
}

TEST_F(InvokeTest, RefusesAnUnsafeAttachment) {
  recording("one");
  std::optional<Result<Attached>> outcome;
  const auto running = run_chain(loop, {.directories = {directory}}, *decode_network(chain(), "nad"),
                                 Command::kAdd, {.container_id = "../c", .interface = "i"}, {}, Millis{1'000},
                                 [&](Result<Attached> what) { outcome = std::move(what); });
  ASSERT_TRUE(run_until([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome->error().code, Errc::kInvalid);
  EXPECT_EQ(text("calls"), "");
}

}  // namespace
}  // namespace sliced::cni
