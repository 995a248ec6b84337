#include "kubelet/cdi/spec.h"

#include <gtest/gtest.h>

#include <functional>

namespace sliced::cdi {
namespace spec_test {
namespace {

Spec sample() {
  return {.kind = "example.com/vf",
          .devices = {{.name = "0a1b-dev",
                       .edits = {.env = {"A=1", "B="},
                                 .nodes = {{"/dev/vfio/7", "/dev/vfio/7"}},
                                 .mounts = {{"/a", "/b", {"ro", "bind"}}}}}}};
}

TEST(CdiSpec, RoundTrips) {
  const auto text = encode_spec(sample());
  ASSERT_TRUE(text);
  const auto again = decode_spec(*text);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(*again, sample());
}

TEST(CdiSpec, DeclaresTheLowestSufficientVersion) {
  Spec spec{.kind = "example.com/vf", .devices = {{.name = "a", .edits = {.env = {"A=1"}}}}};
  EXPECT_EQ(version_of(spec), "0.3.0");
  spec.devices[0].name = "0a";
  EXPECT_EQ(version_of(spec), "0.5.0");
  spec.devices[0] = {.name = "a", .edits = {.nodes = {{"/dev/x", "/dev/y"}}}};
  EXPECT_EQ(version_of(spec), "0.5.0");
}

TEST(CdiSpec, RefusesContentThatARuntimeWouldRefuse) {
  struct Case {
    const char* what;
    std::function<void(Spec&)> spoil;
  };
  const Case cases[] = {
      {"kind", [](Spec& spec) { spec.kind = "example.com"; }},
      {"kind", [](Spec& spec) { spec.kind = "Example.com/vf"; }},
      {"kind", [](Spec& spec) { spec.kind = "example.com/v f"; }},
      {"kind", [](Spec& spec) { spec.kind = "example.com/0"; }},
      {"devices is empty", [](Spec& spec) { spec.devices.clear(); }},
      {"devices[].name", [](Spec& spec) { spec.devices[0].name = "-a"; }},
      {"devices[].name", [](Spec& spec) { spec.devices[0].name = "a/b"; }},
      {"devices[].name", [](Spec& spec) { spec.devices.push_back(spec.devices[0]); }},
      {"is empty", [](Spec& spec) { spec.devices[0].edits = {}; }},
      {".env", [](Spec& spec) { spec.devices[0].edits.env.push_back("A"); }},
      {".env", [](Spec& spec) { spec.devices[0].edits.env.push_back("=A"); }},
      {".env", [](Spec& spec) { spec.devices[0].edits.env.push_back("A\nB=1"); }},
      {".env", [](Spec& spec) { spec.devices[0].edits.env.push_back("A B=1"); }},
      {".env", [](Spec& spec) { spec.devices[0].edits.env.push_back("A=1\nB=2"); }},
      {".deviceNodes", [](Spec& spec) { spec.devices[0].edits.nodes.push_back({"dev", "/dev"}); }},
      {".mounts", [](Spec& spec) { spec.devices[0].edits.mounts.push_back({"/a", "", {}}); }},
  };
  for (const Case& one : cases) {
    Spec spec = sample();
    one.spoil(spec);
    const auto text = encode_spec(spec);
    ASSERT_FALSE(text) << one.what;
    EXPECT_EQ(text.error().code, Errc::kInvalid);
    EXPECT_NE(text.error().what.find(one.what), std::string::npos) << text.error().what;
  }
}

TEST(CdiSpec, RefusesATooLargeSpec) {
  Spec spec = sample();
  spec.devices[0].edits.env.push_back("A=" + std::string(kSpecBytesMax, 'x'));
  EXPECT_EQ(encode_spec(spec).error().code, Errc::kTooLarge);
}

TEST(CdiSpec, RefusesOtherTexts) {
  for (const char* text : {"", "[]", "{}", R"({"kind":"a.b/c","devices":[{}]})", "kind: a.b/c"})
    EXPECT_FALSE(decode_spec(text)) << text;
}

TEST(CdiSpec, NamesFollowCdi) {
  EXPECT_EQ(qualified_name("example.com/vf", "a-b"), "example.com/vf=a-b");
  EXPECT_EQ(transient_file("example.com/vf", "a-b"), "example.com-vf_a-b.yaml");
}

}  // namespace
}  // namespace spec_test
}  // namespace sliced::cdi
