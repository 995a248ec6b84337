#include "daemon/status/history.h"

#include <gtest/gtest.h>

#include "reactor/base/log_sinks.h"

namespace sliced::status {
namespace {

using policy::OfferChange;

OfferChange change(std::vector<std::string> devices, const std::string& policy = "policy ns/p") {
  return {.kind = OfferChange::Kind::kWithdrawn,
          .driver = "d.example",
          .devices = std::move(devices),
          .policy = policy,
          .generation = 3,
          .manager = "kubectl",
          .outcome = "no-match",
          .why = "policy ns/p changed"};
}

TEST(History, KeepsTheLastThousandUpToAMegabyte) {
  History history;
  for (int i = 0; i < 1'500; ++i) history.add(i, change({"a"}));
  ASSERT_EQ(history.all().size(), 1'000u);
  EXPECT_EQ(history.all().front()->at_ms, 500);
  EXPECT_EQ(history.all().back()->at_ms, 1'499);
  EXPECT_LE(history.bytes(), History::kBytesMax);
  const std::vector<std::string> many(policy::kOfferChangeDevicesMax, std::string(63, 'x'));
  const auto kept = history.all();
  for (int i = 0; i < 1'000; ++i) history.add(2'000 + i, change(many, std::string(10'000, 'p')));
  EXPECT_LE(history.bytes(), History::kBytesMax);
  EXPECT_GT(history.all().size(), 10u);
  EXPECT_EQ(history.all().back()->at_ms, 2'999);
  EXPECT_EQ(history.all().back()->change.policy.size(), 256u);
  EXPECT_EQ(kept.front()->at_ms, 500) << "what somebody reads stays";
}

TEST(History, RoundTrips) {
  PastChange past{1'763'684'261'296, change({"0000-3b-01-2", "0000-3b-01-3"})};
  past.change.left_out = 7;
  EXPECT_EQ(
      kube::encode_json(json_of(past)),
      "{\"time\":\"2025-11-21T00:17:41.296Z\",\"change\":\"withdrawn\",\"devices\":[\"0000-3b-01-2\","
      "\"0000-3b-01-3\"],\"devicesLeftOut\":7,\"generation\":3,\"driver\":\"d.example\",\"policy\":\"policy "
      "ns/p\",\"manager\":\"kubectl\",\"outcome\":\"no-match\",\"why\":\"policy ns/p changed\"}");
  const auto back = past_change_of(json_of(past));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->at_ms, past.at_ms);
  EXPECT_EQ(back->change, past.change);
  for (const char* none :
       {"{}", "[]", "{\"change\":\"withdrawn\"}", "{\"time\":\"2025-11-21T00:17:41.296Z\"}",
        "{\"change\":\"withdrawn\",\"time\":\"yesterday\"}",
        "{\"change\":\"turned\",\"time\":\"2025-11-21T00:17:41.296Z\"}"})
    EXPECT_FALSE(past_change_of(*kube::decode_json(none))) << none;
}

// An entry in the journal's native protocol, and the output of `journalctl -o json` for it.
TEST(History, IsReadFromTheJournal) {
  const std::string line =
      "{\"__REALTIME_TIMESTAMP\":\"1763684261296123\",\"PRIORITY\":\"6\",\"MESSAGE\":\"offered devices changed ...\","
      "\"SLICED_CHANGE\":\"withdrawn\",\"SLICED_DRIVER\":\"d.example\",\"SLICED_DEVICES\":\"0000-3b-01-2,0000-3b-01-3\","
      "\"SLICED_COUNT\":\"9\",\"SLICED_POLICY\":\"policy ns/p\",\"SLICED_GENERATION\":\"3\","
      "\"SLICED_MANAGER\":\"kubectl\",\"SLICED_OUTCOME\":\"no-match\",\"SLICED_WHY\":\"policy ns/p changed\"}";
  const auto past = past_change_of_journal(line);
  ASSERT_TRUE(past);
  OfferChange wanted = change({"0000-3b-01-2", "0000-3b-01-3"});
  wanted.left_out = 7;
  EXPECT_EQ(past->at_ms, 1'763'684'261'296);
  EXPECT_EQ(past->change, wanted);
  for (const char* none : {"", "SLICED_CHANGE", "{\"SLICED_CHANGE\":", "{\"SLICED_CHANGE\":\"withdrawn\"}",
                           "{\"SLICED_CHANGE\":null,\"__REALTIME_TIMESTAMP\":\"1\"}",
                           "{\"SLICED_CHANGE\":[1,2],\"__REALTIME_TIMESTAMP\":\"1\"}",
                           "{\"SLICED_CHANGE\":\"offered\",\"__REALTIME_TIMESTAMP\":\"-1\"}",
                           "{\"MESSAGE\":\"slice written\",\"__REALTIME_TIMESTAMP\":\"1\"}"})
    EXPECT_FALSE(past_change_of_journal(none)) << none;
  // A field that journalctl found too long is null.
  EXPECT_TRUE(past_change_of_journal(
                  "{\"SLICED_CHANGE\":\"offered\",\"__REALTIME_TIMESTAMP\":\"1\",\"SLICED_DEVICES\":null}")
                  ->change.devices.empty());
}

TEST(History, FiltersByEntryFunctionOrPolicy) {
  const OfferChange one = change({"0000-3b-01-2-macvlan", "eth0"}, "policy ns/p");
  for (const char* name :
       {"", "0000-3b-01-2-macvlan", "0000-3b-01-2", "0000:3b:01.2", "eth0", "policy ns/p", "ns/p", "p"})
    EXPECT_TRUE(is_about(one, name)) << name;
  for (const char* name :
       {"0000-3b-01-3", "0000:3b:01.3", "0000-3b-01-2-mac", "eth", "s/p", "ns", "policy", "/p", " "})
    EXPECT_FALSE(is_about(one, name)) << name;
}

TEST(History, BoundsNamesInALineForJournalctl) {
  const OfferChange many = change(std::vector<std::string>(500, std::string(63, 'x')));
  EXPECT_LT(some_devices_of(many).size(), 4'096u);
}

}  // namespace
}  // namespace sliced::status
