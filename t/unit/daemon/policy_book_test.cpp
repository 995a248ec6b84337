#include "daemon/policy_book.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "policy/exposure/resolve.h"
#include "t/fixture/golden.h"

namespace sliced::daemon {
namespace {

using Texts = std::vector<std::string>;

using policy::DeviceAttributes;
using policy::ExposurePolicy;
using policy::SriovPolicy;

template <class Policy>
using Item = WatchedPolicy<Policy>;

struct PolicyBookTest : testing::Test {
  template <class Policy>
  PolicyResource<Policy> resource() const {
    const PolicyResources all = policy_resources(options);
    if constexpr (std::is_same_v<Policy, SriovPolicy>)
      return *all.sriov;
    else if constexpr (std::is_same_v<Policy, DeviceAttributes>)
      return *all.attributes;
    else
      return *all.exposures;
  }
  /// As the watcher of the kind makes it of an object.
  template <class Policy>
  Item<Policy> item(const std::string& name, const std::string& spec) const {
    const PolicyResource<Policy> kind = resource<Policy>();
    const bool namespaced = kind.resource.namespaced;
    const std::string meta = "{name: " + name + (namespaced ? ", namespace: ns}" : "}");
    const kube::Json object = kube::decode_yaml("metadata: " + meta + "\nspec: " + spec).documents.at(0);
    return {{namespaced ? "ns" : "", name},
            "uid",
            "1",
            kind.decoding.decode(object, *kube::decode_object_meta(object))};
  }
  template <class Policy = ExposurePolicy>
  static Item<Policy> broken(const std::string& namespace_, const std::string& name) {
    return {{namespace_, name}, "", "1", Error{Errc::kInvalid, "cannot be read"}};
  }
  static Item<ExposurePolicy> left_out(const std::string& name, bool guards) {
    return {{"", name}, "", "1", watchers::PolicyObject<ExposurePolicy>{nullptr, {.guards = guards}}};
  }
  Texts names() {
    Texts out;
    for (const policy::SriovPolicy& one : book.set()->sriov) out.push_back(one.id.name);
    for (const policy::DeviceAttributes& one : book.set()->attributes) out.push_back(one.id.name);
    for (const policy::ExposurePolicy& one : book.set()->exposures) out.push_back(one.id.name);
    return out;
  }
  Texts problems() const {
    Texts out;
    book.for_each_problem([&](const std::string& text) { out.push_back(text); });
    book.for_each_left_out([&](const std::string& text) { out.push_back(text); });
    return out;
  }

  const config::Options options;
  PolicyBook book;
};

struct EveryKind : PolicyBookTest {
  template <class Policy>
  void check(const char* spec, const char* changed, const char* listed, const char* removed) {
    book = {};
    EXPECT_EQ(book.apply(Changed<Item<Policy>>{item<Policy>("a", spec)}, {}).why, changed);
    EXPECT_EQ(names(), Texts{"a"});
    const std::vector<Item<Policy>> all = {item<Policy>("b", spec), item<Policy>("c", spec)};
    EXPECT_EQ(book.apply(Relisted<Item<Policy>>{all, "410"}, {}).why, listed);
    EXPECT_EQ(names(), (Texts{"b", "c"})) << "a list replaces all";
    EXPECT_EQ(book.apply(Relisted<Item<Policy>>{{all[0]}, "410", {all[1].id}}, {}).why, listed);
    EXPECT_EQ(names(), (Texts{"b", "c"})) << "but for what is not let go yet";
    EXPECT_EQ(book.apply(Removed<Item<Policy>>{all[0].id}, {}).why, removed);
    EXPECT_EQ(names(), Texts{"c"});
    book.apply(Changed<Item<Policy>>{broken<Policy>(all[1].id.namespace_, "c")}, {});
    EXPECT_EQ(names(), Texts{"c"}) << "it is there, and offers nothing";
    ASSERT_EQ(problems().size(), 1u);
    fixture::expect_golden(problems()[0]);
  }
  template <class Policy>
  void check_unchanged(const char* spec, const char* edit) {
    book = {};
    const Item<Policy> one = item<Policy>("a", spec);
    const Item<Policy> again = item<Policy>("a", std::string(spec) + "\nstatus: {x: y}");
    const Item<Policy> edited = item<Policy>("a", edit);
    const auto has_changed = [&](const PolicyEvent<Policy>& event) {
      const auto before = book.set();
      const bool says = book.apply(event, {}).has_changed;
      EXPECT_EQ(book.set() != before, says);
      return says;
    };
    EXPECT_TRUE(has_changed(Changed<Item<Policy>>{one}));
    EXPECT_FALSE(has_changed(Changed<Item<Policy>>{again})) << spec;
    EXPECT_FALSE(has_changed(Relisted<Item<Policy>>{{again}, "410"})) << spec;
    EXPECT_FALSE(has_changed(Relisted<Item<Policy>>{{}, "410", {one.id}})) << spec;
    EXPECT_TRUE(has_changed(Changed<Item<Policy>>{edited})) << spec;
    EXPECT_TRUE(has_changed(Relisted<Item<Policy>>{{one}, "410"})) << spec;
    EXPECT_TRUE(has_changed(Relisted<Item<Policy>>{{}, "410"})) << spec;
    EXPECT_FALSE(has_changed(Relisted<Item<Policy>>{{}, "410"})) << spec;
    EXPECT_FALSE(has_changed(Removed<Item<Policy>>{one.id})) << spec;
  }
};

TEST_F(EveryKind, IsAppliedEqually) {
  check<SriovPolicy>("{configs: [{}]}", "policy ns/a changed", "policy listed: 410", "policy ns/b deleted");
  check<DeviceAttributes>("{attributes: {x: {string: y}}}", "DeviceAttributes ns/a changed",
                          "DeviceAttributes listed: 410", "DeviceAttributes ns/b deleted");
  check<ExposurePolicy>("{selector: {cel: 'true'}}", "DeviceExposurePolicy a changed",
                        "DeviceExposurePolicy listed: 410", "DeviceExposurePolicy b deleted");
}

// Red when sets that are compared by pointer differ although no policy was edited.
TEST_F(EveryKind, IsUnchangedOnARepeatedEvent) {
  check_unchanged<SriovPolicy>("{configs: [{}]}", "{priority: 1, configs: [{}]}");
  check_unchanged<DeviceAttributes>("{attributes: {x: {string: y}}}", "{attributes: {x: {string: z}}}");
  check_unchanged<ExposurePolicy>("{selector: {cel: 'true'}}", "{selector: {cel: 'false'}}");
  check_unchanged<ExposurePolicy>("{action: exclude, selector: {cel: 'true'}}",
                                  "{action: exclude, selector: {cel: 'false'}}");
  check_unchanged<SriovPolicy>("{nonsense: 1}", "{nonsense: [], configs: [{}]}");
}

TEST_F(PolicyBookTest, SharesPoliciesWithTheSet) {
  const auto one = item<SriovPolicy>("a", "{configs: [{}]}");
  book.apply(Changed<Item<SriovPolicy>>{one}, {});
  EXPECT_EQ(&*book.set()->sriov.at(0), one.value->policy.get());
  EXPECT_EQ(book.set(), book.set()) << "made anew after a change only";
}

// Red when an unchanged exclude of a new list counts as an edit, or its former content is lost when an edit breaks it.
TEST_F(PolicyBookTest, KeepsAnExcludeThatIsReceivedAgain) {
  const std::string spec = "selector: {cel: 'true'}, nodeSelector: {matchLabels: {a: b}}}";
  const Item<ExposurePolicy> exclude = item<ExposurePolicy>("a", "{action: exclude, " + spec);
  policy::Decision decision;
  policy::SelectorResults answers;
  answers.programs = std::make_shared<policy::SelectorProgramsPtr::element_type>();
  decision.selectors = std::make_shared<const policy::SelectorResults>(answers);
  const PolicyEventContext known{&decision};
  EXPECT_TRUE(book.apply(Changed<Item<ExposurePolicy>>{exclude}, known).has_changed);
  EXPECT_FALSE(book.apply(Changed<Item<ExposurePolicy>>{exclude}, known).has_changed);
  EXPECT_FALSE(book.apply(Relisted<Item<ExposurePolicy>>{{exclude}, ""}, known).has_changed);
  EXPECT_TRUE(book.apply(Changed<Item<ExposurePolicy>>{broken("", "a")}, known).has_changed);
  EXPECT_FALSE(book.apply(Changed<Item<ExposurePolicy>>{broken("", "a")}, known).has_changed);
  EXPECT_NE(book.set()->exposures.at(0)->last_understood, nullptr);
}

// Red when no event reports that an omitted object has room again, or was deleted.
TEST_F(PolicyBookTest, AnOmittedPolicyIsAChange) {
  const Item<ExposurePolicy> expose = item<ExposurePolicy>("a", "{selector: {cel: 'true'}}");
  for (const bool guards : {false, true}) {
    book = {};
    EXPECT_TRUE(book.apply(Changed<Item<ExposurePolicy>>{expose}, {}).has_changed);
    EXPECT_TRUE(book.apply(Changed<Item<ExposurePolicy>>{left_out("a", guards)}, {}).has_changed);
    EXPECT_TRUE(book.apply(Changed<Item<ExposurePolicy>>{expose}, {}).has_changed);
    EXPECT_TRUE(book.apply(Changed<Item<ExposurePolicy>>{left_out("b", guards)}, {}).has_changed);
    EXPECT_TRUE(book.apply(Removed<Item<ExposurePolicy>>{{"", "b"}}, {}).has_changed);
    EXPECT_TRUE(book.apply(Changed<Item<ExposurePolicy>>{left_out("b", guards)}, {}).has_changed);
    EXPECT_TRUE(book.apply(Relisted<Item<ExposurePolicy>>{{expose}, ""}, {}).has_changed);
    EXPECT_FALSE(book.apply(Relisted<Item<ExposurePolicy>>{{expose}, ""}, {}).has_changed);
  }
}

// Red when one that was edited before a decision could ask it, or that is for other nodes, holds back all that is new.
TEST_F(PolicyBookTest, KeepsTheLastValidVersionOfAnExclude) {
  const Item<ExposurePolicy> exclude = item<ExposurePolicy>(
      "a", "{action: exclude, selector: {cel: 'nope'}, nodeSelector: {matchLabels: {a: b}}}");
  const auto decision_with = [](policy::SelectorPrograms programs) {
    auto answers = std::make_shared<policy::SelectorResults>();
    answers->programs = std::make_shared<const policy::SelectorPrograms>(std::move(programs));
    policy::Decision decision;
    decision.selectors = answers;
    return decision;
  };
  const policy::Decision asked = decision_with({{"nope", {}}}), other = decision_with({});
  for (const PolicyEventContext& known :
       {PolicyEventContext{}, PolicyEventContext{&other}, PolicyEventContext{&asked}}) {
    book.apply(Changed<Item<ExposurePolicy>>{exclude}, known);
    book.apply(Changed<Item<ExposurePolicy>>{broken("", "a")}, known);
    const bool is_understood = known.decision != &asked;
    EXPECT_EQ(book.set()->exposures.at(0)->last_understood != nullptr, is_understood);
    book.apply(Relisted<Item<ExposurePolicy>>{{broken("", "a")}, ""}, known);
    EXPECT_EQ(book.set()->exposures.at(0)->last_understood != nullptr, is_understood) << "by a list too";
    book = {};
  }
}

// Red when what there is no room for counts as if it were not there.
TEST_F(PolicyBookTest, OneStandsForAllOmittedExcludes) {
  book.apply(Changed<Item<ExposurePolicy>>{item<ExposurePolicy>("a", "{selector: {cel: 'true'}}")}, {});
  book.apply(Changed<Item<ExposurePolicy>>{left_out("a", false)}, {});
  EXPECT_EQ(names(), Texts{});
  ASSERT_EQ(problems().size(), 1u);
  EXPECT_EQ(problems()[0].rfind("DeviceExposurePolicies: 1 object is ignored", 0), 0u) << problems()[0];
  book.apply(Changed<Item<ExposurePolicy>>{left_out("b", true)}, {});
  book.apply(Changed<Item<ExposurePolicy>>{left_out("c", true)}, {});
  EXPECT_EQ(names(), Texts{"(left out)"});
  book.apply(Relisted<Item<ExposurePolicy>>{{}, "", {{"", "b"}}}, {});
  EXPECT_EQ(names(), Texts{"(left out)"}) << "a list lacks it, and it is not let go yet";
  book.apply(Removed<Item<ExposurePolicy>>{{"", "b"}}, {});
  EXPECT_EQ(names(), Texts{});
  EXPECT_EQ(problems(), Texts{});
}

TEST_F(PolicyBookTest, KeepsAnOmittedExcludeThroughOneList) {
  const kube::Resource& kind = kube::kDeviceExposurePolicies;
  book.apply(Changed<Item<ExposurePolicy>>{left_out("b", true)}, {});
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->policies = book.set();
  policy::Decision decision;
  decision.inputs = inputs;
  const PolicyEventContext known{&decision};
  EXPECT_TRUE(book.keeps_missing(kind, {{"", "b"}}, known));
  EXPECT_FALSE(book.keeps_missing(kind, {{"", "b"}}, {})) << "nothing stands on it before the first decision";
}

TEST(PolicyResources, DeviceAttributesFollowTheirPolicies) {
  config::Options options;
  const auto sources = [&] {
    Texts out;
    const PolicyResources all = policy_resources(options);
    if (all.sriov) out.push_back(all.sriov->source);
    if (all.attributes) out.push_back(all.attributes->source);
    if (all.exposures) out.push_back(all.exposures->source);
    return out;
  };
  EXPECT_EQ(sources(), (Texts{"policies", "device attributes", "exposure policies"}));
  options.kinds_off = {"DeviceAttributes"};
  EXPECT_EQ(sources(), (Texts{"policies", "exposure policies"}));
  options.kinds_off = {"SriovResourcePolicy"};
  EXPECT_EQ(sources(), Texts{"exposure policies"});
  options.kinds_off = {"DeviceExposurePolicy"};
  EXPECT_EQ(sources(), (Texts{"policies", "device attributes"}));
}

}  // namespace
}  // namespace sliced::daemon
