// The record of a change of the offer: the entries, the policy with its generation, and its writer.
#include <gtest/gtest.h>

#include <optional>

#include "t/fixture/daemon_world.h"

namespace sliced::daemon {
namespace {

using namespace std::chrono_literals;
using Kind = policy::OfferChange::Kind;

struct OfferChanges : testing::Test, fixture::DaemonWorld, Observer {
  OfferChanges() {
    make_pf(4);
    put("p", 1, "kubectl", "{configs: [{}]}");
  }
  void put(const std::string& name, int generation, const std::string& manager, const std::string& spec) {
    cluster.put(kube::kSriovResourcePolicies,
                object("namespace: dra-driver-sriov", name, generation, manager, spec));
  }
  void expose(const std::string& name, int generation, const std::string& spec) {
    cluster.put(kube::kDeviceExposurePolicies, object("labels: {}", name, generation, "argocd", spec));
  }
  static kube::Json object(const std::string& more, const std::string& name, int generation,
                           const std::string& manager, const std::string& spec) {
    return kube::decode_yaml(
               "metadata: {name: " + name + ", " + more + ", generation: " + std::to_string(generation) +
               ", managedFields: [{manager: older, time: '2026-01-01T00:00:00Z'}, {manager: " + manager +
               ", time: '2026-01-02T00:00:00Z'}, {manager: status, time: '2026-01-03T00:00:00Z', "
               "subresource: status}]}\nspec: " +
               spec)
        .documents.at(0);
  }
  void listen() {
    subscription.reset();  // before the daemon that it is of
    start();
    subscription.emplace(daemon->observers(), *this);
    run(2s);
  }
  void on_decided(const policy::Decision&) override {}
  void on_offer_change(const policy::OfferChange& change) override { told.push_back(change); }
  std::vector<policy::OfferChange> next() {
    run(5s);
    return std::exchange(told, {});
  }
  static policy::OfferChange change(Kind kind, std::vector<std::string> devices, const std::string& policy,
                                    int64_t generation, const std::string& outcome = "") {
    return {.kind = kind,
            .driver = kDriver,
            .devices = std::move(devices),
            .policy = policy,
            .generation = generation,
            .manager = "kubectl",
            .outcome = outcome};
  }
  // But for why, which is told of apart.
  static void expect_one(std::vector<policy::OfferChange> got, const policy::OfferChange& wanted) {
    ASSERT_EQ(got.size(), 1u);
    EXPECT_NE(got[0].why, "");
    got[0].why.clear();
    EXPECT_EQ(got[0].devices, wanted.devices);
    EXPECT_EQ(got[0].outcome, wanted.outcome);
    EXPECT_EQ(got[0], wanted) << got[0].policy << " " << got[0].generation << " " << got[0].manager;
  }
  std::vector<policy::OfferChange> told;
  std::optional<Subscription> subscription;
};

const std::vector<std::string> kAllVfs = {"0000-3b-02-0", "0000-3b-02-1", "0000-3b-02-2", "0000-3b-02-3"};

TEST_F(OfferChanges, NameThePolicyWithGenerationAndManager) {
  listen();
  expect_one(std::exchange(told, {}), change(Kind::kFound, kAllVfs, "policy dra-driver-sriov/p", 1));
  put("p", 2, "kubectl", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0-1']}]}]}");
  expect_one(next(),
             change(Kind::kWithdrawn, {kAllVfs[2], kAllVfs[3]}, "policy dra-driver-sriov/p", 2, "no-match"));
  put("q", 7, "kubectl", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#2']}]}]}");
  expect_one(next(), change(Kind::kOffered, {kAllVfs[2]}, "policy dra-driver-sriov/q", 7));
  put("q", 8, "kubectl", "{configs: [{resourceName: x, resourceFilters: [{pfNames: ['ens1f0#2']}]}]}");
  expect_one(next(), change(Kind::kChanged, {kAllVfs[2]}, "policy dra-driver-sriov/q", 8));
  remove_policy("q");
  expect_one(next(), change(Kind::kWithdrawn, {kAllVfs[2]}, "policy dra-driver-sriov/q", 8, "no-match"));
  EXPECT_EQ(
      log.count("offered devices changed change=withdrawn driver=" + std::string(kDriver) +
                " devices=0000-3b-02-2 count=1 policy=policy dra-driver-sriov/q generation=8 manager=kubectl "
                "outcome=no-match why=policy dra-driver-sriov/q deleted"),
      1u)
      << log.all();
}

// Red when a device that another policy hides is reported for the policy that offered it.
TEST_F(OfferChanges, NameThePolicyThatHidesADevice) {
  listen();
  told.clear();
  expose(
      "hide", 3,
      "{selector: {cel: 'device.attributes[\"dra.networking\"].ifName == \"ens1f0v1\"'}, action: exclude}");
  auto wanted = change(Kind::kWithdrawn, {kAllVfs[1]}, "DeviceExposurePolicy hide", 3, "excluded");
  wanted.manager = "argocd";
  expect_one(next(), wanted);
}

TEST_F(OfferChanges, ReportARemovedDevice) {
  listen();
  told.clear();
  const std::string vf = tree.pci(kPf).vf(3).address();
  tree.pci(kPf).vf(3).remove();
  pci_event("remove", vf);
  expect_one(next(), change(Kind::kWithdrawn, {kAllVfs[3]}, "policy dra-driver-sriov/p", 1, "gone"));
}

TEST_F(OfferChanges, IncludeTheExposureDriver) {
  remove_policy("p");
  listen();
  told.clear();
  expose("pfs", 5, of_type("pf"));
  auto wanted = change(Kind::kOffered, {kWholePf}, "DeviceExposurePolicy pfs", 5);
  wanted.manager = "argocd";
  wanted.driver = kExposureDriver;
  expect_one(next(), wanted);
  remove_exposure("pfs");
  wanted.kind = Kind::kWithdrawn;
  wanted.outcome = "no-match";
  expect_one(next(), wanted);
}

TEST_F(OfferChanges, AreEmptyAfterARestart) {
  listen();
  told.clear();
  listen();
  expect_one(std::exchange(told, {}), change(Kind::kFound, kAllVfs, "policy dra-driver-sriov/p", 1));
}

}  // namespace
}  // namespace sliced::daemon
