// The settings of a device before its pod: kept on disk, restored, and never read from the settings that a pod left.
#include "kubelet/original_settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kube/objects/json.h"
#include "kubelet/checkpoint.h"
#include "reactor/base/text.h"
#include "t/fixture/golden.h"
#include "t/unit/kubelet/preparer_world.h"
#include "t/unit/kubelet/sample_settings.h"

namespace sliced::kubelet {
namespace original_settings_test {
namespace {

namespace fs = std::filesystem;
using hotplug::VfConfig;
using sample::ClaimText;
using sample::config;
using sample::kSriov;
using sample::vf_config_as_made;

constexpr const char* kVf = "0000:03:00.2";

VfConfig fresh() { return vf_config_as_made("02:00:00:00:00:01"); }

const OriginalSettings kOne{.device = kVf,
                            .boot_id = "boot-1",
                            .is_known = true,
                            .vf = fresh(),
                            .interface = OriginalInterface{
                                .name = "ens1f0v0", .mac = "02:00:00:00:00:01", .mtu = 9000, .is_up = true}};

class OriginalSettingsFilesTest : public testing::Test {
 protected:
  OriginalSettingsFilesTest() {
    std::string name = testing::TempDir() + "settings-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~OriginalSettingsFilesTest() override { fs::remove_all(root_); }
  OriginalSettingsFiles files() const { return OriginalSettingsFiles(root_ + "/all"); }
  std::string root_;
};

TEST_F(OriginalSettingsFilesTest, RoundTripsAndRemoves) {
  EXPECT_TRUE(files().read().value().empty());
  EXPECT_TRUE(files().remove(kVf).ok());
  const OriginalSettings link{.device = "bond0",
                              .boot_id = "b",
                              .is_known = true,
                              .vf = {},
                              .interface = OriginalInterface{.name = "bond0",
                                                             .is_name_only = true,
                                                             .alternative_names = {{"enp1s0", "lan"}},
                                                             .alias = "uplink",
                                                             .numbers = {{"txqlen", 1000}, {"group", 7}},
                                                             .xdp = {{{2, 5}}},
                                                             .broadcast = "ff:ff:ff:ff:ff:ff"}};
  OriginalSettings unknown{
      .device = "0000:03:00.3", .boot_id = "b", .is_known = false, .vf = {}, .interface = {}};
  unknown.left = VfConfig{.vlan = 666, .trust = true, .node_guid = "02:00:00:00:00:00:00:09"};
  unknown.claim = "uid-1";
  unknown.is_unrestored = true;
  unknown.own = {.mac = "02:00:00:00:00:02", .guid = "0c:42:a1:03:00:00:00:01"};
  OriginalSettings pf{
      .device = "0000:03:00.0", .boot_id = "b", .is_known = true, .vf = {}, .interface = kOne.interface};
  for (int index = 0; index < 256; ++index) pf.vfs[index] = {.config = fresh(), .own = unknown.own};
  OriginalSettings vf = kOne;
  vf.pf = pf.device;
  for (const OriginalSettings& one : {vf, link, unknown, pf}) ASSERT_TRUE(files().write(one).ok());
  EXPECT_EQ(files().read().value(), (std::vector<OriginalSettings>{pf, vf, unknown, link}));
  ASSERT_TRUE(files().remove(kVf).ok());
  EXPECT_EQ(files().read().value().size(), 3u);
}

// Red when a device that an earlier version could not restore is offered after the upgrade.
TEST(OriginalSettingsText, CountsAsUnrestoredInTheFormOfEarlierVersions) {
  const std::string text = encode_original_settings(kOne);
  EXPECT_FALSE(decode_original_settings(text)->is_unrestored);
  kube::Json file = kube::decode_json(text).value();
  kube::Json::Object members;
  for (const auto& [key, value] : *file.find("state")->object())
    if (key != "unrestored") members.emplace_back(key, value);
  kube::Json state = std::move(members);
  file.set("checksum", hex(stable_hash(kube::encode_json(state)), 16));
  file.set("state", std::move(state));
  EXPECT_TRUE(decode_original_settings(kube::encode_json(file)).value().is_unrestored);
}

TEST_F(OriginalSettingsFilesTest, ADamagedFileMeansAnUnknownDevice) {
  ASSERT_TRUE(files().write(kOne).ok());
  const std::string path = root_ + "/all/" + kVf + ".json", whole = encode_original_settings(kOne);
  std::string edited = whole;
  edited.replace(edited.find("\"vlan\":0"), 8, "\"vlan\":7");
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2), edited}) {
    std::ofstream(path) << text;
    const auto read = files().read().value();
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].device, kVf);
    EXPECT_FALSE(read[0].is_known) << text;
    EXPECT_FALSE(read[0].vf.has_value());
  }
}

TEST_F(OriginalSettingsFilesTest, NamesStayInTheDirectory) {
  OriginalSettings one = kOne;
  for (const char* device : {"../x", "", ".", "a/b", "a-name-that-is-too-long"}) {
    one.device = device;
    EXPECT_EQ(files().write(one).error().code, Errc::kInvalid) << device;
  }
}

TEST_F(OriginalSettingsFilesTest, AScalableFunctionHasItsIdAsName) {
  const PreparedDevice sf{.interface = "enp3s0f0s88", .identity = {"15b3", "sf88", "0000:03:00.0"}};
  EXPECT_EQ(settings_key(sf), "sf88-0000-03-00-0");
  EXPECT_EQ(settings_key({.interface = "bond0"}), "bond0");
  OriginalSettings one = kOne;
  one.device = settings_key(sf);
  one.vf.reset();
  ASSERT_TRUE(files().write(one).ok());
  EXPECT_EQ(files().read().value(), std::vector<OriginalSettings>{one});
  for (const char* device :
       {"sfx88-0000-03-00-0", "sf888-0000-03-00", "sf088-0000-03-00-0", "sf88-0000-03-00-0-a"}) {
    one.device = device;
    EXPECT_EQ(files().write(one).error().code, Errc::kInvalid) << device;
  }
}

// Red when an upgrade loses the settings of a scalable function that a pod has.
TEST(OriginalSettingsOfAScalableFunction, AreFoundUnderTheKeyOfTheReleaseBefore) {
  fake::FakeNode node;
  PreparedClaim claim{.driver = kSriov, .namespace_ = "ns", .name = "c", .uid = "uid-1", .is_complete = true};
  claim.devices.push_back({.pool = "p",
                           .device = "sf88-0000-03-00-0",
                           .interface = "enp3s0f0s88",
                           .identity = {"15b3", "sf88", "0000:03:00.0"},
                           .has_original_settings = true});
  Checkpoint record{.boot_id = "boot-1"};
  record.claims.emplace(key_of(claim), claim);
  node.checkpoint = encode_checkpoint(record);
  OriginalSettings old = kOne;
  old.device = "enp3s0f0s88", old.claim = "uid-1", old.vf.reset();
  OriginalSettings other = old;
  other.device = "bond0";
  node.original_settings = {{old.device, old}, {other.device, other}};
  const Records read = read_records(fake::FakeHost(node), {kSriov}, "boot-1");
  OriginalSettings wanted = old;
  wanted.device = "sf88-0000-03-00-0";
  EXPECT_EQ(read.original_settings,
            (OriginalSettingsByDevice{{other.device, other}, {wanted.device, wanted}}));
  EXPECT_EQ(read.original_files_change.original_settings, std::vector<OriginalSettings>{wanted});
  EXPECT_EQ(read.original_files_change.removed_original_settings, std::vector<std::string>{"enp3s0f0s88"});
}

class PodsSettings : public sample::PreparerWorld {
 protected:
  PodsSettings() {
    node.functions[kVf].settings = fresh();
    run();
  }
  VfConfig& settings_of_vf() { return *node.functions.at(kVf).settings; }
  // What a plugin does for a pod, and its DEL undoes only with the pod's namespace.
  void attach() {
    settings_of_vf().vlan = 666, settings_of_vf().trust = true, settings_of_vf().spoof_check = false;
    settings_of_vf().mac = "02:00:00:00:06:66";
    node.functions.at(kVf).name = "net1";
  }
  void expect_as_before() {
    EXPECT_EQ(settings_of_vf(), fresh());
    EXPECT_EQ(node.functions.at(kVf).name, "enp3s0v0");
    EXPECT_TRUE(node.original_settings.empty());
  }
  ClaimText put_claim(int index = 1) { return put(claim(index, "0000-03-00-2")); }
  static ClaimText on_vfio() { return claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}); }
};

// Red when a VF's settings outlive the claim whose pod set them.
TEST_F(PodsSettings, AreRestoredHoweverTheClaimEnds) {
  for (const bool is_vfio : {false, true})
    for (const bool is_restarted : {false, true}) {
      SCOPED_TRACE(std::to_string(is_vfio) + std::to_string(is_restarted));
      const ClaimText text = is_vfio ? put(on_vfio()) : put_claim();
      ASSERT_EQ(prepare(text)->error, "");
      EXPECT_EQ(node.original_settings.at(kVf).vf, fresh());
      attach();
      if (is_vfio) node.functions.at(kVf).name = "enp3s0v0";
      if (is_restarted) run();
      ASSERT_EQ(prepare(text)->error, "") << "asked again: what the pod has is not read for the original";
      EXPECT_EQ(unprepare(request(text)), "");
      expect_as_before();
    }
}

TEST_F(PodsSettings, AreOnDiskBeforeTheAnswerAndBeforeBinding) {
  for (const bool is_vfio : {false, true}) {
    const ClaimText text = is_vfio ? put(on_vfio()) : put_claim();
    size_t seen = 0;
    node.on_step = [&](const std::string& step) {
      if (!step.starts_with("bind") && !step.starts_with("spec")) return std::optional<Error>();
      ++seen;
      EXPECT_EQ(node.original_settings.count(kVf), 1u) << step;
      return std::optional<Error>();
    };
    ASSERT_EQ(prepare(text)->error, "");
    EXPECT_GT(seen, 0u);
    node.on_step = nullptr;
    EXPECT_EQ(unprepare(request(text)), "");
    node.on_step = [](const std::string& step) {
      return step.starts_with("original settings") ? std::optional(Error{Errc::kIo, "no space left"})
                                                   : std::nullopt;
    };
    EXPECT_NE(prepare(text)->error.find("no space left"), std::string::npos);
    node.on_step = nullptr;
  }
}

TEST_F(PodsSettings, SurviveAKillAtAnyStepWithoutTheCheckpoint) {
  for (const bool is_prepare : {true, false})
    for (const bool is_lost : {false, true}) {
      ClaimText text;
      kill_before_each_step(
          is_prepare,
          [&] {
            text = put_claim();
            if (!is_prepare) {
              EXPECT_EQ(prepare(text)->error, "");
              attach();
            }
            return request(text);
          },
          [&](const PrepareRequest& who) {
            if (is_lost) node.checkpoint.reset();
            run();
            EXPECT_TRUE(withheld.empty()) << "the VF has its settings, or its claim is on record";
            if (is_prepare) {
              EXPECT_EQ(prepare(text)->error, "");
              attach();
            }
            EXPECT_EQ(unprepare(who), "");
            scheduler.advance(ClaimPreparer::kSettingsAgain);
            settle();
            if (is_lost && !node.original_settings
                                .empty()) {  // nobody says whose it was: the next claim's prepare does it
              ASSERT_EQ(prepare(text)->error, "");
              EXPECT_EQ(unprepare(who), "");
            }
            expect_as_before();
          });
    }
}

// The batch of one claim writes the checkpoint while the files of the other claim are not written yet. Red when a daemon that is killed then
// counts these files as lost.
TEST_F(PodsSettings, OfConcurrentClaimsSurviveAKillAtAnyStep) {
  node.functions["0000:03:00.3"].settings = fresh();
  bool is_killed = true;
  size_t step = 0;
  for (; is_killed && !HasFatalFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const ClaimText both[] = {put_claim(), put(claim(2, "0000-03-00-3"))};
    const size_t from = node.steps.size();
    is_killed = false;
    node.on_step = [&](const std::string&) -> std::optional<Error> {
      if (node.steps.size() - from <= step) return std::nullopt;
      is_killed = true;
      fake::abandon(fake::Abandoned::kHangs);
    };
    for (const ClaimText& text : both) preparer->prepare(kSriov, request(text), [](const PrepareAnswer&) {});
    settle();
    node.on_step = nullptr;
    run();
    EXPECT_TRUE(preparer->settings_problems().empty());
    for (const ClaimText& text : both) EXPECT_EQ(prepare(text)->error, "");
    attach();
    for (const ClaimText& text : both) EXPECT_EQ(unprepare(request(text)), "");
    expect_as_before();
  }
  EXPECT_GT(step, 6u) << "two calls have more steps than these";
}

// A step of a call fails, and a later step is the daemon's last. Red when the record expects a file whose write has failed.
TEST_F(PodsSettings, SurviveAKillAfterAFailure) {
  const auto run_with = [this](bool is_prepare, const ClaimText& text, size_t failed, size_t killed) {
    const size_t from = node.steps.size();
    bool is_killed = false;
    node.on_step = [&](const std::string&) -> std::optional<Error> {
      const size_t step = node.steps.size() - from;
      if (step == failed) return Error{Errc::kIo, "EIO"};
      if (step < killed) return std::nullopt;
      is_killed = true;
      fake::abandon(fake::Abandoned::kHangs);
    };
    if (is_prepare)
      preparer->prepare(kSriov, request(text), [](const PrepareAnswer&) {});
    else
      preparer->unprepare(kSriov, request(text), [](const std::string&) {});
    settle();
    node.on_step = nullptr;
    return is_killed;
  };
  for (const bool is_vfio : {false, true})
    for (const bool is_prepare : {true, false}) {
      size_t failed = 0;
      for (bool has_failed = true; has_failed && !HasFatalFailure();) {
        ++failed;
        bool is_killed = true;
        for (size_t killed = failed + 1; is_killed && !HasFatalFailure(); ++killed) {
          SCOPED_TRACE(std::string(is_prepare ? "prepare" : "unprepare") + (is_vfio ? " for vfio-pci" : "") +
                       ": step " + std::to_string(failed) + " fails, killed at step " +
                       std::to_string(killed));
          const ClaimText text = is_vfio ? put(on_vfio()) : put_claim();
          if (!is_prepare) {
            ASSERT_EQ(prepare(text)->error, "");
          }
          const size_t from = node.steps.size();
          is_killed = run_with(is_prepare, text, failed, killed);
          has_failed = node.steps.size() - from >= failed;
          run();
          EXPECT_TRUE(preparer->settings_problems().empty());
          ASSERT_EQ(prepare(text)->error, "");
          ASSERT_EQ(unprepare(request(text)), "");
          scheduler.advance(ClaimPreparer::kSettingsAgain);
          settle();
          expect_as_before();
        }
      }
      EXPECT_GT(failed, 4u) << "a call has more steps than these";
    }
}

// The file is left over. Red when the failure of the next daemon is forgotten by the one after it.
TEST_F(PodsSettings, OfALeftOverFileWithholdTheVfOnlyWhereTheyCannotBeRestored) {
  const ClaimText text = put_claim();
  ASSERT_EQ(prepare(text)->error, "");
  node.on_step = [](const std::string& step) -> std::optional<Error> {
    if (step.starts_with("forget settings")) fake::abandon(fake::Abandoned::kHangs);
    return std::nullopt;
  };
  unprepare(request(text));
  node.on_step = nullptr;
  run();
  EXPECT_EQ(node.original_settings.size(), 1u) << "the daemon was killed before it removed the file";
  EXPECT_TRUE(withheld.empty());
  attach();
  node.on_step = [](const std::string& step) -> std::optional<Error> {
    if (step.starts_with("restore settings")) return Error{Errc::kIo, "EIO"};
    return std::nullopt;
  };
  scheduler.advance(ClaimPreparer::kSettingsAgain);
  settle();
  EXPECT_EQ(withheld.size(), 1u);
  run();
  EXPECT_EQ(withheld.size(), 1u);
  node.on_step = nullptr;
  scheduler.advance(ClaimPreparer::kSettingsAgain);
  settle();
  EXPECT_TRUE(withheld.empty());
  expect_as_before();
}

// Red when the time for the return of a device begins while the disk still writes: a slow disk would withdraw it.
TEST_F(PodsSettings, ADeviceIsLetGoWhenItsReleaseIsOnDisk) {
  const Millis slow{60'000};
  const ClaimText text = put(on_vfio());
  ASSERT_EQ(prepare(text)->error, "");
  ASSERT_EQ(held.size(), 1u);
  node.on_step = [&](const std::string& step) -> std::optional<Error> {
    if (step.starts_with("remove ")) executor.answer_after = slow;
    return std::nullopt;
  };
  EXPECT_EQ(unprepare(request(text)), std::nullopt);
  EXPECT_TRUE(charged.empty());
  EXPECT_EQ(held.size(), 1u);
  scheduler.advance(3 * slow);
  EXPECT_TRUE(held.empty());
}

// Red when a VF that does not have its settings back goes to the next claim.
TEST_F(PodsSettings, KeepTheDeviceIfTheyCannotBeRestored) {
  const ClaimText text = put_claim();
  ASSERT_EQ(prepare(text)->error, "");
  attach();
  node.on_step = [](const std::string& step) {
    return step.starts_with("restore settings")
               ? std::optional(Error{Errc::kIo, "device 0000:03:00.2: trust is on, was off"})
               : std::nullopt;
  };
  fixture::expect_golden(*unprepare(request(text)));
  fixture::expect_golden(preparer->settings_problems().at(kVf));
  const ClaimText next = put_claim(2);
  fixture::expect_golden(prepare(next)->error);
  run();
  EXPECT_NE(prepare(next)->error, "") << "also by the next daemon";
  node.on_step = nullptr;
  EXPECT_EQ(unprepare(request(text)), "");
  expect_as_before();
  EXPECT_TRUE(preparer->settings_problems().empty());
  EXPECT_EQ(prepare(next)->error, "");
}

// Another interface has the name, which a pod may have seen to. Red when that takes the device out of use, or the name is forgotten.
TEST_F(PodsSettings, AreRestoredIfOnlyTheNameCannotBe) {
  const ClaimText text = put_claim();
  ASSERT_EQ(prepare(text)->error, "");
  attach();
  node.functions.at(kVf).name_problem = "interface name is net1, was enp3s0v0: interface eth7 has that name";
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(settings_of_vf(), fresh());
  settings_of_vf().vlan = 5;  // by the host
  for (const bool is_restarted : {false, true}) {
    if (is_restarted) run();
    scheduler.advance(ClaimPreparer::kSettingsAgain);
    settle();
    EXPECT_EQ(preparer->settings_problems().at(kVf), node.functions.at(kVf).name_problem);
    EXPECT_EQ(settings_of_vf().vlan, 5) << "only the name is tried again";
  }
  const ClaimText next = put_claim(2);
  ASSERT_EQ(prepare(next)->error, "");
  attach();
  node.functions.at(kVf).name_problem = "";
  EXPECT_EQ(unprepare(request(next)), "");
  EXPECT_EQ(settings_of_vf().vlan, 5);
  EXPECT_EQ(node.functions.at(kVf).name, "enp3s0v0") << "the name of before the first pod";
  EXPECT_TRUE(node.original_settings.empty());
  EXPECT_TRUE(preparer->settings_problems().empty());
}

// A pod that has a whole PF can change each of its VFs. Red when the next claim of a VF has it so, or it is what is kept for that VF.
TEST_F(PodsSettings, OfEachVfAreRestoredWithItsPf) {
  constexpr const char* kPf = "0000:03:00.0";
  node.functions[kPf] = {.look = {.identity = {"8086", "10c9", ""}}, .driver = "igb", .name = "ens1f0"};
  node.functions.at("0000:03:00.3").settings = fresh();
  const ClaimText whole = put(claim(1, "0000-03-00-0")), next = put_claim(2);
  for (const bool is_restarted : {false, true}) {
    ASSERT_EQ(prepare(whole)->error, "");
    EXPECT_EQ(node.original_settings.at(kPf).vfs.size(), 2u);
    attach();
    node.functions.at(kVf).name = "enp3s0v0";
    node.functions.at("0000:03:00.3").settings = settings_of_vf();
    if (is_restarted) run();
    node.functions.at(kPf).is_interface_away = true;
    EXPECT_EQ(unprepare(request(whole)), "") << "the PF comes back late";
    fixture::expect_golden(prepare(next)->error);
    if (is_restarted) run();
    EXPECT_NE(prepare(next)->error, "");
    EXPECT_EQ(withheld.size(), is_restarted ? 1u : 0u)
        << "most come back at once; one of before a restart has had its time";
    scheduler.advance(ClaimPreparer::kSettingsAgain);
    settle();
    ASSERT_EQ(withheld.size(), 1u) << "no VF is offered that no pod can get";
    EXPECT_EQ(withheld[0].holding.device, kPf);
    EXPECT_EQ(withheld[0].pf, kPf) << "with all its VFs";
    fixture::expect_golden(withheld[0].why);
    EXPECT_TRUE(preparer->settings_problems().empty()) << "it is reported once, as not returned";
    EXPECT_EQ(log.count("original settings not restored: the device is not offered, will retry"),
              is_restarted ? 2u : 1u);
    fixture::expect_golden(prepare(next)->error);
    node.functions.at(kPf).is_interface_away = false;
    scheduler.advance(ClaimPreparer::kSettingsAgain);
    settle();
    EXPECT_TRUE(withheld.empty());
    expect_as_before();
    EXPECT_EQ(node.functions.at("0000:03:00.3").settings, fresh());
    ASSERT_EQ(prepare(next)->error, "");
    EXPECT_EQ(node.original_settings.at(kVf).vf, fresh());
    EXPECT_EQ(unprepare(request(next)), "");
  }
}

// The reverse: settings that a VF's pod left are not among the original settings of the PF's VFs.
TEST_F(PodsSettings, OfAVfAreRestoredBeforeItsPfIsPrepared) {
  constexpr const char* kPf = "0000:03:00.0";
  node.functions[kPf] = {.look = {.identity = {"8086", "10c9", ""}}, .driver = "igb", .name = "ens1f0"};
  const ClaimText text = put_claim(), whole = put(claim(2, "0000-03-00-0"));
  ASSERT_EQ(prepare(text)->error, "");
  attach();
  node.functions.at(kVf).is_interface_away = true;
  EXPECT_EQ(unprepare(request(text)), "");
  fixture::expect_golden(prepare(whole)->error);
  scheduler.advance(ClaimPreparer::kSettingsAgain);
  settle();
  ASSERT_EQ(withheld.size(), 1u);
  EXPECT_EQ(withheld[0].holding.device, kVf);
  EXPECT_EQ(withheld[0].pf, kPf) << "the PF as a whole needs it";
  node.functions.at(kVf).is_interface_away = false;
  scheduler.advance(ClaimPreparer::kSettingsAgain);
  settle();
  EXPECT_TRUE(withheld.empty());
  ASSERT_EQ(prepare(whole)->error, "");
  EXPECT_EQ(node.original_settings.at(kPf).vfs.at(0).config, fresh());
}

// All devices get one network, and no sandbox runs.
struct OneNetwork final : InterfacePort {
  explicit OneNetwork(fake::FakeScheduler& its_scheduler) : scheduler(its_scheduler) {}
  std::string waits_for(const PreparedClaim&) const override { return ""; }
  kube::CallPtr read_networks(PreparedClaim claim, std::vector<KnownEntry>,
                              std::function<void(Result<PreparedClaim>)> done) override {
    struct Soon final : kube::Call {
      reactor::Ticket ticket;
    };
    for (PreparedDevice& device : claim.devices) device.network = network;
    auto call = std::make_unique<Soon>();
    call->ticket = scheduler.after(Millis{0}, [claim = std::move(claim), done] { done(claim); });
    return call;
  }
  std::string in_use(const PreparedClaim&) override { return ""; }
  bool may_be_shared(const PreparedClaim&) const override { return false; }
  std::string held_elsewhere(const PreparedClaim&) const override { return ""; }
  bool is_attached(const PreparedClaim&, const PreparedDevice&) const override { return true; }
  void detach(const PreparedClaim&, std::function<void()> done) override { done(); }

  fake::FakeScheduler& scheduler;
  std::string network;
};

// A macvlan is created on the PF, which stays on the host. Red when the end of its claim undoes what the host has set on VFs meanwhile.
TEST_F(PodsSettings, OfVfsAreNotKeptIfThePfStaysOnTheHost) {
  constexpr const char* kPf = "0000:03:00.0";
  node.functions[kPf] = {.look = {.identity = {"8086", "10c9", ""}}, .driver = "igb", .name = "ens1f0"};
  OneNetwork networks(scheduler);
  interfaces = &networks;
  run();
  const ClaimText whole = put(claim(1, "0000-03-00-0"));
  for (const char* type : {"host-device", "macvlan"}) {
    SCOPED_TRACE(type);
    networks.network = std::string(R"({"cniVersion":"1.0.0","name":"n","type":")") + type + R"("})";
    ASSERT_EQ(prepare(whole)->error, "");
    settings_of_vf().vlan = 100;
    EXPECT_EQ(unprepare(request(whole)), "");
    EXPECT_EQ(settings_of_vf().vlan, type == std::string("macvlan") ? 100 : fresh().vlan);
  }
  preparer.reset();  // before the networks
}

// A claim that restores nothing itself. Red when it gets the device with the last pod's settings, which it keeps until it ends.
TEST_F(PodsSettings, AreRestoredBeforeAClaimWithoutSettings) {
  ASSERT_EQ(prepare(put_claim())->error, "");
  attach();
  node.functions.at(kVf).is_interface_away = true;
  EXPECT_EQ(unprepare(request(claim(1, "0000-03-00-2"))), "");
  settings.files.writes_device_infos = false;
  run();
  EXPECT_EQ(withheld.size(), 1u) << "also after a restart";
  const ClaimText next = put_claim(2);
  fixture::expect_golden(prepare(next)->error);
  node.functions.at(kVf).is_interface_away = false;
  scheduler.advance(ClaimPreparer::kSettingsAgain);
  settle();
  EXPECT_TRUE(withheld.empty());
  EXPECT_EQ(prepare(next)->error, "");
}

// The kernel gives an interface back some time after its namespace is gone.
TEST_F(PodsSettings, AreRestoredWhenTheInterfaceReturns) {
  const ClaimText text = put_claim();
  ASSERT_EQ(prepare(text)->error, "");
  attach();
  node.functions.at(kVf).is_interface_away = true;
  EXPECT_EQ(unprepare(request(text)), "") << "the pod ends";
  EXPECT_EQ(settings_of_vf(), fresh());
  const ClaimText next = put_claim(2);
  fixture::expect_golden(prepare(next)->error);
  for (const bool is_restarted : {false, true}) {
    if (is_restarted) run();
    scheduler.advance(ClaimPreparer::kSettingsAgain);
    settle();
    EXPECT_EQ(node.original_settings.size(), 1u);
  }
  node.functions.at(kVf).is_interface_away = false;
  scheduler.advance(ClaimPreparer::kSettingsAgain);
  settle();
  expect_as_before();
  EXPECT_EQ(prepare(next)->error, "");
}

// Red when the end of one claim removes what the next claim of the device has stored: a third would get the second's VLAN.
TEST_F(PodsSettings, OfTheNextClaimRemainWhenTheLastIsRemoved) {
  const Millis slow{5'000};
  const ClaimText text = put_claim(), next = put_claim(2);
  ASSERT_EQ(prepare(text)->error, "");
  attach();
  size_t checkpoints = 0;
  node.on_step = [&](const std::string& step) -> std::optional<Error> {
    const bool is_of_removal = step == "checkpoint" && ++checkpoints == 1;
    executor.answer_after = is_of_removal ? slow : Millis{0};
    return std::nullopt;
  };
  std::optional<std::string> released;
  preparer->unprepare(kSriov, request(text), [&](const std::string& problem) { released = problem; });
  settle();
  ASSERT_FALSE(released.has_value()) << "its removal is not on disk yet";
  std::optional<PrepareAnswer> prepared;
  preparer->prepare(kSriov, request(next), [&](const PrepareAnswer& answer) { prepared = answer; });
  settle();
  scheduler.advance(2 * slow);
  ASSERT_EQ(released, "");
  ASSERT_TRUE(prepared.has_value());
  ASSERT_EQ(prepared->error, "");
  EXPECT_EQ(node.original_settings.count(kVf), 1u);
  attach();
  EXPECT_EQ(unprepare(request(next)), "");
  expect_as_before();
}

// Red when a device whose claim was abandoned is restored only by the next claim.
TEST_F(PodsSettings, AreRestoredDespiteAnAbandonedPrepare) {
  const ClaimText text = put_claim(), next = put_claim(2);
  ASSERT_EQ(prepare(text)->error, "");
  attach();
  node.functions.at(kVf).is_interface_away = true;
  ASSERT_EQ(unprepare(request(text)), "");
  node.on_step = [&](const std::string& step) -> std::optional<Error> {
    if (step.starts_with("look")) executor.answer_after = ClaimPreparer::kSettingsAgain;
    return std::nullopt;
  };
  std::optional<PrepareAnswer> prepared;
  preparer->prepare(kSriov, request(next), [&](const PrepareAnswer& answer) { prepared = answer; });
  settle();
  EXPECT_FALSE(prepared.has_value()) << "its look is slow: the timer comes first";
  scheduler.advance(2 * ClaimPreparer::kSettingsAgain);
  ASSERT_TRUE(prepared.has_value());
  ASSERT_NE(prepared->error, "");
  executor.answer_after = Millis{0};
  node.on_step = nullptr;
  node.functions.at(kVf).is_interface_away = false;
  scheduler.advance(2 * ClaimPreparer::kSettingsAgain);
  settle();
  expect_as_before();
}

// The file is damaged or lost. Red when settings that a pod left count as the original ones.
TEST_F(PodsSettings, ThatAreUnknownAreReportedAndNotReplaced) {
  for (const bool is_damaged : {false, true}) {
    SCOPED_TRACE(is_damaged);
    settings_of_vf() = fresh();
    node.original_settings.clear();
    run();
    const ClaimText text = put_claim();
    ASSERT_EQ(prepare(text)->error, "");
    attach();
    const VfConfig pods = settings_of_vf();
    if (is_damaged)
      node.original_settings = {
          {kVf, {.device = kVf, .boot_id = "", .is_known = false, .vf = {}, .interface = {}}}};
    else
      node.original_settings.clear();
    run();
    EXPECT_EQ(preparer->settings_problems().count(kVf), 1u);
    ASSERT_EQ(prepare(text)->error, "");
    EXPECT_EQ(unprepare(request(text)), "");
    EXPECT_EQ(settings_of_vf(), pods) << "nobody knows what it was";
    fixture::expect_golden(preparer->settings_problems().at(kVf));
    const ClaimText next = put_claim(2);
    ASSERT_EQ(prepare(next)->error, "");
    settings_of_vf().vlan = 5;
    EXPECT_EQ(unprepare(request(next)), "");
    EXPECT_EQ(settings_of_vf().vlan, 5) << "and the first pod's VLAN is not written";
    EXPECT_EQ(preparer->settings_problems().count(kVf), 1u);
    run();
    EXPECT_EQ(preparer->settings_problems().count(kVf), 1u) << "also for the next daemon";

    settings_of_vf() = fresh();  // the host sets them: these are known
    const ClaimText last = put_claim(3);
    ASSERT_EQ(prepare(last)->error, "");
    EXPECT_TRUE(preparer->settings_problems().empty());
    attach();
    EXPECT_EQ(unprepare(request(last)), "");
    EXPECT_EQ(settings_of_vf(), fresh());
  }
}

// A kill has left the file of a claim that was given back, and then the checkpoint is lost. Red when the next claim, which wrote no
// file, ends with the former claim's settings.
TEST_F(PodsSettings, OfAnotherClaimAreNotWritten) {
  const ClaimText first = put_claim(), second = put_claim(2);
  ASSERT_EQ(prepare(first)->error, "");
  EXPECT_EQ(node.original_settings.at(kVf).claim, request(first).uid);
  const OriginalSettings left = node.original_settings.at(kVf);
  EXPECT_EQ(unprepare(request(first)), "");
  settings_of_vf().vlan = 5;  // the host's, since
  ASSERT_EQ(prepare(second)->error, "");
  EXPECT_EQ(node.original_settings.at(kVf).claim, request(second).uid);
  preparer.reset();
  node.original_settings.insert_or_assign(kVf, left);
  node.checkpoint = "damaged";
  run();
  EXPECT_EQ(preparer->settings_problems().count(kVf), 1u) << "they are unknown";
  EXPECT_EQ(unprepare(request(second)), "");
  EXPECT_EQ(settings_of_vf().vlan, 5);
}

// Red when a pod whose sandbox is made again does not start because a policy allows less since, or when another pod of the claim
// gets what no policy allows any more.
TEST_F(PodsSettings, StayAllowedUntilThePodEnds) {
  allowed = {"vlan"};
  ClaimText text = put(claim(1, "0000-03-00-2", {config({{"network", kube::Json::Object{{"vlan", 5}}}})}));
  ASSERT_EQ(prepare(text)->error, "");
  for (const bool has_policies : {true, false}) {
    allowed = std::vector<std::string>(), has_policy = has_policies;
    EXPECT_EQ(prepare(text)->error, "") << has_policies;
    run();
    EXPECT_EQ(prepare(text)->error, "") << has_policies << ", by another process";
  }
  has_policy = true;
  text.uid = request(text).uid;
  text.pods = {kube::Json::Object{{"resource", "pods"}, {"name", "pod-2"}, {"uid", "pod-uid-2"}}};
  put(text);
  EXPECT_NE(prepare(text)->error.find("network.vlan is 5"), std::string::npos);
  allowed = {"vlan"};
  EXPECT_EQ(prepare(text)->error, "");
  EXPECT_EQ(unprepare(request(text)), "");
}

// Each boot creates VFs again.
TEST_F(PodsSettings, OfAnotherBootAreNotWritten) {
  const ClaimText text = put_claim();
  ASSERT_EQ(prepare(text)->error, "");
  boot_id = "boot-2";
  settings_of_vf().vlan = 7;  // as the host has it since
  run();
  EXPECT_TRUE(node.original_settings.empty());
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(settings_of_vf().vlan, 7);
}

}  // namespace
}  // namespace original_settings_test
}  // namespace sliced::kubelet
