#include "policy/node_state/node_state.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"

namespace sliced::policy {
namespace node_state_test {

SriovNodeState decoded(const std::string& yaml) {
  const kube::YamlDocuments documents = kube::decode_yaml(yaml);
  EXPECT_TRUE(documents.problems.empty());
  return decode_node_state(documents.documents.at(0));
}

std::string said(const Problems& problems) {
  std::string out;
  for (const Problem& problem : problems) out += problem.field + " " + problem.what + "\n";
  return out;
}

// As the operator writes it; with a field of tomorrow in each part.
constexpr const char* kWhole = R"(
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodeState
metadata:
  name: worker-1
  namespace: sriov-network-operator
  generation: 7
  annotations: {sriovnetwork.openshift.io/current-state: Idle, sriovnetwork.openshift.io/desired-state: Idle}
spec:
  tomorrow: 1
  bridges: {ovs: [{name: br-0000_3b_00.0}]}
  system: {rdmaMode: shared}
  interfaces:
    - pciAddress: "0000:3b:00.0"
      name: ens1f0
      numVfs: 8
      mtu: 9000
      linkType: eth
      eSwitchMode: switchdev
      externallyManaged: true
      tomorrow: {a: 1}
      vfGroups:
        - {resourceName: fast, policyName: a, deviceType: vfio-pci, vfRange: 0-3, mtu: 9000, isRdma: true, tomorrow: 1}
        - {resourceName: slow, vfRange: 4-7, vdpaType: vhost}
    - pciAddress: "0000:5E:00.0"
      numVfs: 1
status:
  syncStatus: InProgress
  lastSyncError: no
  interfaces:
    - pciAddress: "0000:3b:00.0"
      numVfs: 8
      mtu: 1500
      linkType: ETH
      linkAdminState: up
      eSwitchMode: legacy
      Vfs:
        - {pciAddress: "0000:3b:00.2", vfID: 1, driver: iavf, mac: "02:00:00:00:00:01", mtu: 1500,
           guid: "0000:0000:0000:0000", vdpaType: virtio, Vlan: 7}
)";

TEST(SriovNodeState, DecodesTheStateAndIgnoresUnknownFields) {
  const SriovNodeState state = decoded(kWhole);
  EXPECT_EQ(said(state.problems), "status.lastSyncError is a boolean, expected a string\n");
  EXPECT_FALSE(state.is_spec_unknown);
  EXPECT_EQ(state.namespace_ + "/" + state.name, "sriov-network-operator/worker-1");
  EXPECT_EQ(state.generation, 7);
  EXPECT_EQ(state.sync_status, "InProgress");
  EXPECT_EQ(state.current_state, "Idle");
  ASSERT_EQ(state.wanted.size(), 2u);
  const SriovNodeState::Wanted& pf = state.wanted[0];
  EXPECT_EQ(said(pf.problems), "");
  EXPECT_EQ(pf.pci->text() + " " + pf.name, "0000:3b:00.0 ens1f0");
  EXPECT_EQ(std::tie(pf.num_vfs, pf.mtu, pf.eswitch_mode),
            std::make_tuple(8, 9000, std::string("switchdev")));
  EXPECT_EQ(pf.link_type, 1);
  EXPECT_TRUE(pf.externally_managed);
  ASSERT_EQ(pf.groups.size(), 2u);
  EXPECT_EQ(pf.group_of(3)->device_type, "vfio-pci");
  EXPECT_TRUE(pf.group_of(3)->is_rdma);
  EXPECT_EQ(pf.group_of(4)->vdpa_type, "vhost");
  EXPECT_EQ(pf.group_of(8), nullptr);
  const SriovNodeState::Wanted& other = state.wanted[1];
  EXPECT_EQ(other.pci->text(), "0000:5e:00.0") << "people write capitals";
  EXPECT_EQ(other.eswitch_mode, "legacy") << "as the operator has an absent one";
  const SriovNodeState::Seen* seen = state.seen_of(*pf.pci);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(std::tie(seen->mtu, seen->link_type, seen->link_admin_state),
            std::make_tuple(1500, std::string("ETH"), std::string("up")));
  ASSERT_NE(seen->vf(1), nullptr);
  EXPECT_EQ(seen->vf(1)->driver, "iavf");
  EXPECT_EQ(seen->vf(0), nullptr);
}

// The first group with a VF speaks of it, as the operator's loop ends with it.
TEST(SriovNodeState, TheFirstOfOverlappingGroupsCounts) {
  const SriovNodeState state = decoded(
      "metadata: {name: a-node}\n"
      "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 4, vfGroups: [{resourceName: a, vfRange: 1-2}, "
      "{resourceName: b, vfRange: 0-3}, {resourceName: c, vfRange: 3-1}]}]}\n");
  ASSERT_EQ(said(state.wanted.at(0).problems), "");
  std::string who;
  for (int i = 0; i < 4; ++i) who += state.wanted[0].group_of(i)->resource_name;
  EXPECT_EQ(who, "baab");
}

// Each is a way in which an interface would be called in sync that is not.
TEST(SriovNodeState, ReportsInvalidInterfaces) {
  const struct {
    const char* interface;
    const char* problem;
  } rows[] = {
      {"{numVfs: 1}", "pciAddress is missing; it names the PF"},
      {"{pciAddress: ens1f0}", "pciAddress is \"ens1f0\", expected a PCI address as \"0000:3b:00.0\""},
      {"{pciAddress: '0000:3b:00.0', numVfs: many}", "numVfs is a string, expected a whole number"},
      {"{pciAddress: '0000:3b:00.0', numVfs: -1}", "numVfs is -1, expected 0 to 65535"},
      {"{pciAddress: '0000:3b:00.0', mtu: 1000000000}", "mtu is 1000000000, expected 0 to 1048576"},
      {"{pciAddress: '0000:3b:00.0', linkType: wifi}", "linkType is \"wifi\", expected \"ETH\" or \"IB\""},
      {"{pciAddress: '0000:3b:00.0', eSwitchMode: on1}",
       "eSwitchMode is \"on1\", expected \"legacy\" or \"switchdev\""},
      {"{pciAddress: '0000:3b:00.0', externallyManaged: 'yes'}",
       "externallyManaged is a string, expected true or false"},
      {"{pciAddress: '0000:3b:00.0', vfGroups: [{}]}",
       "vfGroups[0].vfRange is missing; it names the VFs of the group"},
      {"{pciAddress: '0000:3b:00.0', vfGroups: [{vfRange: '3'}]}",
       "vfGroups[0].vfRange is \"3\", expected the first and the last VF as \"0-7\""},
      {"{pciAddress: '0000:3b:00.0', vfGroups: [{vfRange: 0-7, vdpaType: net}]}",
       "vfGroups[0].vdpaType is \"net\", expected \"virtio\" or \"vhost\""},
      {"{pciAddress: '0000:3b:00.0', vfGroups: 7}", "vfGroups is a number, expected a list"},
      {"7", " is a number, expected a map"},
  };
  for (const auto& row : rows) {
    const SriovNodeState state =
        decoded("metadata: {name: a-node}\nspec: {interfaces: [" + std::string(row.interface) + "]}\n");
    ASSERT_EQ(state.wanted.size(), 1u) << row.interface;
    const std::string all = said(state.wanted[0].problems);
    EXPECT_NE(all.find("spec.interfaces[0]" + std::string(row.problem[0] == ' ' ? "" : ".") + row.problem),
              std::string::npos)
        << row.interface << ":\n"
        << all;
    EXPECT_FALSE(state.is_spec_unknown) << "of the others it is known: " << row.interface;
  }
}

TEST(SriovNodeState, AnUnreadableSpecRequestsUnknown) {
  for (const char* object :
       {"{}", "{metadata: {name: a-node}, spec: 7}", "{metadata: {name: a-node}, spec: {interfaces: {}}}"})
    EXPECT_TRUE(decoded(object).is_spec_unknown) << object;
  EXPECT_FALSE(decoded("{metadata: {name: a-node}}").is_spec_unknown) << "the operator is still filling it";
  std::string many = "{metadata: {name: a-node}, spec: {interfaces: [";
  for (int i = 0; i < 1025; ++i) many += "{},";
  const SriovNodeState state = decoded(many + "]}}");
  EXPECT_TRUE(state.is_spec_unknown);
  EXPECT_EQ(said(state.problems), "spec.interfaces has 1025 entries, at most 1024 are read\n");
}

// Red when a broken status makes the spec unknown: it decides nothing.
TEST(SriovNodeState, ReportsAnInvalidStatus) {
  const SriovNodeState state =
      decoded("{metadata: {name: a-node}, spec: {interfaces: []}, status: {interfaces: 7}}");
  EXPECT_EQ(said(state.problems), "status.interfaces is a number, expected a list\n");
  EXPECT_FALSE(state.is_spec_unknown);
}

}  // namespace node_state_test
}  // namespace sliced::policy
