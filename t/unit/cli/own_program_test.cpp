#include "cli/fleet/own_program.h"

#include <gtest/gtest.h>

#include "reactor/base/text.h"

namespace sliced::cli {
namespace own_program_test {
namespace {

// Red when the page and its `why` are of two clusters.
TEST(OwnProgram, WhyIsAskedOfTheClusterThatThePageIsOf) {
  const auto cluster_of = [](config::ClusterSpec cluster) {
    config::Options options;
    options.cluster = std::move(cluster);
    std::vector<std::string> words = why_program(options, "ns/p");
    EXPECT_EQ(words[3], "ns/p");
    words.erase(words.begin(), words.begin() + 4);
    words.resize(words.size() - 4);  // the drivers
    return join(words, " ");
  };
  EXPECT_EQ(cluster_of(config::ClusterDirectory{"/d"}), "--cluster dir:/d");
  EXPECT_EQ(cluster_of(config::KubeconfigFile{"/k"}), "--cluster kubeconfig:/k");
  EXPECT_EQ(cluster_of(config::KubeconfigFile{"/k", "c"}), "--kubeconfig /k --context c");
  EXPECT_EQ(cluster_of(config::KubeconfigFile{"/k", "c", {"/l"}}), "--context c");
  EXPECT_EQ(cluster_of(config::KubeconfigFile{"/k", "", {"/l"}}), "");
}

TEST(OwnProgram, AnEditIsJudgedByTheClusterAndTheNamespaceThatThePageIsOf) {
  config::Options options;
  options.cluster = config::ClusterDirectory{"/d"};
  options.diff_file = "p.yaml";
  options.namespace_ = "ours";
  options.sriov_driver_name = "a.example";
  options.exposure_driver_name = "b.example";
  EXPECT_EQ(join(edit_program(options), " "),
            "/proc/self/exe policies --diff p.yaml --output json --namespace ours --cluster dir:/d "
            "--sriov-driver-name a.example --exposure-driver-name b.example");
}

}  // namespace
}  // namespace own_program_test
}  // namespace sliced::cli
