#include "publishers/diff_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "kube/objects/names.h"
#include "policy/reserved/record.h"
#include "publishers/pack_slices.h"
#include "t/fixture/pools.h"

namespace sliced::publishers {
namespace {

using fixture::applied;
using fixture::device_name;
using fixture::devices;
using fixture::kDriver;
using fixture::kNode;
using fixture::pool;

SliceChanges diff(const policy::DesiredPool& desired, const ObservedSlices& observed,
                  const PublisherState& memory = {}, const NodeIdentity& node = kNode) {
  return diff_pools({desired}, observed, node, kDriver, memory);
}
ObservedSlices published(const policy::DesiredPool& desired) { return applied({}, diff(desired, {})); }

// What a consumer sees: the devices of the highest generation, or nothing while the pool is incomplete.
std::optional<std::set<std::string>> consumer_view(const ObservedSlices& slices) {
  int64_t highest = 0;
  for (const auto& [name, slice] : slices) highest = std::max(highest, slice.pool.generation);
  std::set<std::string> names;
  int64_t count = 0, wanted = 0;
  for (const auto& [name, slice] : slices) {
    if (slice.pool.generation != highest) continue;
    ++count;
    wanted = slice.pool.slice_count;
    for (const kube::Device& device : slice.devices) names.insert(device.name);
  }
  if (count != wanted) return std::nullopt;
  return names;
}

std::set<std::string> names_of(const policy::DesiredPool& desired) {
  std::set<std::string> names;
  for (const kube::Device& device : desired.devices) names.insert(device.name);
  return names;
}

// What a daemon that starts now takes for offered or withdrawn.
std::set<std::string> told_by(const ObservedSlices& slices) {
  std::set<std::string> names;
  for (const auto& [name, slice] : slices) {
    for (const kube::Device& device : slice.devices) names.insert(device.name);
    const auto record = slice.meta.annotations.find("dra.networking/withdrawn");
    if (record == slice.meta.annotations.end()) continue;
    const auto told = policy::Record::decode(record->second);
    for (const policy::Holding& holding : told.value().holdings()) names.insert(holding.entry);
  }
  return names;
}

TEST(DiffPool, AnnouncesAnEmptyPool) {
  const SliceChanges plan = diff(pool({}), {});
  ASSERT_EQ(plan.creates.size(), 1u);
  const kube::ResourceSlice& slice = plan.creates[0];
  EXPECT_EQ(slice.pool, (kube::Pool{"node-a", 1, 1}));
  EXPECT_TRUE(slice.devices.empty());
  EXPECT_EQ(slice.node_name, "node-a");
  EXPECT_EQ(slice.meta.owner_references,
            (std::vector<kube::OwnerReference>{{"v1", "Node", "node-a", "node-uid", true}}));
  EXPECT_TRUE(kube::validate_slice(slice).empty());
}

TEST(DiffPool, WritesNothingForEqualContent) {
  for (const int count : {0, 1, 128, 129, 300})
    EXPECT_TRUE(diff(pool(devices(0, count)), published(pool(devices(0, count)))).empty()) << count;
}

// A daemon that dies between two writes finds an entry in a slice or in the record.
TEST(DiffPool, WritesReservationsBeforeASliceIsDeleted) {
  const ObservedSlices held = published(pool(devices(0, 300)));
  policy::DesiredPool fewer = pool(devices(0, 1));
  fewer.record = policy::Record::decode("[\"0000-3b-02-0\"]").value();
  const SliceChanges plan = diff(fewer, held);
  ASSERT_EQ(plan.deletes.size(), 2u);
  ASSERT_EQ(plan.updates.size(), 1u);
  EXPECT_EQ(first_write(plan, held), &plan.updates[0]);
  const SliceChanges plain = diff(pool(devices(0, 1)), held);
  EXPECT_EQ(first_write(plain, held), nullptr) << "without a record deletes come first";
}

// On its way back an entry leaves the record when its slice holds it, not before.
TEST(DiffPool, DropsReservationsOfReturnedEntriesLast) {
  const std::string back = device_name(299);
  policy::DesiredPool fewer = pool(devices(0, 299));
  fewer.record = policy::Record::decode("[\"" + back + "\",\"0000-3c-02-0\"]").value();
  ObservedSlices held = published(fewer);
  const policy::DesiredPool all = pool(devices(0, 300));
  const auto record = [&]() -> std::string {
    const auto& notes = held.begin()->second.meta.annotations;
    const auto at = notes.find("dra.networking/withdrawn");
    return at == notes.end() ? "" : at->second;
  };
  const SliceChanges first = diff(all, held);
  EXPECT_EQ(first.size(), 2u) << "the entry comes, and what was shown free goes";
  held = applied(held, first);
  EXPECT_EQ(record(), "[\"" + back + "\"]");
  const SliceChanges second = diff(all, held);
  EXPECT_EQ(second.size(), 1u);
  held = applied(held, second);
  EXPECT_EQ(record(), "");
  EXPECT_TRUE(diff(all, held).empty());
}

TEST(DiffPool, NamesAreDeterministicAndValid) {
  const std::string name = slice_name(0, kDriver, "node-a", "node-a", 0);
  EXPECT_TRUE(name.starts_with("00000-" + kDriver + "-node-a-")) << name;
  EXPECT_EQ(name, slice_name(0, kDriver, "node-a", "node-a", 0));
  EXPECT_NE(name, slice_name(0, kDriver, "node-a", "node-a", 1));
  EXPECT_NE(name, slice_name(1, kDriver, "node-a", "node-a", 0));
  const std::string long_node = std::string(200, 'a') + ".example.com";
  const std::string other_node = std::string(200, 'a') + ".example.org";
  EXPECT_LE(slice_name(0, kDriver, long_node, long_node, 0).size(), 253u);
  EXPECT_NE(slice_name(0, kDriver, long_node, "p", 0), slice_name(0, kDriver, other_node, "p", 0));
  EXPECT_TRUE(kube::is_dns_subdomain(slice_name(0, kDriver, long_node, long_node, 0)));
}

TEST(DiffPool, SplitsManyDevicesInOneGeneration) {
  const SliceChanges plan = diff(pool(devices(0, 300)), {});
  ASSERT_EQ(plan.creates.size(), 3u);
  size_t total = 0;
  for (const auto& slice : plan.creates) {
    EXPECT_LE(slice.devices.size(), kube::kDevicesPerSliceMax);
    EXPECT_EQ(slice.pool, (kube::Pool{"node-a", 1, 3}));
    EXPECT_TRUE(kube::validate_slice(slice).empty());
    total += slice.devices.size();
  }
  EXPECT_EQ(total, 300u);
}

TEST(DiffPool, TaintsHalveTheSlices) {
  auto tainted = devices(0, 100);
  tainted[7].edit([](kube::Device& d) { d.taints.push_back({"a.com/b", "", "NoSchedule"}); });
  EXPECT_EQ(diff(pool(std::move(tainted)), {}).creates.size(), 2u);
}

TEST(DiffPool, OneDeviceMoreOrLessIsOneUpdate) {
  const ObservedSlices held = published(pool(devices(0, 300)));
  auto fewer = devices(0, 300);
  fewer.erase(fewer.begin() + 140);
  const struct {
    const char* why;
    policy::DesiredPool desired;
  } rows[] = {
      {"one more at the end", pool(devices(0, 301))},
      {"one less in the middle", pool(fewer)},
      {"one with another attribute",
       [] {
         auto all = devices(0, 300);
         all[5].edit([](kube::Device& d) { d.attributes[kDriver + "/value"] = int64_t{9}; });
         return pool(all);
       }()},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.why);
    const SliceChanges plan = diff(row.desired, held);
    EXPECT_EQ(plan.size(), 1u);
    ASSERT_EQ(plan.updates.size(), 1u);
    EXPECT_EQ(plan.updates[0].pool.generation, 1);
    EXPECT_FALSE(plan.updates[0].meta.resource_version.empty());
    EXPECT_EQ(consumer_view(applied(held, plan)), names_of(row.desired));
  }
}

TEST(DiffPool, SeveralChangesStartANewGeneration) {
  const ObservedSlices held = published(pool(devices(0, 300)));
  const SliceChanges plan = diff(pool(devices(0, 300, /*value=*/5)), held);
  EXPECT_EQ(plan.updates.size(), 3u);
  for (const auto& slice : plan.updates) EXPECT_EQ(slice.pool.generation, 2);
}

TEST(DiffPool, ANewSliceStartsANewGeneration) {
  const ObservedSlices held = published(pool(devices(0, 128)));
  const SliceChanges plan = diff(pool(devices(0, 129)), held);
  EXPECT_EQ(plan.creates.size(), 1u);
  ASSERT_EQ(plan.updates.size(), 1u);
  EXPECT_EQ(plan.updates[0].pool, (kube::Pool{"node-a", 2, 2}));
  EXPECT_EQ(plan.creates[0].pool, (kube::Pool{"node-a", 2, 2}));
}

// A restart, or a lost connection, in the middle of a generation must go on with it: starting another one
// each time would never end. Whatever the order of the writes, no consumer sees a pool that was not meant.
TEST(DiffPool, CompletesAnInterruptedGeneration) {
  const policy::DesiredPool before = pool(devices(0, 300)), after = pool(devices(0, 300, 5));
  for (const size_t done : {1u, 2u}) {
    ObservedSlices held = published(before);
    SliceChanges plan = diff(after, held);
    SliceChanges part;
    part.updates.assign(plan.updates.begin(), plan.updates.begin() + static_cast<long>(done));
    held = applied(held, part, 200);
    EXPECT_EQ(consumer_view(held), std::nullopt) << "incomplete, so nobody allocates";
    const SliceChanges rest = diff(after, held);
    EXPECT_EQ(rest.size(), 3 - done);
    for (const auto& slice : rest.updates) EXPECT_EQ(slice.pool.generation, 2);
    EXPECT_EQ(consumer_view(applied(held, rest, 300)), names_of(after));
  }
}

TEST(DiffPool, RestoresDeletedSlicesInTheSameGeneration) {
  const policy::DesiredPool desired = pool(devices(0, 300));
  ObservedSlices held = published(desired);
  held.erase(held.begin());
  const SliceChanges one = diff(desired, held, {.generations = {{"node-a", 1}}});
  EXPECT_EQ(one.size(), 1u);
  ASSERT_EQ(one.creates.size(), 1u);
  EXPECT_EQ(one.creates[0].pool.generation, 1);
  const SliceChanges all = diff(desired, {}, {.generations = {{"node-a", 4}}});
  EXPECT_EQ(all.creates.size(), 3u);
  EXPECT_EQ(all.creates[0].pool.generation, 5);
}

TEST(DiffPool, DeletesForeignSlicesWithoutRaisingTheGeneration) {
  const policy::DesiredPool desired = pool(devices(0, 3));
  ObservedSlices held = published(desired);
  kube::ResourceSlice foreign = held.begin()->second;
  foreign.meta = {.name = "00000-" + kDriver + "-node-a-x7k2p", .uid = "f", .resource_version = "7"};
  foreign.pool.generation = 1'000'000;
  held[foreign.meta.name] = foreign;
  const SliceChanges plan = diff(desired, held);
  EXPECT_EQ(plan.deletes, (std::vector<Removal>{{foreign.meta.name, "f", "7", "not ours"}}));
  EXPECT_TRUE(plan.updates.empty() && plan.creates.empty());
}

TEST(DiffPool, ResetsAForeignGenerationInAnOwnSlice) {
  const policy::DesiredPool desired = pool(devices(0, 300));
  for (const int64_t huge : {int64_t{1000}, std::numeric_limits<int64_t>::max()}) {
    ObservedSlices held = published(desired);
    held.begin()->second.pool.generation = huge;
    const SliceChanges plan = diff(desired, held, {.generations = {{"node-a", 1}}});
    EXPECT_EQ(plan.size(), 1u);
    ASSERT_EQ(plan.updates.size(), 1u);
    EXPECT_EQ(plan.updates[0].pool.generation, 1);
    EXPECT_TRUE(diff(desired, applied(held, plan), {.generations = {{"node-a", 1}}}).empty());
  }
}

TEST(DiffPool, RemovesAnUnknownOwnPool) {
  policy::DesiredPool other = pool(devices(0, 1));
  other.name = "node-a/old";
  ObservedSlices held = applied(published(pool({})), diff_pools({other}, {}, kNode, kDriver, {}), 500);
  const SliceChanges plan = diff(pool({}), held);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan.deletes.at(0).why, "obsolete pool");
}

TEST(DiffPool, AnotherBootOrNodeUidRewritesMetadataOnly) {
  const policy::DesiredPool desired = pool(devices(0, 300));
  const ObservedSlices held = published(desired);
  for (const NodeIdentity& node :
       {NodeIdentity{"node-a", "node-uid", "boot-2"}, NodeIdentity{"node-a", "other-uid", "boot-1"}}) {
    const SliceChanges plan = diff(desired, held, {}, node);
    EXPECT_EQ(plan.updates.size(), 3u);
    for (const auto& slice : plan.updates)
      EXPECT_EQ(slice.pool.generation, 1) << "no consumer needs to look again";
    EXPECT_TRUE(diff(desired, applied(held, plan), {}, node).empty());
  }
}

TEST(DiffPool, KeepsMetadataOfOthers) {
  const policy::DesiredPool desired = pool(devices(0, 1));
  ObservedSlices held = published(desired);
  held.begin()->second.meta.labels["team"] = "net";
  held.begin()->second.meta.annotations["x.com/y"] = "z";
  EXPECT_TRUE(diff(desired, held).empty());
  const SliceChanges plan = diff(pool(devices(0, 2)), held);
  ASSERT_EQ(plan.updates.size(), 1u);
  EXPECT_EQ(plan.updates[0].meta.labels.at("team"), "net");
  EXPECT_EQ(plan.updates[0].meta.annotations.at("x.com/y"), "z");
}

// Red when an update drops metadata of others: finalizers keep an object, owners determine its deletion.
TEST(DiffPool, KeepsFinalizersAndOwnersOfOthers) {
  ObservedSlices held = published(pool(devices(0, 1)));
  kube::ObjectMeta& meta = held.begin()->second.meta;
  meta.generate_name = "x-";
  meta.finalizers = {"example.com/hold"};
  meta.owner_references[0].block_owner_deletion = false;
  const kube::OwnerReference before{"v1", "ConfigMap", "a", "a-uid"};
  const kube::OwnerReference after{"apps/v1", "Deployment", "b", "b-uid", false, true};
  meta.owner_references.insert(meta.owner_references.begin(), before);
  meta.owner_references.push_back(after);
  EXPECT_TRUE(diff(pool(devices(0, 1)), held).empty()) << "what others wrote is not a difference";
  const SliceChanges plan = diff(pool(devices(0, 2)), held);
  ASSERT_EQ(plan.updates.size(), 1u);
  EXPECT_EQ(plan.updates[0].meta, meta);
}

TEST(DiffPool, RestoresOwnMetadataBesideThatOfOthers) {
  const policy::DesiredPool desired = pool(devices(0, 1));
  const kube::OwnerReference other{"v1", "ConfigMap", "a", "a-uid", true};
  const kube::OwnerReference ours{"v1", "Node", "node-a", "node-uid", true};
  kube::OwnerReference beside = ours;
  beside.controller = false;  // an object has one
  const struct {
    const char* why;
    std::vector<kube::OwnerReference> found, wanted;
  } rows[] = {
      {"lost", {}, {ours}},
      {"of a node that is not a more", {{"v1", "Node", "node-a", "old-uid", true}}, {ours}},
      {"twice", {ours, {"v1", "Node", "node-a", "old-uid"}}, {ours}},
      {"no controller any more", {beside}, {ours}},
      {"another owner has taken its place", {other}, {beside, other}},
      {"beside the controller", {other, beside}, {other, beside}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.why);
    ObservedSlices held = published(desired);
    held.begin()->second.meta.owner_references = row.found;
    const SliceChanges plan = diff(desired, held);
    EXPECT_EQ(plan.empty(), row.found == row.wanted);
    held = applied(held, plan);
    EXPECT_EQ(held.begin()->second.meta.owner_references, row.wanted);
    EXPECT_TRUE(diff(desired, held).empty());
  }
}

TEST(DiffPool, RemovesAnObsoleteOwnAnnotation) {
  const policy::DesiredPool desired = pool(devices(0, 1));
  ObservedSlices held = published(desired);
  held.begin()->second.meta.annotations["dra.networking/withdrawn"] = "[]";
  held.begin()->second.meta.annotations["x.com/y"] = "z";
  const SliceChanges plan = diff(desired, held);
  ASSERT_EQ(plan.updates.size(), 1u);
  EXPECT_FALSE(plan.updates[0].meta.annotations.contains("dra.networking/withdrawn"));
  EXPECT_EQ(plan.updates[0].meta.annotations.at("x.com/y"), "z");
}

// A server, or a proxy before it, that ignores fieldSelector shows everybody's slices. Red when one of them
// is written, deleted, or counted as ours.
TEST(DiffPool, IgnoresSlicesOfOtherDriversAndNodes) {
  const policy::DesiredPool desired = pool(devices(0, 3));
  const ObservedSlices ours = published(desired);
  const struct {
    const char *driver, *node;
  } others[] = {{"gpu.example.com", "node-a"}, {kDriver.c_str(), "node-b"}, {kDriver.c_str(), ""}};
  for (const auto& other : others) {
    for (const std::string& name :
         {std::string("x"), ours.begin()->first, slice_name(1, kDriver, "node-a", "node-a", 0)}) {
      SCOPED_TRACE(std::string(other.driver) + " on '" + other.node + "', " + name);
      ObservedSlices held = ours;
      kube::ResourceSlice foreign = held.begin()->second;
      foreign.meta.name = name;
      foreign.driver = other.driver;
      foreign.node_name = other.node;
      foreign.pool.generation = 77;
      foreign.meta.annotations["dra.networking/withdrawn"] = "[\"0000-3b-00-0\"]";
      held[name] = foreign;
      const auto touches = [&](const SliceChanges& plan) {
        return !plan.deletes.empty() ||
               std::any_of(plan.updates.begin(), plan.updates.end(),
                           [&](const auto& slice) { return slice.meta.name == name; });
      };
      for (const int count : {0, 3, 300}) EXPECT_FALSE(touches(diff(pool(devices(0, count)), held)));
      EXPECT_FALSE(touches(diff_pools({}, {{name, foreign}}, kNode, kDriver, {})));
      EXPECT_FALSE(is_ours(foreign, kDriver, "node-a"));
    }
  }
}

// It names neither driver nor node: it must be read before it is deleted.
TEST(DiffPool, ReadsAnUnreadSliceFirst) {
  const SliceChanges plan = diff_pools({}, {{"x", unread_slice("x", "u", "7")}}, kNode, kDriver, {});
  EXPECT_EQ(plan.deletes, (std::vector<Removal>{{"x", "u", "7", "unreadable", true}}));
  // After the read has shown neither, it is not modified.
  EXPECT_TRUE(
      diff_pools({}, {{"x", kube::ResourceSlice{.meta = {.name = "x"}}}}, kNode, kDriver, {}).empty());
}

// Until its finalizer goes a deleted slice is still read by schedulers. Red when its devices stay in it, when
// it makes its pool incomplete, or when the same write is planned for ever.
TEST(DiffPool, EmptiesASliceWithAFinalizerFirst) {
  const policy::DesiredPool three = pool(devices(0, 300)), one = pool(devices(0, 100));
  ObservedSlices held = published(three);
  for (auto& [name, slice] : held) slice.meta.finalizers = {"example.com/hold"};
  const SliceChanges first = diff(one, held);
  const kube::ResourceSlice* write = first_write(first, held);
  ASSERT_NE(write, nullptr) << "not deleted with its devices in it";
  EXPECT_TRUE(write->devices.empty());
  EXPECT_EQ(write->pool.generation, kEmptiedGeneration);
  EXPECT_EQ(write->meta.finalizers, (std::vector<std::string>{"example.com/hold"}));
  EXPECT_TRUE(kube::validate_slice(*write).empty());
  held = applied(held, first);
  EXPECT_EQ(consumer_view(held), names_of(one));
  const SliceChanges second = diff(one, held);
  EXPECT_EQ(second.deletes.size(), 2u);
  EXPECT_EQ(second.size(), 2u);
  for (const Removal& removal : second.deletes) held[removal.name].meta.being_deleted = true;
  EXPECT_TRUE(diff(one, held).empty()) << "there is no more to do about it";
  EXPECT_EQ(consumer_view(held), names_of(one));
}

// All slices were deleted by another writer, and a foreign finalizer keeps them. Red when their names count
// as free, when they are written like other slices, or when an entry is neither published nor recorded
// meanwhile.
TEST(DiffPool, ReplacesATerminatingSliceUnderAnotherName) {
  for (const int count : {3, 300}) {
    SCOPED_TRACE(count);
    const policy::DesiredPool desired = pool(devices(0, count));
    ObservedSlices held = published(desired);
    const ObservedSlices old = held;
    for (auto& [name, slice] : held) {
      slice.meta.finalizers = {"example.com/hold"};
      slice.meta.being_deleted = true;
    }
    const PublisherState memory{.generations = {{"node-a", 1}}, .attempted = {}, .salts = {}};
    int writes = 0;
    for (SliceChanges plan = diff(desired, held, memory); !plan.empty() && writes < 20;
         plan = diff(desired, held, memory)) {
      EXPECT_TRUE(plan.deletes.empty());
      for (const auto& slice : plan.creates) EXPECT_FALSE(held.contains(slice.meta.name));
      if (const auto* slice = first_write(plan, held)) {
        SliceChanges one;
        (slice->meta.resource_version.empty() ? one.creates : one.updates).push_back(*slice);
        held = applied(held, one, 1000 + ++writes);
      }
      EXPECT_EQ(told_by(held), names_of(desired)) << "after write " << writes;
    }
    EXPECT_LT(writes, 20);
    EXPECT_EQ(held.size(), 2 * old.size());
    EXPECT_EQ(consumer_view(held), names_of(desired));
    for (const auto& [name, slice] : old) held.erase(name);
    EXPECT_TRUE(diff(desired, held, memory).empty()) << "nothing is renamed back";
    EXPECT_EQ(consumer_view(held), names_of(desired));
  }
}

TEST(DiffPool, RemovesForeignFields) {
  const policy::DesiredPool desired = pool(devices(0, 1));
  ObservedSlices held = published(desired);
  held.begin()->second.unknown_fields = {"spec.devices[0].bindsToNode"};
  const SliceChanges plan = diff(desired, held);
  ASSERT_EQ(plan.updates.size(), 1u);
  EXPECT_TRUE(plan.updates[0].unknown_fields.empty());
}

TEST(DiffPool, UsesASaltedNameIfTheNameIsInUse) {
  PublisherState memory;
  memory.salts[slice_name(0, kDriver, "node-a", "node-a", 0)] = 1;
  const policy::DesiredPool desired = pool(devices(0, 1));
  const SliceChanges plan = diff(desired, {}, memory);
  ASSERT_EQ(plan.creates.size(), 1u);
  EXPECT_EQ(plan.creates[0].meta.name, slice_name(0, kDriver, "node-a", "node-a", 1));
  EXPECT_TRUE(diff(desired, applied({}, plan), memory).empty());
  EXPECT_TRUE(diff(desired, applied({}, plan), {}).empty()) << "a restart knows the salted name as its own";
}

// The write that the publisher makes next.
ObservedSlices after_one_write(const ObservedSlices& held, const SliceChanges& plan, int64_t version) {
  SliceChanges one;
  if (const kube::ResourceSlice* slice = first_write(plan, held))
    (slice->meta.resource_version.empty() ? one.creates : one.updates).push_back(*slice);
  else
    one.deletes.push_back(plan.deletes.front());
  return applied(held, one, version);
}

// The daemon may die after each write. Red when a write removes an entry from a slice before the entry's new
// slice is written, and does not record the entry.
TEST(DiffPool, RecordsMovingEntriesAtEveryStep) {
  policy::DesiredPool plain = pool(devices(0, 100));
  plain.can_count = true;
  policy::DesiredPool counting = plain;
  counting.counters.push_back({"functions", {{"free", kube::Quantity::decode("1").value()}}});
  for (const auto& [from, to] : {std::pair(plain, counting), std::pair(counting, plain)}) {
    ObservedSlices held = published(from);
    int writes = 0;
    for (SliceChanges plan = diff(to, held); !plan.empty() && writes < 10; plan = diff(to, held), ++writes) {
      held = after_one_write(held, plan, 1000 + writes);
      EXPECT_EQ(told_by(held), names_of(to)) << "after write " << writes + 1;
    }
    EXPECT_LT(writes, 10);
    EXPECT_FALSE(held.begin()->second.meta.annotations.contains("dra.networking/withdrawn"));
  }
}

// Somebody restored a slice under another of our names; it alone has the record.
TEST(DiffPool, CountsTheReservationsOfATwin) {
  const std::string back = device_name(199);
  ObservedSlices held = published(pool(devices(0, 199)));
  kube::ResourceSlice twin = held.begin()->second;
  twin.meta.name = slice_name(0, kDriver, "node-a", "node-a", 1);
  twin.meta.annotations["dra.networking/withdrawn"] = "[\"" + back + "\"]";
  twin.devices.clear();
  if (twin.meta.name < held.begin()->first)
    std::swap(twin.meta.annotations, held.begin()->second.meta.annotations);
  held[twin.meta.name] = twin;
  const policy::DesiredPool all = pool(devices(0, 200));
  int writes = 0;
  for (SliceChanges plan = diff(all, held); !plan.empty() && writes < 10; plan = diff(all, held), ++writes) {
    held = after_one_write(held, plan, 1000 + writes);
    EXPECT_TRUE(told_by(held).contains(back)) << "after write " << writes + 1;
  }
  EXPECT_LT(writes, 10);
}

// One object changes as a whole, so nothing has to overlap.
TEST(DiffPool, MovesAnEntryIntoItsReservationInOneWrite) {
  policy::DesiredPool fewer = pool(devices(0, 1));
  fewer.record = policy::Record::decode("[\"" + device_name(1) + "\"]").value();
  const ObservedSlices held = published(fewer);
  const policy::DesiredPool all = pool(devices(0, 2));
  const SliceChanges plan = diff(all, held);
  EXPECT_EQ(plan.size(), 1u);
  EXPECT_TRUE(diff(all, applied(held, plan)).empty());
}

// The server takes annotations of 256 KiB.
TEST(DiffPool, BoundsReservationsOfMovingEntries) {
  std::vector<kube::DevicePtr> all, few;
  for (int i = 0; i < 10400; ++i) {
    const std::string link = "veth" + std::to_string(10'000'000 + i);
    all.push_back(kube::Device{.name = link + "-macvlan", .attributes = {{kDriver + "/ifName", link}}});
    if (i % 64 < 31) few.push_back(all.back());
  }
  policy::DesiredPool before = pool(all), after = pool(few);
  before.can_count = after.can_count = true;
  const ObservedSlices held = published(before);
  const SliceChanges plan = diff(after, held);
  EXPECT_GT(plan.size(), 100u);
  for (const auto* list : {&plan.updates, &plan.creates})
    for (const kube::ResourceSlice& slice : *list)
      for (const auto& [key, value] : slice.meta.annotations) EXPECT_LT(value.size(), 200'000u) << key;
}

// A record for all unknown entries stays until the moving entries are in their slices.
TEST(DiffPool, KeepsACompleteReservationWhileEntriesMove) {
  policy::DesiredPool fewer = pool(devices(0, 299));
  fewer.record = policy::Record({policy::whole_holding("node-a")}, "node-a");
  const ObservedSlices held = published(fewer);
  const SliceChanges plan = diff(pool(devices(0, 300)), held);
  ASSERT_EQ(plan.updates.size() + plan.creates.size(), 1u);
  const ObservedSlices then = applied(held, plan);
  EXPECT_EQ(then.begin()->second.meta.annotations.at("dra.networking/withdrawn"), fewer.record.text());
  const ObservedSlices last = applied(then, diff(pool(devices(0, 300)), then));
  EXPECT_FALSE(last.begin()->second.meta.annotations.contains("dra.networking/withdrawn"));
}

// A persona that moves is recorded with the data of its entry.
TEST(DiffPool, RecordsAMovingPersonaAsShared) {
  policy::DesiredPool plain =
      pool({kube::Device{.name = "0000-3b-00-0-macvlan", .allow_multiple_allocations = true}});
  plain.can_count = true;
  plain.groups = {{"0000-3b-00-0-macvlan", "rx"}};
  policy::DesiredPool counting = plain;
  counting.counters.push_back({"functions", {{"free", kube::Quantity::decode("1").value()}}});
  const ObservedSlices held = published(plain);
  const SliceChanges plan = diff(counting, held);
  const kube::ResourceSlice* first = first_write(plan, held);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(
      first->meta.annotations.at("dra.networking/withdrawn"),
      policy::Record({{"0000-3b-00-0-macvlan", "0000:3b:00.0", "0000-3b-00-0", false, "rx"}}, plain.name)
          .text());
}

// Red when a pool that cannot be written, or a slice that may not be deleted, keeps another pool's withdrawals
// from being acknowledged.
TEST(DiffPool, ConvergesIndependentlyOfOtherPools) {
  using Pools = std::optional<std::set<std::string>>;
  policy::DesiredPool one = pool(devices(0, 1)), other = pool(devices(1, 1));
  one.name = "node-a/one", other.name = "node-a/other";
  const auto plan_of = [&](const std::vector<policy::DesiredPool>& desired, const ObservedSlices& observed) {
    return diff_pools(desired, observed, kNode, kDriver, {});
  };
  const ObservedSlices none, both = applied({}, plan_of({one, other}, {}));
  EXPECT_EQ(unsettled_pools(plan_of({one, other}, none), none), (Pools{{one.name, other.name}}));
  EXPECT_EQ(unsettled_pools(plan_of({one, other}, both), both), Pools{std::set<std::string>()});
  policy::DesiredPool fewer = other;
  fewer.devices.clear();
  EXPECT_EQ(unsettled_pools(plan_of({one, fewer}, both), both), Pools{{other.name}}) << "an update";
  EXPECT_EQ(unsettled_pools(plan_of({one}, both), both), Pools{{other.name}}) << "a delete";
  ObservedSlices now = both;
  for (auto& [name, slice] : now)
    if (slice.pool.name == other.name) slice.devices.clear();
  EXPECT_EQ(unsettled_pools(plan_of({one}, now), now), Pools{std::set<std::string>()})
      << "what is left to be deleted offers nothing";
  now = both;
  now["unread"] = unread_slice("unread", "u", "7");
  EXPECT_EQ(unsettled_pools(plan_of({one, other}, now), now), Pools()) << "it may be of any pool";
}

// Random edits in any order reach the desired pools. They need few more writes than a plan has for moved
// entries, and no entry is lost on the way.
TEST(DiffPool, AnySequenceOfPoolsConverges) {
  uint64_t state = 42;
  const auto random = [&](uint64_t below) {
    return (state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33 ? (state >> 33) % below
                                                                                   : 0;
  };
  ObservedSlices held;
  size_t moves = 0;
  for (int step = 0; step < 400; ++step) {
    SCOPED_TRACE(step);
    std::vector<kube::DevicePtr> wanted;
    const uint64_t density = 1 + random(9);
    for (int i = 0; i < 400; ++i)
      if (random(10) < density) wanted.push_back(devices(i, 1, static_cast<int64_t>(random(50) == 0))[0]);
    policy::DesiredPool desired = pool(wanted);
    desired.can_count = random(3) == 0;
    if (desired.can_count && random(2) == 0)
      desired.counters.push_back({"functions", {{"free", kube::Quantity::decode("1").value()}}});
    std::set<std::string> staying, told = told_by(held);
    for (const std::string& name : names_of(desired))
      if (told.contains(name)) staying.insert(name);
    const size_t planned = diff(desired, held).size();
    size_t writes = 0;
    for (SliceChanges plan = diff(desired, held); !plan.empty() && writes <= 2 * planned;
         plan = diff(desired, held)) {
      held = after_one_write(held, plan, step * 1000 + static_cast<int64_t>(++writes));
      told = told_by(held);
      EXPECT_TRUE(std::includes(told.begin(), told.end(), staying.begin(), staying.end()))
          << "after write " << writes;
    }
    moves += writes > planned;
    EXPECT_LE(writes, 2 * planned);
    EXPECT_EQ(consumer_view(held), names_of(desired));
    EXPECT_EQ(told_by(held), names_of(desired));
    EXPECT_TRUE(diff(desired, held).empty());
  }
  EXPECT_GT(moves, 50u) << "entries hardly ever moved";
}

size_t annotation_bytes(const kube::ResourceSlice& slice) {
  size_t bytes = 0;
  for (const auto& [key, value] : slice.meta.annotations) bytes += key.size() + value.size();
  return bytes;
}

// Red when a slice is created again, or written without end, because optional data has no room.
TEST(DiffPool, DropsGroupsForAnnotationsOfOthers) {
  const std::string key = "dra.networking/groups", theirs = "example.com/theirs";
  policy::DesiredPool desired = pool(devices(0, 1));
  desired.can_count = true;
  desired.groups = {{device_name(0), "rx"}};
  ObservedSlices observed = published(desired);
  kube::ResourceSlice& slice = observed.begin()->second;
  EXPECT_TRUE(slice.meta.annotations.contains(key));
  EXPECT_TRUE(diff(desired, observed).empty());
  slice.meta.annotations[theirs] =
      std::string((size_t{256} << 10) - annotation_bytes(slice) - theirs.size(), 'x');
  EXPECT_TRUE(diff(desired, observed).empty()) << "there is just enough room";
  slice.meta.annotations[theirs] += "x";
  slice.meta.annotations.erase(key);
  EXPECT_TRUE(diff(desired, observed).empty()) << "they are left out";
}

// Red when annotations of others prevent the write of a record, and so a withdrawal.
TEST(DiffPool, KeepsReservationsBesideAnnotationsOfOthers) {
  constexpr size_t kMax = size_t{256} << 10;
  ObservedSlices held = published(pool(devices(0, 3)));
  kube::ResourceSlice& slice = held.begin()->second;
  policy::DesiredPool fewer = pool(devices(0, 1));
  std::vector<policy::Holding> withdrawn;
  for (int i = 1; i < 50; ++i) withdrawn.push_back(policy::holding_of_function(device_name(i)));
  fewer.record = policy::Record(withdrawn, fewer.name);
  const std::string names = fewer.record.text();
  const std::string whole = policy::Record({policy::whole_holding(fewer.name)}, fewer.name).text();
  const std::string key = "dra.networking/withdrawn", theirs = "example.com/theirs";
  const size_t free = kMax - annotation_bytes(slice) - theirs.size() - key.size();
  for (const auto& [room, record, is_new] :
       {std::tuple{names.size(), names, false}, std::tuple{names.size() - 1, whole, false},
        std::tuple{whole.size(), whole, false}, std::tuple{whole.size() - 1, names, true}}) {
    SCOPED_TRACE(room);
    slice.meta.annotations[theirs] = std::string(free - room, 'x');
    const SliceChanges plan = diff(fewer, held);
    const kube::ResourceSlice* first = first_write(plan, held);
    ASSERT_NE(first, nullptr);
    if (!is_new) {
      EXPECT_EQ(first->meta.annotations.at(key), record);
    }
    EXPECT_LE(annotation_bytes(*first), kMax);
    EXPECT_EQ(first->meta.name != slice.meta.name, is_new);
    EXPECT_EQ(plan.deletes.size(), 0u) << "not before another stands in its place";
    ObservedSlices now = held;
    size_t writes = 0;
    for (SliceChanges next = plan; !next.empty() && writes < 10; next = diff(fewer, now)) {
      now = after_one_write(now, next, 1'000 + static_cast<int64_t>(++writes));
      const std::set<std::string> told = told_by(now);
      for (int i = 0; i < 50 && record == names; ++i) EXPECT_TRUE(told.contains(device_name(i))) << i;
    }
    EXPECT_LE(writes, is_new ? 3u : 1u);
    ASSERT_EQ(now.size(), 1u);
    EXPECT_EQ(now.begin()->second.meta.annotations.at(key), record);
    EXPECT_EQ(consumer_view(now), names_of(fewer));
  }
}

// Red when a slice and its replacement count together as a complete pool, which lacks the rest.
TEST(DiffPool, ARecreatedSliceDoesNotCountWithItsPredecessor) {
  const policy::DesiredPool before = pool(devices(0, 136)), now = pool(devices(4, 126));
  const ObservedSlices held = published(before);
  ASSERT_EQ(held.size(), 2u);
  PublisherState memory;
  memory.generations["node-a"] = 1;
  ObservedSlices observed = after_one_write(held, diff(pool(devices(2, 130)), held, memory), 500);
  const std::string first = observed.begin()->first;
  ASSERT_EQ(observed.at(first).pool.generation, 2) << "the other one still has the first";
  memory.generations["node-a"] = 2;
  memory.full.insert(first);
  size_t writes = 0;
  for (SliceChanges plan = diff(now, observed, memory); !plan.empty() && writes < 10;
       plan = diff(now, observed, memory)) {
    observed = after_one_write(observed, plan, 1'000 + static_cast<int64_t>(++writes));
    for (const auto& [name, slice] : observed)
      memory.generations["node-a"] = std::max(memory.generations["node-a"], slice.pool.generation);
    if (const auto seen = consumer_view(observed)) {
      EXPECT_EQ(*seen, names_of(now)) << writes;
    }
  }
  EXPECT_EQ(consumer_view(observed), names_of(now));
  EXPECT_FALSE(observed.contains(first));
}

// Red when the kubelet still waits for a missing plugin, or does not call one that has started.
TEST(DiffPool, OmitsNodeOperationsBesideDevices) {
  policy::DesiredPool skips = pool(devices(0, 2));
  skips.counters = {{.name = "c", .counters = {{"slots", kube::Quantity(1)}}}};
  const ObservedSlices plain = published(skips);
  skips.skips_node_operations = true;
  const ObservedSlices after = applied(plain, diff(skips, plain));
  for (const auto& [name, slice] : after)
    EXPECT_EQ(slice.skip_node_operations,
              slice.devices.empty() ? std::vector<std::string>{} : std::vector<std::string>{"*"});
  EXPECT_TRUE(diff(skips, after).empty());
  skips.skips_node_operations = false;
  for (const auto& [name, slice] : applied(after, diff(skips, after)))
    EXPECT_TRUE(slice.skip_node_operations.empty());
}

TEST(PackDevices, RepacksASparsePool) {
  Assigned assigned;
  std::vector<kube::DevicePtr> left;
  for (size_t slice = 0; slice < 4; ++slice) {
    assigned[slice] = {device_name(static_cast<int>(slice))};
    left.push_back(devices(static_cast<int>(slice), 1)[0]);
  }
  EXPECT_EQ(pack_devices(left, assigned, 128, 0).size(), 1u);
}

}  // namespace
}  // namespace sliced::publishers
