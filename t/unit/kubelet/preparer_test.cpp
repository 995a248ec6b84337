#include "kubelet/preparer.h"

#include <gtest/gtest.h>

#include <set>

#include "kubelet/checkpoint.h"
#include "kubelet/peer_checkpoint.h"
#include "t/fixture/golden.h"
#include "t/unit/kubelet/preparer_world.h"

namespace sliced::kubelet {
namespace preparer_test {
namespace {

using kube::Json;
using sample::ClaimText;
using sample::config;
using sample::kKind;
using sample::kSriov;
using sample::result;

class PreparerTest : public sample::PreparerWorld {};

TEST_F(PreparerTest, WritesSpecsACheckpointAndAnAnswer) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  const PrepareRequest who = request(text);
  const auto answer = prepare(text);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->error, "");
  ASSERT_EQ(answer->devices.size(), 1u);
  EXPECT_EQ(answer->devices[0].cdi_ids,
            (std::vector<std::string>{std::string(kKind) + "=" + who.uid + "-0000-03-00-2",
                                      std::string(kKind) + "=pod-uid-1"}));
  EXPECT_TRUE(has_spec(who.uid));
  EXPECT_TRUE(has_spec("pod-uid-1"));
  EXPECT_EQ(node.infos.size(), 1u);
  EXPECT_EQ(decode_checkpoint(*node.checkpoint).value().claims.size(), 1u);
  EXPECT_EQ(charged, std::set<std::string>{who.uid + " 0000-03-00-2"});
  EXPECT_EQ(node.checkpoint_writes, 1u) << "one sync for what binds nothing";

  EXPECT_EQ(unprepare(who), "");
  EXPECT_TRUE(node.specs.empty());
  EXPECT_TRUE(node.infos.empty());
  EXPECT_TRUE(decode_checkpoint(*node.checkpoint).value().claims.empty());
  EXPECT_TRUE(charged.empty());
}

// Red when a pod starts without its interface because its configuration names another driver, and nothing reports it.
TEST_F(PreparerTest, LogsAnIgnoredConfigurationOnceAndKeepsItUntilUnprepare) {
  const ClaimText text =
      put(claim(1, "0000-03-00-2", {sample::config({}, {}, "FromClaim", sample::kExposure)}));
  const PrepareRequest who = request(text);
  ASSERT_EQ(prepare(text)->error, "");
  ASSERT_EQ(preparer->with_ignored().size(), 1u);
  const ClaimWithIgnored& known = preparer->with_ignored().begin()->second;
  EXPECT_EQ(known.name, "claim-1");
  EXPECT_EQ(known.pods.at(0).uid, "pod-uid-1");
  ASSERT_EQ(known.ignored.size(), 1u);
  EXPECT_EQ(prepare(text)->error, "") << "the kubelet asks again";
  EXPECT_EQ(log.count("ResourceClaim configuration ignored"), 1u);
  EXPECT_EQ(unprepare(who), "");
  EXPECT_TRUE(preparer->with_ignored().empty());
  gone.insert("0000-03-00-3");
  const ClaimText refused =
      put(claim(2, "0000-03-00-3", {sample::config({}, {}, "FromClaim", sample::kExposure)}));
  EXPECT_NE(prepare(refused)->error, "");
  EXPECT_TRUE(preparer->with_ignored().empty()) << "nothing is prepared";
}

TEST_F(PreparerTest, RemovesHalfWrittenFilesBeforeWriting) {
  ASSERT_EQ(prepare(put(claim(1, "0000-03-00-2")))->error, "");
  node.steps.clear();
  node.on_step = [](const std::string& step) {
    return step == "remove temporaries" ? std::optional(Error{Errc::kDenied, "read-only"}) : std::nullopt;
  };
  run();
  EXPECT_EQ(node.steps.front(), "remove temporaries");
  EXPECT_EQ(log.count("temporary files of a killed daemon not removed problem=read-only"), 1u);
  EXPECT_EQ(preparer->prepared().size(), 1u);
}

TEST_F(PreparerTest, RepeatsAnAnswerWithoutWriting) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  const auto first = prepare(text);
  node.steps.clear();
  EXPECT_EQ(prepare(text), first);
  EXPECT_TRUE(node.steps.empty());
}

TEST_F(PreparerTest, AnswersOnlyOnceItIsOnDisk) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  node.on_step = [](const std::string& step) {
    return step == "checkpoint" ? std::optional(Error{Errc::kIo, "no space left"}) : std::nullopt;
  };
  const auto answer = prepare(text);
  fixture::expect_golden(answer->error);
  EXPECT_TRUE(answer->devices.empty());
  node.on_step = nullptr;
  EXPECT_EQ(prepare(text)->error, "");
}

// If too many reads hang, no worker is assigned.
TEST_F(PreparerTest, RecoversFromAnyRefusedJob) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  size_t failed = 0;
  for (size_t job = 1; job <= 4; ++job) {
    executor.refused_job = executor.jobs + job;
    const auto refused = prepare(text);
    executor.refused_job = 0;
    ASSERT_TRUE(refused) << "job " << job;
    failed += !refused->error.empty();
    EXPECT_EQ(refused->error.empty(), !refused->devices.empty());
    EXPECT_EQ(prepare(text)->error, "") << "job " << job;
    EXPECT_EQ(unprepare(request(text)), "");
    EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
    EXPECT_TRUE(node.specs.empty());
  }
  EXPECT_EQ(failed, 4u) << "a look, its record, the binding and the files are a job each";
}

TEST_F(PreparerTest, PreparesNothingBeforeItsRecordIsRead) {
  const ClaimText first = put(claim(1, "0000-03-00-2")), second = put(claim(2, "0000-03-00-2"));
  ASSERT_EQ(prepare(first)->error, "");
  executor.refused_job = executor.jobs + 1;  // the read of the checkpoint
  run();
  fixture::expect_golden(prepare(second)->error);
}

TEST_F(PreparerTest, AnErrorConcernsOneClaim) {
  const ClaimText good = put(claim(1, "0000-03-00-2")),
                  bad = put(claim(2, "0000-03-00-3", {config({{"driver", "x"}})}));
  std::map<std::string, PrepareAnswer> answers;
  for (const ClaimText& one : {bad, good})
    preparer->prepare(kSriov, request(one),
                      [&, name = one.name](PrepareAnswer answer) { answers[name] = std::move(answer); });
  settle();
  EXPECT_EQ(answers["claim-1"].error, "");
  EXPECT_EQ(
      answers["claim-2"].error,
      "ResourceClaim ns/claim-2: status.allocation.devices.config[0].opaque.parameters.driver is \"x\", expected "
      "default or vfio-pci");
  EXPECT_EQ(charged.size(), 1u);
}

TEST_F(PreparerTest, ADeviceBelongsToOneClaimAlsoDuringPrepare) {
  const ClaimText first = put(claim(1, "0000-03-00-2")), second = put(claim(2, "0000-03-00-2"));
  std::vector<std::string> errors;
  for (const ClaimText& one : {first, second})
    preparer->prepare(kSriov, request(one), [&](PrepareAnswer answer) { errors.push_back(answer.error); });
  settle();
  std::sort(errors.begin(), errors.end());
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0], "");
  fixture::expect_golden(errors[1]);
  EXPECT_EQ(charged.size(), 1u);
}

TEST_F(PreparerTest, RefusesAClaimWithAnotherUid) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  std::string error;
  preparer->prepare(kSriov, {"ns", text.name, "another"},
                    [&](PrepareAnswer answer) { error = answer.error; });
  settle();
  fixture::expect_golden(error);
  preparer->prepare(kSriov, {"ns", "nobody", "uid"}, [&](PrepareAnswer answer) { error = answer.error; });
  settle();
  EXPECT_EQ(error, "ResourceClaim ns/nobody: it no longer exists");
  cluster.deny("resourceclaims");
  fixture::expect_golden(prepare(text)->error);
}

TEST_F(PreparerTest, LooksUpNothingBeforePoliciesAreKnown) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  waits_for = "policies";
  fixture::expect_golden(prepare(text)->error);
  waits_for.clear();
  EXPECT_EQ(prepare(text)->error, "");
}

TEST_F(PreparerTest, AClaimWithoutOwnDevicesLeavesNothing) {
  ClaimText text = claim(1, "gpu-0");
  text.results = {result("gpu", "gpu-0", "gpu.example.com")};
  const auto answer = prepare(put(text));
  EXPECT_EQ(*answer, PrepareAnswer{});
  EXPECT_TRUE(preparer->prepared().empty());
}

TEST_F(PreparerTest, ClaimsOfAPodAreIndependent) {
  const ClaimText first = put(claim(1, "0000-03-00-2")), second = put(claim(2, "0000-03-00-3"));
  prepare(first);
  prepare(second);
  const auto addresses = [&] { return node.specs.at({kKind, "pod-uid-1"}).devices[0].edits.env[0]; };
  EXPECT_EQ(addresses(), "SRIOVNETWORK_PCI_ADDRESSES=0000:03:00.2,0000:03:00.3");
  EXPECT_EQ(unprepare(request(first)), "");
  EXPECT_FALSE(has_spec(request(first).uid));
  EXPECT_TRUE(has_spec(request(second).uid));
  EXPECT_EQ(addresses(), "SRIOVNETWORK_PCI_ADDRESSES=0000:03:00.3");
  EXPECT_EQ(unprepare(request(second)), "");
  EXPECT_TRUE(node.specs.empty());
}

TEST_F(PreparerTest, ASharedClaimHasItsOwnAddresses) {
  ClaimText text = claim(1, "0000-03-00-2");
  text.pods.push_back(Json::Object{{"resource", "pods"}, {"name", "pod-2"}, {"uid", "pod-uid-2"}});
  put(text);
  const std::string uid = request(text).uid;
  const auto answer = prepare(text);
  ASSERT_EQ(answer->error, "");
  EXPECT_EQ(answer->devices[0].cdi_ids[1], std::string(kKind) + "=" + uid);
  EXPECT_EQ(node.specs.at({kKind, uid}).devices.size(), 2u);
  EXPECT_EQ(node.specs.size(), 1u);
}

// Who takes the node over while files of this one are being written finds half of them.
TEST_F(PreparerTest, FinishesStartedWorkAtTheEndAndAcceptsNone) {
  const ClaimText begun = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  const ClaimText late = put(claim(2, "0000-03-00-3"));
  std::string first = "?", second = "?";
  node.on_step = [&](const std::string& step) -> std::optional<Error> {
    if (!step.starts_with("bind")) return std::nullopt;
    preparer->stop_accepting();
    preparer->prepare(kSriov, request(late), [&](PrepareAnswer answer) { second = answer.error; });
    EXPECT_FALSE(preparer->idle());
    return std::nullopt;
  };
  preparer->prepare(kSriov, request(begun), [&](PrepareAnswer answer) { first = answer.error; });
  settle();
  EXPECT_TRUE(preparer->idle());
  EXPECT_EQ(first, "");
  EXPECT_TRUE(decode_checkpoint(*node.checkpoint)->claims.begin()->second.is_complete);
  fixture::expect_golden(second);
  EXPECT_EQ(preparer->prepared().size(), 1u);
}

TEST_F(PreparerTest, UnpreparesWithoutClaimPodAndDevice) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  const PrepareRequest who = request(text);
  prepare(text);
  cluster.remove(kube::kResourceClaims, text.name, "ns");
  gone.insert("0000-03-00-2");
  node.functions.clear();
  run();
  EXPECT_EQ(unprepare(who), "");
  EXPECT_TRUE(node.specs.empty());
  EXPECT_TRUE(charged.empty());
  EXPECT_EQ(unprepare(who), "") << "also when nothing was";
  EXPECT_EQ(unprepare({"ns", "never", "seen"}), "");
}

TEST_F(PreparerTest, BindsAndReturnsAFunction) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  const auto answer = prepare(text);
  ASSERT_EQ(answer->error, "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "vfio-pci");
  const auto& device = node.specs.at({kKind, request(text).uid}).devices[0];
  EXPECT_EQ(device.edits.nodes[0].path, "/dev/vfio/7");
  EXPECT_EQ(node.checkpoint_writes, 2u) << "who had it before is on disk before it is bound";
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
}

// A CNI plugin that binds a VF again changes its uverbs number. Red when a container gets the node of before, the node of another
// claim, or a second node beside one that the record then forgets.
TEST_F(PreparerTest, UpdatesTheNodesOfANewSandboxOnly) {
  const auto set = [&](const std::string& pci, const std::string& number) {
    auto& look = node.functions.at(pci).look;
    look.rdma_device = "mlx5_" + number;
    look.rdma_nodes = {"/dev/infiniband/uverbs" + number, "/dev/infiniband/rdma_cm"};
  };
  const auto nodes_of = [&](const std::string& uid) {
    std::vector<std::string> out;
    for (const auto& one : node.specs.at({kKind, uid}).devices.at(0).edits.nodes) out.push_back(one.path);
    return out;
  };
  const auto refresh = [&](bool is_new_sandbox = true) {
    std::optional<Result<Unit>> out;
    preparer->refresh_nodes("pod-uid-1", is_new_sandbox, [&](Result<Unit> done) { out = std::move(done); });
    settle();
    return out.value_or(Error{Errc::kTimeout, "not called"});
  };
  set("0000:03:00.2", "2");
  set("0000:03:00.3", "3");
  settings.plan.names_resources = true;
  run();
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  ASSERT_EQ(prepare(text)->error, "");
  ASSERT_EQ(prepare(put(claim(2, "0000-03-00-3")))->error, "");
  const std::string uid = request(text).uid;
  const size_t writes = node.checkpoint_writes;
  EXPECT_TRUE(refresh());
  EXPECT_EQ(node.checkpoint_writes, writes) << "nothing has changed";

  set("0000:03:00.2", "3");
  const auto taken = refresh();
  ASSERT_FALSE(taken) << "a container of the other claim may have it";
  EXPECT_NE(taken.error().what.find("device node /dev/infiniband/uverbs3, which containers of ResourceClaim"),
            std::string::npos)
      << taken.error().what;
  set("0000:03:00.2", "5");
  const auto stale = refresh(false);
  ASSERT_FALSE(stale) << "containers of the pod have the former one";
  EXPECT_NE(stale.error().what.find("delete the pod"), std::string::npos) << stale.error().what;
  EXPECT_EQ(nodes_of(uid), (std::vector<std::string>{"/dev/infiniband/uverbs2", "/dev/infiniband/rdma_cm"}));
  EXPECT_TRUE(refresh());
  EXPECT_EQ(nodes_of(uid), (std::vector<std::string>{"/dev/infiniband/uverbs5", "/dev/infiniband/rdma_cm"}));
  const size_t written = node.checkpoint_writes;
  EXPECT_TRUE(refresh() && refresh(false));
  EXPECT_EQ(node.checkpoint_writes, written);
  const auto& env = node.specs.at({kKind, uid}).devices.at(0).edits.env;
  EXPECT_NE(std::ranges::find(env, "SRIOVNETWORK_0000_03_00_2_RDMA_UVERB=/dev/infiniband/uverbs5"),
            env.end());
  EXPECT_NE(std::ranges::find(env, "PCIDEVICE_INTEL_COM_VF=0000:03:00.2"), env.end()) << "of the claim";
  run();
  EXPECT_TRUE(refresh(false)) << "the record has them, too";

  node.functions.at("0000:03:00.2").look.rdma_nodes.clear();
  const auto gone = refresh();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::kBusy);
  EXPECT_NE(gone.error().what.find("has lost the nodes of its RDMA device since its claim was prepared"),
            std::string::npos);
  node.functions.erase("0000:03:00.2");
  EXPECT_TRUE(refresh()) << "its health is unhealthy";
}

// Red when the kubelet hears after a restart that a VF is healthy which was created again below its pod.
TEST_F(PreparerTest, AVfThatWasCreatedAgainIsKnownAfterARestart) {
  std::string& incarnation = node.functions.at("0000:03:00.2").look.incarnation;
  incarnation = "4711";
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  ASSERT_EQ(prepare(text)->error, "");
  const auto is_recreated = [&] { return preparer->prepared().begin()->second.devices.at(0).was_recreated; };
  run();
  EXPECT_FALSE(is_recreated());
  incarnation = "4712";
  run();
  EXPECT_TRUE(is_recreated());
  EXPECT_EQ(prepare(text)->error, "") << "the kubelet asks again at its start";
  EXPECT_TRUE(is_recreated());
  const PrepareRequest who = request(text);
  EXPECT_EQ(unprepare(who), "");
  ASSERT_EQ(prepare(text)->error, "");
  EXPECT_FALSE(is_recreated()) << "the next pod has the new one";
  boot_id = "boot-2";
  incarnation = "4713";
  run();
  EXPECT_FALSE(is_recreated()) << "each boot has its numbers";
}

TEST_F(PreparerTest, AVfioNodeThatChangedIsHandedOut) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  ASSERT_EQ(prepare(text)->error, "");
  node.functions.at("0000:03:00.2").group = "9";
  std::optional<Result<Unit>> compared;
  preparer->refresh_nodes("pod-uid-1", true, [&](Result<Unit> one) { compared = std::move(one); });
  settle();
  ASSERT_TRUE(compared && *compared);
  EXPECT_EQ(preparer->prepared().begin()->second.devices.at(0).vfio->group, "9");
}

// As with the SR-IOV network device plugin: the operator binds the VF, and no DeviceClass has a VfConfig.
TEST_F(PreparerTest, ADeviceOnVfioHasItsNodesWithoutAVfConfig) {
  facts_driver = node.functions.at("0000:03:00.2").driver = "vfio-pci";
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  ASSERT_EQ(prepare(text)->error, "");
  const auto nodes = node.specs.at({kKind, request(text).uid}).devices[0].edits.nodes;
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].path, "/dev/vfio/7");
  ASSERT_EQ(prepare(text)->error, "") << "again";
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "vfio-pci") << "whoever bound it keeps it bound";
}

// Red when a claim moves a function off the variant driver that its administrator chose for live migration,
// or when unprepare binds the function to another driver.
TEST_F(PreparerTest, AFunctionOnAVariantDriverOfVfioStaysThere) {
  facts_driver = node.functions.at("0000:03:00.2").driver = "mlx5_vfio_pci";
  for (const bool asks : {true, false}) {
    const ClaimText text =
        put(asks ? claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}) : claim(2, "0000-03-00-2"));
    ASSERT_EQ(prepare(text)->error, "");
    EXPECT_EQ(driver_of("0000:03:00.2"), "mlx5_vfio_pci");
    EXPECT_EQ(node.specs.at({kKind, request(text).uid}).devices[0].edits.nodes.front().path, "/dev/vfio/7");
    EXPECT_EQ(unprepare(request(text)), "");
    EXPECT_EQ(driver_of("0000:03:00.2"), "mlx5_vfio_pci");
  }
}

// What is published may be older than the kernel's answer: nothing is bound that no VfConfig asks for.
TEST_F(PreparerTest, ReadsFromTheKernelWhetherADeviceIsOnVfio) {
  const ClaimText left = put(claim(1, "0000-03-00-2")), bound = put(claim(2, "0000-03-00-3"));
  facts_driver = "vfio-pci";
  ASSERT_EQ(prepare(left)->error, "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
  EXPECT_TRUE(node.specs.at({kKind, request(left).uid}).devices[0].edits.nodes.empty());
  facts_driver = "igbvf";
  node.functions.at("0000:03:00.3").driver = "vfio-pci";
  ASSERT_EQ(prepare(bound)->error, "");
  EXPECT_EQ(node.specs.at({kKind, request(bound).uid}).devices[0].edits.nodes.size(), 2u);
  EXPECT_EQ(unprepare(request(bound)), "");
}

// Red when decisions use the facts after binding: the policy would withdraw the pod's device.
TEST_F(PreparerTest, PinsFactsUntilUnprepareEvenForTheNextClaim) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  std::map<std::string, hotplug::HostDevice> when_bound;
  node.on_step = [&](const std::string& step) -> std::optional<Error> {
    if (step.starts_with("bind")) when_bound = held;
    return std::nullopt;
  };
  ASSERT_EQ(prepare(text)->error, "");
  ASSERT_EQ(when_bound.size(), 1u) << "before it is bound";
  EXPECT_EQ(when_bound.begin()->second.driver, "igbvf");
  run();
  EXPECT_EQ(held, when_bound);
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_TRUE(held.empty());
}

// Red when what dra-driver-sriov has bound is decided over as it is bound: its policy would withdraw what a pod has.
TEST_F(PreparerTest, RestoresPinnedFactsFromTheRecordAndTheKernel) {
  const auto device = [](const std::string& last, const std::string& original) {
    return R"({"Device":{"request_names":["vf"],"pool_name":"node-a","device_name":"0000-03-00-)" + last +
           R"("},"ClaimNamespacedName":{"Namespace":"ns","Name":"c"},"Config":{"driver":"vfio-pci"},)" +
           R"("PciAddress":"0000:03:00.)" + last + R"(","OriginalDriver":")" + original + R"("})";
  };
  const std::string rest = R"(,"v1":{"preparedClaimsByPodUID":{"pod":{"c-uid":[)" + device("2", "igbvf") +
                           "," + device("3", "") + "]}}}}";
  node.checkpoint.reset();
  node.peer_checkpoint = "{\"checksum\":" + std::to_string(peer_checksum("{\"checksum\":0" + rest)) + rest;
  node.specs[{kKind, "c-uid"}] = {};
  const Identity identity{"8086", "10ca", "0000:03:00.0"};
  for (const char* pci : {"0000:03:00.2", "0000:03:00.3"})
    node.functions[pci].driver = "vfio-pci", node.functions[pci].look.identity = identity;
  run();
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held.begin()->second.driver, "igbvf");
  EXPECT_EQ(held.begin()->second.pf->text(), "0000:03:00.0");
  const PreparedClaim& claim = preparer->prepared().begin()->second;
  EXPECT_EQ(claim.devices[0].identity, identity);
  EXPECT_EQ(claim.devices[0].pf, "0000:03:00.0") << "what excludes its PF is known";
  EXPECT_EQ(log.count("original drivers of devices on vfio-pci unknown: policies see vfio-pci"), 1u);
  EXPECT_EQ(unprepare({"ns", "c", "c-uid"}), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
  EXPECT_TRUE(held.empty());
}

// Red when a restart loses a network of dra-driver-sriov that was examined after its sandboxes were known, or
// when devices whose networks were not examined lose theirs.
TEST_F(PreparerTest, RecordsTheNetworksThatWereAdopted) {
  const auto device = [](const std::string& last, const std::string& network) {
    return R"({"Device":{"request_names":["vf"],"pool_name":"node-a","device_name":"0000-03-00-)" + last +
           R"("},"ClaimNamespacedName":{"Namespace":"ns","Name":"c"},"Config":{},"PciAddress":"0000:03:00.)" +
           last + R"(","NetworkDeviceData":{"interfaceName":"net)" + last + R"("},"NetAttachDefConfig":")" +
           network + R"("})";
  };
  const std::string rest = R"(,"v1":{"preparedClaimsByPodUID":{"pod":{"c-uid":[)" + device("2", "{}") + "," +
                           device("3", "{}") + "," + device("4", "{}") + "]}}}}";
  node.checkpoint.reset();
  node.peer_checkpoint = "{\"checksum\":" + std::to_string(peer_checksum("{\"checksum\":0" + rest)) + rest;
  node.specs[{kKind, "c-uid"}] = {};
  run();
  ASSERT_EQ(preparer->prepared().size(), 1u);
  const PreparedKey key = preparer->prepared().begin()->first;
  const auto devices = [&] { return preparer->prepared().at(key).devices; };
  ASSERT_EQ(devices().size(), 3u);
  for (const PreparedDevice& one : devices()) EXPECT_TRUE(one.is_of_peer) << one.device;

  preparer->adopt_peer_networks({{{key, "0000-03-00-2"}, {.config = R"({"type":"sriov"})"}},
                                 {{key, "0000-03-00-3"}, {.refusal = "not its own"}}});
  settle();
  for (const bool is_next_run : {false, true}) {
    if (is_next_run) run();
    const auto now = devices();
    EXPECT_EQ(now[0].network, R"({"type":"sriov"})");
    EXPECT_EQ(now[0].network_refusal, "");
    EXPECT_TRUE(now[1].network.empty());
    EXPECT_EQ(now[1].network_refusal, "not its own");
    EXPECT_EQ(now[2].network, "{}") << "the caller did not examine it";
    for (const PreparedDevice& one : now) EXPECT_FALSE(one.is_of_peer) << one.device << is_next_run;
  }
}

TEST_F(PreparerTest, PinsNothingForAdminAccess) {
  ClaimText text = claim(1, "0000-03-00-2");
  text.results[0].set("adminAccess", true);
  ASSERT_EQ(prepare(put(text))->error, "");
  EXPECT_TRUE(held.empty());
}

TEST_F(PreparerTest, UndoesAFailedBind) {
  ClaimText text = claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})});
  text.results.push_back(result("vf", "0000-03-00-3"));
  put(text);
  node.on_step = [](const std::string& step) {
    return step == "bind 0000:03:00.3" ? std::optional(Error{Errc::kBusy, "group 7 is the host's, too"})
                                       : std::nullopt;
  };
  fixture::expect_golden(prepare(text)->error);
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
  EXPECT_TRUE(charged.empty());
  EXPECT_TRUE(decode_checkpoint(*node.checkpoint).value().claims.empty());
}

TEST_F(PreparerTest, KeepsTheRecordUntilTheDeviceIsRestored) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  prepare(text);
  node.on_step = [](const std::string& step) {
    return step.starts_with("restore") ? std::optional(Error{Errc::kBusy, "somebody holds /dev/vfio/7"})
                                       : std::nullopt;
  };
  EXPECT_NE(unprepare(request(text))->find("somebody holds /dev/vfio/7"), std::string::npos);
  const ClaimText next = put(claim(2, "0000-03-00-2"));
  fixture::expect_golden(prepare(next)->error);
  node.on_step = nullptr;
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(prepare(next)->error, "");
}

TEST_F(PreparerTest, ReportsAHangingKernelAndReleasesNothing) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  executor.hang_next = 1;
  std::string error;
  preparer->prepare(kSriov, request(text), [&](PrepareAnswer answer) { error = answer.error; });
  scheduler.advance(ClaimPreparer::kReadDevicesMax + Millis{1'000});
  fixture::expect_golden(error);
  EXPECT_TRUE(charged.empty());
  EXPECT_EQ(prepare(text)->error, "");
}

// A hanging bind may still complete. If it were undone meanwhile, the function would be bound to vfio-pci
// without a claim.
TEST_F(PreparerTest, KeepsTheRecordOfAHangingBindAndRetries) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  node.on_step = [](const std::string& step) -> std::optional<Error> {
    if (step.starts_with("bind")) fake::abandon(fake::Abandoned::kHangs);
    return std::nullopt;
  };
  std::string error;
  preparer->prepare(kSriov, request(text), [&](PrepareAnswer answer) { error = answer.error; });
  scheduler.advance(Binder::kBindMax + Millis{1'000});
  fixture::expect_golden(error);
  EXPECT_EQ(std::count(node.steps.begin(), node.steps.end(), "restore 0000:03:00.2"), 0);
  fixture::expect_golden(prepare(put(claim(2, "0000-03-00-2")))->error);
  node.on_step = nullptr;
  EXPECT_EQ(prepare(text)->error, "");
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
}

TEST_F(PreparerTest, KeepsTheRecordOfAHangingUnprepareWithAnError) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  ASSERT_EQ(prepare(text)->error, "");
  node.on_step = [](const std::string& step) -> std::optional<Error> {
    if (step.starts_with("restore")) fake::abandon(fake::Abandoned::kHangs);
    return std::nullopt;
  };
  std::string error;
  preparer->unprepare(kSriov, request(text), [&](const std::string& problem) { error = problem; });
  scheduler.advance(Binder::kBindMax + Millis{1'000});
  fixture::expect_golden(error);
  EXPECT_EQ(charged.size(), 1u);
  EXPECT_EQ(decode_checkpoint(*node.checkpoint)->claims.size(), 1u);
  node.on_step = nullptr;
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
}

TEST_F(PreparerTest, PreparesAnotherClaimBesideAHangingOne) {
  const ClaimText slow = put(claim(1, "0000-03-00-2")), fast = put(claim(2, "0000-03-00-3"));
  preparer->prepare(kSriov, request(slow), [](PrepareAnswer) {});
  cluster.delay_of = [&](const fake::Request& asked) { return Millis{asked.name == "claim-1" ? 60'000 : 0}; };
  preparer->prepare(kSriov, request(fast), [](PrepareAnswer) {});
  EXPECT_EQ(prepare(fast)->error, "");
}

TEST_F(PreparerTest, ARestartKnowsPreparedClaims) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  const auto before = prepare(text);
  run();
  EXPECT_EQ(charged.size(), 1u) << "prepared means allocated, also for who comes after";
  EXPECT_NE(prepare(put(claim(2, "0000-03-00-2")))->error.find("ns/claim-1"), std::string::npos);
  node.specs.clear();  // as if an administrator had deleted them
  EXPECT_EQ(prepare(text), before);
  EXPECT_TRUE(has_spec(request(text).uid)) << "its files are made sure of once";
}

TEST_F(PreparerTest, RepeatsEverythingAfterAnotherBoot) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  prepare(text);
  boot_id = "boot-2";
  node.specs.clear();
  node.functions["0000:03:00.2"].driver = "igbvf";
  node.functions["0000:03:00.2"].group = "9";
  run();
  EXPECT_EQ(charged.size(), 1u);
  EXPECT_EQ(prepare(text)->error, "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "vfio-pci");
  EXPECT_EQ(node.specs.at({kKind, request(text).uid}).devices[0].edits.nodes[0].path, "/dev/vfio/9");
}

// An administrator binds the function to vfio-pci in each boot. Red when an unprepare without a prepare in
// this boot gives the function to a driver that the kernel chooses.
TEST_F(PreparerTest, DoesNotRestoreBindingsOfAnotherBoot) {
  facts_driver = "vfio-pci";
  node.functions["0000:03:00.2"].driver = "vfio-pci";
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  const PrepareRequest who = request(text);
  ASSERT_EQ(prepare(text)->error, "");
  boot_id = "boot-2";
  node.specs.clear();
  run();
  EXPECT_EQ(charged.size(), 1u) << "it is the claim's, all the same";
  cluster.remove(kube::kResourceClaims, text.name, "ns");
  EXPECT_EQ(unprepare(who), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "vfio-pci");
}

// Of a boot that is not known it may be this one that has bound it.
TEST_F(PreparerTest, RestoresBindingsOfAnUnknownBoot) {
  boot_id.clear();
  run();
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  const PrepareRequest who = request(text);
  ASSERT_EQ(prepare(text)->error, "");
  run();
  EXPECT_EQ(unprepare(who), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
}

// Neither a record nor the facts at the daemon's start have the original driver. Red when vfio-pci itself
// then counts as the original driver.
TEST_F(PreparerTest, ReturnsARestoredClaimToItsDriver) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  ASSERT_EQ(prepare(text)->error, "");
  node.checkpoint->resize(node.checkpoint->size() / 2);
  facts_driver = "vfio-pci";
  run();
  EXPECT_EQ(prepare(text)->error, "");
  EXPECT_EQ(unprepare(request(text)), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
}

TEST_F(PreparerTest, SetsACorruptCheckpointAsideAndReadsSpecs) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  const PrepareRequest who = request(text);
  prepare(text);
  node.checkpoint->resize(node.checkpoint->size() / 2);
  run();
  EXPECT_TRUE(node.aside.has_value());
  EXPECT_EQ(preparer->prepared().begin()->second.devices[0].pf, "0000:03:00.0")
      << "what excludes its PF is known";
  EXPECT_EQ(log.count("checkpoint missing or damaged"), 1u);
  fixture::expect_golden(prepare(put(claim(2, "0000-03-00-2")))->error);
  EXPECT_EQ(prepare(text)->error, "");
  EXPECT_EQ(unprepare(who), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf") << "who had it before is found again";
}

// Red when a checkpoint that cannot be read at the first attempt counts as damaged: the original drivers of
// its functions would be lost.
TEST_F(PreparerTest, RetriesAnUnreadableCheckpoint) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  const auto answer = prepare(text);
  node.unreadable_times = 3;
  run();
  EXPECT_FALSE(preparer->has_started());
  scheduler.advance(Millis{5'000});
  ASSERT_TRUE(preparer->has_started());
  EXPECT_FALSE(node.aside.has_value());
  EXPECT_EQ(preparer->prepared().begin()->second.devices[0].vfio->original_driver, "igbvf");
  EXPECT_EQ(prepare(text), answer);
  node.unreadable_times = 100;
  run();
  scheduler.advance(Millis{20'000});
  EXPECT_TRUE(preparer->has_started()) << "never a reason not to start";
  EXPECT_EQ(preparer->prepared().size(), 1u) << "CDI specs tell";
}

// Red when a claim waits for the end of another program until the kubelet gives up, and its pod's event does not say why; or when a
// call that came just before the start is forgotten.
TEST_F(PreparerTest, RefusesOrQueuesCallsBeforeTheStart) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  node.unreadable_times = 3;
  run();
  ASSERT_FALSE(preparer->has_started());
  preparer->refuse_until_start("another program serves driver d");
  fixture::expect_golden(prepare(text)->error);
  preparer->refuse_until_start("");
  std::optional<PrepareAnswer> answer;
  preparer->prepare(kSriov, request(text), [&](PrepareAnswer one) { answer = std::move(one); });
  scheduler.advance(Millis{10'000});
  ASSERT_TRUE(preparer->has_started());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error, "");
}

TEST_F(PreparerTest, RemovesUnownedSpecsAtTheStart) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  prepare(text);
  node.specs[{kKind, "uid-lost"}] = {.kind = kKind, .devices = {{"uid-lost-x", {.env = {"A=1"}}}}};
  run();
  EXPECT_FALSE(has_spec("uid-lost"));
  EXPECT_TRUE(has_spec(request(text).uid));
  EXPECT_TRUE(has_spec("pod-uid-1"));
}

TEST_F(PreparerTest, PreparesAReallocatedClaim) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  prepare(text);
  ClaimText again = claim(1, "0000-03-00-3");
  put(again);
  const auto answer = prepare(again);
  ASSERT_EQ(answer->error, "");
  EXPECT_EQ(answer->devices[0].device, "0000-03-00-3");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
  EXPECT_EQ(charged, std::set<std::string>{request(text).uid + " 0000-03-00-3"});
}

// The claim of before, its pods, and what it becomes: with another pod, with another device, with none of this driver.
class ReplacedRecord : public PreparerTest {
 protected:
  static ClaimText first(bool on_vfio) {
    return claim(1, "0000-03-00-2", on_vfio ? Json::Array{config({{"driver", "vfio-pci"}})} : Json::Array{});
  }
  static ClaimText changed(int how, bool on_vfio) {
    ClaimText text = first(on_vfio);
    if (how == 0)
      text.pods = {Json::Object{{"resource", "pods"}, {"name", "pod-2"}, {"uid", "pod-uid-2"}}};
    else if (how == 1)
      text.results = {result("vf", "0000-03-00-3")};
    else
      text.results = {result("vf", "gpu-0", "gpu.example.com", "x")};
    return text;
  }
  std::set<std::string> spec_ids() const {
    std::set<std::string> out;
    for (const auto& [key, spec] : node.specs) out.insert(key.second);
    return out;
  }
};

TEST_F(ReplacedRecord, LeavesNoFormerFileOrEntry) {
  for (const bool on_vfio : {false, true})
    for (const int how : {0, 1, 2}) {
      SCOPED_TRACE(std::to_string(how) + (on_vfio ? " on vfio-pci" : ""));
      const ClaimText text = put(first(on_vfio));
      ASSERT_EQ(prepare(text)->error, "");
      const std::string uid = request(text).uid;
      const ClaimText now = put(changed(how, on_vfio));
      ASSERT_EQ(prepare(now)->error, "");
      const PreparedClaims known = decode_checkpoint(*node.checkpoint).value().claims;
      if (how == 2) {
        EXPECT_TRUE(spec_ids().empty());
        EXPECT_TRUE(node.infos.empty());
        EXPECT_TRUE(known.empty());
        EXPECT_TRUE(charged.empty());
      } else {
        EXPECT_EQ(spec_ids(), (std::set<std::string>{uid, how == 0 ? "pod-uid-2" : "pod-uid-1"}));
        EXPECT_EQ(node.infos.size(), 1u);
        ASSERT_EQ(known.size(), 1u);
        EXPECT_EQ(known.begin()->second.pods[0].uid, how == 0 ? "pod-uid-2" : "pod-uid-1");
      }
      if (how != 0) {
        EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
        const ClaimText other = put(claim(2, "0000-03-00-2"));
        EXPECT_EQ(prepare(other)->error, "") << "another claim has it";
        EXPECT_EQ(unprepare(request(other)), "");
      }
      EXPECT_EQ(unprepare(request(now)), "");
      EXPECT_TRUE(spec_ids().empty());
      EXPECT_TRUE(node.infos.empty());
      EXPECT_TRUE(decode_checkpoint(*node.checkpoint).value().claims.empty());
    }
}

TEST_F(ReplacedRecord, LeavesNoFileWhenKilledAtAnyStep) {
  for (const bool on_vfio : {false, true})
    for (const int how : {0, 1, 2}) {
      SCOPED_TRACE(std::to_string(how) + (on_vfio ? " on vfio-pci" : ""));
      ClaimText now;
      kill_before_each_step(
          true,
          [&] {
            EXPECT_EQ(prepare(put(first(on_vfio)))->error, "");
            now = put(changed(how, on_vfio));
            return request(now);
          },
          [&](const PrepareRequest& who) {
            run();
            EXPECT_EQ(prepare(now)->error, "");
            EXPECT_EQ(spec_ids().size(), how == 2 ? 0u : 2u);
            EXPECT_EQ(unprepare(who), "");
            EXPECT_TRUE(spec_ids().empty());
            EXPECT_TRUE(node.infos.empty());
            EXPECT_TRUE(charged.empty());
            for (const auto& [pci, function] : node.functions) EXPECT_EQ(function.driver, "igbvf") << pci;
          });
    }
}

TEST_F(ReplacedRecord, FailsThePrepareIfAFileCannotBeRemovedAndRetries) {
  for (const int how : {0, 1, 2}) {
    const ClaimText text = put(first(false));
    ASSERT_EQ(prepare(text)->error, "");
    const ClaimText now = put(changed(how, false));
    node.on_step = [](const std::string& step) {
      return step.starts_with("remove ") ? std::optional(Error{Errc::kDenied, "read-only"}) : std::nullopt;
    };
    EXPECT_NE(prepare(now)->error.find("read-only"), std::string::npos) << how;
    EXPECT_FALSE(charged.empty()) << "no other claim has the device meanwhile";
    node.on_step = nullptr;
    EXPECT_EQ(prepare(now)->error, "");
    EXPECT_EQ(unprepare(request(now)), "");
    EXPECT_TRUE(spec_ids().empty());
  }
}

// Begun for one pod, completed for two: the spec of the one is of no use any more.
TEST_F(ReplacedRecord, AnAbandonedPrepareLeavesNoSpec) {
  const ClaimText text = put(first(true));
  size_t checkpoints = 0;
  node.on_step = [&](const std::string& step) {
    const bool is_second = step.starts_with("checkpoint") && ++checkpoints > 1;
    return is_second || step.starts_with("restore") ? std::optional(Error{Errc::kIo, "no space left"})
                                                    : std::nullopt;
  };
  EXPECT_NE(prepare(text)->error, "");
  ASSERT_TRUE(has_spec("pod-uid-1"));
  node.on_step = nullptr;
  ClaimText shared = first(true);
  shared.pods.push_back(Json::Object{{"resource", "pods"}, {"name", "pod-2"}, {"uid", "pod-uid-2"}});
  put(shared);
  ASSERT_EQ(prepare(shared)->error, "");
  EXPECT_EQ(spec_ids(), std::set<std::string>{request(shared).uid});
  EXPECT_EQ(unprepare(request(shared)), "");
  EXPECT_TRUE(spec_ids().empty());
}

// The first device could not be restored, and the claim has another device now. Red when the record of the
// first device is overwritten: it would stay on vfio-pci without a claim and without a record.
TEST_F(PreparerTest, ReturnsAnotherDeviceFirst) {
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  node.on_step = [](const std::string& step) {
    return step.starts_with("spec") || step.starts_with("restore") ? std::optional(Error{Errc::kBusy, "busy"})
                                                                   : std::nullopt;
  };
  fixture::expect_golden(prepare(text)->error);
  ASSERT_EQ(driver_of("0000:03:00.2"), "vfio-pci");
  const ClaimText again = put(claim(1, "0000-03-00-3", {config({{"driver", "vfio-pci"}})}));
  EXPECT_NE(prepare(again)->error.find("busy"), std::string::npos) << "somebody has the first";
  EXPECT_EQ(driver_of("0000:03:00.3"), "igbvf");
  fixture::expect_golden(prepare(put(claim(2, "0000-03-00-2")))->error);
  node.on_step = nullptr;
  EXPECT_EQ(prepare(again)->error, "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
  EXPECT_EQ(driver_of("0000:03:00.3"), "vfio-pci");
  EXPECT_EQ(charged, std::set<std::string>{request(again).uid + " 0000-03-00-3"});
  EXPECT_EQ(held.size(), 1u);
  EXPECT_EQ(unprepare(request(again)), "");
  EXPECT_EQ(driver_of("0000:03:00.3"), "igbvf");
}

// Red when the record of a claim that has changed nothing yet contains the binding to vfio-pci. The commit of
// another claim wrote that record, and an administrator's function would lose its driver.
TEST_F(PreparerTest, TheNextClaimDoesNotRestoreAReservedDevice) {
  facts_driver = "vfio-pci";
  node.functions["0000:03:00.2"].driver = "vfio-pci";
  const ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  const PrepareRequest who = request(text);
  executor.hang_next = 1;  // its look
  preparer->prepare(kSriov, who, [](PrepareAnswer) {});
  settle();
  ASSERT_EQ(prepare(put(claim(2, "0000-03-00-3")))->error, "");
  run();
  EXPECT_EQ(unprepare(who), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "vfio-pci");
}

// A kubelet repeats a failed call every 2 s. Red when each one is a line of the log.
TEST_F(PreparerTest, LogsARepeatedFailureOnce) {
  ASSERT_EQ(prepare(put(claim(1, "0000-03-00-2")))->error, "");
  const ClaimText second = put(claim(2, "0000-03-00-2"));
  for (int i = 0; i < 60; ++i) EXPECT_NE(prepare(second)->error, "");
  EXPECT_EQ(log.count("claim not prepared"), 1u) << log.all();
  EXPECT_EQ(unprepare(request(claim(1, "0000-03-00-2"))), "");
  EXPECT_EQ(prepare(second)->error, "");
  EXPECT_EQ(log.count("prepare succeeded after failures"), 1u);
}

// The disk fails while a claim is taken back, and another one has been given the device meanwhile. Red when the first one's
// record takes it back: the next try would unbind what the other's pod has.
TEST_F(PreparerTest, DoesNotUnprepareADeviceOfAnotherClaim) {
  const ClaimText first = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  const ClaimText second = put(claim(2, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  const PrepareRequest who = request(first);
  ASSERT_EQ(prepare(first)->error, "");
  std::optional<std::string> given;
  bool is_failing = false;
  node.on_step = [&](const std::string& step) -> std::optional<Error> {
    if (step.starts_with("remove") && !given) {
      given = "?";
      executor.answer_after = Millis{10};  // the files are gone, and the disk takes its time
      preparer->prepare(kSriov, request(second), [&](PrepareAnswer answer) { given = answer.error; });
      is_failing = true;
    } else if (step == "checkpoint" && std::exchange(is_failing, false)) {
      return Error{Errc::kIo, "No space left"};
    }
    return std::nullopt;
  };
  EXPECT_NE(unprepare(who)->find("No space left"), std::string::npos);
  EXPECT_EQ(given, "");
  ASSERT_EQ(driver_of("0000:03:00.2"), "vfio-pci");
  node.on_step = nullptr;
  EXPECT_EQ(unprepare(who), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "vfio-pci") << "it is the second one's";
  EXPECT_EQ(charged, std::set<std::string>{request(second).uid + " 0000-03-00-2"});
  EXPECT_FALSE(has_spec(who.uid));
  EXPECT_EQ(unprepare(request(second)), "");
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
}

// Both drivers may have results in one claim, and its pod has one network namespace. Red when both give their first
// interface the same name.
TEST_F(PreparerTest, InterfacesOfBothDriversHaveUniqueNames) {
  settings.plan.names_interfaces = true;
  run();
  ClaimText text = claim(1, "0000-03-00-2",
                         {config({{"netAttachDefName", "nad"}}),
                          config({{"netAttachDefName", "nad"}}, {}, "FromClaim", sample::kExposure)});
  text.results.push_back(result("link", "0000-03-00-3", sample::kExposure));
  put(text);
  ASSERT_EQ(prepare(text)->error, "");
  ASSERT_EQ(prepare(text, sample::kExposure)->error, "");
  std::set<std::string> names;
  for (const auto& [key, kept] : preparer->prepared()) names.insert(kept.devices[0].config.if_name);
  EXPECT_EQ(names, (std::set<std::string>{"vfnet0", "vfnet1"}));
  run();
  for (const char* driver : {kSriov, sample::kExposure})
    EXPECT_EQ(prepare(text, driver)->error, "") << "its own name is no other's";
}

// Red when a record is written that is too large to be read: who comes next would not know what pods have. A bound of an eighth, since a
// full record takes more than a minute under AddressSanitizer.
TEST_F(PreparerTest, RefusesAClaimThatExceedsTheRecordLimit) {
  EXPECT_EQ(settings.record_bytes_max, kCheckpointBytesMax) << "what is written can be read";
  settings.record_bytes_max = kCheckpointBytesMax / 8;
  const auto checkpoint_of = [&](size_t claims, size_t namespaces, bool is_one_definition = false) {
    PreparedClaim large{.driver = kSriov, .is_complete = true};
    large.devices = {{.pool = "node-a"}};
    PreparedClaims all;
    for (size_t i = 0; i < claims; ++i) {
      large.namespace_ = namespaces == 1 ? "ns" : "ns-" + std::to_string(i % namespaces);
      large.uid = large.name = "large-" + std::to_string(i);
      std::string network = is_one_definition ? "" : std::to_string(i);
      network.resize(kNetworkBytesMax, '"');
      large.devices[0].network = std::move(network);
      large.devices[0].device = large.devices[0].holding.entry = large.devices[0].holding.device = large.name;
      all.emplace(key_of(large), large);
    }
    return encode_checkpoint({boot_id, all});
  };
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  node.checkpoint = checkpoint_of(125, 5);
  run();
  ASSERT_EQ(preparer->prepared().size(), 125u);
  const auto refused = prepare(text);
  fixture::expect_golden(refused->error);
  EXPECT_EQ(preparer->prepared().size(), 125u);
  node.checkpoint = checkpoint_of(112, 5);
  run();
  EXPECT_EQ(prepare(text)->error, "");
  EXPECT_EQ(decode_checkpoint(*node.checkpoint).value().claims.size(), 113u);
  EXPECT_LE(node.checkpoint->size(), settings.record_bytes_max) << "what has room is estimated high enough";

  node.checkpoint = checkpoint_of(32, 1);  // a namespace keeps no other's claims from being prepared
  run();
  fixture::expect_golden(prepare(text)->error);
  node.checkpoint = checkpoint_of(40, 1, true);
  run();
  EXPECT_EQ(prepare(text)->error, "") << "a definition is in the record once";

  // The network of a VfConfig is in it with each device.
  PreparedClaims natives;
  PreparedClaim native{.driver = kSriov, .is_complete = true};
  native.devices = {{.pool = "node-a"}};
  const NativeRoute route{"2001:db8:1111:2222:3333:4444:5555:6666/128",
                          "2001:db8:1111:2222:3333:4444:5555:7777", 2'000'000'000};
  native.devices[0].config.network.emplace().routes.assign(kNativeRoutesMax, route);
  for (size_t i = 0; i < 350; ++i) {
    native.namespace_ = "ns-" + std::to_string(i % 16);
    native.uid = native.name = native.devices[0].device = native.devices[0].holding.entry =
        native.devices[0].holding.device = "native-" + std::to_string(i);
    natives.emplace(key_of(native), native);
  }
  node.checkpoint = encode_checkpoint({boot_id, natives});
  EXPECT_GT(node.checkpoint->size(), settings.record_bytes_max / 2);
  run();
  ASSERT_EQ(preparer->prepared().size(), 350u);
  EXPECT_NE(prepare(text)->error.find("(351 claims, about 4 MiB"), std::string::npos) << prepare(text)->error;

  // So are its ipam and the variables of containers, which have the names of claims.
  std::string ranges;
  while (ranges.size() < 15'000) ranges += R"([{"subnet":"10.10.10.0/24"}],)";
  for (const bool is_ipam : {true, false}) {
    PreparedDevice& device = native.devices[0];
    device.config.network = NativeNetwork{};
    if (is_ipam)
      device.config.network->ipam = R"({"type":"host-local","ranges":[)" + ranges + "]}";
    else
      device.edits.env.assign(4, std::string(4'500, 'X'));
    natives.clear();
    for (size_t i = 0; i < 260; ++i) {
      native.namespace_ = "ns-" + std::to_string(i % 16);
      native.uid = native.name = device.device = device.holding.entry = device.holding.device =
          "native-" + std::to_string(i);
      natives.emplace(key_of(native), native);
    }
    node.checkpoint = encode_checkpoint({boot_id, natives});
    EXPECT_GT(node.checkpoint->size(), settings.record_bytes_max) << "it is full";
    run();
    ASSERT_EQ(preparer->prepared().size(), 260u);
    EXPECT_NE(prepare(text)->error.find("(261 claims"), std::string::npos) << prepare(text)->error;
    device.edits.env.clear();
  }
}

// Several pods may use an existing claim one after the other, without an unprepare. Red when the later pods
// are unknown and start without their interfaces.
TEST_F(PreparerTest, KeepsTheLatestPods) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  ASSERT_EQ(prepare(text)->error, "");
  const PreparedKey key{kSriov, request(text).uid};
  for (size_t i = 0; i < 2 * kClaimPodsMax; ++i)
    preparer->add_pod(key, {"pod", "later-" + std::to_string(i)});
  const auto& pods = preparer->prepared().at(key).pods;
  EXPECT_EQ(pods.size(), kClaimPodsMax);
  EXPECT_EQ(pods.back().uid, "later-" + std::to_string(2 * kClaimPodsMax - 1));
}

TEST_F(PreparerTest, FiftyConcurrentClaimsSyncAFewTimes) {
  std::vector<ClaimText> all;
  for (int i = 0; i < 50; ++i) {
    const std::string bus = hex(static_cast<uint64_t>(0x10 + i), 2);
    node.functions["0000:" + bus + ":00.2"] = {.look = {.identity = {"8086", "10ca", "0000:03:00.0"}}};
    all.push_back(put(claim(i, "0000-" + bus + "-00-2")));
  }
  size_t good = 0;
  for (const ClaimText& one : all)
    preparer->prepare(kSriov, request(one), [&](PrepareAnswer answer) { good += answer.error.empty(); });
  settle();
  EXPECT_EQ(good, 50u);
  EXPECT_LE(node.checkpoint_writes, 10u);
  EXPECT_LE(node.applications, 10u) << "files are synced together";
  EXPECT_EQ(decode_checkpoint(*node.checkpoint).value().claims.size(), 50u);
}

// Red when the checkpoint is written before its files: after a kill, files would exist without a claim, or a
// claim would be recorded as prepared without its files.
TEST_F(PreparerTest, TheCheckpointRecordsFailedFiles) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  const auto on_disk = [&] { return decode_checkpoint(*node.checkpoint).value().claims; };
  std::string failing = "spec ";
  bool is_called_prepared = false;
  node.on_step = [&](const std::string& step) {
    if (node.checkpoint)
      for (const auto& [key, kept] : on_disk()) is_called_prepared |= kept.is_complete;
    return step.starts_with(failing) ? std::optional(Error{Errc::kIo, "No space left"}) : std::nullopt;
  };
  fixture::expect_golden(prepare(text)->error);
  EXPECT_FALSE(is_called_prepared);
  failing = "nothing";
  EXPECT_EQ(prepare(text)->error, "");
  failing = "remove ";
  EXPECT_NE(unprepare(request(text))->find("No space left"), std::string::npos);
  EXPECT_EQ(on_disk().size(), 1u);
}

// The next daemon completes the call, no function stays on the wrong driver, and no file is left.
TEST_F(PreparerTest, CompletesWhenKilledAtAnyStep) {
  for (const bool is_prepare : {true, false}) {
    ClaimText text;
    kill_before_each_step(
        is_prepare,
        [&] {
          text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
          if (!is_prepare) {
            EXPECT_EQ(prepare(text)->error, "");
          }
          return request(text);
        },
        [&](const PrepareRequest& who) {
          run();
          // Also of a claim that was being taken back: it goes to the next pod.
          EXPECT_EQ(prepare(text)->error, "");
          EXPECT_EQ(driver_of("0000:03:00.2"), "vfio-pci");
          EXPECT_TRUE(has_spec(who.uid));
          EXPECT_EQ(unprepare(who), "");
          EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
          EXPECT_TRUE(node.specs.empty());
          EXPECT_TRUE(charged.empty());
          EXPECT_TRUE(preparer->idle());
        });
  }
}

// Their files are written together.
TEST_F(PreparerTest, CompletesSeveralClaimsWhenKilledAtAnyStep) {
  bool is_killed = true;
  for (size_t step = 0; is_killed && !HasFatalFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    std::vector<ClaimText> texts;
    std::vector<PrepareRequest> requests;
    for (const int i : {2, 3, 4}) {
      texts.push_back(put(claim(i, "0000-03-00-" + std::to_string(i), {config({{"driver", "vfio-pci"}})})));
      requests.push_back(request(texts.back()));
    }
    is_killed = kill_before(step, true, requests);
    run();
    for (const ClaimText& text : texts) {
      EXPECT_EQ(prepare(text)->error, "");
      EXPECT_TRUE(has_spec(request(text).uid));
    }
    EXPECT_EQ(charged.size(), 3u);
    for (const PrepareRequest& one : requests) EXPECT_EQ(unprepare(one), "");
    for (const char* pci : {"0000:03:00.2", "0000:03:00.3", "0000:03:00.4"})
      EXPECT_EQ(driver_of(pci), "igbvf");
    EXPECT_TRUE(node.specs.empty());
  }
}

TEST_F(PreparerTest, AFailedFileOfABatchFailsOneClaim) {
  std::map<std::string, std::string> errors;
  std::string failing;
  node.on_step = [&](const std::string& step) {
    return step == failing ? std::optional(Error{Errc::kIo, "No space left"}) : std::nullopt;
  };
  for (const int i : {2, 3, 4}) {
    const ClaimText text = put(claim(i, "0000-03-00-" + std::to_string(i)));
    if (i == 3) failing = "spec " + request(text).uid;
    preparer->prepare(kSriov, request(text),
                      [&errors, name = text.name](PrepareAnswer answer) { errors[name] = answer.error; });
  }
  settle();
  EXPECT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors["claim-2"] + errors["claim-4"], "");
  EXPECT_NE(errors["claim-3"].find("No space left"), std::string::npos) << errors["claim-3"];
  EXPECT_EQ(charged.size(), 2u);
}

// The pod is gone by then, so that the kubelet takes the claim back and does not ask for it again. Red when the binding is on no
// record before it begins: the VF stays on vfio-pci, for no claim.
TEST_F(PreparerTest, UnpreparesWhenKilledAtAnyStep) {
  kill_before_each_step(
      true, [&] { return request(put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}))); },
      [&](const PrepareRequest& who) {
        run();
        EXPECT_EQ(unprepare(who), "");
        EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
        EXPECT_TRUE(node.specs.empty());
        EXPECT_TRUE(charged.empty());
      });
}

}  // namespace
}  // namespace preparer_test
}  // namespace sliced::kubelet
