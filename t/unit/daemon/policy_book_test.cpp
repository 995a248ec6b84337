#include "daemon/policy_book.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "policy/exposure/resolve.h"
#include "t/fixture/golden.h"

namespace sliced::daemon {
namespace {

using Texts = std::vector<std::string>;

struct PolicyBookTest : testing::Test {
  /// As the watcher of the kind makes it of an object.
  PolicyBook::Item item(const kube::Resource& kind, const std::string& name, const std::string& spec) const {
    const std::string namespace_ = kind.namespaced ? "ns" : "";
    const std::string meta = "{name: " + name + (kind.namespaced ? ", namespace: ns}" : "}");
    const kube::Json object = kube::decode_yaml("metadata: " + meta + "\nspec: " + spec).documents.at(0);
    for (const auto& kinds : {sriov_kinds(options), exposure_kinds(options)})
      for (const PolicyKind& one : kinds)
        if (one.resource.kind == kind.kind)
          return {
              {namespace_, name}, "uid", "1", one.decoding.decode(object, *kube::decode_object_meta(object))};
    throw std::logic_error("no such kind");
  }
  static PolicyBook::Item broken(const std::string& namespace_, const std::string& name) {
    return {{namespace_, name}, "", "1", Error{Errc::kInvalid, "cannot be read"}};
  }
  static PolicyBook::Item left_out(const std::string& name, bool guards) {
    return {{"", name}, "", "1", watchers::PolicyObject{nullptr, {.guards = guards}}};
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

TEST_F(PolicyBookTest, TakesInEveryKindInOneWay) {
  const struct {
    const kube::Resource& kind;
    const char *spec, *changed, *listed, *removed;
  } rows[] = {
      {kube::kSriovResourcePolicies, "{configs: [{}]}", "policy ns/a changed", "policy listed: 410",
       "policy ns/b deleted"},
      {kube::kDeviceAttributes, "{attributes: {x: {string: y}}}", "DeviceAttributes ns/a changed",
       "DeviceAttributes listed: 410", "DeviceAttributes ns/b deleted"},
      {kube::kDeviceExposurePolicies, "{selector: {cel: 'true'}}", "DeviceExposurePolicy a changed",
       "DeviceExposurePolicy listed: 410", "DeviceExposurePolicy b deleted"},
  };
  for (const auto& row : rows) {
    book = {};
    EXPECT_EQ(book.apply(row.kind, Changed<PolicyBook::Item>{item(row.kind, "a", row.spec)}, {}).why,
              row.changed);
    EXPECT_EQ(names(), Texts{"a"});
    const std::vector<PolicyBook::Item> all = {item(row.kind, "b", row.spec), item(row.kind, "c", row.spec)};
    EXPECT_EQ(book.apply(row.kind, Relisted<PolicyBook::Item>{all, "410"}, {}).why, row.listed);
    EXPECT_EQ(names(), (Texts{"b", "c"})) << "a list replaces all";
    EXPECT_EQ(book.apply(row.kind, Relisted<PolicyBook::Item>{{all[0]}, "410", {all[1].id}}, {}).why,
              row.listed);
    EXPECT_EQ(names(), (Texts{"b", "c"})) << "but for what is not let go yet";
    EXPECT_EQ(book.apply(row.kind, Removed<PolicyBook::Item>{all[0].id}, {}).why, row.removed);
    EXPECT_EQ(names(), Texts{"c"});
    book.apply(row.kind, Changed<PolicyBook::Item>{broken(all[1].id.namespace_, "c")}, {});
    EXPECT_EQ(names(), Texts{"c"}) << "it is there, and offers nothing";
    ASSERT_EQ(problems().size(), 1u);
    fixture::expect_golden(problems()[0]);
  }
}

TEST_F(PolicyBookTest, PoliciesAreSharedWithTheSet) {
  const PolicyBook::Item one = item(kube::kSriovResourcePolicies, "a", "{configs: [{}]}");
  book.apply(kube::kSriovResourcePolicies, Changed<PolicyBook::Item>{one}, {});
  EXPECT_EQ(static_cast<const void*>(&*book.set()->sriov.at(0)), one.value->policy.get());
  EXPECT_EQ(book.set(), book.set()) << "made anew after a change only";
}

// Red when who compares sets by pointer finds another one although nobody has edited anything.
TEST_F(PolicyBookTest, WhatIsToldAgainIsNoChange) {
  const struct {
    const kube::Resource& kind;
    const char *spec, *edited;
  } rows[] = {
      {kube::kSriovResourcePolicies, "{configs: [{}]}", "{priority: 1, configs: [{}]}"},
      {kube::kDeviceAttributes, "{attributes: {x: {string: y}}}", "{attributes: {x: {string: z}}}"},
      {kube::kDeviceExposurePolicies, "{selector: {cel: 'true'}}", "{selector: {cel: 'false'}}"},
      {kube::kDeviceExposurePolicies, "{action: exclude, selector: {cel: 'true'}}",
       "{action: exclude, selector: {cel: 'false'}}"},
      {kube::kSriovResourcePolicies, "{nonsense: 1}", "{nonsense: [], configs: [{}]}"},
  };
  for (const auto& row : rows) {
    book = {};
    const PolicyBook::Item one = item(row.kind, "a", row.spec);
    const PolicyBook::Item again = item(row.kind, "a", std::string(row.spec) + "\nstatus: {x: y}");
    const PolicyBook::Item edited = item(row.kind, "a", row.edited);
    const auto has_changed = [&](const PolicyBook::Event& event) {
      const auto before = book.set();
      const bool says = book.apply(row.kind, event, {}).has_changed;
      EXPECT_EQ(book.set() != before, says);
      return says;
    };
    EXPECT_TRUE(has_changed(Changed<PolicyBook::Item>{one}));
    EXPECT_FALSE(has_changed(Changed<PolicyBook::Item>{again})) << row.spec;
    EXPECT_FALSE(has_changed(Relisted<PolicyBook::Item>{{again}, "410"})) << row.spec;
    EXPECT_FALSE(has_changed(Relisted<PolicyBook::Item>{{}, "410", {one.id}})) << row.spec;
    EXPECT_TRUE(has_changed(Changed<PolicyBook::Item>{edited})) << row.spec;
    EXPECT_TRUE(has_changed(Relisted<PolicyBook::Item>{{one}, "410"})) << row.spec;
    EXPECT_TRUE(has_changed(Relisted<PolicyBook::Item>{{}, "410"})) << row.spec;
    EXPECT_FALSE(has_changed(Relisted<PolicyBook::Item>{{}, "410"})) << row.spec;
    EXPECT_FALSE(has_changed(Removed<PolicyBook::Item>{one.id})) << row.spec;
  }
}

// Red when an exclude that is told again is an edit, or has forgotten what it said once an edit breaks it.
TEST_F(PolicyBookTest, AnExcludeThatIsToldAgainIsRemembered) {
  const kube::Resource& kind = kube::kDeviceExposurePolicies;
  const std::string spec = "selector: {cel: 'true'}, nodeSelector: {matchLabels: {a: b}}}";
  const PolicyBook::Item exclude = item(kind, "a", "{action: exclude, " + spec);
  policy::Decision decision;
  policy::SelectorAnswers answers;
  answers.programs = std::make_shared<policy::SelectorProgramsPtr::element_type>();
  decision.selectors = std::make_shared<const policy::SelectorAnswers>(answers);
  const Known known{&decision};
  EXPECT_TRUE(book.apply(kind, Changed<PolicyBook::Item>{exclude}, known).has_changed);
  EXPECT_FALSE(book.apply(kind, Changed<PolicyBook::Item>{exclude}, known).has_changed);
  EXPECT_FALSE(book.apply(kind, Relisted<PolicyBook::Item>{{exclude}, ""}, known).has_changed);
  EXPECT_TRUE(book.apply(kind, Changed<PolicyBook::Item>{broken("", "a")}, known).has_changed);
  EXPECT_FALSE(book.apply(kind, Changed<PolicyBook::Item>{broken("", "a")}, known).has_changed);
  EXPECT_NE(book.set()->exposures.at(0)->last_understood, nullptr);
}

// Red when nobody hears that what had no room is there again, or gone.
TEST_F(PolicyBookTest, WhatIsLeftOutIsAChange) {
  const kube::Resource& kind = kube::kDeviceExposurePolicies;
  const PolicyBook::Item expose = item(kind, "a", "{selector: {cel: 'true'}}");
  for (const bool guards : {false, true}) {
    book = {};
    EXPECT_TRUE(book.apply(kind, Changed<PolicyBook::Item>{expose}, {}).has_changed);
    EXPECT_TRUE(book.apply(kind, Changed<PolicyBook::Item>{left_out("a", guards)}, {}).has_changed);
    EXPECT_TRUE(book.apply(kind, Changed<PolicyBook::Item>{expose}, {}).has_changed);
    EXPECT_TRUE(book.apply(kind, Changed<PolicyBook::Item>{left_out("b", guards)}, {}).has_changed);
    EXPECT_TRUE(book.apply(kind, Removed<PolicyBook::Item>{{"", "b"}}, {}).has_changed);
    EXPECT_TRUE(book.apply(kind, Changed<PolicyBook::Item>{left_out("b", guards)}, {}).has_changed);
    EXPECT_TRUE(book.apply(kind, Relisted<PolicyBook::Item>{{expose}, ""}, {}).has_changed);
    EXPECT_FALSE(book.apply(kind, Relisted<PolicyBook::Item>{{expose}, ""}, {}).has_changed);
  }
}

// Red when one that was edited before a decision could ask it, or that is for other nodes, holds back all that is new.
TEST_F(PolicyBookTest, AnExcludeThatCannotBeReadGoesOnAsItWasUnderstood) {
  const kube::Resource& kind = kube::kDeviceExposurePolicies;
  const PolicyBook::Item exclude =
      item(kind, "a", "{action: exclude, selector: {cel: 'nope'}, nodeSelector: {matchLabels: {a: b}}}");
  const auto decision_with = [](policy::SelectorPrograms programs) {
    auto answers = std::make_shared<policy::SelectorAnswers>();
    answers->programs = std::make_shared<const policy::SelectorPrograms>(std::move(programs));
    policy::Decision decision;
    decision.selectors = answers;
    return decision;
  };
  const policy::Decision asked = decision_with({{"nope", {}}}), other = decision_with({});
  for (const Known& known : {Known{}, Known{&other}, Known{&asked}}) {
    book.apply(kind, Changed<PolicyBook::Item>{exclude}, known);
    book.apply(kind, Changed<PolicyBook::Item>{broken("", "a")}, known);
    const bool is_understood = known.decision != &asked;
    EXPECT_EQ(book.set()->exposures.at(0)->last_understood != nullptr, is_understood);
    book.apply(kind, Relisted<PolicyBook::Item>{{broken("", "a")}, ""}, known);
    EXPECT_EQ(book.set()->exposures.at(0)->last_understood != nullptr, is_understood) << "by a list too";
    book = {};
  }
}

// Red when what there is no room for counts as if it were not there.
TEST_F(PolicyBookTest, OneStandsForAllExcludesThatAreLeftOut) {
  const kube::Resource& kind = kube::kDeviceExposurePolicies;
  book.apply(kind, Changed<PolicyBook::Item>{item(kind, "a", "{selector: {cel: 'true'}}")}, {});
  book.apply(kind, Changed<PolicyBook::Item>{left_out("a", false)}, {});
  EXPECT_EQ(names(), Texts{});
  ASSERT_EQ(problems().size(), 1u);
  EXPECT_EQ(problems()[0].rfind("DeviceExposurePolicies: 1 object is left out", 0), 0u) << problems()[0];
  book.apply(kind, Changed<PolicyBook::Item>{left_out("b", true)}, {});
  book.apply(kind, Changed<PolicyBook::Item>{left_out("c", true)}, {});
  EXPECT_EQ(names(), Texts{"(left out)"});
  book.apply(kind, Relisted<PolicyBook::Item>{{}, "", {{"", "b"}}}, {});
  EXPECT_EQ(names(), Texts{"(left out)"}) << "a list lacks it, and it is not let go yet";
  book.apply(kind, Removed<PolicyBook::Item>{{"", "b"}}, {});
  EXPECT_EQ(names(), Texts{});
  EXPECT_EQ(problems(), Texts{});
}

TEST_F(PolicyBookTest, AnExcludeThatIsLeftOutIsNotLetGoByOneList) {
  const kube::Resource& kind = kube::kDeviceExposurePolicies;
  book.apply(kind, Changed<PolicyBook::Item>{left_out("b", true)}, {});
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->policies = book.set();
  policy::Decision decision;
  decision.inputs = inputs;
  const Known known{&decision};
  EXPECT_TRUE(book.keeps_missing(kind, {{"", "b"}}, known));
  EXPECT_FALSE(book.keeps_missing(kind, {{"", "b"}}, {})) << "nothing stands on it before the first decision";
}

TEST(PolicyKinds, DeviceAttributesGoWithWhatTheySpeakOf) {
  config::Options options;
  const auto sources = [&] {
    Texts out;
    for (const auto& kinds : {sriov_kinds(options), exposure_kinds(options)})
      for (const PolicyKind& kind : kinds) out.push_back(kind.source);
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
