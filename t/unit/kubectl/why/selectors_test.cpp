#include "kubectl/why/selectors.h"

#include "t/fixture/golden.h"
#include "t/unit/kubectl/why/objects.h"

namespace sliced::why {
namespace {

TEST(Conjuncts, SplitsOutsideOfParenthesesAndTexts) {
  const struct {
    const char* expression;
    std::vector<std::string> parts;
  } rows[] = {{"a && b", {"a", "b"}},
              {"a && (b && c) && d", {"a", "(b && c)", "d"}},
              {"x == \"&&\" && y", {"x == \"&&\"", "y"}},
              {"a || b && c", {"a || b && c"}},
              {"a ? b && c : d", {"a ? b && c : d"}},
              {"a &&", {"a", ""}},
              {"a", {"a"}}};
  for (const auto& row : rows) EXPECT_EQ(conjuncts(row.expression), row.parts) << row.expression;
}

struct SelectorsTest : testing::Test {
  SelectorsTest() {
    add(cluster, R"(
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example.com
  nodeName: w
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices: [{name: x, attributes: {vendor: {string: "8086"}, other.io/up: {bool: false}}, capacity: {rate: {value: 10G}}}]
)");
    const Slice& slice = *cluster.slices.at(0);
    candidate = {&*slice.common.devices[0], &slice, true, false};
  }
  Cluster cluster;
  Selectors selectors;
  Candidate candidate;
};

TEST_F(SelectorsTest, NamesTheFirstFailingPartWithItsValue) {
  const struct {
    const char* expression;
    const char* said;
  } rows[] = {
      {"device.driver == \"d.example.com\" && device.attributes[\"d.example.com\"].vendor == \"15b3\"",
       "device.attributes[\"d.example.com\"].vendor == \"15b3\"; vendor is \"8086\""},
      {"device.driver == \"e\"", "device.driver == \"e\"; the driver is d.example.com"},
      {"device.attributes[\"other.io\"].up", "device.attributes[\"other.io\"].up; up is false"},
      {"has(device.attributes[\"other.io\"].gone)",
       "has(device.attributes[\"other.io\"].gone); there is no other.io/gone"},
      {"device.capacity[\"d.example.com\"].rate.isGreaterThan(quantity(\"25G\"))",
       "device.capacity[\"d.example.com\"].rate.isGreaterThan(quantity(\"25G\")); rate is 10G"}};
  for (const auto& row : rows) {
    EXPECT_EQ(selectors.ask(row.expression, candidate), SelectorResult::kNo) << row.expression;
    EXPECT_EQ(selectors.mismatch_of(row.expression, candidate), row.said);
  }
}

TEST_F(SelectorsTest, DistinguishesErrorsFromFalse) {
  const std::string absent = "device.attributes[\"d.example.com\"].gone == 1";
  EXPECT_EQ(selectors.ask(absent, candidate), SelectorResult::kError);
  fixture::expect_golden(selectors.error_of(absent, candidate));
  EXPECT_EQ(selectors.ask("device.", candidate), SelectorResult::kError);
  EXPECT_FALSE(selectors.error_of("device.", candidate).empty());
  EXPECT_EQ(selectors.ask("device.driver == \"d.example.com\"", candidate), SelectorResult::kYes);
}

}  // namespace
}  // namespace sliced::why
