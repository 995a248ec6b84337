// What a kubelet, an API server, a disk and a claim can do to a prepare and an unprepare: each is answered with its reason,
// leaves nothing behind, and the next try does it.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "kubelet/claim.h"
#include "t/fixture/golden.h"
#include "t/unit/kubelet/preparer_world.h"

namespace sliced::kubelet {
namespace hostile_calls_test {
namespace {

using kube::Json;
using sample::ClaimText;
using sample::config;
using sample::result;

constexpr const char* kVf = "0000:03:00.2";

class HostileCalls : public sample::PreparerWorld {
 protected:
  // Nothing of any claim remains on the node or in the inputs of decisions.
  bool is_clean() const {
    return preparer->prepared().empty() && preparer->idle() && charged.empty() && held.empty() &&
           node.specs.empty() && node.infos.empty();
  }
  void fail(const std::string& begin, const std::string& why) {
    node.on_step = [begin, why](const std::string& step) {
      return step.starts_with(begin) ? std::optional(Error{Errc::kIo, why}) : std::nullopt;
    };
  }
  static ClaimText machine() { return claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}); }
};

TEST_F(HostileCalls, ReportsAnyAnswerOfTheServerAndRetries) {
  const ClaimText text = put(machine());
  const struct {
    kube::Failure failure;
    std::string said;
  } rows[] = {
      {{Errc::kDenied, 403, "Forbidden", "get resourceclaims: 403"}, "grant get on resourceclaims"},
      {{Errc::kDenied, 401, "Unauthorized", "get resourceclaims: 401"}, "it cannot be read: get"},
      {{Errc::kGone, 410, "Expired", "get resourceclaims: 410"},
       "it cannot be read: get resourceclaims: 410"},
      {{Errc::kBusy, 500, "InternalError", "get resourceclaims: 500"},
       "it cannot be read: get resourceclaims: 500"},
      {{Errc::kBusy, 429, "TooManyRequests", "get resourceclaims: 429"},
       "it cannot be read: get resourceclaims: 429"},
      {{Errc::kTimeout, 0, "", "get resourceclaims: no answer"},
       "it cannot be read: get resourceclaims: no answer"},
      {{Errc::kNotFound, 404, "NotFound", "get resourceclaims: 404"}, "it no longer exists"},
  };
  for (const auto& row : rows) {
    cluster.on_request = [&](const fake::Request& request) {
      return request.verb == "get" ? std::optional(row.failure) : std::nullopt;
    };
    const auto answer = prepare(text);
    EXPECT_NE(answer->error.find(row.said), std::string::npos) << answer->error;
    EXPECT_TRUE(answer->devices.empty() && is_clean()) << row.failure.what;
    // Nothing has to be undone.
    EXPECT_EQ(unprepare(request(text)), "");
    cluster.on_request = nullptr;
    EXPECT_EQ(prepare(text)->error, "");
    cluster.on_request = [&](const fake::Request&) { return std::optional(row.failure); };
    EXPECT_EQ(unprepare(request(text)), "") << row.failure.what;
    cluster.on_request = nullptr;
    EXPECT_TRUE(is_clean());
    EXPECT_EQ(driver_of(kVf), "igbvf");
  }
}

TEST_F(HostileCalls, ADeletedClaimLeavesNothing) {
  for (const Millis goes_after : {Millis{0}, Millis{100}, Millis{400}}) {
    const ClaimText text = put(machine());
    const PrepareRequest who = request(text);
    cluster.delay_of = [](const fake::Request&) { return Millis{200}; };
    std::optional<PrepareAnswer> answer;
    preparer->prepare(sample::kSriov, who, [&](PrepareAnswer one) { answer = std::move(one); });
    scheduler.advance(goes_after);
    cluster.remove(kube::kResourceClaims, who.name, "ns");
    // The pod is deleted as well: the kubelet asks before it has its answer.
    std::optional<std::string> problem;
    preparer->unprepare(sample::kSriov, who, [&](std::string one) { problem = std::move(one); });
    settle();
    ASSERT_TRUE(answer && problem);
    EXPECT_EQ(answer->error.empty(), goes_after > Millis{200}) << answer->error;
    EXPECT_EQ(*problem, "");
    EXPECT_TRUE(is_clean());
    EXPECT_EQ(driver_of(kVf), "igbvf");
    cluster.delay_of = nullptr;
  }
}

TEST_F(HostileCalls, BoundsTheNumberOfResults) {
  ClaimText text = claim(1, "0000-03-00-2");
  text.results.clear();
  for (int i = 0; i < 128; ++i) text.results.push_back(result("vf", "0000-03-00-2"));
  const std::string why = prepare(put(text))->error;
  fixture::expect_golden(why);
  EXPECT_TRUE(is_clean());
  text.name = "claim-2";
  text.results.clear();
  for (size_t i = 0; i < kClaimDevicesMax; ++i) {
    text.results.push_back(result("vf", "0000-03-00-2"));
    text.results.back().set("adminAccess", i > 0);
  }
  const auto all = prepare(put(text));
  EXPECT_EQ(all->error, "");
  EXPECT_EQ(all->devices.size(), kClaimDevicesMax);
  EXPECT_EQ(charged.size(), 1u) << "who only looks on keeps nobody away";
  // The same device twice, and nobody only looks on.
  text.name = "claim-3";
  text.results.resize(2);
  for (Json& one : text.results) one = result("vf", "0000-03-00-3");
  fixture::expect_golden(prepare(put(text))->error);
}

TEST_F(HostileCalls, AdminAccessBindsNothing) {
  const ClaimText owner = put(machine());
  ASSERT_EQ(prepare(owner)->error, "");
  ClaimText admin = claim(2, "0000-03-00-2", {config({{"driver", "vfio-pci"}})});
  admin.results[0].set("adminAccess", true);
  fixture::expect_golden(prepare(put(admin))->error);
  admin.configs.clear(), admin.name = "claim-3";
  EXPECT_EQ(prepare(put(admin))->error, "") << "although another claim has it";
  EXPECT_EQ(unprepare(request(owner)), "");
  EXPECT_EQ(driver_of(kVf), "igbvf");
  EXPECT_TRUE(charged.empty());
  const auto restores = std::count(node.steps.begin(), node.steps.end(), std::string("restore ") + kVf);
  EXPECT_EQ(unprepare(request(admin)), "");
  EXPECT_EQ(std::count(node.steps.begin(), node.steps.end(), std::string("restore ") + kVf), restores);
  EXPECT_TRUE(is_clean());
}

// Names come from an API server; whatever it stores, no path is made of them, no line of the log, no broken spec.
TEST_F(HostileCalls, QuotesOrRefusesUnusualNames) {
  settings.files.writes_metadata = settings.plan.writes_metadata = true;
  run();
  const std::string long_name(2'000, 'x');
  for (const std::string& odd :
       {std::string("../../../etc/cron.d/x"), std::string("a\nlevel=error b"), std::string("a=b"),
        std::string("\x1b[2J"), std::string("\xff\xfe"), std::string("a\0b", 3), std::string(" "), long_name})
    for (const char* field : {"request", "pool", "device", "shareID"}) {
      ClaimText text = claim(1, "0000-03-00-2");
      text.results[0].set(field, odd);
      const auto answer = prepare(put(text));
      ASSERT_TRUE(answer) << field;
      EXPECT_EQ(answer->error.find('\n'), std::string::npos) << answer->error;
      EXPECT_LT(answer->error.size(), 1'000u);
      for (const auto& [key, spec] : node.specs)
        EXPECT_EQ(key.second.find('/'), std::string::npos) << field << " " << key.second;
      for (const auto& [file, content] : node.metadata)
        for (const std::string* name : {&file.folder, &file.request})
          EXPECT_TRUE(name->find('/') == std::string::npos && name->find("..") == std::string::npos)
              << field << " " << *name;
      EXPECT_EQ(unprepare(request(text)), "");
      EXPECT_TRUE(is_clean()) << field << " " << testing::PrintToString(odd);
      EXPECT_TRUE(node.metadata.empty());
    }
}

// Each thing that is written, one after the other. Red when a pod gets what is not on disk, or anything stays for nobody.
TEST_F(HostileCalls, ReportsAFullOrReadOnlyDiskAndRecovers) {
  for (const char* what : {"checkpoint", "spec "})
    for (const bool is_machine : {false, true}) {
      const ClaimText text = put(is_machine ? machine() : claim(1, "0000-03-00-2"));
      fail(what, "/var/run/cdi: No space left on device");
      for (int tries = 0; tries < 2; ++tries) {
        const auto answer = prepare(text);
        fixture::expect_golden(answer->error);
        EXPECT_TRUE(answer->devices.empty());
      }
      node.on_step = nullptr;
      EXPECT_EQ(prepare(text)->error, "") << what;
      for (const char* removal : {"checkpoint", "remove "}) {
        fail(removal, "Read-only file system");
        for (int tries = 0; tries < 2; ++tries)
          EXPECT_NE(unprepare(request(text))->find("Read-only file system"), std::string::npos) << removal;
        const ClaimText other = put(claim(2, "0000-03-00-2"));
        EXPECT_NE(prepare(other)->error, "") << "its files are there, or its record";
        node.on_step = nullptr;
        if (removal == std::string("checkpoint")) {
          EXPECT_EQ(prepare(text)->error, "");
        }
      }
      EXPECT_EQ(unprepare(request(text)), "");
      EXPECT_TRUE(is_clean()) << what;
      EXPECT_EQ(driver_of(kVf), "igbvf");
      run();  // and the next daemon finds nothing
      EXPECT_TRUE(is_clean());
    }
}

}  // namespace
}  // namespace hostile_calls_test
}  // namespace sliced::kubelet
