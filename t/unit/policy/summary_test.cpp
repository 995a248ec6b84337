#include "policy/summary.h"

#include <gtest/gtest.h>

namespace sliced::policy {
namespace {

struct Row {
  Outcome sriov;
  std::vector<Outcome> personas;
  size_t offered, hidden, held_back;
};

// Each device alone, and all of them together.
TEST(Summary, CountsEachDeviceOnceByDisposition) {
  const Row rows[] = {
      {Outcome::kOffered, {}, 1, 0, 0},
      {Outcome::kNotAVf, {}, 0, 0, 0},
      {Outcome::kNoPolicy, {}, 0, 0, 0},
      {Outcome::kNoMatch, {}, 0, 0, 0},
      {Outcome::kNoMatch, {Outcome::kOffered}, 1, 0, 0},
      {Outcome::kNotAVf, {Outcome::kOffered, Outcome::kNoCounters}, 1, 0, 0},
      {Outcome::kNoPolicy, {Outcome::kConflict}, 0, 0, 1},
      {Outcome::kHostUse, {}, 0, 0, 1},
      {Outcome::kHostUse, {Outcome::kHostUse}, 0, 0, 1},
      {Outcome::kHostUse, {Outcome::kOffered}, 1, 0, 0},
      {Outcome::kSettling, {}, 0, 0, 1},
      {Outcome::kExcluded, {}, 0, 1, 0},
      {Outcome::kExcludeUnreadable, {}, 0, 0, 1},
      {Outcome::kReserved, {}, 0, 0, 1},
  };
  Decision all;
  Summary sum;
  const auto put = [](Decision& into, const std::string& id, const Row& row) {
    into.verdicts[id] = {.outcome = row.sriov};
    for (const Outcome persona : row.personas) into.personas[id].push_back({.outcome = persona});
  };
  for (const Row& row : rows) {
    Decision one;
    put(one, "a", row);
    const Summary summary = summarize(one);
    EXPECT_EQ(summary.devices, 1u);
    EXPECT_EQ(summary.offered, row.offered) << name_of(row.sriov);
    EXPECT_EQ(summary.hidden, row.hidden) << name_of(row.sriov);
    EXPECT_EQ(summary.held_back, row.held_back) << name_of(row.sriov);
    put(all, "device " + std::to_string(&row - rows), row);
    sum.offered += row.offered;
    sum.hidden += row.hidden;
    sum.held_back += row.held_back;
  }
  const Summary summary = summarize(all);
  EXPECT_EQ(summary.devices, std::size(rows));
  EXPECT_EQ(summary.offered, sum.offered);
  EXPECT_EQ(summary.hidden, sum.hidden);
  EXPECT_EQ(summary.held_back, sum.held_back);
  EXPECT_EQ(summary.sriov.at(Outcome::kHostUse), 3u);
  EXPECT_EQ(summary.exposure.at(Outcome::kOffered), 3u) << "each persona";
}

TEST(Summary, FitsOneLine) {
  EXPECT_EQ(describe({.devices = 20, .offered = 12, .held_back = 1, .hidden = 3}),
            "12 devices offered, 3 hidden, 1 held back, 4 matched by no policy");
  EXPECT_EQ(describe({.offered = 1}), "1 device offered, 0 hidden, 0 held back");
  EXPECT_EQ(describe({.devices = 18}), "0 devices offered, 0 hidden, 0 held back, 18 matched by no policy")
      << "red when a fresh node looks as if it had no devices";
  EXPECT_EQ(describe({.devices = 1, .offered = 1}), "1 device offered, 0 hidden, 0 held back");
  EXPECT_EQ(describe(summarize({})), "0 devices offered, 0 hidden, 0 held back");
}

}  // namespace
}  // namespace sliced::policy
