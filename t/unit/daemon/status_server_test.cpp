#include "daemon/status_server.h"

#include <gtest/gtest.h>

#include "cli/status_page.h"
#include "daemon/node_report_builder.h"
#include "t/fixture/daemon_world.h"
#include "t/fixture/golden.h"

namespace sliced::daemon {
namespace {

using namespace std::chrono_literals;

struct StatusOfDaemon : testing::Test, fixture::DaemonWorld {
  int readyz() const {
    return status::probe_answer("readyz", status::readiness(report_of(*daemon)), "").status;
  }
  std::string failed() const {
    std::string out;
    for (const status::Check& check : status::readiness(report_of(*daemon)))
      if (!check.problem.empty()) out += check.name + " ";
    return out;
  }
};

TEST_F(StatusOfDaemon, IsReadyOnceEverySourceHasSynced) {
  make_pf(4);
  put_policy("p", "{configs: [{}]}");
  cluster.deny("sriovresourcepolicies");
  start();
  EXPECT_EQ(readyz(), 503);
  run(2s);
  EXPECT_EQ(failed(), "policies decision ");
  cluster.allow("sriovresourcepolicies");
  run(2min);
  EXPECT_EQ(readyz(), 200) << failed();
  const status::Report report = report_of(*daemon);
  EXPECT_EQ(report.summary->offered, 4u);
  EXPECT_EQ(report.drivers.at(0).entries, 4u);
  EXPECT_EQ(report.drivers.at(0).slices, 1u);
  EXPECT_TRUE(report.drivers.at(0).is_settled);
  EXPECT_TRUE(report.is_serving);
}

TEST_F(StatusOfDaemon, ReportsADeadServerAndKeepsKnownFacts) {
  make_pf(4);
  put_policy("p", "{configs: [{}]}");
  start();
  run(2s);
  ASSERT_EQ(readyz(), 200);
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  run(1min);
  EXPECT_EQ(failed(), "api ");
  EXPECT_EQ(report_of(*daemon).summary->offered, 4u);
  cluster.set_network(fake::FakeCluster::Network::kUp);
  run(2min);
  EXPECT_EQ(readyz(), 200) << failed();
}

TEST_F(StatusOfDaemon, StandsByAndIsReadyWithoutTheInterlock) {
  make_pf(4);
  put_policy("p", "{configs: [{}]}");
  start();
  daemon->permit_writes(false);
  run(2s);
  EXPECT_FALSE(report_of(*daemon).is_serving);
  EXPECT_EQ(readyz(), 200) << failed();
}

// Each counter changes by the operation that it counts, and by nothing else.
TEST_F(StatusOfDaemon, CountsItsActions) {
  make_pf(4);
  put_policy("p", "{configs: [{}]}");
  start();
  run(2s);
  const auto written = [&](const std::string& verb, const std::string& result) {
    const status::Metrics metrics = metrics_of(*daemon);
    uint64_t count = 0;
    for (const auto& one : metrics.drivers[0].writes)
      if (one.by == verb && one.result == result) count += one.count;
    return count;
  };
  EXPECT_EQ(written("create", "succeeded"), 1u);
  EXPECT_EQ(metrics_of(*daemon).drivers[0].failed_syncs, 0u);
  const uint64_t decided = metrics_of(*daemon).decided;
  EXPECT_GE(decided, 1u);
  put_policy("p", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0-1']}]}]}");
  run(1s);
  EXPECT_EQ(metrics_of(*daemon).decided, decided + 1);
  EXPECT_EQ(written("update", "succeeded"), 1u);
  uint64_t timed = 0;
  for (const uint64_t count : metrics_of(*daemon).decisions.counts) timed += count;
  EXPECT_EQ(timed, decided + 1) << "each has its duration";
  EXPECT_EQ(*report_of(*daemon).drivers[0].since_taken / 1s, 0);

  cluster.deny("resourceslices");
  put_policy("p", "{configs: [{}]}");
  run(10s);
  EXPECT_GE(written("update", "refused"), 1u);
  EXPECT_EQ(written("update", "succeeded"), 1u);
  EXPECT_EQ(metrics_of(*daemon).drivers[0].failed_syncs, written("update", "refused"));
  cluster.allow("resourceslices");
  run(1min);
  EXPECT_EQ(written("update", "succeeded"), 2u);

  const auto ended = [&](const std::string& source, const std::string& reason) {
    const status::Metrics metrics = metrics_of(*daemon);
    for (const auto& one : metrics.watch_ends)
      if (one.by == source && one.result == reason) return one.count;
    return uint64_t{99};
  };
  EXPECT_EQ(ended("policies", "failed"), 0u);
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  run(1s);
  EXPECT_GE(ended("policies", "failed"), 1u);
}

// Red when no metric allows an alert for a policy with a mistake, the most common failure.
TEST_F(StatusOfDaemon, CountsProblemsAndInvalidPolicies) {
  make_pf(1);
  put_policy("good", "{configs: [{}]}");
  start();
  run(15s);
  EXPECT_EQ(metrics_of(*daemon).problems.all, 0u);
  put_policy("bad", "{configs: [{resourceFilters: [{vendor: ['8086']}]}]}");
  put_exposure("worse", "{selector: {cel: 'device.attributes[\"dra.networking\"].pfname == \"x\"'}}");
  run(15s);
  const status::Metrics::Problems problems = metrics_of(*daemon).problems;
  EXPECT_EQ(problems.sriov, 1u);
  EXPECT_EQ(problems.exposures, 1u);
  EXPECT_EQ(problems.attributes, 0u);
  EXPECT_EQ(problems.all, report_head_of(*daemon, "node-a").problems.size()) << "as the report has it";
  remove_policy("bad");
  remove_exposure("worse");
  run(15s);
  EXPECT_EQ(metrics_of(*daemon).problems.all, 0u);
}

TEST(StatusText, ShowsTheOfferAndProblems) {
  status::Report report{.version = "1.2.3", .node = "a", .cluster = "https://k:6443", .pid = 12, .up = 10min};
  report.sources = {{.name = "own slices", .state = "unreachable", .why = "connect:\x1b refused"}};
  report.summary = policy::Summary{.devices = 4, .offered = 3, .held_back = 1};
  report.stands_by_for = "another instance is active (pid 7 on a)";
  report.drivers = {{.name = "d.example",
                     .entries = 3,
                     .slices = 1,
                     .writes = 2,
                     .failure = "update: 409",
                     .since_taken = 61s}};
  EXPECT_EQ(cli::status_text(status::json_of(report)),
            "sliced 1.2.3, pid 12, up 10 min: NOT READY, standing by\n"
            "node a, cluster https://k:6443\n"
            "3 devices offered, 0 hidden, 1 held back\n"
            "not ready: own-slices: unreachable: connect:\\x1b refused\n"
            "not ready: api: unreachable: connect:\\x1b refused\n"
            "stands by: another instance is active (pid 7 on a)\n"
            "\n"
            "DRIVER     ENTRIES  SLICES  WRITES  LAST WRITE  SETTLED  LAST FAILURE\n"
            "d.example  3        1       2       61 s ago    no       update: 409\n"
            "\n"
            "SOURCE      STATE        SYNCED  WHY\n"
            "own slices  unreachable  no      connect:\\x1b refused\n");
}

// Red when a daemon that has just been started looks like one that offers nothing.
TEST(StatusText, ADaemonWithoutADecisionIsStarting) {
  status::Report report{.version = "1.2.3", .node = "a", .cluster = "https://k:6443"};
  report.waiting_for = {"policies"};
  const std::string text = cli::status_text(status::json_of(report));
  EXPECT_NE(text.find("\nstarting: no decision yet; published devices are unchanged\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\nnot ready: decision: waits for policies\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("offered"), std::string::npos) << text;
}

// Red when a daemon that only publishes looks as if pods could start with its devices.
TEST(StatusText, ReportsThatPodsWithClaimsDoNotStart) {
  status::Report report{.version = "1.2.3", .node = "a"};
  EXPECT_EQ(cli::status_text(status::json_of(report)).find("kubelet plugin"), std::string::npos);
  report.kubelet_plugin = "on";
  EXPECT_EQ(cli::status_text(status::json_of(report)).find("kubelet plugin"), std::string::npos);
  report.kubelet_plugin = "off";
  fixture::expect_golden(cli::status_text(status::json_of(report)));
  report.kubelet_plugin = "waiting";
  report.kubelet_plugin_waits_for = "driver d: /x: another process listens on it";
  const std::string text = cli::status_text(status::json_of(report));
  fixture::expect_golden(text);
}

// Red when status and the node's report are silent about an address that cannot be given back.
TEST_F(StatusOfDaemon, CountsAnUnknownOriginalMacAsAProblem) {
  make_pf(1);
  start();
  run(15s);
  const std::string text = "0000:3b:00.1: original MAC address unknown: the VF keeps its pod's address";
  const reports::NodeReport report = report_head_of(*daemon, "node-a", {"on", "", {text}});
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0], "VF " + text);
  EXPECT_TRUE(report_head_of(*daemon, "node-a", {"on", "", {}}).problems.empty());
  const status::Report status{.unknown_macs = {text + "\x1b"}};
  const kube::Json json = status::json_of(status);
  ASSERT_NE(json.find("unknownOriginalMACs"), nullptr);
  EXPECT_EQ(status::json_of(status::Report{}).find("unknownOriginalMACs"), nullptr);
  EXPECT_NE(cli::status_text(json).find("VF " + text + "\\x1b\n"), std::string::npos)
      << cli::status_text(json);
}

// Red when status, report or `nodes` are silent about a device that could not be given back, or about a missing runtime.
TEST_F(StatusOfDaemon, CountsUnreturnedDevicesAndAMissingRuntimeAsProblems) {
  make_pf(1);
  start();
  run(15s);
  PluginState plugin{"on", ""};
  plugin.not_returned = {"device 0000-3b-00-1 is not offered: it could not be restored: busy"};
  plugin.connection_problem = "no NRI: pods with interfaces do not start (x)";
  const reports::NodeReport report = report_head_of(*daemon, "node-a", plugin);
  ASSERT_EQ(report.problems.size(), 2u);
  EXPECT_EQ(report.problems[0], plugin.connection_problem);
  EXPECT_EQ(report.problems[1], plugin.not_returned[0]);
  const kube::Json json = status::json_of(
      status::Report{.connection_problem = plugin.connection_problem, .not_returned = plugin.not_returned});
  EXPECT_EQ(json.text("nriProblem"), plugin.connection_problem);
  for (const std::string& line : {plugin.connection_problem, plugin.not_returned[0]})
    EXPECT_NE(cli::status_text(json).find(line + "\n"), std::string::npos) << cli::status_text(json);
  EXPECT_EQ(status::json_of(status::Report{}).find("devicesNotReturned"), nullptr);
}

// Red when a policy that is not used as written is in the report and the log, and not in the status.
TEST_F(StatusOfDaemon, ListsProblemsOfPolicies) {
  make_pf(1);
  put_policy("right", "{configs: [{}]}");
  put_policy("wrong", "{configs: [{resourceFilters: [{pfNames: [\"ens1f0#3-1\"]}]}]}");
  start();
  run(15s);
  const status::Report report = report_of(*daemon);
  const kube::Json json = status::json_of(report);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems, report_head_of(*daemon, "node-a", {"on", "", {}}).problems);
  EXPECT_NE(cli::status_text(json).find("\nproblem: policy dra-driver-sriov/wrong: "
                                        "spec.configs[0].resourceFilters[0].pfNames: has \"ens1f0#3-1\""),
            std::string::npos)
      << cli::status_text(json);
  EXPECT_EQ(json.find("moreProblems"), nullptr);

  for (int i = 0; i < 100; ++i)
    put_policy("wrong-" + std::to_string(i), "{configs: [{resourceFilters: [{pfNames: [\"ens1f0#3-1\"]}]}]}");
  run(15s);
  const kube::Json many = status::json_of(report_of(*daemon));
  EXPECT_EQ(many.find("problems")->array()->size(), status::kStatusProblemsMax);
  EXPECT_EQ(*many.find("moreProblems")->integer(), 37);
  const std::string text = cli::status_text(many);
  EXPECT_NE(text.find("\nand 91 more problems (-o json has the first 64)\n"), std::string::npos) << text;
}

// Red when status reports that pods do not start although the kubelet needs no plugin.
TEST(StatusText, AnIgnoredPluginDoesNotPreventPods) {
  const std::string off = cli::status_text(kube::Json::Object{{"kubeletPlugin", "off"}});
  const std::string skipped = cli::status_text(kube::Json::Object{{"kubeletPlugin", "skipped"}});
  EXPECT_NE(off.find("pods with claims do not start"), std::string::npos) << off;
  EXPECT_EQ(skipped.find("do not start"), std::string::npos) << skipped;
  EXPECT_NE(skipped.find("kubelets start pods without one"), std::string::npos) << skipped;
}

// Of a daemon of another version.
TEST(StatusText, InventsNothingForMissingFields) {
  EXPECT_EQ(cli::status_text(kube::Json::Object{}).substr(0, 40), "sliced , pid ?, up 0 s: NOT READY, stand");
}

}  // namespace
}  // namespace sliced::daemon
