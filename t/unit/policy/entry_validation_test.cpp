#include "policy/entry_validation.h"

#include <gtest/gtest.h>

namespace sliced::policy {
namespace entry_validation_test {

kube::Device entry() {
  kube::Device out{.name = "0000-03-00-2"};
  out.attributes["dra.networking/type"] = std::string("vf");
  return out;
}

// Red when a refused entry is tried again at each change of other entries, or never again.
TEST(EntryValidation, TheFingerprintCoversAllButCounterConsumption) {
  const uint64_t plain = content_hash(entry());
  kube::Device counted = entry();
  counted.consumes_counters = {{"pf", {{"exclusion-slots", kube::Quantity(5)}}}};
  EXPECT_EQ(content_hash(counted), plain);
  const std::function<void(kube::Device&)> edits[] = {
      [](kube::Device& one) { one.name = "0000-03-00-3"; },
      [](kube::Device& one) { one.attributes["dra.networking/type"] = std::string("pf"); },
      [](kube::Device& one) { one.attributes["dra.networking/mtu"] = int64_t{9000}; },
      [](kube::Device& one) { one.allow_multiple_allocations = true; },
      [](kube::Device& one) { one.capacity["dra.networking/shares"] = {.value = kube::Quantity(2)}; },
  };
  for (const auto& edit : edits) {
    kube::Device other = counted;
    edit(other);
    EXPECT_NE(content_hash(other), plain);
  }
}

TEST(EntryValidation, RefusesARefusedEntryWhileItIsUnchanged) {
  const QuarantinedEntries refused = {{entry().name, {content_hash(entry()), "too long"}}};
  EXPECT_EQ(refused_before(entry(), refused), "too long");
  kube::Device other = entry();
  other.attributes["dra.networking/mtu"] = int64_t{1500};
  EXPECT_EQ(refused_before(other, refused), "");
  EXPECT_EQ(refused_before(entry(), {}), "");
}

TEST(EntryValidation, DropsDescriptiveAttributesAndHoldsBackForVitalOnes) {
  const auto broken = [] {
    kube::Device out = entry();
    out.attributes["dra.networking/alias"] = std::string(65, 'a');  // 64 is the most
    return out;
  };
  std::vector<std::string> notes;
  kube::Device one = broken();
  EXPECT_EQ(drop_refused(one, [](const std::string&) { return false; }, notes), "");
  EXPECT_EQ(one, entry());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("alias"), std::string::npos) << notes[0];
  kube::Device vital = broken();
  const std::string why =
      drop_refused(vital, [](const std::string& key) { return key == "dra.networking/alias"; }, notes);
  EXPECT_NE(why.find("alias"), std::string::npos) << why;
}

}  // namespace entry_validation_test
}  // namespace sliced::policy
