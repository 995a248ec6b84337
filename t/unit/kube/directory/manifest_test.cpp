#include "kube/directory/manifest.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "t/unit/kube/objects/json_print.h"

namespace sliced::kube {
namespace {

std::vector<std::string> described(const Manifest& manifest) {
  std::vector<std::string> out;
  for (const auto& object : manifest.objects)
    out.push_back(describe(object.key) + "@" + std::to_string(object.value.line()));
  return out;
}

TEST(DecodeManifest, SplitsDocumentsAndLists) {
  const auto manifest = decode_manifest(
      "apiVersion: v1\nkind: Node\nmetadata: {name: node}\n"
      "---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: a/v1, kind: K, metadata: {name: x, namespace: "
      "here}}\n"
      "- {apiVersion: a/v1, kind: K, metadata: {name: x, namespace: there}}\n"
      "---\napiVersion: a/v1\nkind: KList\nitems:\n- {metadata: {name: z}}\n",
      "here");
  EXPECT_TRUE(manifest.problems.empty());
  EXPECT_TRUE(manifest.remarks.empty());
  EXPECT_EQ(described(manifest),
            (std::vector<std::string>{"v1 Node node@1", "a/v1 K x@8", "a/v1 K there/x@9", "a/v1 K z@14"}));
}

TEST(DecodeManifest, OmitsOtherDocumentsWithTheirPosition) {
  const auto manifest = decode_manifest(
      "just text\n---\nkind: K\nmetadata: {name: a}\n---\napiVersion: v1\nkind: K\n---\napiVersion: "
      "v1\nkind: K\nmetadata: {name: 3}\n"
      "---\napiVersion: v1\nkind: K\nmetadata: {name: good}\n",
      "d");
  EXPECT_TRUE(manifest.problems.empty());
  EXPECT_EQ(described(manifest), (std::vector<std::string>{"v1 K good@13"}));
  ASSERT_EQ(manifest.remarks.size(), 4u);
  EXPECT_EQ(manifest.remarks[0].line, 1);
  EXPECT_EQ(manifest.remarks[1].what, "no object: apiVersion or kind is missing");
  EXPECT_EQ(manifest.remarks[2].line, 6);
  EXPECT_EQ(manifest.remarks[3].what, "v1 K without a name: metadata.name: must be a string, not number");
}

// Red when an exclude that is left out for a mistake is as good as deleted.
TEST(DecodeManifest, ReportsOmittedDocumentsThatMayBeExcludes) {
  const std::string version = "apiVersion: networking.dra.io/v1alpha1\n",
                    kind = "kind: DeviceExposurePolicy\n", spec = "spec: {action: exclude}\n";
  const std::string in_list =
      "{apiVersion: networking.dra.io/v1alpha1, kind: DeviceExposurePolicy, metadata: {name: a}}";
  const struct {
    std::string text;
    bool may;
  } rows[] = {
      {version + kind + "metadata: {name: a}\n" + spec, false},
      {version + kind + "metadata: {name: a, labels: {gen: 2}}\n" + spec, true},
      {version + kind + "metadata: {name: 5}\n" + spec, true},
      {version + kind + spec, true},
      {version + "kind: deviceexposurepolicy\nmetadata: {name: a}\n" + spec, true},
      {"apiVersion: networking.dra.io/v1\n" + kind + "metadata: {name: a}\n" + spec, true},
      {kind + "metadata: {name: a}\n" + spec, true},
      {version + "metadata: {name: a}\n" + spec, true},
      {"resources: [a.yaml]\n", false},
      {"apiVersion: v1\nkind: K\nmetadata: {name: 3}\n", false},
      {"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [" + in_list + "]}]}", true},
      {"{apiVersion: v1, kind: List, items: {a: " + in_list + "}}", true},
      {"{apiVersion: v1, kind: List, items: {}}", false}};
  for (const auto& row : rows) {
    const auto manifest = decode_manifest(row.text, "d");
    EXPECT_EQ(manifest.possible_exclude.has_value(), row.may) << row.text;
    if (row.may) {
      EXPECT_EQ(manifest.remarks.size(), 1u) << row.text;
    }
  }
}

TEST(DecodeManifest, DoesNotSplitNestedLists) {
  const auto manifest =
      decode_manifest("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: []}]}", "d");
  EXPECT_TRUE(manifest.objects.empty());
  EXPECT_EQ(manifest.remarks.size(), 1u);
}

TEST(ManifestName, IgnoresFilesOfEditors) {
  for (const auto* good : {"a.yaml", "a.yml", "a.b.json", "0.yaml"})
    EXPECT_TRUE(is_manifest_name(good)) << good;
  for (const auto* bad : {"a", "a.txt", ".a.yaml", ".a.yaml.swp", "a.yaml~", "#a.yaml#", "#a.yaml", "4913",
                          "a.yaml.bak", "a.yaml.new", ".#a.yaml", ""}) {
    EXPECT_FALSE(is_manifest_name(bad)) << bad;
  }
}

TEST(ReadManifest, ReadsOnlyRegularFiles) {
  char pattern[] = "/tmp/sliced-manifest-XXXXXX";
  const std::string directory = ::mkdtemp(pattern);
  std::ofstream(directory + "/a.yaml") << "text";
  std::ofstream(directory + "/large.yaml") << std::string(JsonLimits().size_max + 1, 'x');
  ASSERT_EQ(::mkfifo((directory + "/pipe.yaml").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("a.yaml", (directory + "/link.yaml").c_str()), 0);
  EXPECT_EQ(*read_manifest(directory + "/a.yaml"), "text");
  EXPECT_EQ(*read_manifest(directory + "/link.yaml"), "text");
  EXPECT_EQ(read_manifest(directory + "/large.yaml").error().code, Errc::kTooLarge);
  EXPECT_EQ(read_manifest(directory + "/pipe.yaml").error().code, Errc::kInvalid);
  EXPECT_EQ(read_manifest(directory + "/none.yaml").error().code, Errc::kNotFound);
  EXPECT_EQ(read_manifest(directory).error().code, Errc::kInvalid);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace sliced::kube
