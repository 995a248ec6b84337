#include "kubectl/migrate/node_policies.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "kubectl/migrate/comparing.h"
#include "kubectl/migrate/objects.h"
#include "t/fixture/golden.h"
#include "t/fixture/vf_host.h"

namespace sliced::migrate {
namespace node_policies_test {
namespace {

struct Read {
  std::vector<Config> configs;
  Complaints complaints;
  // Without the questions about alternative names, which each policy with pfNames has here: there are no states.
  std::string texts() const {
    std::string out;
    for (const Complaint& complaint : complaints.all())
      if (text_of(complaint).find(": open question: ") == std::string::npos) out += text_of(complaint) + "\n";
    return out;
  }
  std::string questions() const {
    std::string out;
    for (const Complaint& complaint : complaints.all())
      if (text_of(complaint).find(": open question: ") != std::string::npos) out += text_of(complaint) + "\n";
    return out;
  }
};

Read read(const std::vector<std::string>& specs, const VfIds& ids = {},
          const std::vector<NodeInterfaces>& states = {}) {
  const OperatorFacts facts{.ids = ids, .states = states};
  Read out;
  int number = 0;
  for (const std::string& spec : specs) {
    const auto yaml = kube::decode_yaml(
        "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\n"
        "metadata: {name: p" +
        std::to_string(++number) + "}\nspec: " + spec + "\n");
    EXPECT_TRUE(is_node_policy(yaml.documents.at(0)));
    read_node_policy(yaml.documents.at(0), "p.yaml", "openshift.io", facts, out.configs, out.complaints);
  }
  order_node_policies(out.configs, out.complaints);
  return out;
}

hotplug::InventoryPtr host() {
  fixture::VfHost host;
  host.pf("0000:3b:00.0", "ens1f0", 4)
      .pf("0000:5e:00.0", "ens2f0", 2)
      .pf("0000:af:00.0", "ens3f0", 2, "15b3");
  return host.inventory();
}

// "DEVICE before after", of those that differ with both names.
std::string compared(const std::vector<Config>& configs, const kube::NodeView& node) {
  Complaints complaints;
  const auto objects = objects_of(configs, {}, complaints);
  EXPECT_FALSE(complaints.has_errors());
  std::string out;
  for (const ComparedDevice& row :
       compare(by_plugin({operators_config(configs, node)}, node), objects, host(), node, {}))
    out += row.device.substr(5) + " " +
           (row.is_same() ? row.before : "(" + row.before + ")->(" + row.after + ")") + "\n";
  return out;
}

TEST(NodePolicies, OrdersNodePoolsLikeTheOperator) {
  const Read got = read(
      {"{resourceName: a, nodeSelector: {zone: a}, numVfs: 4, nicSelector: {pfNames: ['ens1f0#0-1']}}",
       "{resourceName: b, nodeSelector: {zone: a}, priority: 50, numVfs: 4, nicSelector: {pfNames: ['ens1f0#1-3']}}",
       "{resourceName: c, nodeSelector: {zone: b}, numVfs: 4, nicSelector: {vendor: '15b3'}}"});
  EXPECT_EQ(got.texts(), "");
  const std::string a =
      "3b:00.1 openshift.io/a\n3b:00.2 openshift.io/b\n3b:00.3 openshift.io/b\n3b:00.4 openshift.io/b\n";
  EXPECT_EQ(compared(got.configs, {"node-a", {{"zone", "a"}}}), a);
  EXPECT_EQ(compared(got.configs, {"node-b", {{"zone", "b"}}}),
            "af:00.1 openshift.io/c\naf:00.2 openshift.io/c\n");
  EXPECT_EQ(compared(got.configs, {"node-c", {}}), "");
}

// Red when a name that the operator may take for an alternative one is taken for the interface's own without a word.
TEST(NodePolicies, CannotDecideAlternativeNamesWithoutANodeState) {
  const std::string spec = "{resourceName: a, nicSelector: {pfNames: ['ens1f0#0-1', 'ens1f0#3', storage0]}}";
  fixture::expect_golden(read({spec}).questions());
  NodeInterfaces state;
  state.node = "worker-1";
  state.interfaces.emplace_back().name = "ens1f0";
  const std::string rest = read({spec}, {}, {state}).questions();
  EXPECT_EQ(rest.find("ens1f0"), std::string::npos) << rest;
  EXPECT_NE(rest.find("\"storage0\""), std::string::npos) << rest;
  state.interfaces.emplace_back().name = "storage0";
  EXPECT_EQ(read({spec}, {}, {state}).questions(), "");
  EXPECT_EQ(read({"{resourceName: a, nicSelector: {rootDevices: ['0000:3b:00.0']}}"}).questions(), "");
}

// Red when the lowest priority that the operator's CRD accepts comes first.
TEST(NodePolicies, AcceptsAnyPriority) {
  const Read got = read({"{resourceName: a, priority: 0, nicSelector: {vendor: '15b3'}}",
                         "{resourceName: b, priority: 1, nicSelector: {vendor: '15b3'}}",
                         "{resourceName: c, priority: 99, nicSelector: {vendor: '15b3'}}"});
  std::string names;
  for (const Config& config : got.configs) names += config.name + " ";
  EXPECT_EQ(names, "p3 p2 p1 ");
}

TEST(NodePolicies, UsesTheOperatorsDeviceIdsOfVfs) {
  const std::string spec = "{resourceName: a, nodeSelector: {}, numVfs: 4, nicSelector: {deviceID: '1592'}}";
  fixture::expect_golden(read({spec}).texts());
  const std::string with_pfs =
      read({"{resourceName: a, numVfs: 4, nicSelector: {deviceID: '1592', pfNames: [ens1f0]}}"}).texts();
  EXPECT_NE(with_pfs.find("or delete deviceID, if each PF that pfNames or rootDevices name has this id"),
            std::string::npos)
      << with_pfs;
  VfIds ids;
  Complaints complaints;
  const auto map = kube::decode_yaml(
      "kind: ConfigMap\nmetadata: {name: supported-nic-ids}\ndata: {E810: '8086 1592 1889', broken: 'x y'}\n");
  EXPECT_TRUE(is_nic_ids(map.documents.at(0)));
  read_nic_ids(map.documents.at(0), "ids.yaml", ids, complaints);
  EXPECT_EQ(ids, (VfIds{{"1592", "1889"}}));
  EXPECT_TRUE(complaints.has_errors());
  const Read got = read({spec}, ids);
  EXPECT_EQ(got.texts(), "");
  EXPECT_EQ(got.configs.at(0).resources.at(0).selectors.at(0).devices, std::vector<std::string>{"1889"});
}

TEST(NodePolicies, VfioVhostAndLinkTypesBelongToTheClass) {
  const Read got = read(
      {"{resourceName: a, deviceType: vfio-pci, needVhostNet: true, linkType: eth, nicSelector: {vendor: '8086'}}",
       "{resourceName: b, deviceType: netdevice, linkType: IB, nicSelector: {vendor: '15b3'}}"});
  EXPECT_EQ(got.texts(), "");
  EXPECT_TRUE(got.configs.at(0).resources.at(0).gives_vfio);
  EXPECT_TRUE(got.configs.at(0).resources.at(0).gives_vhost);
  EXPECT_TRUE(got.configs.at(0).resources.at(0).selectors.at(0).link_types.empty());
  EXPECT_EQ(got.configs.at(1).resources.at(0).selectors.at(0).link_types,
            std::vector<std::string>{"infiniband"});
}

TEST(NodePolicies, HandlesPoliciesThatShareAResource) {
  // The operator makes one selector of them, field by field: the same where they differ in one list.
  const Read same = read({"{resourceName: a, nicSelector: {vendor: '8086', pfNames: [ens1f0]}}",
                          "{resourceName: a, nicSelector: {vendor: '8086', pfNames: [ens2f0]}}"});
  EXPECT_EQ(same.texts(), "");
  EXPECT_EQ(compared(same.configs, {"n", {}}),
            "3b:00.1 openshift.io/a\n3b:00.2 openshift.io/a\n3b:00.3 openshift.io/a\n3b:00.4 openshift.io/a\n"
            "5e:00.1 openshift.io/a\n5e:00.2 openshift.io/a\n");
  const Read lopsided = read({"{resourceName: a, nicSelector: {pfNames: [ens1f0]}}",
                              "{resourceName: a, nicSelector: {vendor: '15b3'}}"});
  fixture::expect_golden(lopsided.texts());
  const Read ranges = read({"{resourceName: a, nicSelector: {pfNames: ['ens1f0#0-1']}}",
                            "{resourceName: a, nicSelector: {pfNames: ['ens1f0#2']}}"});
  EXPECT_NE(ranges.texts().find("warning: SriovNetworkNodePolicy p2"), std::string::npos);
  EXPECT_EQ(compared(ranges.configs, {"n", {}}),
            "3b:00.1 openshift.io/a\n3b:00.2 openshift.io/a\n3b:00.3 ()->(openshift.io/a)\n");
  // What is asked of one node is not asked of nodes that differ in a label's value.
  for (const char* other :
       {"nicSelector: {vendor: '15b3'}", "isRdma: true, nicSelector: {pfNames: [ens2f0]}"}) {
    const auto texts = [&](const std::string& zone) {
      return read({"{resourceName: a, nodeSelector: {zone: a}, nicSelector: {pfNames: [ens1f0]}}",
                   "{resourceName: a, nodeSelector: {zone: " + zone + "}, " + other + "}"})
          .texts();
    };
    EXPECT_EQ(texts("b"), "");
    EXPECT_NE(texts("a").find("error: "), std::string::npos);
  }
  const Read rdma = read({"{resourceName: a, isRdma: true, nicSelector: {vendor: '8086'}}",
                          "{resourceName: a, nicSelector: {vendor: '15b3'}}"});
  EXPECT_TRUE(rdma.complaints.has_errors());
}

TEST(NodePolicies, ReportsFieldsThatCannotBeConverted) {
  const std::pair<std::string, std::string> rows[] = {
      {"{resourceName: a, nicSelector: {netFilter: 'openstack/NetworkID:1'}}",
       "spec.nicSelector.netFilter selects functions in a VM by the cloud's network, and the policy does not name them: give "
       "the SriovNetworkNodeStates of the nodes as another FILE (kubectl -n sriov-network-operator get "
       "sriovnetworknodestates -o yaml), or give the ConfigMap device-plugin-config, which the operator makes of its policies, in place of them (kubectl "
       "-n sriov-network-operator get configmap device-plugin-config -o yaml)"},
      {"{resourceName: a, vdpaType: vhost, nicSelector: {vendor: '15b3'}}",
       "spec.vdpaType cannot be carried over: delete it from this file, and select by the attribute vdpa in the DeviceClass "
       "of the resource (docs/attributes.md); the operator still makes the vDPA devices by its own policy"},
      {"{resourceName: a}", "spec.nicSelector is missing"},
      {"{nicSelector: {vendor: '15b3'}}",
       "spec.resourceName is \"\": must consist of letters, digits, _ and - behind the prefix"},
      {"{resourceName: " + std::string(80, 'a') + ", nicSelector: {vendor: '15b3'}}",
       "spec.resourceName is \"" + std::string(64, 'a') +
           "...\": has 93 bytes, at most 63 can be published: take a shorter name, here and in the pods"},
      {"{resourceName: a, nodeSelector: {gen: 5}, nicSelector: {vendor: '15b3'}}",
       "spec.nodeSelector has a number for gen, expected a string: put it in quotes"}};
  for (const auto& [spec, error] : rows)
    EXPECT_EQ(read({spec}).texts(), "p.yaml:4: error: SriovNetworkNodePolicy p1: " + error + "\n");
  // The operator itself passes over its default policy.
  Read none;
  read_node_policy(kube::decode_yaml("metadata: {name: default}\nspec: {}").documents.at(0), "p", "x", {},
                   none.configs, none.complaints);
  EXPECT_TRUE(none.configs.empty());
}

// config/crd/bases/sriovnetwork.openshift.io_sriovnetworknodepolicies.yaml of the operator. Red when a value that its API server refuses is
// read as if a cluster had it.
TEST(NodePolicies, RefusesValuesOutsideTheCrdsBounds) {
  const struct {
    const char *field, *value, *error;  // "" none
  } rows[] = {
      {"priority", "0", ""},
      {"priority", "99", ""},
      {"priority", "100", "is 100, expected 0 to 99"},
      {"priority", "-1", "is -1, expected 0 to 99"},
      {"priority", "9223372036854775807", "is 9223372036854775807, expected 0 to 99"},
      {"priority", "'5'", "is a string, expected an integer"},
      {"numVfs", "0", ""},
      {"numVfs", "128", ""},
      {"numVfs", "-1", "is -1, expected 0 or more"},
      {"mtu", "1", ""},
      {"mtu", "9000", ""},
      {"mtu", "0", "is 0, expected 1 or more"},
      {"mtu", "-1500", "is -1500, expected 1 or more"},
      {"linkType", "ETH", ""},
      {"linkType", "IB", ""},
      {"linkType", "Eth", "is \"Eth\", expected eth, ETH, ib or IB"},
      {"linkType", "roce", "is \"roce\", expected eth, ETH, ib or IB"},
      {"eSwitchMode", "legacy", ""},
      {"eSwitchMode", "switchdev", ""},
      {"eSwitchMode", "Switchdev", "is \"Switchdev\", expected legacy or switchdev"},
      {"deviceType", "netdevice", ""},
      {"deviceType", "vfio", "is \"vfio\", expected netdevice or vfio-pci"},
  };
  for (const auto& row : rows) {
    const std::string field = row.field, error = row.error;
    const bool is_bound = error.find("a string") == std::string::npos;
    EXPECT_EQ(
        read({"{resourceName: a, " + field + ": " + row.value + ", nicSelector: {vendor: '15b3'}}"}).texts(),
        error.empty()
            ? ""
            : "p.yaml:4: error: SriovNetworkNodePolicy p1: spec." + field + " " + error +
                  (is_bound ? ": the operator's CRD refuses the policy with it, correct it or leave it out"
                            : "") +
                  "\n")
        << field << " " << row.value;
  }
}

TEST(NodePolicies, BoundsPoliciesOfOneResourceAndList) {
  std::string names;
  for (int i = 0; i < 257; ++i) names += (i > 0 ? ", e" : "e") + std::to_string(i);
  EXPECT_EQ(read({"{resourceName: a, numVfs: 1, nicSelector: {pfNames: [" + names + "]}}"}).texts(),
            "p.yaml:4: error: SriovNetworkNodePolicy p1: spec.nicSelector.pfNames has 257 entries, at most "
            "256 can be said: split the policy in two\n");
  std::vector<std::string> specs(65, "{resourceName: a, numVfs: 1, nicSelector: {vendor: '8086'}}");
  EXPECT_EQ(read(specs).texts(),
            "p.yaml:1: error: resource openshift.io/a is that of 65 SriovNetworkNodePolicies, at most 64 can "
            "be carried over: join those that differ in one field\n");
  specs.pop_back();
  EXPECT_EQ(read(specs).texts(), "");
}

}  // namespace
}  // namespace node_policies_test
}  // namespace sliced::migrate
