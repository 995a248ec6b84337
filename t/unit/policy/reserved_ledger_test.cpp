// Each transition of an entry that may be allocated.
#include <gtest/gtest.h>

#include "policy/exposure/exclusion.h"
#include "policy/reserved/ledger.h"

namespace sliced::policy {
namespace charged_ledger_test {

using namespace std::chrono_literals;
using Set = std::set<std::string>;

constexpr const char *kSriov = "sriov.example.com", *kExposure = "dra.networking", *kNode = "node-a";
constexpr const char *kPf = "0000-3b-00-0", *kPfId = "0000:3b:00.0", *kVf = "0000-3b-02-0",
                     *kVfId = "0000:3b:02.0";
const PoolKey kPool{kExposure, "node-a/0000-3b-00-0"}, kLinks{kExposure, "node-a/net"}, kOther{kSriov, kNode};
const std::string kWhole(kUnknownEntry);

TimePoint at(Millis since) { return TimePoint(Millis{1'000'000}) + since; }

struct LedgerTest : testing::Test {
  LedgerTest() { ledger.set_writing(true), plug({kPfId, kVfId}); }

  // vanished: an event reports its removal.
  void plug(const Set& ids, const std::string& vanished = "") {
    auto now = std::make_shared<hotplug::Inventory>();
    for (const std::string& id : ids) {
      now->devices[id].id.text = id;
      now->devices[id].pci = hotplug::PciAddress::decode(id);
    }
    if (!vanished.empty()) now->vanished.insert(*hotplug::PciAddress::decode(vanished));
    inventory = now;
  }
  static Holding whole_pf() { return holding_of_function(kPf); }
  static Holding share(const std::string& suffix, const std::string& group = "") {
    return {kPf + suffix, kPfId, kPf, false, group};
  }
  static Prepared prepared_pf(const std::string& claim = "uid-1") {
    return {kPool, kPf, claim, false, "default", "claim"};
  }
  // What the next decision offers of the PF's pool, and of the other driver.
  void decide(std::vector<Holding> offers, std::vector<std::string> vfs = {}) {
    ledger.find_awaited(*inventory, now);
    offered[kPool.second] = std::move(offers);
    if (is_sriov || !vfs.empty()) sriov[kNode] = std::move(vfs);
    is_sriov |= !sriov.empty();
    ledger.decided({offered, contested, sriov, unverified, wanted, inventory, has_exposures, has_link_slice});
    unverified.clear();
  }
  void acknowledge(const Set& but = {}) {
    for (const char* driver : {kSriov, kExposure}) ledger.acknowledged(driver, but, now);
  }
  // Offered, withdrawn, and the server knows it.
  void withdraw_the_pf() {
    decide({whole_pf()});
    decide({});
    acknowledge();
  }
  Ledger::Change list(Millis begun, const Allocations& allocated = {}) {
    return ledger.take(ClaimList{at(begun), allocated}, now);
  }
  Set recorded(const PoolKey& pool = kPool) const {
    Set out;
    for (const Holding& holding : ledger.record(pool).holdings()) out.insert(holding.entry);
    return out;
  }
  static kube::ResourceSlice slice(const PoolKey& pool, const std::vector<std::string>& entries,
                                   const std::string& record = "") {
    kube::ResourceSlice out;
    out.driver = pool.first;
    out.pool.name = pool.second;
    for (const std::string& name : entries) out.devices.push_back(kube::Device{.name = name});
    if (!record.empty()) out.meta.annotations[std::string(kWithdrawnAnnotation)] = record;
    return out;
  }

  void begin_anew() {
    made.emplace(Ledger::Names{kSriov, kExposure, kNode});
    ledger.set_writing(true);
  }

  std::optional<Ledger> made{Ledger::Names{kSriov, kExposure, kNode}};
  Ledger& ledger = *made;
  TimePoint now = at(0ms);
  hotplug::InventoryPtr inventory;
  HoldingsByPool offered, contested;
  std::map<std::string, std::vector<std::string>> sriov;
  bool is_sriov = false;
  Set unverified, wanted;
  bool has_exposures = true, has_link_slice = false;
};

// Red when a device is taken for free that a claim is known to have, or for taken that may merely be.
TEST_F(LedgerTest, KnowsAllocatedEntries) {
  decide({whole_pf()}, {kVf});
  EXPECT_EQ(ledger.known_allocated(), Set{}) << "offered, it may be: nobody knows";
  ledger.take(Prepared{kOther, kVf, "uid-2"}, now);
  EXPECT_EQ(ledger.known_allocated(), Set{kVfId});
  list(0s, {{kPool, {{kPf, false}}}});
  EXPECT_EQ(ledger.known_allocated(), (Set{kPfId, kVfId}));
  using Claims = std::map<std::string, Set>;
  EXPECT_EQ(ledger.known_claims(), (Claims{{kPfId, {}}, {kVfId, {}}})) << "nothing that was read has names";
  ledger.take(ClaimList{at(1s), {{kPool, {{kPf, false}}}}, {{kPool, {{kPf, {"ns/a"}}}}}}, now);
  ledger.take(Prepared{kOther, kVf, "uid-3", false, "ns", "b"}, now);
  EXPECT_EQ(ledger.known_claims(), (Claims{{kPfId, {"ns/a"}}, {kVfId, {"ns/b"}}}));
  ledger.take(Unprepared{kOther, kVf, "uid-2"});
  ledger.take(Unprepared{kOther, kVf, "uid-3"});
  EXPECT_EQ(ledger.known_allocated(), Set{kPfId});
  list(1h);
  EXPECT_EQ(ledger.known_allocated(), Set{});
}

TEST_F(LedgerTest, AnOfferedEntryIsReservedWithoutARecord) {
  decide({whole_pf()}, {kVf});
  EXPECT_EQ(ledger.holdings().at(kPool.second), std::vector<Holding>{whole_pf()});
  EXPECT_EQ(ledger.sriov_holdings(), Set{kVf});
  EXPECT_EQ(recorded(), Set());
  acknowledge();
  EXPECT_FALSE(ledger.need()) << "nobody waits for anything";
}

TEST_F(LedgerTest, FindsAnEntryByNameOfferedOrWithdrawn) {
  EXPECT_EQ(ledger.find(kPool, kPf), nullptr);
  decide({share("-a", "g")});
  ASSERT_NE(ledger.find(kPool, std::string(kPf) + "-a"), nullptr);
  EXPECT_EQ(ledger.find(kPool, std::string(kPf) + "-a")->group, "g");
  EXPECT_EQ(ledger.find(kLinks, std::string(kPf) + "-a"), nullptr);
  decide({});
  EXPECT_TRUE(ledger.find(kPool, std::string(kPf) + "-a")->is_withdrawn);
  for (const auto& [pool, all] : ledger.holdings())
    for (const Holding& one : all) EXPECT_EQ(*ledger.find({kExposure, pool}, one.entry), one);
}

TEST_F(LedgerTest, RecordsAWithdrawnEntryAndRequestsAClaimListOnceAcknowledged) {
  decide({whole_pf()});
  decide({});
  EXPECT_EQ(recorded(), Set{kPf});
  EXPECT_FALSE(ledger.need()) << "the server may not know yet";
  acknowledge();
  ASSERT_TRUE(ledger.need());
  EXPECT_FALSE(ledger.need()->unknown_from);
  decide({whole_pf()});
  EXPECT_EQ(recorded(), Set()) << "offered again";
  EXPECT_FALSE(ledger.need());
}

// Red when one pool that cannot be written keeps the others from being acknowledged.
TEST_F(LedgerTest, AcknowledgesPerPool) {
  withdraw_the_pf();
  offered[kLinks.second] = {{"br-a", "br-a", "br-a"}};
  plug({kPfId, kVfId, "br-a"});
  decide({whole_pf()});
  offered.clear();
  decide({});
  acknowledge({kLinks.second});
  now = at(1min);
  EXPECT_EQ(list(20s).released, 1u) << "the PF";
  EXPECT_EQ(recorded(kLinks), Set{"br-a"});
  acknowledge();
  now = at(3min);
  EXPECT_EQ(list(2min).released, 1u);
}

struct CensusRow {
  const char* what;
  Millis begun;
  Allocations allocated;
  size_t released, newly_found;
  Set recorded;
};

TEST_F(LedgerTest, AClaimListFreesAbsentEntries) {
  const std::string other = std::string(kPf) + "-old";
  const CensusRow rows[] = {
      {"free", 10s, {}, 1, 0, {}},
      {"begun before a scheduler must know", 9'999ms, {}, 0, 0, {kPf}},
      {"allocated", 10s, {{kPool, {{kPf, false}}}}, 0, 0, {kPf}},
      {"of another pool", 10s, {{kOther, {{kPf, false}}}}, 1, 0, {}},
      {"something that no record tells of", 10s, {{kPool, {{other, true}}}}, 1, 1, {other}},
      {"of a function that is not there", 10s, {{kPool, {{"0000-3b-07-0", false}}}}, 1, 0, {}}};
  for (const CensusRow& row : rows) {
    SCOPED_TRACE(row.what);
    begin_anew();
    withdraw_the_pf();
    const auto change = list(row.begun, row.allocated);
    EXPECT_EQ(change.released, row.released);
    EXPECT_EQ(change.newly_found, row.newly_found);
    EXPECT_EQ(recorded(), row.recorded);
    EXPECT_EQ(ledger.need().has_value(), !row.recorded.empty());
  }
}

TEST_F(LedgerTest, DoesNotRelearnAReleasedEntryFromItsOldRecord) {
  withdraw_the_pf();
  const kube::ResourceSlice old = slice(kPool, {}, ledger.record(kPool).text());
  list(10s);
  EXPECT_FALSE(ledger.learn(old).is_new) << "the record is being written anew";
  acknowledge();
  EXPECT_TRUE(ledger.learn(old).is_new) << "whoever wrote that did it since";
}

TEST_F(LedgerTest, ATakeoverAdoptsExistingRecords) {
  withdraw_the_pf();
  const kube::ResourceSlice old = slice(kPool, {}, ledger.record(kPool).text());
  list(10s);
  ledger.set_writing(false);
  ledger.set_writing(true);
  EXPECT_TRUE(ledger.learn(old).is_new);
}

TEST_F(LedgerTest, PodClaimsReserveWithoutARecordAndFreeNothing) {
  withdraw_the_pf();
  const Allocations seen{{kPool, {{std::string(kPf) + "-m", true}}}};
  EXPECT_EQ(ledger.take(PodClaims{seen}, now).newly_found, 0u) << "the record of that pool is whole";
  EXPECT_EQ(ledger.take(PodClaims{}, at(1min)).released, 0u);
  ledger.learn(slice(kPool, {}, "nonsense"));
  const auto change = ledger.take(PodClaims{seen}, now);
  EXPECT_EQ(change.newly_found, 1u);
  EXPECT_FALSE(change.ends_unverified);
  decide({});
  EXPECT_EQ(recorded(), (Set{kPf, std::string(kPf) + "-m", kWhole}));
}

TEST_F(LedgerTest, KeepsPreparedEntriesDespiteAClaimList) {
  withdraw_the_pf();
  EXPECT_EQ(ledger.take(Prepared{kPool, kPf, "uid-1"}, now).newly_found, 0u);
  EXPECT_FALSE(ledger.need()) << "its claim stands: nobody has to be asked";
  EXPECT_EQ(list(1min).released, 0u);
  EXPECT_EQ(recorded(), Set{kPf});
  ledger.take(Unprepared{kPool, kPf, "uid-1"});
  EXPECT_EQ(recorded(), Set{kPf}) << "a standing claim goes to the next pod";
  EXPECT_TRUE(ledger.need()) << "now it is worth asking";
  EXPECT_EQ(list(2min).released, 1u);
}

// ---- one claim's word

TEST_F(LedgerTest, OneClaimFreesItsOwnEntry) {
  withdraw_the_pf();
  EXPECT_TRUE(ledger.questions().empty()) << "nobody here has it";
  ledger.take(prepared_pf(), now);
  ASSERT_EQ(ledger.questions().size(), 1u);
  const auto asked = ledger.questions().front();
  EXPECT_EQ(asked.claim, "uid-1");
  EXPECT_EQ(asked.claim_namespace + "/" + asked.claim_name, "default/claim");
  EXPECT_EQ(asked.from, at(10s)) << "until then a scheduler may bind by what it saw";
  ledger.take(ClaimRead{at(10s), kPool, kPf, "uid-1", true});
  EXPECT_TRUE(ledger.questions().empty()) << "it has it, and is not asked again";
  EXPECT_EQ(ledger.take(ClaimRead{at(20s), kPool, kPf, "uid-1", false}).released, 0u)
      << "it is prepared here";
  ledger.take(Unprepared{kPool, kPf, "uid-1"});
  EXPECT_EQ(ledger.take(ClaimRead{at(30s), kPool, kPf, "uid-1", true}).released, 0u) << "a standing claim";
  ASSERT_EQ(ledger.questions().size(), 1u);
  EXPECT_TRUE(ledger.questions().front().is_taken_back);
  EXPECT_EQ(ledger.questions().front().claim_name, "claim");
  EXPECT_EQ(ledger.take(ClaimRead{at(40s), kPool, kPf, "uid-2", false}).released, 0u) << "another claim";
  EXPECT_EQ(recorded(), Set{kPf});
  EXPECT_EQ(ledger.take(ClaimRead{at(40s), kPool, kPf, "uid-1", false}).released, 1u);
  EXPECT_EQ(recorded(), Set());
  EXPECT_EQ(ledger.take(ClaimRead{at(50s), kPool, kPf, "uid-1", false}).released, 0u);
}

// A claim that is deleted while its pod runs on is no more, and the scheduler gives its device to the next: red when that
// first claim's absence alone frees it.
TEST_F(LedgerTest, AClaimSeenOnlyBeforeTheWithdrawalFreesNothing) {
  struct Row {
    const char* what;
    std::optional<Millis> had;  // nullopt: it was never read meanwhile
  };
  for (const Row& row : {Row{"never read", {}}, Row{"read within the scheduler's ten seconds", 9'999ms}}) {
    SCOPED_TRACE(row.what);
    begin_anew();
    withdraw_the_pf();
    ledger.take(prepared_pf(), now);
    if (row.had) ledger.take(ClaimRead{at(*row.had), kPool, kPf, "uid-1", true});
    ledger.take(ClaimRead{at(15s), kPool, kPf, "uid-1", false});
    ledger.take(Unprepared{kPool, kPf, "uid-1"});
    EXPECT_TRUE(ledger.questions().empty());
    EXPECT_EQ(ledger.take(ClaimRead{at(1min), kPool, kPf, "uid-1", false}).released, 0u);
    EXPECT_EQ(recorded(), Set{kPf});
    EXPECT_EQ(list(1min).released, 1u);
  }
}

TEST_F(LedgerTest, ChecksAnEntryThatWasOfferedAgainOnceMore) {
  withdraw_the_pf();
  ledger.take(prepared_pf(), now);
  ledger.take(ClaimRead{at(10s), kPool, kPf, "uid-1", true});
  decide({whole_pf()});
  now = at(20s);
  withdraw_the_pf();
  ASSERT_EQ(ledger.questions().size(), 1u);
  EXPECT_EQ(ledger.questions().front().from, at(30s));
  ledger.take(Unprepared{kPool, kPf, "uid-1"});
  EXPECT_TRUE(ledger.questions().empty()) << "while it was offered it may have gone to another";
  EXPECT_EQ(ledger.take(ClaimRead{at(1min), kPool, kPf, "uid-1", false}).released, 0u);
}

TEST_F(LedgerTest, NoSingleClaimFreesASharedEntry) {
  decide({share("-m"), whole_pf()});
  decide({});
  acknowledge();
  ledger.take(Prepared{kPool, share("-m").entry, "uid-1", true, "default", "claim"}, now);
  EXPECT_TRUE(ledger.questions().empty()) << "a share";
  ledger.take(Prepared{kPool, kPf, "uid-1"}, now);
  EXPECT_TRUE(ledger.questions().empty()) << "nobody knows the claim's name";
  ledger.take(prepared_pf("uid-1"), now);
  ledger.take(prepared_pf("uid-2"), now);
  EXPECT_TRUE(ledger.questions().empty()) << "two have it, whatever they say";
}

TEST_F(LedgerTest, FreesSharesOneByOne) {
  decide({share("-m")});
  for (const char* claim : {"uid-1", "uid-2", "uid-2"})
    ledger.take(Prepared{kPool, share("-m").entry, claim, true}, now);
  decide({});
  acknowledge();
  ledger.take(Unprepared{kPool, share("-m").entry, "uid-2"});
  ledger.take(Unprepared{kPool, share("-m").entry, "never prepared"});
  EXPECT_FALSE(ledger.need());
  ledger.take(Unprepared{kPool, share("-m").entry, "uid-1"});
  EXPECT_TRUE(ledger.need());
  ledger.take(Unprepared{kLinks, "br-a", "uid-1"});
}

// As after a restart of the plugin: its checkpoint is read before the first decision.
TEST_F(LedgerTest, ReservesPreparedEntriesWithoutARecord) {
  const std::string share = std::string(kVf) + "-m";
  for (const bool has_decided : {false, true}) {
    SCOPED_TRACE(has_decided);
    begin_anew();
    if (has_decided) decide({});
    EXPECT_EQ(ledger.take(Prepared{kPool, share, "uid-1", true}, now).newly_found, has_decided ? 1u : 0u);
    decide({});
    EXPECT_EQ(recorded(), Set{share});
    EXPECT_FALSE(ledger.record(kPool).holdings().at(0).is_exclusive);
    // Its function goes and comes back, as in a boot.
    plug({kPfId});
    decide({});
    EXPECT_EQ(recorded(), Set());
    plug({kPfId, kVfId});
    decide({});
    EXPECT_EQ(recorded(), Set{share});
  }
  EXPECT_EQ(ledger.take(Prepared{{"other.example.com", "p"}, "d", "uid-1"}, now).newly_found, 0u);
}

TEST_F(LedgerTest, WithdrawsAnEntryAllocatedAsTheOtherTypeWithTheNextDecision) {
  for (const bool by_plugin : {false, true}) {
    begin_anew();
    decide({whole_pf()});
    const auto change = by_plugin ? ledger.take(Prepared{kPool, kPf, "uid-1", true}, now)
                                  : list(0s, {{kPool, {{kPf, true}}}});
    EXPECT_EQ(change.newly_found, 1u);
    EXPECT_FALSE(ledger.holdings().at(kPool.second).at(0).is_exclusive);
  }
}

// A scheduler without DRAConsumableCapacity writes no share id. Red when VFs leave the offer because one claim has the shared
// persona of their PF, which stays on the host.
TEST_F(LedgerTest, AClaimWithoutAShareIdDoesNotMakeASharedEntryExclusive) {
  const std::string entry = share("-m").entry;
  const auto is_exclusive = [&] { return ledger.find(kPool, entry)->is_exclusive; };
  decide({share("-m")});
  EXPECT_EQ(list(0s, {{kPool, {{entry, false}}}}).newly_found, 0u);
  EXPECT_FALSE(is_exclusive());
  ledger.take(PodClaims{{{kPool, {{entry, false}}}}}, now);
  EXPECT_FALSE(is_exclusive());
  decide({});
  acknowledge();
  list(10s, {{kPool, {{entry, false}}}});
  EXPECT_FALSE(is_exclusive()) << "withdrawn, with a record";
  EXPECT_EQ(ledger.take(Prepared{kPool, entry, "uid-1", false}, now).newly_found, 1u);
  EXPECT_TRUE(is_exclusive()) << "the plugin knows what it prepared";

  begin_anew();
  const std::string unrecorded = std::string(kVf) + "-m";
  decide({});
  ledger.take(Prepared{kPool, unrecorded, "uid-1", true}, now);
  list(0s, {{kPool, {{unrecorded, false}}}});
  EXPECT_TRUE(ledger.find(kPool, unrecorded)->is_exclusive) << "without a record it may be either";
}

TEST_F(LedgerTest, DropsAllocationsOfARemovedFunction) {
  withdraw_the_pf();
  plug({kVfId});
  decide({});
  EXPECT_EQ(recorded(), Set());
}

// Red when a late event about a former function of the address releases what is allocated of the present one.
TEST_F(LedgerTest, ConfirmsARemovalEventByALookup) {
  withdraw_the_pf();
  plug({kVfId}, kPfId);
  decide({});
  EXPECT_EQ(recorded(), Set{kPf});
  plug({kVfId});
  decide({});
  EXPECT_EQ(recorded(), Set());
}

TEST_F(LedgerTest, ReservesAnEntryOfferedDuringARemovalEvent) {
  decide({whole_pf()}, {kVf});
  for (const bool is_there : {true, false}) {
    plug({kVfId}, kPfId);
    decide({}, {kVf});
    EXPECT_EQ(recorded(), Set()) << "no write is made for a moment's sake";
    ASSERT_EQ(ledger.holdings().at(kPool.second).size(), 1u) << "it may be there";
    plug(is_there ? Set{kPfId, kVfId} : Set{kVfId});
    decide({}, {kVf});
    EXPECT_EQ(recorded(), is_there ? Set{kPf} : Set());
    if (is_there) decide({whole_pf()}, {kVf});
  }
}

// Red when a write of before, which is shown after the function has gone, makes it one that has not been seen yet.
TEST_F(LedgerTest, KeepsARemovalDespiteEarlierRecords) {
  const kube::ResourceSlice both[] = {slice(kPool, {kPf}), slice(kOther, {kVf})};
  decide({whole_pf()}, {kVf});
  plug({});
  decide({});
  for (const kube::ResourceSlice& old : both) ledger.learn(old);
  decide({});
  EXPECT_EQ(recorded(), Set());
  EXPECT_EQ(recorded(kOther), Set());
  ledger.learn(slice(kPool, {}, R"(["0000-3b-00-0"])"));
  decide({});
  EXPECT_EQ(recorded(), Set()) << "nor by a record of before";
  for (const kube::ResourceSlice& old : both) ledger.learn(old);
  plug({kPfId});
  decide({});
  EXPECT_EQ(recorded(), Set{kPf}) << "it is back, and may be given away as that slice says";
  plug({});
  decide({});
  acknowledge();
  ledger.learn(both[1]);
  decide({});
  EXPECT_EQ(recorded(kOther), Set{kVf}) << "whoever wrote that did it since";
}

// Red when what a predecessor withdrew is left out of the first record because its function comes late, as
// after a boot: who starts again before it has come knows nothing of it.
TEST_F(LedgerTest, WaitsForAFunctionThatHasNotAppeared) {
  ledger.learn(slice(kPool, {}, R"(["0000-3b-07-0"])"));
  ASSERT_EQ(ledger.holdings().at(kPool.second).size(), 1u);
  EXPECT_TRUE(ledger.holdings().at(kPool.second).at(0).is_awaited) << "as the first decision sees it";
  decide({});
  EXPECT_EQ(recorded(), Set{"0000-3b-07-0"});
  acknowledge();
  ASSERT_TRUE(ledger.need()) << "a list may show it free before it comes";
  list(1min, {{kPool, {{"0000-3b-07-0", false}}}});
  EXPECT_FALSE(ledger.need()) << "allocated, and nobody wants it before it comes";
  plug({kPfId, kVfId, "0000:3b:07.0"});
  decide({});
  EXPECT_TRUE(ledger.need());
  plug({kPfId, kVfId});
  decide({});
  EXPECT_EQ(recorded(), Set()) << "seen, and gone";
}

TEST_F(LedgerTest, TreatsPublishedEntriesAsOffered) {
  EXPECT_TRUE(ledger.learn(slice(kPool, {kPf})).is_new);
  EXPECT_FALSE(ledger.learn(slice(kPool, {kPf})).is_new);
  EXPECT_EQ(ledger.holdings().at(kPool.second).at(0).group, kAnyGroup);
  decide({});
  EXPECT_EQ(recorded(), Set{kPf});
  EXPECT_FALSE(ledger.learn(slice({"other.example.com", "p"}, {"d"})).is_new);
}

TEST_F(LedgerTest, WithdrawsEntriesThatAnEditMergesWithTheirGroup) {
  decide({share("-m"), share("-i")});
  for (const char* suffix : {"-m", "-i"}) {
    Holding holding = share(suffix, "rx");
    holding.is_withdrawn = holding.is_contested = true;
    contested[kPool.second].push_back(holding);
  }
  decide({});
  acknowledge();
  const auto recorded_holdings = ledger.record(kPool).holdings();
  ASSERT_EQ(recorded_holdings.size(), 2u);
  for (const Holding& holding : recorded_holdings) EXPECT_TRUE(holding.is_contested && holding.group == "rx");
  EXPECT_EQ(list(10s, {{kPool, {{share("-m").entry, true}}}}).released, 1u);
  contested.clear();
  decide({share("-m", "rx"), share("-i", "rx")});
  EXPECT_EQ(recorded(), Set());
  EXPECT_FALSE(ledger.holdings().at(kPool.second).at(0).is_contested);
}

// What groups they were of is not known, but both are allocated. Red when policies that offer them in one group
// get them back both: their counter would be overdrawn.
TEST_F(LedgerTest, ReportsAllocatedEntriesAsContested) {
  ledger.begin({.exposure = {true, {}}}, now);
  decide({});
  list(10s, {{kPool, {{share("-i").entry, true}, {share("-m").entry, true}}}});
  decide({});
  for (const Holding& holding : ledger.record(kPool).holdings()) EXPECT_TRUE(holding.is_contested);
  EXPECT_EQ(recorded(), (Set{share("-i").entry, share("-m").entry}));
}

// Red when an offered entry remains beside it: both would need more than the counter of its group has.
TEST_F(LedgerTest, ReportsAllocatedEntriesBesideAnUnknownGroupAsContested) {
  ledger.begin({.exposure = {true, {}}}, now);
  const Allocations both{{kPool, {{share("-i").entry, true}, {share("-m").entry, true}}}};
  const Holding m = share("-m", "rx");
  decide({m});
  EXPECT_EQ(list(10s, {{kPool, {{m.entry, true}}}}).contested, 0u) << "nothing is beside it";
  const Ledger::Change change = list(11s, both);
  EXPECT_EQ(change.newly_found, 1u);
  EXPECT_EQ(change.contested, 1u);
  const std::vector<Holding> holdings = ledger.holdings().at(kPool.second);
  ASSERT_EQ(holdings.size(), 2u);
  EXPECT_EQ(sliced::policy::contested({m}, holdings, kPfId).size(), 2u);
  EXPECT_EQ(list(12s, both).contested, 0u) << "it is known by now";
  decide({share("-m")});
  EXPECT_EQ(list(13s, both).contested, 0u) << "without a group it takes nothing of one";
  EXPECT_EQ(sliced::policy::contested({share("-m")}, ledger.holdings().at(kPool.second), kPfId).size(), 0u);
}

// A claim of the former device of the address counts for the present one. Red when an entry that is offered
// and allocated remains beside it: their counter would be overdrawn, and more shares of it would be
// allocated.
TEST_F(LedgerTest, ReportsAllocatedEntriesBesideAnExclusionAsContested) {
  struct Row {
    const char* what;
    Holding offered, found;
    bool excludes;
  };
  const Holding vf{kVf, kVfId, kVf}, vf_share{std::string(kVf) + "-m", kVfId, kVf, false};
  const std::vector<Row> rows = {{"a share, and the whole PF", share("-m"), whole_pf(), true},
                                 {"a VF, and the whole PF", vf, whole_pf(), true},
                                 {"the whole PF, and a VF", whole_pf(), vf, true},
                                 {"a share of a VF, and the VF", vf_share, vf, true},
                                 {"a VF, and a share of its PF", vf, share("-m"), false},
                                 {"two shares", share("-m"), share("-i"), false}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    begin_anew();
    decide({row.offered});
    const Allocations both{
        {kPool,
         {{row.offered.entry, !row.offered.is_exclusive}, {row.found.entry, !row.found.is_exclusive}}}};
    const Ledger::Change change = list(10s, both);
    EXPECT_EQ(change.newly_found, 1u);
    EXPECT_EQ(change.contested, row.excludes ? 1u : 0u);
    const auto apart = sliced::policy::contested({row.offered}, ledger.holdings().at(kPool.second), kPfId);
    EXPECT_EQ(apart.size(), row.excludes ? 2u : 0u);
  }
}

// A PF with a share in a pod is unplugged and returns; claims of other shares of it exist. Red when these
// claims are not read: together with the offered entries they overdraw the counter that the prepared share
// uses.
TEST_F(LedgerTest, ChecksConflictsOfAReturningPreparedEntryImmediately) {
  const std::string here = share("-i").entry, beside = share("-m").entry;
  struct Row {
    const char* what;
    std::map<std::string, bool> allocated;
    size_t contested;
  };
  const std::vector<Row> rows = {
      {"another share too", {{here, true}, {beside, true}}, 1},
      {"the other alone, as the claim of the prepared one is gone by force", {{beside, true}}, 1},
      {"nothing else", {{here, true}}, 0},
      {"nothing", {}, 0}};
  for (const bool is_restarted : {false, true})
    for (const Row& row : rows) {
      SCOPED_TRACE(std::string(row.what) + (is_restarted ? ", restarted" : ""));
      begin_anew();
      plug({kPfId});
      decide({share("-i")});
      ledger.take(Prepared{kPool, here, "uid-1", true}, now);
      EXPECT_FALSE(ledger.need()) << "it was known";
      plug({});
      decide({});
      plug({kPfId});
      decide({share("-m", "rx")});
      if (is_restarted) {
        const std::string record = ledger.record(kPool).text();
        begin_anew();
        ledger.begin({}, now);
        ledger.take(Prepared{kPool, here, "uid-1", true}, now);
        ledger.learn(slice(kPool, {}, record));
        decide({share("-m", "rx")});
      }
      acknowledge();
      EXPECT_EQ(recorded(), Set{here});
      EXPECT_TRUE(ledger.need());
      list(Ledger::kGrace - 1ms);
      EXPECT_TRUE(ledger.need()) << "a scheduler may bind by what it saw before";
      EXPECT_EQ(list(Ledger::kGrace, {{kPool, row.allocated}}).contested, row.contested);
      const auto apart =
          sliced::policy::contested({share("-m", "rx")}, ledger.holdings().at(kPool.second), kPfId);
      EXPECT_EQ(apart.size(), 2 * row.contested);
      EXPECT_FALSE(ledger.need()) << "once";
      EXPECT_EQ(recorded(), Set{here});
    }
}

// They were given away before the record was lost, and an edit has come between. Red when both go on being offered:
// both would take more than their group's counter has.
TEST_F(LedgerTest, ReportsEntriesAllocatedTogetherInOneGroupAsContested) {
  for (const bool is_seen : {false, true}) {
    begin_anew();
    now = at(0ms);
    ledger.begin({.exposure = {true, {}}}, now);
    unverified = wanted = {kPool.second};
    const std::vector<Holding> offers{share("-i", "rx"), share("-m", "rx"), share("-v", "tx"), share("-x")};
    decide(offers);
    Allocations all;
    for (const Holding& one : offers) all[kPool][one.entry] = true;
    const Ledger::Change change = is_seen ? ledger.take(PodClaims{all}, now) : list(Ledger::kGrace, all);
    EXPECT_EQ(change.released, is_seen ? 0u : 1u) << "what was not known";
    EXPECT_EQ(change.contested, 2u);
    const std::vector<Holding> holdings = ledger.holdings().at(kPool.second);
    const std::vector<Holding> apart = sliced::policy::contested(offers, holdings, kPfId);
    ASSERT_EQ(apart.size(), 2u);
    EXPECT_EQ(apart[0].group, "rx");
    EXPECT_EQ(apart[1].group, "rx");
  }
}

TEST_F(LedgerTest, AnOfferedEntryDefinesItsGroup) {
  decide({share("-m", "rx"), share("-i")});
  EXPECT_EQ(ledger.groups(kPool), (Groups{{share("-m").entry, "rx"}}));
  decide({share("-i")});
  EXPECT_EQ(ledger.groups(kPool), Groups()) << "of what is withdrawn the record does";
  EXPECT_EQ(ledger.record(kPool).holdings().at(0).group, "rx");
}

TEST_F(LedgerTest, RestartsTheGracePeriodOfAReappearingEntry) {
  withdraw_the_pf();
  EXPECT_FALSE(ledger.learn(slice(kPool, {kPf})).is_new);
  EXPECT_EQ(list(1min).released, 0u);
  now = at(1min);
  acknowledge();
  EXPECT_EQ(list(69s).released, 0u);
  EXPECT_EQ(list(70s).released, 1u);
}

TEST_F(LedgerTest, BoundsNamesAndPools) {
  std::vector<std::string> names;
  for (size_t i = 0; i < Ledger::kNamesMax; ++i) names.push_back("d-" + std::to_string(i));
  EXPECT_FALSE(ledger.learn(slice(kPool, names)).is_overfull);
  EXPECT_TRUE(ledger.learn(slice(kPool, {"one-more"})).is_overfull);
  EXPECT_FALSE(ledger.learn(slice(kPool, {"another"})).is_overfull) << "said once";
  EXPECT_EQ(ledger.holdings().at(kPool.second).size(), Ledger::kNamesMax + 1);
  for (size_t i = 0; i < 2 * Ledger::kPoolsMax; ++i)
    ledger.learn(slice({kExposure, "pool-" + std::to_string(i)}, {"d"}));
  EXPECT_EQ(ledger.holdings().size(), Ledger::kPoolsMax);
}

// Red when the evaluation ends at the first name without room: known entries behind it in the slice would be
// free too early.
TEST_F(LedgerTest, SeesKnownEntriesBeyondTheLimit) {
  std::vector<std::string> names;
  for (size_t i = 1; i < Ledger::kNamesMax; ++i) names.push_back(std::string(kVf) + "-" + std::to_string(i));
  withdraw_the_pf();
  ledger.learn(slice(kPool, names));
  ledger.learn(slice(kPool, {"0000-3b-02-0-one-more", kPf}));
  EXPECT_EQ(list(1min).released, 0u) << "shown in a slice less than ten seconds ago";
}

TEST_F(LedgerTest, AnInvalidRecordReservesTheWholePool) {
  const auto learned = ledger.learn(slice(kPool, {}, "nonsense"));
  EXPECT_TRUE(learned.is_new);
  EXPECT_NE(learned.problem, "");
  decide({});
  acknowledge();
  EXPECT_FALSE(ledger.need()) << "nobody wants anything of it";
  wanted = {kPool.second};
  decide({});
  ASSERT_TRUE(ledger.need());
  EXPECT_EQ(ledger.need()->unknown_from, at(Ledger::kGrace));
  EXPECT_EQ(list(10s).released, 1u);
}

// Red when VFs of the other driver stay reserved for a pool from which no policy offers devices.
TEST_F(LedgerTest, AnUndecodableSliceBelongsToTheOnlyPool) {
  ledger.set_writing(false);
  ledger.learn(slice({kSriov, ""}, {kVf}, "no record"));
  wanted = {kNode};
  decide({});
  acknowledge();
  EXPECT_TRUE(ledger.is_sriov_unverified());
  EXPECT_EQ(recorded(kOther), (Set{kVf, kWhole}));
  ASSERT_TRUE(ledger.need());
  EXPECT_TRUE(ledger.need()->unknown_from);
  EXPECT_EQ(list(Ledger::kGrace).released, 2u);
  EXPECT_FALSE(ledger.is_sriov_unverified());
}

TEST_F(LedgerTest, KnowsItsOwnAbridgedEntriesByName) {
  const std::string abridged = Record({whole_holding(kPool.second)}, kPool.second).text();
  withdraw_the_pf();
  EXPECT_FALSE(ledger.learn(slice(kPool, {}, abridged)).is_new);
  ledger.set_writing(false);
  EXPECT_TRUE(ledger.learn(slice(kPool, {}, abridged)).is_new) << "another daemon's";
}

TEST_F(LedgerTest, ReservesUnverifiedEntriesOnlyWhereRelevant) {
  ledger.begin({.exposure = {true, {kLinks.second}}, .is_of_sriov = true}, now);
  ledger.begin({}, now);
  EXPECT_TRUE(ledger.unverified().is_of(kPool.second));
  EXPECT_FALSE(ledger.unverified().is_of(kLinks.second));
  EXPECT_TRUE(ledger.is_sriov_unverified());
  unverified = wanted = {kPool.second};
  decide({});
  EXPECT_EQ(recorded(), Set{kWhole});
  EXPECT_FALSE(ledger.unverified().is_of(kPool.second)) << "an entry like others now";
  EXPECT_TRUE(ledger.is_sriov_unverified());
  EXPECT_EQ(recorded(kOther), Set()) << "nobody wants anything of it, and no slice of links hides its loss";
  wanted.insert(kNode);
  decide({});
  EXPECT_TRUE(ledger.is_sriov_unverified());
  EXPECT_EQ(recorded(kOther), Set{kWhole});
  EXPECT_EQ(ledger.need()->unknown_from, at(Ledger::kGrace))
      << "since the daemon began, not since it was charged";
  const auto change = list(10s, {{kPool, {{std::string(kVf) + "-m", true}}}});
  EXPECT_TRUE(change.ends_unverified);
  EXPECT_EQ(change.released, 2u);
  EXPECT_EQ(change.newly_found, 1u) << "charged by its name";
  EXPECT_FALSE(ledger.is_sriov_unverified());
  EXPECT_FALSE(ledger.unverified().is_any);
}

// Red when the slice of links makes a later start take the other driver's new slice for a complete record.
TEST_F(LedgerTest, RecordsUnverifiedOfTheOtherDriverBesideASliceOfLinks) {
  ledger.begin({.exposure = {true, {kLinks.second}}, .is_of_sriov = true}, now);
  has_link_slice = true;
  decide({});
  EXPECT_EQ(recorded(kOther), Set{kWhole});
}

TEST_F(LedgerTest, UnverifiedOutlastsAClaimListThatBeganTooEarly) {
  ledger.begin({.exposure = {true, {}}}, now);
  decide({});
  EXPECT_FALSE(list(9s).ends_unverified);
  EXPECT_TRUE(ledger.unverified().is_any);
  EXPECT_TRUE(list(10s).ends_unverified);
  EXPECT_FALSE(list(20s).ends_unverified) << "there is none any more";
}

// Where there is no DeviceExposurePolicy nothing waits for what the other driver has withdrawn.
TEST_F(LedgerTest, OneTypeAloneNeedsNoEvidence) {
  has_exposures = false;
  ledger.begin({.exposure = {true, {}}, .is_of_sriov = true}, now);
  decide({}, {kVf});
  decide({}, {});
  acknowledge();
  EXPECT_EQ(recorded(kOther), Set{kVf}) << "one may come";
  EXPECT_FALSE(ledger.need());
  has_exposures = true;
  decide({}, {});
  EXPECT_TRUE(ledger.need());
}

TEST_F(LedgerTest, HandlesAClaimOfALateFunction) {
  ledger.begin({.exposure = {true, {}}}, now);
  decide({});
  list(10s, {{kPool, {{"0000-3b-07-0", true}}}});
  EXPECT_EQ(recorded(), Set());
  plug({kPfId, kVfId, "0000:3b:07.0"});
  decide({});
  ASSERT_EQ(recorded(), Set{"0000-3b-07-0"});
  EXPECT_FALSE(ledger.record(kPool).holdings().at(0).is_exclusive);
}

}  // namespace charged_ledger_test
}  // namespace sliced::policy
