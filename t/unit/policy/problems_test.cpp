// Problems of an object are bounded in number and length.
#include <gtest/gtest.h>

#include <string>

#include "kube/objects/json.h"
#include "kube/objects/selector.h"
#include "policy/exposure/decode_policy.h"
#include "policy/sriov/policy.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

constexpr size_t kKeys = 130'000;
constexpr size_t kLongKey = 1'400'000;

constexpr kube::JsonLimits kWide{.size_max = 64u << 20};

kube::Json object_of(const std::string& spec) {
  auto json = kube::decode_json(R"({"metadata":{"name":"p","namespace":"ns"},"spec":)" + spec + "}", kWide);
  EXPECT_TRUE(json.ok()) << json.error().what;
  return std::move(*json);
}

// {"k1":value,...}
std::string many(const std::string& value) {
  std::string out = "{";
  for (size_t i = 0; i < kKeys; ++i) out += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":" + value;
  return out + "}";
}
std::string many_items(const std::string& value, size_t count) {
  std::string out = "[";
  for (size_t i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + value;
  return out + "]";
}

template <class P>
void expect_bounded(const P& problems, size_t at_least) {
  EXPECT_GE(problems.size(), at_least);
  EXPECT_LE(problems.kept(), kProblemsMax);
  size_t bytes = 0;
  for (const auto& problem : problems) {
    bytes += problem.field.size() + problem.what.size();
    EXPECT_TRUE(is_utf8(problem.field) && is_utf8(problem.what));
  }
  EXPECT_LE(bytes, kProblemsMax * 2 * kMessageBytesMax);
}

TEST(Problems, ListsTwentyUnknownFieldsAndACount) {
  const kube::Json object = object_of(many("1"));
  expect_bounded(decode_sriov_policy(object).problems, kKeys);
  expect_bounded(decode_exposure_policy(object).problems, kKeys);
  expect_bounded(decode_device_attributes(object, "d").problems, kKeys);
}

TEST(Problems, BoundsThoseOfAllConfigs) {
  std::string filter = R"({"a":1,"b":1,"vendors":)" + many_items("\"x\"", 256) + "}";
  const SriovPolicy policy = decode_sriov_policy(
      object_of(R"({"configs":)" + many_items(R"({"resourceFilters":[)" + filter + "]}", 64) + "}"));
  size_t kept = policy.problems.kept();
  for (const ResourceConfig& config : policy.configs) {
    EXPECT_FALSE(config.problems.empty()) << "it must not be taken for a good one";
    kept += config.problems.kept();
  }
  EXPECT_LE(kept, kProblemsMax + policy.configs.size());
  expect_bounded(problems_of(policy), policy.configs.size() * 258);
}

TEST(Problems, BoundsThoseOfSelectors) {
  const auto object = kube::decode_json(many("\"no label value!\""), kWide);
  ASSERT_TRUE(object.ok());
  kube::FieldProblems found;
  kube::decode_node_selector(*object, found);
  expect_bounded(found, kProblemsMax);
  for (const char* form :
       {R"({"nodeSelector":{"matchLabels":)", R"({"nodeSelector":{"nodeSelectorTerms":[],"x":)"}) {
    const std::string spec = form + many("1") + "}}";
    expect_bounded(decode_sriov_policy(object_of(spec)).problems, 1);
    expect_bounded(decode_exposure_policy(object_of(spec)).problems, 1);
  }
}

TEST(Problems, BoundsThoseOfAttributesAndCapacities) {
  const DeviceAttributes attributes =
      decode_device_attributes(object_of(R"({"attributes":)" + many(R"({"int":1})") + "}"), "d");
  expect_bounded(attributes.problems, 1);
  EXPECT_LE(attributes.attributes.size() + attributes.refused.size(), 256u);
  for (const char* field : {"capacity", "additionalAttributes"})
    expect_bounded(
        decode_exposure_policy(object_of(R"({"exposure":{")" + std::string(field) + "\":" + many("1") + "}}"))
            .problems,
        1);
}

// Each quotes the author's text, and each quotation is limited.
TEST(Problems, QuotesAreShort) {
  std::string text(kLongKey, 'v');
  for (size_t i = 0; i + 1 < text.size(); i += 2) text.replace(i, 2, "\u00e4");
  const std::string quoted = "\"" + text + "\"";
  const std::string specs[] = {
      "{" + quoted + ":1}",
      R"({"nodeSelector":{)" + quoted + ":" + quoted + "}}",
      R"({"nodeSelector":{"matchExpressions":[{"key":)" + quoted + R"(,"operator":)" + quoted + "}]}}",
      R"({"nodeSelector":)" + quoted + "}",
      R"({"action":)" + quoted + R"(,"selector":{"cel":)" + quoted + "}}",
      R"({"selector":{"cel":"true"},"exposure":{"deviceNameSuffix":)" + quoted + R"(,"exclusionGroup":)" +
          quoted + R"(,"capacity":{)" + quoted + R"(:{"value":)" + quoted +
          R"(}},"supportedCNIPlugins":[{"name":)" + quoted + R"(}],"additionalAttributes":{)" + quoted + ":" +
          quoted + "}}}",
      R"({"configs":[{"resourceName":)" + quoted + R"(,"resourceFilters":[{)" + quoted + R"(:1,"vendors":[)" +
          quoted + R"(],"pfNames":[)" + quoted + R"(],"linkType":)" + quoted + R"(,"numaNodes":[)" + quoted +
          "]}]}]}",
      R"({"attributes":{)" + quoted + R"(:{"string":)" + quoted + R"(},"a":{)" + quoted + ":1}}}",
  };
  for (const std::string& spec : specs) {
    const kube::Json object = object_of(spec);
    expect_bounded(problems_of(decode_sriov_policy(object)), 1);
    expect_bounded(decode_exposure_policy(object).problems, 1);
    expect_bounded(decode_device_attributes(object, "d").problems, 1);
  }
}

}  // namespace
}  // namespace sliced::policy
