#include "status/metrics.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "reactor/base/text.h"

namespace sliced::status {
namespace {

Report whole_report() {
  Report out{.version = "1.2.3", .node = "a", .cluster = "k"};
  out.sources = {{.name = "node a", .state = "live", .has_synced = true}};
  out.summary = policy::Summary{.devices = 5,
                                .offered = 3,
                                .held_back = 1,
                                .hidden = 1,
                                .sriov = {{policy::Outcome::kOffered, 3}, {policy::Outcome::kHostUse, 1}},
                                .exposure = {{policy::Outcome::kConflict, 2}}};
  out.drivers = {{.name = "sriov.example", .entries = 3}, {.name = "net.example"}};
  return out;
}

Metrics whole_metrics() {
  Metrics out{.started = 1'700'000'000, .cpu = 1.25, .resident_bytes = 4096};
  out.drivers = {{.name = "sriov.example", .writes = {{"create", "taken", 2}}}, {.name = "net.example"}};
  out.watch_ends = {{"policies", "expired", 1}};
  out.claims = {{"sriov.example", {{"prepare", "done", 4}}}};
  out.events = {{"taken", 3}};
  out.reports = {.taken = 5, .failed = 6, .bytes = 7'000, .is_live = true};
  out.long_turns = 7;
  out.lost_lines = 8;
  return out;
}

// What promtool asks of a text, with the rules of the format: each family has HELP and TYPE once and before its
// samples, stands in one piece, has no sample twice, and counters say so by their names.
std::string wrong_with(const std::string& text) {
  std::map<std::string, std::string> types;
  std::set<std::string> helped, samples;
  std::string family;
  std::istringstream lines(text);
  if (!text.ends_with('\n')) return "no end of line at the end";
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, what, name;
    words >> first >> what >> name;
    if (first == "#" && what == "HELP") {
      if (!helped.insert(name).second) return "twice: " + line;
      family = name;
      continue;
    }
    if (first == "#" && what == "TYPE") {
      std::string type;
      words >> type;
      if (name != family || !types.emplace(name, type).second) return "not behind its HELP: " + line;
      if ((type == "counter") != name.ends_with("_total")) return "a counter is called _total: " + line;
      continue;
    }
    const size_t value = line.rfind(' ');
    const std::string sample = line.substr(0, value);
    const std::string metric = sample.substr(0, sample.find('{'));
    if (!samples.insert(sample).second) return "twice: " + line;
    const bool is_of_family =
        metric == family ||
        (types[family] == "histogram" &&
         (metric == family + "_bucket" || metric == family + "_sum" || metric == family + "_count"));
    if (!is_of_family) return "of another family: " + line;
    char* end = nullptr;
    std::strtod(line.c_str() + value + 1, &end);
    if (*end != '\0') return "no number: " + line;
  }
  return "";
}

TEST(Metrics, AreWhatPrometheusReads) {
  EXPECT_EQ(wrong_with(exposition_of(whole_report(), whole_metrics())), "");
  EXPECT_EQ(wrong_with(exposition_of({}, {})), "") << "before anything is known";
  EXPECT_NE(wrong_with("a 1\n"), "") << "the judge judges";
  EXPECT_NE(wrong_with("# HELP a A.\n# TYPE a gauge\na 1\na 2\n"), "");
  EXPECT_NE(wrong_with("# HELP a A.\n# TYPE a counter\na 1\n"), "");
}

TEST(Metrics, SayWhatTheReportSays) {
  const std::string text = exposition_of(whole_report(), whole_metrics());
  for (const char* line :
       {"sliced_build_info{version=\"1.2.3\"} 1\n",
        "process_start_time_seconds 1700000000.000\n",
        "process_resident_memory_bytes 4096\n",
        "process_cpu_seconds_total 1.250\n",
        "sliced_loop_long_turns_total 7\n",
        "sliced_log_lines_lost_total 8\n",
        "sliced_ready 1\n",
        "sliced_serving 0\n",
        "sliced_source_live{source=\"node\"} 1\n",
        "sliced_host_devices{standing=\"unmatched\"} 0\n",
        "sliced_host_devices{standing=\"held-back\"} 1\n",
        "sliced_devices{driver=\"sriov.example\",verdict=\"in-use-by-host\"} 1\n",
        "sliced_devices{driver=\"net.example\",verdict=\"conflict\"} 2\n",
        "sliced_writes_total{driver=\"sriov.example\",verb=\"create\",result=\"taken\"} 2\n",
        "sliced_sync_failures_total{driver=\"net.example\"} 0\n",
        "sliced_watch_restarts_total{source=\"policies\",reason=\"expired\"} 1\n",
        "sliced_report_live 1\n",
        "sliced_report_writes_total{result=\"taken\"} 5\n",
        "sliced_report_writes_total{result=\"failed\"} 6\n",
        "sliced_report_bytes 7000\n",
        "sliced_claims_total{driver=\"sriov.example\",operation=\"prepare\",result=\"done\"} 4\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

// The page is the interface: what it does not tell of is none, and what it tells of is there.
TEST(Metrics, EachIsDocumented) {
  std::ifstream page(SLICED_DOCS "/metrics.md");
  std::set<std::string> documented;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("| `")) documented.insert(line.substr(3, line.find('`', 3) - 3));
  std::set<std::string> told;
  std::istringstream lines(exposition_of(whole_report(), whole_metrics()));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# TYPE ")) told.insert(line.substr(7, line.find(' ', 7) - 7));
  EXPECT_EQ(told, documented);
}

TEST(Metrics, TheProcessIsReadBehindItsName) {
  // pid (name) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime ...
  const std::string stat =
      "12 (a) b) S 1 1 1 0 -1 4194560 9 0 0 0 150 50 0 0 20 0 5 0 3000 1000000 25 18446744073709551615 1 1\n";
  Metrics metrics;
  read_process_stat(stat, 1'000, 100, 4'096, metrics);
  EXPECT_EQ(metrics.cpu, 2.0);
  EXPECT_EQ(metrics.started, 1'030.0);
  EXPECT_EQ(metrics.resident_bytes, 25u * 4'096);
  for (const char* none : {"", "12 (a", "12 (a)", "12 (a) S", "12 (a) S x y z"}) {
    Metrics zero;
    read_process_stat(none, 1'000, 100, 4'096, zero);
    EXPECT_EQ(zero.started, 0.0) << none;
    EXPECT_EQ(zero.resident_bytes, 0u) << none;
  }
}

}  // namespace
}  // namespace sliced::status
