#include "config/option_table.h"

#include <gtest/gtest.h>

#include <set>

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

TEST(OptionTable, RefusesWithWhatWouldBeRight) {
  const struct {
    const char* option;
    std::string text;
    const char* wrong;
  } rows[] = {
      {"cluster", "", "must be in-cluster, kubeconfig:PATH or dir:PATH"},
      {"cluster", "dir:", "must be in-cluster, kubeconfig:PATH or dir:PATH; did you mean dir?"},
      {"cluster", "/etc/x",
       "must be in-cluster, kubeconfig:PATH or dir:PATH; did you mean dir:/etc/x or kubeconfig:/etc/x?"},
      {"cluster", "kubconfig:x", "must be in-cluster, kubeconfig:PATH or dir:PATH; did you mean kubeconfig?"},
      {"node-name", "Worker1",
       "must be the name of a Node: lower-case letters, digits, '-' and '.', at most 253 bytes; did you mean "
       "worker1?"},
      {"node-name", "a_b",
       "must be the name of a Node: lower-case letters, digits, '-' and '.', at most 253 bytes"},
      {"node-name", std::string(254, 'a'),
       "must be the name of a Node: lower-case letters, digits, '-' and '.', at most 253 bytes"},
      {"readiness", "adminMac", "is a string, wants a map"},
      {"readiness", "{require: [adminMac]", "must be a map such as {require: [adminMac], stableFor: 2s}"},
      {"readiness", "{onLoss: x}", "onLoss is \"x\", wants withdraw, taint or keep"},
      {"readiness", "{mtuAtleast: 9000}", "mtuAtleast unknown field; did you mean mtuAtLeast?"},
      {"node-labels", "a", "\"a\" has no '='; write key=value,key2=value2"},
      {"node-labels", "a=b,", "\"\" has no '='; write key=value,key2=value2"},
      {"node-labels", "-a=b", "\"-a\" is no label key: [DNS name/]letters, digits, '-', '_', '.'"},
      {"node-labels", "/a=b", "\"/a\" is no label key: [DNS name/]letters, digits, '-', '_', '.'"},
      {"node-labels", "x_y/a=b", "\"x_y/a\" is no label key: [DNS name/]letters, digits, '-', '_', '.'"},
      {"node-labels", "a=b c",
       "the value \"b c\" of a is no label value: at most 63 letters, digits, '-', '_', '.', the first and "
       "last a letter "
       "or digit"},
      {"node-labels", "a=b,a=c", "\"a\" is there twice"},
      {"for", "file",
       "must be annotation, node-state, node-state:allow-empty or file:/PATH, such as file:/run/sliced/configured; did you mean file?"},
      {"for", "file:run/x",
       "must be annotation, node-state, node-state:allow-empty or file:/PATH, such as file:/run/sliced/configured; did you mean file?"},
      {"until-configured", "annotations",
       "must be annotation, node-state, node-state:allow-empty or file:/PATH, such as file:/run/sliced/configured; did you mean annotation?"},
      {"pod-name", "A",
       "must be the name of a Pod: lower-case letters, digits, '-' and '.', at most 253 bytes"},
      {"namespace", "a.b", "must be a namespace: lower-case letters, digits and '-', at most 63 bytes"},
      {"host", "", "must be a path"},
      {"file", "", "must be a path"},
      {"sriov-driver-name", std::string(64, 'a'),
       "must be a DNS name (lower-case letters, digits, '-', '.') of at most 63 bytes"},
      {"health-address", "9810",
       "must be ADDRESS:PORT or :PORT, an IP address and a port of 1 to 65535, such as 127.0.0.1:9810 or [::1]:9810"},
      {"health-address", "localhost:9810",
       "must be ADDRESS:PORT or :PORT, an IP address and a port of 1 to 65535, such as 127.0.0.1:9810 or [::1]:9810"},
      {"health-address", "127.0.0.1:0",
       "must be ADDRESS:PORT or :PORT, an IP address and a port of 1 to 65535, such as 127.0.0.1:9810 or [::1]:9810"},
      {"health-address", "127.0.0.1:65536",
       "must be ADDRESS:PORT or :PORT, an IP address and a port of 1 to 65535, such as 127.0.0.1:9810 or [::1]:9810"},
      {"health-address", "::1:9810",
       "must be ADDRESS:PORT or :PORT, an IP address and a port of 1 to 65535, such as 127.0.0.1:9810 or [::1]:9810"},
      {"health-address", "[127.0.0.1]:1",
       "must be ADDRESS:PORT or :PORT, an IP address and a port of 1 to 65535, such as 127.0.0.1:9810 or [::1]:9810"},
      {"health-address", "/run/x",
       "must be ADDRESS:PORT or :PORT, an IP address and a port of 1 to 65535, such as 127.0.0.1:9810 or [::1]:9810"},
      {"kubelet-plugin", "true", "must be one of off, on"},
      {"report", "no", "must be one of off, on"},
      {"kubelet-plugins-directory-path", "", "must be a path"},
      {"configuration-mode", "multus", "must be one of STANDALONE, MULTUS; did you mean MULTUS?"},
      {"default-interface-prefix", "interface-prefix",
       "must be 1 to 11 letters, digits and \"_.-\", such as vfnet"},
      {"default-interface-prefix", "a/b", "must be 1 to 11 letters, digits and \"_.-\", such as vfnet"},
      {"nri-plugin-name", "a b", "must be 1 to 128 letters, digits and \"_.+-\", such as dra-driver-sriov"},
      {"nri-plugin-index", "7", "must be two digits, such as 42"},
      {"nri-plugin-index", "4x", "must be two digits, such as 42"},
      {"pod-uid", "../x", "must be a UID: 1 to 64 letters, digits and '-'"},
      {"pod-uid", std::string(65, 'a'), "must be a UID: 1 to 64 letters, digits and '-'"},
      {"enable-device-metadata", "on", "must be one of true, false"},
      {"mac-annotation", "kubevirt.io/dra networks",
       "must be an annotation's key, as kubevirt.io/dra-networks: [DNS name/]letters, digits, '-', '_', '.'"},
      {"kinds-off", "DeviceAttribute",
       "\"DeviceAttribute\" is no kind that sliced watches; did you mean DeviceAttributes?"},
      {"configure", "admin-macs",
       "\"admin-macs\" is nothing that sliced configures; it is admin-mac; did you mean admin-mac?"},
      {"sync-interval", "5", "must be a duration such as 5m, 90s, 1m30s or 100ms"},
      {"allow-short-sync", "yes", "must be one of true, false"},
      {"log-format", "jornald", "must be one of auto, text, json, journald; did you mean journald?"},
      {"log-level", "", "must be one of debug, info, warning, error"},
      {"output", "jsn", "must be one of table, yaml, json, diff, wide; did you mean json?"},
  };
  for (const auto& row : rows) {
    Options options;
    EXPECT_EQ(find_option(row.option)->parse(row.text, options), row.wrong) << row.option << " " << row.text;
    EXPECT_EQ(options, Options{}) << row.option << ": a refused value must change nothing";
  }
}

// Red when it is every address of the machine.
TEST(OptionTable, APortAloneIsThisMachinesOwn) {
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
