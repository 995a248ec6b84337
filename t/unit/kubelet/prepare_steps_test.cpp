// Requests of a pod and its results: addresses by its annotation, and metadata of its devices.
#include <gtest/gtest.h>

#include <functional>

#include "kubelet/checkpoint.h"
#include "t/fixture/golden.h"
#include "t/unit/kubelet/preparer_world.h"

namespace sliced::kubelet {
namespace prepare_steps_test {
namespace {

using kube::Json;
using sample::ClaimText;
using sample::config;
using sample::kSriov;
using sample::result;

constexpr const char* kVf = "0000:03:00.2";
constexpr const char* kKey = "kubevirt.io/dra-networks";
constexpr const char* kMac = "02:00:00:00:00:0a";
constexpr const char* kOriginal = "02:00:00:00:00:99";

class PodsMac : public sample::PreparerWorld {
 protected:
  PodsMac() {
    settings.mac_annotation = kKey;
    node.functions[kVf].mac = kOriginal;
    run();
  }
  // kill_before_each_step() with a claim whose VF goes to vfio-pci and gets kMac.
  void kill_with_mac(bool is_prepare,
                     const std::function<void(const ClaimText&, const PrepareRequest&)>& after) {
    ClaimText text;
    kill_before_each_step(
        is_prepare,
        [&] {
          text = with_pod(on_vfio(), asks(kMac));
          if (!is_prepare) {
            EXPECT_EQ(prepare(text)->error, "");
          }
          return request(text);
        },
        [&](const PrepareRequest& who) { after(text, who); });
  }
  static ClaimText on_vfio() { return claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}); }
  // The pod that claims are reserved for; "": without the annotation. The server gives it a uid of its own.
  ClaimText with_pod(ClaimText text, const std::string& annotation) {
    cluster.put(
        kube::kPods,
        Json::Object{
            {"metadata",
             Json::Object{
                 {"name", "pod-1"}, {"namespace", "ns"}, {"annotations", Json::Object{{kKey, annotation}}}}},
            {"spec",
             Json::Object{{"resourceClaims",
                           Json::Array{Json::Object{{"name", "net"}, {"resourceClaimName", text.name}}}}}}});
    const Json pod = *cluster.object(kube::kPods, "pod-1", "ns");
    text.pods = {Json::Object{
        {"resource", "pods"}, {"name", "pod-1"}, {"uid", pod.find({"metadata", "uid"})->string()[0]}}};
    return put(std::move(text));
  }
  static std::string asks(const std::string& mac) {
    return R"([{"claimName":"net","requestName":"vf","mac":")" + mac + R"("}])";
  }
  std::string mac() const { return node.functions.at(kVf).mac; }
};

TEST_F(PodsMac, SetsAndRestoresTheAddress) {
  const ClaimText text = with_pod(on_vfio(), asks(kMac));
  ASSERT_EQ(prepare(text)->error, "");
  EXPECT_EQ(mac(), kMac);
  const PreparedDevice& device = preparer->prepared().begin()->second.devices[0];
  EXPECT_EQ(device.mac, kMac);
  EXPECT_EQ(device.vfio->original_mac, kOriginal);
  run();  // another process: by the checkpoint
  ASSERT_EQ(prepare(text)->error, "");
  EXPECT_EQ(mac(), kMac);
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(mac(), kOriginal);
  EXPECT_EQ(driver_of(kVf), "igbvf");
}

// Red when the end of one claim forgets what the next claim of the VF has stored.
TEST_F(PodsMac, KeepsTheOriginalOfTheNextClaim) {
  const Millis slow{5'000};
  const ClaimText text = with_pod(on_vfio(), asks(kMac));
  ASSERT_EQ(prepare(text)->error, "");
  node.on_step = [&](const std::string& step) -> std::optional<Error> {
    executor.answer_after = step == std::string("forget ") + kVf ? slow : Millis{0};
    return std::nullopt;
  };
  std::optional<std::string> released;
  preparer->unprepare(kSriov, request(text), [&](const std::string& problem) { released = problem; });
  settle();
  ASSERT_FALSE(released.has_value()) << "its removal is not on disk yet";
  const ClaimText next = with_pod(claim(2, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}), asks(kMac));
  std::optional<PrepareAnswer> prepared;
  preparer->prepare(kSriov, request(next), [&](const PrepareAnswer& answer) { prepared = answer; });
  settle();
  scheduler.advance(2 * slow);
  ASSERT_EQ(released, "");
  ASSERT_TRUE(prepared.has_value());
  ASSERT_EQ(prepared->error, "");
  EXPECT_EQ(mac(), kMac);
  node.on_step = nullptr;
  EXPECT_EQ(unprepare(request(next)), "");
  EXPECT_EQ(mac(), kOriginal);
  EXPECT_TRUE(node.original_macs.empty());
}

TEST_F(PodsMac, RecordsTheOriginalBeforeAnyChange) {
  const ClaimText text = with_pod(on_vfio(), asks(kMac));
  node.on_step = [&](const std::string& step) {
    if (step.starts_with("bind") || step.starts_with("mac")) {
      const PreparedClaims known = decode_checkpoint(node.checkpoint.value_or("")).value().claims;
      EXPECT_EQ(known.begin()->second.devices[0].vfio->original_mac, kOriginal) << step;
    }
    return std::optional<Error>();
  };
  ASSERT_EQ(prepare(text)->error, "");
}

// The next daemon finds the original on record, whatever the PF reports by then.
TEST_F(PodsMac, KeepsTheOriginalWhenKilledAtAnyStep) {
  for (const bool is_prepare : {true, false})
    kill_with_mac(is_prepare, [&](const ClaimText& text, const PrepareRequest& who) {
      run();
      if (is_prepare) {
        EXPECT_EQ(prepare(text)->error, "");
        EXPECT_EQ(mac(), kMac);
      }
      EXPECT_EQ(unprepare(who), "");
      EXPECT_EQ(mac(), kOriginal);
      EXPECT_EQ(driver_of(kVf), "igbvf");
    });
}

TEST_F(PodsMac, WritesTheOriginalToItsOwnFileBeforeAnyChange) {
  const ClaimText text = with_pod(on_vfio(), asks(kMac));
  bool is_seen = false;
  node.on_step = [&](const std::string& step) {
    if (!step.starts_with("bind") && !step.starts_with("mac")) return std::optional<Error>();
    is_seen = true;
    EXPECT_EQ(node.original_macs.at(kVf), (OriginalMac{kVf, "0000:03:00.0", "boot-1", kOriginal})) << step;
    return std::optional<Error>();
  };
  ASSERT_EQ(prepare(text)->error, "");
  EXPECT_TRUE(is_seen);
  node.on_step = nullptr;
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_TRUE(node.original_macs.empty()) << "given back";
  node.on_step = [](const std::string& step) {
    return step.starts_with("original") ? std::optional(Error{Errc::kIo, "no space left"}) : std::nullopt;
  };
  fixture::expect_golden(prepare(text)->error);
  EXPECT_EQ(mac(), kOriginal);
  EXPECT_EQ(driver_of(kVf), "igbvf");
}

// The checkpoint is lost, cut or damaged; the claim is prepared again first, or not.
TEST_F(PodsMac, RestoresTheAddressWithoutTheCheckpoint) {
  const std::vector<std::function<void(std::optional<std::string>&)>> losses = {
      [](auto& checkpoint) { checkpoint.reset(); },
      [](auto& checkpoint) { checkpoint->resize(checkpoint->size() / 2); },
      [](auto& checkpoint) { checkpoint = ""; },
      [](auto& checkpoint) { (*checkpoint)[checkpoint->size() / 2] ^= 1; }};
  for (size_t i = 0; i < losses.size(); ++i)
    for (const bool is_prepared_again : {true, false}) {
      SCOPED_TRACE(std::to_string(i) + (is_prepared_again ? ", prepared again" : ""));
      const ClaimText text = with_pod(on_vfio(), asks(kMac));
      ASSERT_EQ(prepare(text)->error, "");
      ASSERT_EQ(mac(), kMac);
      losses[i](node.checkpoint);
      run();
      if (is_prepared_again) {
        ASSERT_EQ(prepare(text)->error, "");
        EXPECT_EQ(mac(), kMac);
      }
      EXPECT_EQ(unprepare(request(text)), "");
      EXPECT_EQ(mac(), kOriginal);
      EXPECT_TRUE(node.original_macs.empty());
    }
  EXPECT_EQ(log.count("unknown"), 0u);
}

TEST_F(PodsMac, KeepsTheOriginalWhenKilledAtAnyStepWithoutTheCheckpoint) {
  for (const bool is_prepare : {true, false})
    kill_with_mac(is_prepare, [&](const ClaimText& text, const PrepareRequest& who) {
      node.checkpoint.reset();
      run();
      EXPECT_EQ(prepare(text)->error, "");
      EXPECT_EQ(mac(), kMac);
      EXPECT_EQ(unprepare(who), "");
      EXPECT_EQ(mac(), kOriginal);
      EXPECT_TRUE(node.original_macs.empty());
    });
}

// Neither the checkpoint nor the file is left. Red when an address that a pod asked for counts as the VF's own.
TEST_F(PodsMac, ReportsAnUnknownOriginalAndNeverReplacesIt) {
  constexpr const char *kNext = "02:00:00:00:00:0b", *kHosts = "02:00:00:00:00:55";
  for (const bool is_damaged : {false, true})
    for (const bool is_prepared_again : {false, true}) {
      node.functions[kVf].mac = kOriginal;
      node.original_macs.clear();
      run();
      const ClaimText text = with_pod(on_vfio(), asks(kMac));
      ASSERT_EQ(prepare(text)->error, "");
      node.checkpoint.reset();
      if (is_damaged)
        node.original_macs = {{kVf, OriginalMac{.pci = kVf}}};
      else
        node.original_macs.clear();
      run();
      EXPECT_EQ(log.count("original MAC addresses of VFs unknown devices=0000:03:00.2"), 1u);
      const auto unknown = [&] {  // as status, the node's report and explain show it
        return unknown_macs(preparer->original_macs(), [&](const std::string&) { return mac(); });
      };
      ASSERT_EQ(unknown().count(kVf), 1u);
      EXPECT_NE(unknown()[kVf].find("keeps its pod's address"), std::string::npos);
      if (is_prepared_again) {
        ASSERT_EQ(prepare(text)->error, "");
      }
      EXPECT_EQ(unprepare(request(text)), "");
      EXPECT_NE(unknown()[kVf].find("keeps 02:00:00:00:00:0a, which may be a pod's"), std::string::npos);
      EXPECT_EQ(
          log.count(
              "the VF keeps its current administrative MAC address device=0000:03:00.2 mac=02:00:00:00:00:0a"),
          1u);
      EXPECT_EQ(node.original_macs.at(kVf), (OriginalMac{kVf, "0000:03:00.0", "boot-1", "", kMac}));
      run();
      log.lines.clear();

      // The next pod gets its address; the one of before it is not taken for the VF's own.
      cluster.remove(kube::kPods, "pod-1", "ns");
      const ClaimText next = with_pod(on_vfio(), asks(kNext));
      ASSERT_EQ(prepare(next)->error, "");
      EXPECT_EQ(mac(), kNext);
      EXPECT_EQ(preparer->prepared().begin()->second.devices[0].vfio->original_mac, "");
      EXPECT_EQ(unprepare(request(next)), "");
      EXPECT_EQ(
          log.count(
              "the VF keeps its current administrative MAC address device=0000:03:00.2 mac=02:00:00:00:00:0b"),
          1u);
      // What the host sets is the VF's own from then on.
      node.functions[kVf].mac = kHosts;
      EXPECT_TRUE(unknown().empty());
      ASSERT_EQ(prepare(next)->error, "");
      EXPECT_EQ(unprepare(request(next)), "");
      EXPECT_EQ(mac(), kHosts);
      EXPECT_TRUE(node.original_macs.empty());
      cluster.remove(kube::kPods, "pod-1", "ns");
      log.lines.clear();
    }
}

// As after a loss of the checkpoint and of the CDI specs: no claim is known, and the VF has a pod's address.
TEST_F(PodsMac, RestoresTheAddressForTheNextPod) {
  ASSERT_EQ(prepare(with_pod(on_vfio(), asks(kMac)))->error, "");
  node.checkpoint.reset();
  node.specs.clear();
  run();
  cluster.remove(kube::kPods, "pod-1", "ns");
  const ClaimText next = with_pod(on_vfio(), "[]");
  ASSERT_EQ(prepare(next)->error, "");
  EXPECT_EQ(mac(), kOriginal);
  EXPECT_EQ(unprepare(request(next)), "");
  EXPECT_EQ(mac(), kOriginal);
  EXPECT_TRUE(node.original_macs.empty());
}

TEST_F(PodsMac, UpgradesAnEarlierCheckpointAndRemovesFilesOfAnotherBoot) {
  const ClaimText text = with_pod(on_vfio(), asks(kMac));
  ASSERT_EQ(prepare(text)->error, "");
  const OriginalMacs kept = node.original_macs;
  node.original_macs = {{"0000:03:00.4", OriginalMac{"0000:03:00.4", "", "boot-1", kOriginal}}};
  run();
  EXPECT_EQ(node.original_macs, kept) << "and one of a VF that was given back goes";
  boot_id = "boot-2";
  node.functions[kVf].driver = "igbvf";
  run();
  EXPECT_TRUE(node.original_macs.empty());
}

// A claim that stands goes to the next pod, and nobody has it taken back in between. Red when the next one is answered with
// what was made for the first.
TEST_F(PodsMac, TheNextPodOfAClaimHasItsOwnAddress) {
  constexpr const char* kNext = "02:00:00:00:00:0b";
  ASSERT_EQ(prepare(with_pod(on_vfio(), asks(kMac)))->error, "");
  cluster.remove(kube::kPods, "pod-1", "ns");
  const ClaimText text = with_pod(on_vfio(), asks(kNext));
  node.on_step = [](const std::string& step) {
    return step.starts_with("restore") ? std::optional(Error{Errc::kBusy, "somebody holds /dev/vfio/7"})
                                       : std::nullopt;
  };
  EXPECT_NE(prepare(text)->error.find("somebody holds"), std::string::npos) << "the first one runs";
  EXPECT_EQ(driver_of(kVf), "vfio-pci");
  node.on_step = nullptr;
  ASSERT_EQ(prepare(text)->error, "");
  EXPECT_EQ(mac(), kNext);
  const PreparedClaim& claim = preparer->prepared().begin()->second;
  ASSERT_EQ(claim.pods.size(), 1u);
  EXPECT_EQ(claim.pods[0].uid, text.pods[0].text("uid"));
  EXPECT_EQ(prepare(text)->error, "");
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(mac(), kOriginal);
  EXPECT_EQ(driver_of(kVf), "igbvf");
}

TEST_F(PodsMac, UndoesARefusedAddress) {
  const ClaimText text = with_pod(on_vfio(), asks(kMac));
  node.on_step = [&](const std::string& step) {
    return step == std::string("mac ") + kVf + " " + kMac
               ? std::optional(Error{Errc::kIo, "its PF says Operation not supported"})
               : std::nullopt;
  };
  fixture::expect_golden(prepare(text)->error);
  EXPECT_EQ(driver_of(kVf), "igbvf");
  EXPECT_TRUE(preparer->prepared().empty());
}

TEST_F(PodsMac, UsesTheNodesAddressAfterAnotherBoot) {
  const ClaimText text = with_pod(on_vfio(), asks(kMac));
  ASSERT_EQ(prepare(text)->error, "");
  boot_id = "boot-2";
  node.functions[kVf].driver = "igbvf";
  node.functions[kVf].mac = "02:00:00:00:00:77";
  run();
  ASSERT_EQ(prepare(text)->error, "");
  EXPECT_EQ(mac(), kMac);
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(mac(), "02:00:00:00:00:77");
}

TEST_F(PodsMac, QuotesAMalformedEntryAndFailsTheClaim) {
  const ClaimText text = with_pod(on_vfio(), asks("01:00:5e:00:00:01"));
  const std::string error = prepare(text)->error;
  EXPECT_NE(error.find(asks("01:00:5e:00:00:01").substr(1, 60)), std::string::npos) << error;
  EXPECT_EQ(mac(), kOriginal);
  for (const std::string& step : node.steps) EXPECT_FALSE(step.starts_with("bind")) << step;
}

TEST_F(PodsMac, FailsTheClaimIfThePodIsDeletedOrForbidden) {
  const ClaimText text = with_pod(on_vfio(), asks(kMac));
  cluster.remove(kube::kPods, "pod-1", "ns");
  fixture::expect_golden(prepare(text)->error);
  cluster.deny("pods");
  const std::string error = prepare(text)->error;
  fixture::expect_golden(error);
}

TEST_F(PodsMac, ReadsNoPodIfTheFeatureIsOff) {
  settings.mac_annotation.clear();
  run();
  cluster.deny("pods");
  const ClaimText text = put(on_vfio());
  ASSERT_EQ(prepare(text)->error, "");
  EXPECT_EQ(mac(), kOriginal);
}

// The second claim is refused and names the first, whoever gives the address: PF or CNI plugin.
TEST_F(PodsMac, SetsDistinctAddressesOfAPf) {
  for (const bool is_first_on_vfio : {true, false})
    for (const bool is_second_on_vfio : {true, false})
      for (const bool at_once : {true, false}) {
        SCOPED_TRACE(std::to_string(is_first_on_vfio) + std::to_string(is_second_on_vfio) +
                     std::to_string(at_once));
        const auto config_of = [](bool on_vfio) {
          return on_vfio ? Json::Array{config({{"driver", "vfio-pci"}})} : Json::Array{};
        };
        const ClaimText first = with_pod(claim(1, "0000-03-00-2", config_of(is_first_on_vfio)), asks(kMac));
        std::optional<PrepareAnswer> one;
        preparer->prepare(kSriov, request(first), [&](PrepareAnswer answer) { one = std::move(answer); });
        // Both are reserved, and neither is done.
        scheduler.advance(Millis{0});
        if (!at_once) settle();
        cluster.remove(kube::kPods, "pod-1", "ns");
        const ClaimText second = with_pod(claim(2, "0000-03-00-3", config_of(is_second_on_vfio)), asks(kMac));
        const auto two = prepare(second);
        const bool is_first_refused = !one->error.empty();
        if (at_once && is_first_refused) {
          EXPECT_EQ(two->error, "");
          EXPECT_EQ(unprepare(request(second)), "");
          continue;
        }
        ASSERT_EQ(one->error, "");
        EXPECT_NE(two->error.find("MAC address 02:00:00:00:00:0a"), std::string::npos) << two->error;
        fixture::expect_golden(two->error);
        EXPECT_EQ(node.functions.at("0000:03:00.3").mac, kNoMac);
        EXPECT_EQ(driver_of("0000:03:00.3"), "igbvf");
        EXPECT_EQ(unprepare(request(first)), "");
        EXPECT_EQ(prepare(second)->error, "") << "it is free";
        EXPECT_EQ(unprepare(request(second)), "");
        cluster.remove(kube::kPods, "pod-1", "ns");
      }
}

// Only a look at the host says what is below a link, so that its claim is compared after it. Red when that is done for one of both claims alone, or
// forgotten by the next daemon.
TEST_F(PodsMac, CountsALinkAboveThePfAsItsFunction) {
  links = {"0000-03-00-9"};
  node.functions[""] = {.look = {.lower_pfs = {"0000:03:00.0"}}};
  const auto ask = [&](ClaimText text) {
    cluster.remove(kube::kPods, "pod-1", "ns");
    return with_pod(std::move(text), asks(kMac));
  };
  for (const bool is_link_first : {true, false}) {
    const ClaimText first = ask(is_link_first ? claim(2, "0000-03-00-9") : on_vfio());
    ASSERT_EQ(prepare(first)->error, "");
    for (const bool is_restarted : {false, true}) {
      if (is_restarted) run();
      const ClaimText second = ask(is_link_first ? on_vfio() : claim(2, "0000-03-00-9"));
      fixture::expect_golden(prepare(second)->error);
    }
    EXPECT_EQ(unprepare(request(first)), "");
  }
}

TEST_F(PodsMac, RefusesAnAddressOfAnotherVf) {
  ASSERT_EQ(prepare(with_pod(on_vfio(), asks(kMac)))->error, "");
  cluster.remove(kube::kPods, "pod-1", "ns");
  const auto on_other = [&](const std::string& mac) {
    cluster.remove(kube::kPods, "pod-1", "ns");
    return prepare(with_pod(claim(2, "0000-03-00-3", {config({{"driver", "vfio-pci"}})}), asks(mac)))->error;
  };
  fixture::expect_golden(on_other(kOriginal));
  node.functions["0000:03:00.4"].mac = "02:00:00:00:00:44";
  fixture::expect_golden(on_other("02:00:00:00:00:44"));
  EXPECT_EQ(driver_of("0000:03:00.3"), "igbvf");
  EXPECT_EQ(on_other("02:00:00:00:00:45"), "");
}

TEST_F(PodsMac, PassesTheAddressToMultusAndLeavesTheVfAlone) {
  const ClaimText text = with_pod(claim(1, "0000-03-00-2"), asks(kMac));
  ASSERT_EQ(prepare(text)->error, "");
  EXPECT_EQ(mac(), kOriginal);
  EXPECT_EQ(
      node.infos.begin()->second,
      R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:03:00.2","mac":"02:00:00:00:00:0a"}})");
}

class ToldPods : public sample::PreparerWorld {
 protected:
  ToldPods() {
    settings.files.writes_metadata = settings.plan.writes_metadata = true;
    run();
  }
  static ClaimText of_two() {
    ClaimText text = claim(1, "0000-03-00-3");
    text.results.push_back(result("vf", "0000-03-00-2"));
    return text;
  }
  Json told() const {
    const std::string& all = node.metadata.begin()->second;
    return kube::decode_json(all.substr(0, all.find('\n'))).value();
  }
  int64_t generation() const { return *told().find({"metadata", "generation"})->integer(); }
};

// Several devices of a request are in one order everywhere: the allocation's.
TEST_F(ToldPods, AContainerReadsItsDevicesInAllocationOrder) {
  settings.plan.names_requests = true;
  run();
  const ClaimText text = put(of_two());
  const auto answer = prepare(text);
  ASSERT_EQ(answer->error, "");
  const std::string uid = request(text).uid;
  EXPECT_EQ(answer->devices[0].device + " " + answer->devices[1].device, "0000-03-00-3 0000-03-00-2");
  EXPECT_EQ(answer->devices[0].cdi_ids.back(), std::string(kSriov) + "/metadata=" + uid + "_vf");
  EXPECT_EQ(answer->devices[1].cdi_ids.size(), 2u) << "one mount is enough";
  ASSERT_EQ(node.metadata.size(), 1u);
  const Json devices = *(*told().find("requests")->array())[0].find("devices");
  EXPECT_EQ((*devices.array())[0].text("name"), "0000-03-00-3");
  EXPECT_EQ((*devices.array())[1].text("name"), "0000-03-00-2");
  EXPECT_EQ(
      (*devices.array())[1].find({"attributes", "resource.kubernetes.io/pciBusID", "string"})->string()[0],
      kVf);
  const auto& env = node.specs.at({sample::kKind, uid}).devices[0].edits.env;
  EXPECT_EQ(env.back(), "PCI_RESOURCE_claim-1_vf=0000:03:00.3,0000:03:00.2");
  EXPECT_EQ(env[env.size() - 2], "PCI_RESOURCE_CLAIM_1_VF=0000:03:00.3,0000:03:00.2");

  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_TRUE(node.metadata.empty());
  EXPECT_TRUE(node.specs.empty());
}

TEST_F(ToldPods, AddsAnAttachedInterfaceAlsoAfterARestart) {
  const ClaimText text = put(of_two());
  const auto first = prepare(text);
  const PreparedKey key{kSriov, request(text).uid};
  run();
  preparer->set_network_data(key, "0000-03-00-2", "", {"net1", {"10.0.0.5/24"}, kMac});
  settle();
  EXPECT_EQ(generation(), 2);
  const Json document = told();
  const Json& second = (*(*document.find("requests")->array())[0].find("devices")->array())[1];
  EXPECT_EQ(second.find({"networkData", "interfaceName"})->string()[0], "net1");
  EXPECT_NE(second.find({"attributes", "resource.kubernetes.io/pciBusID"}), nullptr)
      << "nothing else is lost";
  run();
  EXPECT_EQ(prepare(text), first) << "and the kubelet hears the same";
  EXPECT_EQ(generation(), 2);
  preparer->set_network_data(key, "0000-03-00-4", "", {});
  preparer->set_network_data({kSriov, "other"}, "0000-03-00-2", "", {});
  settle();
  EXPECT_EQ(generation(), 2) << "of what is not prepared nothing is said";
}

TEST_F(ToldPods, RewritesALostFile) {
  const ClaimText text = put(of_two());
  prepare(text);
  const auto before = node.metadata;
  node.metadata.clear();
  run();
  prepare(text);
  EXPECT_EQ(node.metadata, before);
}

TEST_F(ToldPods, RemovesUnownedFilesAtTheStart) {
  const ClaimText text = put(of_two());
  prepare(text);
  node.metadata[{kSriov, "ns_old", "vf", "old-uid"}] = "{}";
  node.metadata[{kSriov, "ns_torn", "vf", ""}] = "{";
  run();
  ASSERT_EQ(node.metadata.size(), 1u);
  EXPECT_EQ(node.metadata.begin()->first.uid, request(text).uid);
}

TEST_F(ToldPods, WritesNothingWhenOffAndRemovesOldFiles) {
  const ClaimText text = put(of_two());
  prepare(text);
  settings.files.writes_metadata = settings.plan.writes_metadata = false;
  run();
  EXPECT_EQ(prepare(text)->devices[0].cdi_ids.size(), 2u);
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_TRUE(node.metadata.empty());
  prepare(put(claim(2, "0000-03-00-4")));
  EXPECT_TRUE(node.metadata.empty());
}

// The kernel gives the numbers of nodes again when VFs are created again, in any order.
class PodsNodes : public sample::PreparerWorld {
 protected:
  PodsNodes() { give("0000:03:00.2", "uverbs0"), give("0000:03:00.3", "uverbs1"); }
  void give(const std::string& pci, const std::string& uverbs) {
    node.functions[pci].look.rdma_device = "mlx5_" + uverbs.substr(6);
    node.functions[pci].look.rdma_nodes = {"/dev/infiniband/" + uverbs, "/dev/infiniband/rdma_cm"};
  }
  std::string said(const ClaimText& text) { return prepare(text)->error; }
};

// Red when two claims have a node of one function.
TEST_F(PodsNodes, GoToNoOtherClaimWhileAPodHasThem) {
  const ClaimText first = put(claim(1, "0000-03-00-2")), second = put(claim(2, "0000-03-00-3"));
  ASSERT_EQ(said(first), "");
  give("0000:03:00.2", "uverbs1"), give("0000:03:00.3", "uverbs0");
  EXPECT_NE(
      said(second).find("device node /dev/infiniband/uverbs0, which containers of ResourceClaim ns/claim-1"),
      std::string::npos);
  EXPECT_FALSE(has_spec(request(second).uid));
  EXPECT_NE(
      said(first).find("has device node /dev/infiniband/uverbs1, and its pod got /dev/infiniband/uverbs0"),
      std::string::npos)
      << "asked again";
  run();
  EXPECT_NE(said(first).find("delete the pod"), std::string::npos) << "asked again, another process";
  EXPECT_NE(said(second), "");
  EXPECT_EQ(unprepare(request(first)), "");
  EXPECT_EQ(said(second), "");
  EXPECT_EQ(said(first), "");
}

TEST_F(PodsNodes, OfVfioAreThoseOfTheGroup) {
  const auto on_vfio = [this](int index, const std::string& device) {
    return put(claim(index, device, {config({{"driver", "vfio-pci"}})}));
  };
  const ClaimText first = on_vfio(1, "0000-03-00-2"), second = on_vfio(2, "0000-03-00-3");
  ASSERT_EQ(said(first), "");
  node.functions["0000:03:00.2"].driver = "igbvf", node.functions["0000:03:00.2"].group = "8";
  node.functions["0000:03:00.3"].group = "7";
  EXPECT_NE(said(second).find("/dev/vfio/7"), std::string::npos);
  EXPECT_EQ(driver_of("0000:03:00.3"), "igbvf") << "it is given back";
  EXPECT_NE(said(first).find("is on driver igbvf and was prepared for VFIO"), std::string::npos);
  EXPECT_EQ(unprepare(request(first)), "");
  EXPECT_EQ(said(second), "");
}

// After a reboot no container runs, and each claim is prepared again.
TEST_F(PodsNodes, ThoseOfAnEarlierBootExcludeNoClaim) {
  const ClaimText first = put(claim(1, "0000-03-00-2")), second = put(claim(2, "0000-03-00-3"));
  ASSERT_EQ(said(first) + said(second), "");
  give("0000:03:00.2", "uverbs1"), give("0000:03:00.3", "uverbs0");
  boot_id = "boot-2";
  run();
  EXPECT_EQ(said(second), "");
  EXPECT_EQ(said(first), "");
  EXPECT_EQ(node.specs.at({sample::kKind, request(first).uid}).devices[0].edits.nodes.front().path,
            "/dev/infiniband/uverbs1");
}

}  // namespace
}  // namespace prepare_steps_test
}  // namespace sliced::kubelet
