#include <gtest/gtest.h>

#include "policy/reserved/record.h"

namespace sliced::policy {
namespace charged_record_test {

constexpr const char* kPool = "node-a/0000-3b-00-0";
constexpr const char *kVf = "0000-3b-02-0", *kVfId = "0000:3b:02.0";
const std::string kAny(kAnyGroup);

Holding of(Holding holding) {
  holding.is_withdrawn = true;
  return holding;
}

TEST(WithdrawnRecord, ContainsFactsThatTheNameLacks) {
  const struct {
    const char* what;
    Holding holding;
    const char* text;
  } rows[] = {
      {"as the SR-IOV driver's", {.entry = kVf, .device = kVfId, .base = kVf}, R"(["0000-3b-02-0"])"},
      {"with a suffix", {.entry = "0000-3b-02-0-m", .device = kVfId, .base = kVf}, R"(["0000-3b-02-0-m"])"},
      {"shared, of a group",
       {.entry = "0000-3b-02-0-m", .device = kVfId, .base = kVf, .is_exclusive = false, .group = "rx"},
       R"([{"entry":"0000-3b-02-0-m","device":"0000:3b:02.0","base":"0000-3b-02-0","shared":true,"group":"rx"}])"},
      {"contested",
       {.entry = kVf, .device = kVfId, .base = kVf, .group = "rx", .is_contested = true},
       R"([{"entry":"0000-3b-02-0","device":"0000:3b:02.0","base":"0000-3b-02-0","group":"rx","contested":true}])"},
      {"of each group",
       {.entry = kVf, .device = kVfId, .base = kVf, .group = kAny},
       R"([{"entry":"0000-3b-02-0","device":"0000:3b:02.0","base":"0000-3b-02-0","group":"*"}])"},
      {"of a link",
       {.entry = "br-a-x", .device = "br.a", .base = "br-a"},
       R"([{"entry":"br-a-x","device":"br.a","base":"br-a"}])"},
      {"of a pool as a whole", whole_holding(kPool),
       R"([{"entry":"unreadable record","device":"0000:3b:00.0","base":"0000-3b-00-0","group":"*"}])"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    const Record record({row.holding}, kPool);
    EXPECT_EQ(record.text(), row.text);
    const auto decoded = Record::decode(record.text());
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(decoded->holdings(), std::vector<Holding>{of(row.holding)});
    EXPECT_EQ(*decoded, record);
  }
}

TEST(WithdrawnRecord, IsEqualForEqualHoldings) {
  const Holding a = holding_of_function("0000-3b-02-0"), b = holding_of_function("0000-3b-02-1");
  Holding withdrawn = a;
  withdrawn.is_withdrawn = withdrawn.is_awaited = true;
  EXPECT_EQ(Record({a, b}, kPool), Record({b, withdrawn}, kPool));
  EXPECT_EQ(Record({b, a}, kPool).text(), R"(["0000-3b-02-0","0000-3b-02-1"])");
  EXPECT_TRUE(Record({}, kPool).empty());
  EXPECT_EQ(Record({}, kPool).text(), "");
}

// What stands there may be of another version, or of anybody. Red when what is not understood charges less.
TEST(WithdrawnRecord, AnIncompleteEntryCountsAsAll) {
  const struct {
    const char *text, *entry, *device;
    bool is_exclusive;
    std::string group;
  } rows[] = {
      {R"(["br-x"])", "br-x", "", true, ""},
      {R"([{"entry":"0000-3b-02-0"}])", kVf, kVfId, true, kAny},
      {R"([{"entry":"0000-3b-02-0","device":"0000:3b:02.0","base":"no label"}])", kVf, kVfId, true, kAny},
      {R"([{"entry":"0000-3b-02-0","device":"0000:3b:02.0","base":"b","group":"no label"}])", kVf, kVfId,
       true, kAny},
      {R"([{"entry":"e","device":"d","base":"b","shared":"yes"}])", "e", "d", true, ""},
      {R"([{"entry":"e","device":"d","base":"b","shared":true,"later":"version"}])", "e", "d", false, ""}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto record = Record::decode(row.text);
    ASSERT_TRUE(record.ok());
    ASSERT_EQ(record->holdings().size(), 1u);
    const Holding& told = record->holdings().front();
    EXPECT_EQ(told.entry, row.entry);
    EXPECT_EQ(told.device, row.device);
    EXPECT_EQ(told.is_exclusive, row.is_exclusive);
    EXPECT_EQ(told.group, row.group);
    EXPECT_TRUE(told.is_withdrawn);
  }
}

TEST(WithdrawnRecord, IgnoresEntriesWithoutAName) {
  for (const char* text : {"", "nonsense", "{}", "5", R"([{"a":1}])", "[[]]", R"([""])", "[null]"})
    EXPECT_FALSE(Record::decode(text).ok()) << text;
  EXPECT_TRUE(Record::decode("[]").value().empty());
  kube::ResourceSlice slice;
  EXPECT_TRUE(Record::of(slice).empty());
  slice.meta.annotations[std::string(kWithdrawnAnnotation)] = "nonsense";
  EXPECT_TRUE(Record::of(slice).empty());
  slice.meta.annotations[std::string(kWithdrawnAnnotation)] = R"(["0000-3b-02-0"])";
  EXPECT_EQ(Record::of(slice).holdings().size(), 1u);
}

TEST(WithdrawnRecord, TooLongARecordIsTheWholePool) {
  std::vector<Holding> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(holding_of_function("entry-" + std::to_string(i)));
  const Record record(many, kPool);
  EXPECT_EQ(record.holdings(), std::vector<Holding>{whole_holding(kPool)});
  EXPECT_LT(record.text().size(), 200u);
  many.resize(1'000);
  EXPECT_EQ(Record(many, kPool).holdings().size(), 1'000u);
}

TEST(WithdrawnRecord, AWholePoolIsItsPfOrAnyDevice) {
  EXPECT_EQ(whole_holding(kPool).device, "0000:3b:00.0");
  for (const char* pool : {"node-a/net", "node-a", ""}) {
    EXPECT_EQ(whole_holding(pool).device, kAnyDevice) << pool;
    EXPECT_TRUE(is_unknown(whole_holding(pool)));
    EXPECT_EQ(whole_holding(pool).group, kAny);
  }
}

TEST(WithdrawnRecord, ALinksEntryHasTheLongestLabel) {
  hotplug::Inventory inventory;
  for (const char* id : {"br-a", "br-ab", "eth0.100", "0000-3b-02-0-x"}) inventory.devices[id].id.text = id;
  const struct {
    const char *entry, *device;
  } rows[] = {{"br-ab-m", "br-ab"},
              {"br-a-m", "br-a"},
              {"br-m", ""},
              {"eth0-100-m", "eth0.100"},
              {"0000-3b-02-0-x", "0000-3b-02-0-x"}};
  for (const auto& row : rows) {
    const Holding holding = unknown_holding(row.entry, inventory);
    EXPECT_EQ(holding.device, row.device) << row.entry;
    EXPECT_EQ(holding.group, kAny);
  }
}

kube::ResourceSlice slice_of(std::vector<kube::Device> entries) {
  kube::ResourceSlice slice{.driver = "dra.networking"};
  for (kube::Device& entry : entries) slice.devices.push_back(std::move(entry));
  return slice;
}
void put_groups(kube::ResourceSlice& slice, const Groups& groups) {
  slice.meta.annotations[std::string(kGroupsAnnotation)] = encode_groups(slice.devices, groups);
}

TEST(WithdrawnRecord, AnEntryDescribesItself) {
  kube::Device share{.name = "0000-3b-02-0-m"}, link{.name = "br-a-x"}, renamed, silent{.name = "what"};
  share.allow_multiple_allocations = true;
  link.attributes["dra.networking/ifName"] = std::string("br.a");
  renamed = link;
  renamed.name = "other";
  // A scalable function: its PF and number say which, whatever its interface is called.
  kube::Device sf{.name = "sf88-0000-3b-00-0-x"};
  sf.attributes["dra.networking/ifName"] = std::string("enp59s0f0s88");
  sf.attributes["dra.networking/pfPciAddress"] = std::string("0000:3b:00.0");
  sf.attributes["dra.networking/sfNumber"] = int64_t{88};
  EXPECT_EQ(
      holdings_of_entries(slice_of({share, link, renamed, silent, sf})),
      (std::vector<Holding>{{"0000-3b-02-0-m", kVfId, kVf, false, kAny},
                            {"br-a-x", "br.a", "br-a", true, kAny},
                            {"other", "br.a", "other", true, kAny},  // a label with a hash
                            {"what", "", "what", true, kAny},
                            {"sf88-0000-3b-00-0-x", "sf88-0000-3b-00-0", "sf88-0000-3b-00-0", true, kAny}}));
}

// Red when what stands in a slice counts as one of every group after a restart.
TEST(WithdrawnRecord, ASliceRecordsTheGroupsOfItsEntries) {
  kube::ResourceSlice slice = slice_of({{.name = "a"}, {.name = "b"}, {.name = "c"}});
  const auto groups_told = [&] {
    std::vector<std::string> out;
    for (const Holding& holding : holdings_of_entries(slice)) out.push_back(holding.group);
    return out;
  };
  using Told = std::vector<std::string>;
  EXPECT_EQ(groups_told(), (Told{kAny, kAny, kAny})) << "as an older version has written it";
  put_groups(slice, {{"a", "rx"}, {"c", "tx"}, {"elsewhere", "rx"}});
  EXPECT_EQ(groups_told(), (Told{"rx", "", "tx"}));
  put_groups(slice, {});
  EXPECT_EQ(groups_told(), (Told{"", "", ""}));
  slice.devices.pop_back();
  EXPECT_EQ(groups_told(), (Told{kAny, kAny})) << "who took it out does not know of groups";
  const std::string text = encode_groups(slice.devices, {{"a", "rx"}});
  const std::string entries = text.substr(0, text.find(",\"groups\""));
  for (const std::string& bad :
       {std::string("nonsense"), std::string("{}"), entries + R"(,"groups":5})",
        entries + R"(,"groups":{"no label":["a"]}})", entries + R"(,"groups":{"rx":"a"}})"}) {
    slice.meta.annotations[std::string(kGroupsAnnotation)] = bad;
    EXPECT_EQ(groups_told(), (Told{kAny, kAny})) << bad;
  }
}

}  // namespace charged_record_test
}  // namespace sliced::policy
