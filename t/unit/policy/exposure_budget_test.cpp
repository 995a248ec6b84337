// What selectors may cost: together, each, and whatever is remembered.
#include <gtest/gtest.h>

#include <algorithm>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/programs.h"
#include "policy/exposure/resolve.h"
#include "t/fixture/golden.h"

namespace sliced::policy {
namespace {

constexpr int kVfs = 64;
// Some hundred thousand units over all devices.
const std::string kCostly = "lists.range(1000).all(x, x >= 0)";

struct ExposureBudget : testing::Test {
  std::shared_ptr<hotplug::Inventory> inventory = std::make_shared<hotplug::Inventory>();
  std::string policies;
  Settings settings;
  SelectorResultsPtr selectors;
  kube::NodeView node{"n1", {}};
  std::set<std::string> published;
  std::vector<ExposurePolicy> given;

  ExposureBudget() {
    for (int i = 0; i < kVfs; ++i) {
      const hotplug::PciAddress address{0, 3, static_cast<uint8_t>(i / 8), static_cast<uint8_t>(i % 8)};
      hotplug::HostDevice device{.type = hotplug::DeviceType::kNic, .pci = address};
      device.id.text = address.text();
      device.netdev = hotplug::Netdev{.name = "eth" + std::to_string(i)};
      inventory->devices[device.id.text] = device;
    }
  }
  static std::string quoted(const std::string& cel) { return "'" + cel + "'"; }
  void add(const std::string& name, const std::string& cel, const std::string& rest = "") {
    policies +=
        "---\nmetadata: {name: " + name + "}\nspec: {selector: {cel: " + quoted(cel) + "}" + rest + "}\n";
  }
  Decision decide_now(const std::stop_token& stop = {}) {
    auto in = std::make_shared<Inputs>();
    in->inventory = inventory;
    std::vector<ExposurePolicy> all = given;
    for (const auto& document : kube::decode_yaml(policies).documents)
      all.push_back(decode_exposure_policy(document));
    in->policies = std::make_shared<const PolicySet>(make_policy_set({}, {}, share(std::move(all))));
    in->node = node;
    in->settings = settings;
    in->selectors = selectors;
    in->published.exposure = published;
    return decide(in, stop);
  }
  void take_interfaces_away() {
    inventory = std::make_shared<hotplug::Inventory>(*inventory);
    std::vector<std::string> all;
    for (const auto& [id, device] : inventory->devices) all.push_back(id);
    for (const std::string& id : all) inventory->devices.at(id).netdev->stale = true;
  }
  static std::set<std::string> named(const Decision& decision) {
    std::set<std::string> out;
    for (const auto& [policy, problem] : problems_of(decision))
      out.insert(policy.substr(policy.find(' ') + 1));
    return out;
  }
  static size_t offered(const Decision& decision) {
    size_t count = 0;
    for (const auto& [driver, pools] : decision.pools)
      for (const auto& pool : pools) count += pool.devices.size();
    return count;
  }
  static uint64_t steps_of(const Decision& decision, const std::string& cel) {
    uint64_t sum = 0;
    for (const std::string& device : decision.selectors->memory.devices)
      sum += decision.selectors->memory.of(device, cel).steps();
    return sum;
  }
};

TEST_F(ExposureBudget, CachesAnswersWithTheirSteps) {
  using Is = cel::Answer::Is;
  EXPECT_FALSE(StoredResult().is_known());
  for (const Is is : {Is::kTrue, Is::kFalse, Is::kError})
    for (const uint64_t steps : {0u, 1u, 1'023u, 1'024u, 1'025u, 99'999u, 1'000'000u, 20'000'000u}) {
      const StoredResult kept(is, steps);
      EXPECT_TRUE(kept.is_known());
      EXPECT_EQ(kept.is(), is);
      EXPECT_GE(kept.steps(), steps);
      EXPECT_LE(kept.steps(), steps + steps / 500);
      EXPECT_EQ(StoredResult(is, kept.steps()), kept) << "once is enough";
    }
}

// Red when what policies may cost is bounded for each of them alone: sixty of them, each just below the
// limit.
TEST_F(ExposureBudget, ExpensivePoliciesDoNotAffectOthers) {
  for (int i = 0; i < 60; ++i)
    add("costly" + std::to_string(i), kCostly + " && " + std::to_string(i) + " >= 0", ", priority: 1000");
  add("plain", "true", ", priority: 1");
  settings.budgets.selectors = {2'000'000, 1'000'000};
  const Decision decision = decide_now();
  EXPECT_EQ(offered(decision), size_t{kVfs});
  const auto problems = named(decision);
  EXPECT_GE(problems.size(), 50u);
  EXPECT_LT(problems.size(), 60u) << "the first by priority and name have what there is";
  EXPECT_FALSE(problems.contains("plain"));
  EXPECT_FALSE(problems.contains("costly0"));
  uint64_t used = 0;
  for (const StoredResult& answer : decision.selectors->memory.answers) used += answer.steps();
  EXPECT_LE(used, 2'000'000u);
  EXPECT_EQ(named(decide_now()), problems) << "the same every time";
}

// Red when an exclude that takes too much is an exclude no more.
TEST_F(ExposureBudget, AnExcludeBeyondItsBudgetHoldsBackNewEntries) {
  add("exclude", "!(" + kCostly + ")", ", action: exclude");
  add("plain", "true");
  settings.budgets.selectors = {1'000, 1'000};
  published = {"0000-03-00-1"};
  const Decision decision = decide_now();
  EXPECT_EQ(named(decision), std::set<std::string>{"exclude"});
  EXPECT_EQ(offered(decision), 1u) << "what is published stays";
  const Explanation why = explain(decision, "0000:03:00.0");
  EXPECT_EQ(why.outcome, "exclude-unreadable");
  const std::string all = [&] {
    std::string out;
    for (const Rule& rule : why.rules) out += rule.found + "\n";
    return out;
  }();
  fixture::expect_golden(all);
}

// Red when a selector that is remembered costs nothing: a policy would be used or not by what was there
// before.
TEST_F(ExposureBudget, CachedAnswersCostTheirOriginalSteps) {
  add("p", "size(device.attributes[\"dra.networking\"].ifName) > 3");
  const Decision first = decide_now();
  const std::string cel = first.selectors->memory.selectors.at(0);
  const uint64_t steps = steps_of(first, cel);
  ASSERT_GT(steps, uint64_t{kVfs});
  const auto here = inventory;
  for (const bool is_enough : {true, false}) {
    settings.budgets.selectors.each = is_enough ? steps : steps - 1;
    inventory = here;
    selectors = nullptr;
    const Decision anew = decide_now();
    take_interfaces_away();
    selectors = first.selectors;
    const Decision remembered = decide_now();
    EXPECT_EQ(named(anew), is_enough ? std::set<std::string>{} : std::set<std::string>{"p"});
    EXPECT_EQ(named(remembered), named(anew));
    EXPECT_EQ(offered(remembered), offered(anew));
    EXPECT_EQ(steps_of(remembered, cel), steps) << "and stays so";
  }
}

TEST_F(ExposureBudget, EvaluatesAnEqualSelectorOfManyPoliciesOnce) {
  for (int i = 0; i < 100; ++i)
    add("p" + std::to_string(i), kCostly, ", exposure: {deviceNameSuffix: -x" + std::to_string(i) + "}");
  const uint64_t once = [&] {
    const Decision decision = decide_now();
    return steps_of(decision, kCostly);
  }();
  settings.budgets.selectors = {once, once};
  EXPECT_EQ(named(decide_now()), std::set<std::string>{});
}

// Red when as many entries are made as there are policies times devices.
TEST_F(ExposureBudget, LimitsEntries) {
  for (int i = 0; i < 100; ++i)
    add("many" + std::to_string(i), "true",
        ", priority: 9, exposure: {deviceNameSuffix: -x" + std::to_string(i) + "}");
  add("few", "device.attributes[\"dra.networking\"].ifName == \"eth3\"", ", priority: 1");
  settings.budgets.entries = {500, 500};
  const Decision decision = decide_now();
  EXPECT_LE(offered(decision), 500u);
  EXPECT_GE(offered(decision), size_t{3 * kVfs});
  EXPECT_FALSE(named(decision).contains("few")) << "who needs little has it";
  EXPECT_TRUE(named(decision).contains("many99"));
  const Explanation why = explain(decision, "0000:03:00.0");
  EXPECT_EQ(why.outcome, "offered");
  const auto says_so = [](const Rule& rule) {
    return rule.found.find("selects more devices than there is room for") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(why.rules.begin(), why.rules.end(), says_so));
}

// Red when the entries of a policy cost the same whatever it gives them.
TEST_F(ExposureBudget, CountsLargeEntriesAsSeveral) {
  std::string attributes;
  for (int i = 0; i < 16; ++i)
    attributes += "example.com/k" + std::to_string(i) + ": {string: " + std::string(60, 'x') + "}, ";
  add("large", "true", ", priority: 9, exposure: {additionalAttributes: {" + attributes + "}}");
  add("plain", "true || false", ", exposure: {deviceNameSuffix: -x}");
  EXPECT_EQ(named(decide_now()), std::set<std::string>{});
  settings.budgets.entries = {2 * kVfs, 2 * kVfs};
  const Decision decision = decide_now();
  EXPECT_EQ(named(decision), std::set<std::string>{"large"});
  EXPECT_EQ(offered(decision), size_t{kVfs});
}

// Red when answers are kept for as many selectors as there are, times devices.
TEST_F(ExposureBudget, LimitsCachedAnswers) {
  for (int i = 0; i < 30; ++i) add("p" + std::to_string(i), std::to_string(i) + " < 0", ", priority: 9");
  add("last", "true", ", priority: 1");
  add("exclude", "false", ", action: exclude, priority: 0");
  settings.budgets.answers = 10 * kVfs;
  const Decision decision = decide_now();
  EXPECT_LE(decision.selectors->memory.answers.size(), 10u * kVfs);
  EXPECT_EQ(named(decision).size(), 22u);
  EXPECT_FALSE(named(decision).contains("exclude")) << "excludes come first";
  selectors = decision.selectors;
  EXPECT_EQ(named(decide_now()), named(decision));
}

// Red when a policy for other nodes is compiled here.
TEST_F(ExposureBudget, APolicyForOtherNodesIsFree) {
  add("elsewhere", "nope", ", nodeSelector: {matchLabels: {zone: b}}");
  add("p", "true");
  const Decision decision = decide_now();
  EXPECT_EQ(named(decision), std::set<std::string>{});
  EXPECT_EQ(decision.selectors->programs->size(), 1u);
  EXPECT_EQ(decision.selectors->memory.selectors.size(), 1u);
  node.labels["zone"] = "b";
  EXPECT_EQ(named(decide_now()), std::set<std::string>{"elsewhere"});
}

// Red when compiling has no budget, or compiled programs cost nothing: a restart would decide differently.
TEST_F(ExposureBudget, CompilationHasItsOwnBudget) {
  const std::string deer = "device.driver == \"" + std::string(4'000, 'x') + "\"";
  for (int i = 0; i < 50; ++i) add("deer" + std::to_string(i), deer + " || " + std::to_string(i) + " < 0");
  add("p", "true");
  const Decision all = decide_now();
  EXPECT_EQ(named(all), std::set<std::string>{});
  uint64_t steps = 0;
  for (const auto& [text, compiled] : *all.selectors->programs) steps += compiled.steps;
  settings.budgets.compiling.all = steps / 2;
  const Decision anew = decide_now();
  EXPECT_GE(named(anew).size(), 10u);
  EXPECT_LE(named(anew).size(), 40u);
  EXPECT_EQ(offered(anew), size_t{kVfs});
  selectors = all.selectors;
  EXPECT_EQ(named(decide_now()), named(anew));
}

TEST_F(ExposureBudget, CompilesASelectorOnce) {
  add("p", "true");
  const Decision first = decide_now();
  selectors = first.selectors;
  policies.clear();
  add("p", "true", ", priority: 7");
  const Decision second = decide_now();
  EXPECT_EQ(first.selectors->programs->at("true").program, second.selectors->programs->at("true").program);
  policies.clear();
  add("q", "1 > 0");
  selectors = second.selectors;
  EXPECT_FALSE(decide_now().selectors->programs->contains("true")) << "what nobody needs is forgotten";
}

// Red when an edit that breaks the expression, which decoding does not see, drops what the exclude said
// before.
TEST_F(ExposureBudget, KeepsTheLastCompiledVersionOfAnExclude) {
  add("x", "device.attributes[\"dra.networking\"].ifName == \"eth0\"", ", action: exclude");
  const ExposurePolicy before = decode_exposure_policy(kube::decode_yaml(policies).documents.at(0));
  policies.clear();
  add("x", "nope", ", action: exclude");
  ExposurePolicy now = decode_exposure_policy(kube::decode_yaml(policies).documents.at(0));
  EXPECT_TRUE(now.problems.empty());
  keep_last_exclude(now, before, true);
  policies.clear();
  given = {now};
  add("p", "true");
  const Decision decision = decide_now();
  EXPECT_EQ(offered(decision), size_t{kVfs - 1});
  EXPECT_EQ(named(decision), std::set<std::string>{"x"});
  fixture::expect_golden(explain(decision, "0000:03:00.0").summary);
  ExposurePolicy next = now;
  keep_last_exclude(next, now, false);
  ASSERT_NE(next.last_understood, nullptr);
  EXPECT_EQ(next.last_understood->selector, before.selector) << "through any number of broken edits";
  EXPECT_EQ(next.last_understood->last_understood, nullptr);
}

// Red when what did not select this node counts as understood: nobody has compiled it, and today's edit, which
// selects every node, may be an exclude.
TEST_F(ExposureBudget, AnExcludeThatNeverCompiledIsUnreadable) {
  for (const auto& [selector, is_understood] : {std::pair("nope", false), std::pair("true", true)}) {
    policies.clear();
    add("x", selector, ", action: exclude, nodeSelector: {matchLabels: {zone: elsewhere}}");
    const ExposurePolicy before = decode_exposure_policy(kube::decode_yaml(policies).documents.at(0));
    ASSERT_TRUE(before.problems.empty());
    policies.clear();
    add("x", "true", ", actoin: exclude");
    ExposurePolicy now = decode_exposure_policy(kube::decode_yaml(policies).documents.at(0));
    ASSERT_FALSE(now.problems.empty());
    keep_last_exclude(now, before, true);
    policies.clear();
    given = {now};
    add("p", "true");
    EXPECT_EQ(offered(decide_now()), is_understood ? kVfs : 0) << selector;
  }
}

// Red when an answer is worked out to its end however little there is for it: hundreds of policies of which
// each asks for a million steps at its first device.
TEST_F(ExposureBudget, CountsUnfinishedEvaluations) {
  const std::string dear = "lists.range(1000).all(x, lists.range(500).all(y, x + y >= 0))";
  std::vector<CompiledSelector> programs;
  std::vector<Question> questions;
  for (int i = 0; i < 300; ++i)
    programs.push_back(
        compile_once(dear + " && " + std::to_string(i) + " >= 0", std::string(kExposureDriver)));
  programs.push_back(compile_once("true", std::string(kExposureDriver)));
  for (const CompiledSelector& one : programs) questions.push_back({one.program->text(), one.program.get()});
  const Budget budget{1'000'000, 500'000};
  const Survey found =
      survey(*inventory, questions, std::string(kExposureDriver), nullptr, {}, budget, std::stop_token());
  EXPECT_EQ(std::count(found.is_answered.begin(), found.is_answered.end(), true), 1);
  EXPECT_TRUE(found.is_answered.back()) << "the cheap one";
  EXPECT_GT(found.worked, budget.all / 2);
  EXPECT_LT(found.worked, 4 * budget.all);
}

// Red when compiled programs may take any memory: a pattern of one letter takes sixteen thousand bytes.
TEST_F(ExposureBudget, LimitsTheMemoryOfCompiledSelectors) {
  for (int i = 0; i < 60; ++i) {
    std::string cel;
    for (int p = 0; p < 100; ++p)
      cel += (p == 0 ? "" : " || ") + ("device.driver.matches(\"" + std::to_string(i * 100 + p) + "\")");
    add("patterns" + std::to_string(i), cel, ", priority: 900");
  }
  add("plain", "device.driver.matches(\"[a-z]+\")", ", priority: 1");
  const Decision decision = decide_now();
  size_t bytes = 0;
  for (const auto& [text, compiled] : *decision.selectors->programs)
    if (compiled.program != nullptr) bytes += compiled.program->memory();
  EXPECT_LE(bytes, 2 * settings.budgets.compiling.all);
  EXPECT_GT(bytes, settings.budgets.compiling.each);
  const auto problems = named(decision);
  EXPECT_FALSE(problems.contains("plain"));
  EXPECT_GE(problems.size(), 50u);
  for (const auto& [policy, problem] : problems_of(decision))
    EXPECT_NE(problem.what.find("10000000 bytes"), std::string::npos) << problem.what;
  selectors = decision.selectors;
  EXPECT_EQ(named(decide_now()), problems) << "whatever is compiled already";
}

// The result of `validate` is that of decisions.
TEST_F(ExposureBudget, LimitsTheMemoryOfOneSelector) {
  std::string cel = "true";
  for (int p = 0; p < 140; ++p) cel += " || device.driver.matches(\"" + std::to_string(p) + "\")";
  const CompiledSelector compiled = compile_once(cel, std::string(kExposureDriver));
  EXPECT_EQ(compiled.program, nullptr);
  EXPECT_NE(compiled.problem.find("regular expressions"), std::string::npos) << compiled.problem;
  add("patterns", cel);
  EXPECT_EQ(named(decide_now()), std::set<std::string>{"patterns"});
}

// Red when an abandoned decision continues without end.
TEST_F(ExposureBudget, StopsOnRequest) {
  add("p", "true");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(decide_now(stop.get_token()).verdicts.size(), 0u);
}

// The former selector of an exclude is often that of another policy now. Red when it is compiled for each of them.
TEST(SelectorCompilerTest, CompilesASelectorOnce) {
  SelectorCompiler compiler("dra.networking", nullptr, WorkBudgets{}.compiling, {});
  compiler.compile({"true"});
  const auto first = compiler.of("true").program;
  ASSERT_NE(first, nullptr);
  compiler.compile({"false", "true"});
  EXPECT_EQ(compiler.of("true").program, first);
  EXPECT_NE(compiler.of("false").program, nullptr);
}

}  // namespace
}  // namespace sliced::policy
