#include "daemon/status/probe.h"

#include <gtest/gtest.h>

namespace sliced::status {
namespace {

const Check kGood{"host", "", ""}, kBad{"api", "unreachable: connect 10.0.0.1:6443: refused", ""},
    kNoted{"interlock", "", "stands by: another instance is active"};

TEST(Probe, AnswersLikeKubernetesServers) {
  const struct {
    const char* why;
    std::vector<Check> checks;
    const char* query;
    int status;
    const char* body;
  } rows[] = {
      {"all is well", {kGood}, "", 200, "ok\n"},
      {"a note is not asked for twice",
       {kGood, kNoted},
       "",
       200,
       "ok\nstands by: another instance is active\n"},
      {"each is listed",
       {kGood, kNoted},
       "verbose",
       200,
       "[+]host ok\n[+]interlock ok: stands by: another instance is active\nreadyz check passed\n"},
      {"among others", {kGood}, "a=b&verbose=1", 200, "[+]host ok\nreadyz check passed\n"},
      {"another word", {kGood}, "verbosely", 200, "ok\n"},
      {"what fails is always listed",
       {kGood, kBad},
       "",
       503,
       "[+]host ok\n[-]api failed: unreachable: connect 10.0.0.1:6443: refused\nreadyz check failed\n"},
      {"a foreign text ends no line",
       {{"a", "x\ny\x1b[2J", ""}},
       "",
       503,
       "[-]a failed: x\\x0ay\\x1b[2J\nreadyz check failed\n"},
      {"nothing to check", {}, "", 200, "ok\n"},
  };
  for (const auto& row : rows) {
    const Answer answer = probe_answer("readyz", row.checks, row.query);
    EXPECT_EQ(answer.status, row.status) << row.why;
    EXPECT_EQ(answer.body, row.body) << row.why;
  }
}

TEST(Probe, TruncatesAReason) {
  const Answer answer = probe_answer("readyz", {{"a", std::string(1u << 20, 'x'), ""}}, "");
  EXPECT_LT(answer.body.size(), 2'000u);
}

}  // namespace
}  // namespace sliced::status
