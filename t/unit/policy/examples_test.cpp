// What users copy must be right: every example is understood without a problem.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/programs.h"
#include "policy/sriov/policy.h"

namespace sliced::policy {
namespace {

TEST(Examples, AreValid) {
  size_t policies = 0, attributes = 0, exposures = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(SLICED_EXAMPLES)) {
    if (file.path().extension() != ".yaml") continue;
    SCOPED_TRACE(file.path().string());
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const auto yaml = kube::decode_yaml(text.str());
    EXPECT_TRUE(yaml.problems.empty());
    for (const kube::Json& object : yaml.documents) {
      if (object.text("kind") == kube::kSriovResourcePolicies.kind) {
        ++policies;
        const SriovPolicy policy = decode_sriov_policy(object);
        EXPECT_EQ(policy.problems, Problems{});
        for (const ResourceConfig& config : policy.configs) EXPECT_EQ(config.problems, Problems{});
      } else if (object.text("kind") == kube::kDeviceAttributes.kind) {
        ++attributes;
        EXPECT_EQ(decode_device_attributes(object, "sriovnetwork.k8snetworkplumbingwg.io").problems,
                  Problems{});
      } else if (object.text("kind") == kube::kDeviceExposurePolicies.kind) {
        ++exposures;
        ExposurePolicy policy = decode_exposure_policy(object);
        check_selector(policy, std::string(kExposureDriver));
        EXPECT_EQ(policy.problems, Problems{}) << text_of(policy.id);
        EXPECT_EQ(warnings_of(policy), Problems{}) << text_of(policy.id);
      }
    }
  }
  EXPECT_GE(policies, 3u);
  EXPECT_GE(attributes, 1u);
  EXPECT_GE(exposures, 8u);
}

}  // namespace
}  // namespace sliced::policy
