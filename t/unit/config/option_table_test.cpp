#include "config/option_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "t/fixture/golden.h"

namespace sliced::config {
namespace {

TEST(OptionTable, NamesAreUniqueInEveryForm) {
  std::set<std::string_view> names, files, environment;
  std::set<char> shorts;
  for (const OptionInfo& option : option_table()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    if (option.short_name != 0) {
      EXPECT_TRUE(shorts.insert(option.short_name).second) << option.name;
    }
    if (option.env != nullptr) {
      EXPECT_TRUE(environment.insert(option.env).second) << option.env;
    }
    if (!option.file_key.empty()) {
      EXPECT_TRUE(files.insert(option.file_key).second) << option.file_key;
    }
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_NE(option.commands, 0u) << option.name << " is taken by no command";
  }
}

// A reload compares and copies options by their texts.
TEST(OptionTable, EveryDefaultReadsBackAsItIsPrinted) {
  const Options standard;
  for (const OptionInfo& option : option_table()) {
    const std::string text = option.print(standard);
    if (text.empty()) continue;
    Options options;
    EXPECT_EQ(option.parse(text, options), "") << option.name;
    EXPECT_EQ(options, standard) << option.name;
  }
}

TEST(OptionTable, ValuesReadBackAsTheyArePrinted) {
  const struct {
    const char* option;
    const char* text;
  } rows[] = {
      {"cluster", "kubeconfig:/home/a/.kube/config"},
      {"cluster", "dir:/a:b"},
      {"cluster", "in-cluster"},
      {"node-name", "worker-1.example.com"},
      {"node-labels", "a=b,example.com/zone=,kubernetes.io/os=linux"},
      {"node-labels", ""},
      {"namespace", "kube-system"},
      {"host", "/snapshot"},
      {"config", "/etc/sliced.yaml"},
      {"sriov-driver-name", "sriov.example.com"},
      {"exposure-driver-name", "net.example.com"},
      {"runtime-directory", "/run/user/1000/sliced"},
      {"health-address", "127.0.0.1:9810"},
      {"health-address", "[::1]:1"},
      {"webhook-address", "0.0.0.0:8443"},
      {"tls-cert-file", "/run/tls.crt"},
      {"tls-private-key-file", "/run/tls.key"},
      {"scheduler-version", "v1.36.2"},
      {"kubelet-plugin", "on"},
      {"skip-node-operations", "on"},
      {"numa-node-attribute", "list"},
      {"dranet-attributes", "on"},
      {"exclusion", "compatibility-groups"},
      {"report", "off"},
      {"events", "off"},
      {"kubelet-plugins-directory-path", "/k/plugins"},
      {"enable-device-metadata", "true"},
      {"kubevirt-environment", "true"},
      {"mac-annotation", "kubevirt.io/dra-networks"},
      {"kubelet-registrar-directory-path", "/k/registry"},
      {"cdi-root", "/k/cdi"},
      {"configuration-mode", "MULTUS"},
      {"default-interface-prefix", "net"},
      {"cni-path", "/opt/cni/bin:/usr/libexec/cni"},
      {"cni-plugins-exclusive", "bridge.ipMasq,portmap,sriov"},
      {"cni-plugins-shared", "macvlan"},
      {"vf-settings", "none"},
      {"nri-socket-path", "/run/nri.sock"},
      {"nri-plugin-name", "sliced_1.0+a"},
      {"nri-plugin-index", "07"},
      {"pod-uid", "0b1d3c5e-7777-4f4f-8e8e-123456789abc"},
      {"kinds-off", "DeviceAttributes,DeviceExposurePolicy,SriovResourcePolicy"},
      {"until-configured", "file:/run/sliced/configured"},
      {"until-configured", "node-state"},
      {"until-configured", "node-state:allow-empty"},
      {"for", "annotation"},
      {"pod-name", "sliced-x7k2p"},
      {"pod-namespace", "kube-system"},
      {"selector", "app=sliced,tier=node"},
      {"sync-interval", "1m30s"},
      {"allow-short-sync", "true"},
      {"readiness",
       "{require: [adminMac, udevInitialized], mtuAtLeast: 9000, stableFor: 1m2s, onLoss: keep}"},
      {"readiness", "{require: [], setAdminMac: true}"},
      {"readiness", ""},
      {"configure", "admin-mac"},
      {"ignore-node-state", "earlier-boot,failed"},
      {"timeout", "1m30s"},
      {"readiness-poll", "10s"},
      {"settle", "0s"},
      {"settle-max", "2s"},
      {"log-format", "journald"},
      {"log-level", "debug"},
      {"output", "diff"},
      {"show", "true"},
      {"watch", "true"},
      {"slices", "true"},
      {"kubeconfig", "/home/a/.kube/config"},
      {"context", "admin@cluster"},
      {"file", "/tmp/slices of all nodes.yaml"},
      {"node-state", "/tmp/node state.yaml"},
      {"node-state-namespace", "openshift-sriov-network-operator"},
      {"as", "exposure"},
      {"resource-prefix", "example.com"},
      {"check", "true"},
      {"since", "1h30m"},
      {"raw", "true"},
      {"on", "worker-1"},
      {"once", "true"},
      {"all-namespaces", "true"},
      {"page-address", "127.0.0.1:9811"},
      {"diff", "/tmp/policies.yaml"},
      {"diff-delete", "dep/a,srp/b"},
  };
  std::set<std::string_view> covered = {"help"};
  for (const auto& row : rows) {
    const OptionInfo* option = find_option(row.option);
    ASSERT_NE(option, nullptr) << row.option;
    Options options;
    EXPECT_EQ(option->parse(row.text, options), "") << row.option;
    EXPECT_EQ(option->print(options), row.text) << row.option;
    covered.insert(row.option);
  }
  EXPECT_EQ(covered.size(), option_table().size()) << "an option has no row here";
}

// The golden file (t/golden/unit_config) contains the text of each of these.
TEST(OptionTable, RefusalsNameAValidValue) {
  const std::string one_more_than_a_name_has(254, 'a'), one_more_than_a_label_has(64, 'a'),
      one_more_than_a_uid_has(65, 'a');
  const struct {
    const char* option;
    std::vector<std::string> texts;
  } rows[] = {
      {"cluster", {"", "dir:", "/etc/x", "kubconfig:x"}},
      {"node-name", {"Worker1", "a_b", one_more_than_a_name_has}},
      {"readiness", {"adminMac", "{require: [adminMac]", "{onLoss: x}", "{mtuAtleast: 9000}"}},
      {"node-labels", {"a", "a=b,", "-a=b", "/a=b", "x_y/a=b", "a=b c", "a=b,a=c"}},
      {"for", {"file", "file:run/x"}},
      {"until-configured", {"annotations"}},
      {"pod-name", {"A"}},
      {"namespace", {"a.b"}},
      {"host", {""}},
      {"file", {""}},
      {"sriov-driver-name", {one_more_than_a_label_has}},
      {"health-address",
       {"9810", "localhost:9810", "127.0.0.1:0", "127.0.0.1:65536", "::1:9810", "[127.0.0.1]:1", "/run/x"}},
      {"kubelet-plugin", {"true"}},
      {"numa-node-attribute", {"List", "1"}},
      {"dranet-attributes", {"true"}},
      {"exclusion", {"groups", "1"}},
      {"report", {"no"}},
      {"kubelet-plugins-directory-path", {""}},
      {"configuration-mode", {"multus"}},
      {"default-interface-prefix", {"interface-prefix", "a/b", ".all", "a..b"}},
      {"nri-plugin-name", {"a b"}},
      {"nri-plugin-index", {"7", "4x"}},
      {"pod-uid", {"../x", one_more_than_a_uid_has}},
      {"enable-device-metadata", {"on"}},
      {"mac-annotation", {"kubevirt.io/dra networks"}},
      {"kinds-off", {"DeviceAttribute"}},
      {"configure", {"admin-macs"}},
      {"sync-interval", {"5"}},
      {"allow-short-sync", {"yes"}},
      {"log-format", {"jornald"}},
      {"log-level", {""}},
      {"output", {"jsn"}},
  };
  std::string all;
  for (const auto& row : rows)
    for (const std::string& text : row.texts) {
      Options options;
      const std::string problem = find_option(row.option)->parse(text, options);
      EXPECT_NE(problem, "") << row.option << " " << text;
      EXPECT_EQ(options, Options{}) << row.option << ": a refused value must change nothing";
      all += "--" + std::string(row.option) + "=" + text + ": " + problem + "\n";
    }
  fixture::expect_golden(all);
}

// Red when it is every address of the machine.
TEST(OptionTable, BindsAPortWithoutAddressToLocalhost) {
  Options options;
  EXPECT_EQ(find_option("health-address")->parse(":9810", options), "");
  EXPECT_EQ(options.health_address, "127.0.0.1:9810");
}

TEST(OptionTable, KindsAreKnownInAnyCase) {
  Options options;
  EXPECT_EQ(find_option("kinds-off")->parse("sriovresourcepolicy", options), "");
  EXPECT_EQ(options.kinds_off, std::set<std::string>{"SriovResourcePolicy"});
}

}  // namespace
}  // namespace sliced::config
