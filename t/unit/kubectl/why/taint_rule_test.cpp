#include "kubectl/why/taint_rule.h"

#include "t/unit/kubectl/why/objects.h"

namespace sliced::why {
namespace {

constexpr const char* kSlices = R"(
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.io
  nodeName: w
  pool: {name: w, generation: 1, resourceSliceCount: 1}
  devices: [{name: a, taints: [{key: sick, effect: NoExecute}]}, {name: b}]
---
kind: ResourceSlice
metadata: {name: t}
spec: {driver: e.io, nodeName: w, pool: {name: x, generation: 1, resourceSliceCount: 1}, devices: [{name: a}]}
)";

TaintRule rule_of(const std::string& selector) {
  const auto rule = decode_taint_rule(object_of("metadata: {name: r}\nspec: {" + selector +
                                                " taint: {key: k, value: v, effect: NoSchedule}}"));
  EXPECT_TRUE(rule) << (rule ? "" : rule.error().what);
  return rule ? *rule : TaintRule{};
}

// "d.io/w/a" and so on, of devices that have the rule's taint.
std::vector<std::string> tainted(const std::string& selector) {
  Cluster cluster;
  add(cluster, kSlices);
  const kube::Taint taint{"k", "v", "NoSchedule"};
  std::vector<std::string> out;
  for (const SlicePtr& slice : with_taints(cluster.slices, {rule_of(selector)}).slices)
    for (const kube::DevicePtr& device : slice->common.devices)
      if (!device->taints.empty() && device->taints.back() == taint)
        out.push_back(describe(DeviceId{slice->common.driver, slice->common.pool.name, device->name}));
  return out;
}

TEST(TaintRule, SelectsByDriverPoolAndName) {
  using Names = std::vector<std::string>;
  struct Row {
    std::string selector;
    Names tainted;
  };
  for (const Row& row : std::vector<Row>{{"", {}},
                                         {"deviceSelector: null,", {}},
                                         {"deviceSelector: {},", {"d.io/w/a", "d.io/w/b", "e.io/x/a"}},
                                         {"deviceSelector: {driver: d.io},", {"d.io/w/a", "d.io/w/b"}},
                                         {"deviceSelector: {pool: x},", {"e.io/x/a"}},
                                         {"deviceSelector: {device: a},", {"d.io/w/a", "e.io/x/a"}},
                                         {"deviceSelector: {driver: d.io, device: b},", {"d.io/w/b"}},
                                         {"deviceSelector: {driver: d.io, pool: x},", {}}})
    EXPECT_EQ(tainted(row.selector), row.tainted) << row.selector;
}

TEST(TaintRule, AppliesAfterDriverTaintsAndIgnoresOthers) {
  Cluster cluster;
  add(cluster, kSlices);
  const auto slices =
      with_taints(cluster.slices, {rule_of("deviceSelector: {driver: d.io, device: a},")}).slices;
  EXPECT_EQ(slices.at(0)->common.devices.at(0)->taints.size(), 2u);
  EXPECT_EQ(slices.at(0)->common.devices.at(0)->taints.at(0).key, "sick");
  EXPECT_EQ(slices.at(1), cluster.slices.at(1)) << "no rule is of it";
  EXPECT_EQ(cluster.slices.at(0)->common.devices.at(0)->taints.size(), 1u) << "what was read stays as it is";
}

// A device that is copied for each rule takes minutes of a thousand rules; what there is no room for is counted.
TEST(TaintRule, BoundsManyRules) {
  Cluster cluster;
  add(cluster, kSlices);
  const std::vector<TaintRule> rules(20'000, rule_of("deviceSelector: {driver: d.io},"));
  const Tainted all = with_taints(cluster.slices, rules);
  EXPECT_EQ(all.left_out, 0u);
  EXPECT_EQ(all.slices.at(0)->common.devices.at(1)->taints.size(), rules.size());
  const Tainted some = with_taints(cluster.slices, rules, 30'000);
  EXPECT_EQ(some.left_out, 10'000u);
  EXPECT_EQ(some.slices.at(0)->common.devices.at(1)->taints.size(), 10'000u);
}

TEST(TaintRule, NamesAFieldOfTheWrongType) {
  const auto rule = decode_taint_rule(
      object_of("kind: DeviceTaintRule\nmetadata: {name: r}\nspec: {deviceSelector: {driver: 7}}"));
  ASSERT_FALSE(rule);
  EXPECT_NE(rule.error().what.find("deviceSelector.driver"), std::string::npos) << rule.error().what;
}

}  // namespace
}  // namespace sliced::why
