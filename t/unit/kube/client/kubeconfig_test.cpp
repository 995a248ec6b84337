#include "kube/client/kubeconfig.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"

namespace sliced::kube {
namespace {

// A kubeconfig with the given lines inside its cluster and its user.
std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "contexts:\n- name: other\n  context: {cluster: x, user: y}\n- name: here\n  context: {cluster: c, "
         "user: u, namespace: ns}\n"
         "clusters:\n- name: c\n  cluster: {" +
         cluster +
         "}\n"
         "users:\n- name: u\n  user: {" +
         user + "}\n";
}

Result<Kubeconfig> decode(const std::string& yaml) {
  const YamlDocuments read = decode_yaml(yaml);
  EXPECT_TRUE(read.problems.empty()) << yaml;
  return decode_kubeconfig(read.documents.at(0), "/etc/kube");
}

Kubeconfig base() {
  return {.context = "here",
          .cluster = "c",
          .user = "u",
          .namespace_ = "ns",
          .server = *http::decode_url("https://k:6443")};
}

constexpr const char* kServer = "server: 'https://k:6443'";
constexpr const char* kPemData = "LS0tLS1CRUdJTiBYCg==";  // "-----BEGIN X\n"

TEST(DecodeKubeconfig, Forms) {
  Kubeconfig want = base();
  want.certificate_authority.path = "/etc/kube/pki/ca.crt";
  want.tls_server_name = "kubernetes";
  want.token = "abc";
  auto got = decode(
      kubeconfig(std::string(kServer) + ", certificate-authority: pki/ca.crt, tls-server-name: kubernetes",
                 "token: abc"));
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(*got, want);

  want = base();
  want.certificate_authority.data = "-----BEGIN X\n";
  want.client_certificate.path = "/abs/c.pem";
  want.client_key.data = "-----BEGIN X\n";
  got = decode(kubeconfig(
      std::string(kServer) + ", certificate-authority: ignored, certificate-authority-data: " + kPemData,
      std::string("client-certificate: /abs/c.pem, client-key-data: ") + kPemData));
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(*got, want) << "data goes before a file";

  want = base();
  want.insecure_skip_tls_verify = true;
  want.token_file = "/etc/kube/token";
  got = decode(kubeconfig(std::string(kServer) + ", insecure-skip-tls-verify: true", "tokenFile: token"));
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(*got, want);
}

TEST(DecodeKubeconfig, ReadsAnExecPlugin) {
  const auto got =
      decode(kubeconfig(kServer,
                        "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/get, args: [a, "
                        "b], env: [{name: NAME, value: v}], "
                        "installHint: install it, provideClusterInfo: true, interactiveMode: IfAvailable}"));
  ASSERT_TRUE(got) << got.error().what;
  ASSERT_TRUE(got->exec);
  EXPECT_EQ(*got->exec, (ExecPlugin{.command = "/etc/kube/./bin/get",
                                    .args = {"a", "b"},
                                    .env = {{"NAME", "v"}},
                                    .api_version = "client.authentication.k8s.io/v1",
                                    .install_hint = "install it",
                                    .provide_cluster_info = true}));
  const auto beta =
      decode(kubeconfig(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: get}"));
  ASSERT_TRUE(beta) << beta.error().what;
  EXPECT_EQ(beta->exec->command, "get") << "a bare name is looked up in PATH";
  const auto told = decode(kubeconfig(
      std::string(kServer) + ", proxy-url: 'http://proxy:1', disable-compression: true, extensions: [{name: "
                             "other, extension: 1}, "
                             "{name: client.authentication.k8s.io/exec, extension: {audience: a}}]",
      "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: get, provideClusterInfo: true}"));
  ASSERT_TRUE(told) << told.error().what;
  EXPECT_EQ(told->exec->proxy_url, "http://proxy:1");
  EXPECT_TRUE(told->exec->disable_compression);
  EXPECT_EQ(told->exec->config, Json(Json::Object{{"audience", "a"}}));
  const auto both = decode(kubeconfig(kServer, "token: t, exec: {command: get}"));
  ASSERT_TRUE(both) << both.error().what;
  EXPECT_FALSE(both->exec) << "a static token goes first";
}

TEST(DecodeKubeconfig, RefusalsNameTheField) {
  const std::string v1 = "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, ";
  const std::pair<std::string, const char*> rows[] = {
      {kubeconfig("x: y", "token: t"), "clusters[\"c\"].cluster.server: is missing"},
      {kubeconfig("server: 5", "token: t"), "clusters[\"c\"].cluster.server: must be a string"},
      {kubeconfig("server: 'ftp://x'", "token: t"), "clusters[\"c\"].cluster.server: address"},
      {kubeconfig(std::string(kServer) + ", certificate-authority-data: '!!'", ""),
       "certificate-authority-data: is not base64"},
      {kubeconfig(std::string(kServer) + ", certificate-authority-data: Zm9v", ""),
       "certificate-authority-data: has no PEM"},
      {kubeconfig(std::string(kServer) + ", insecure-skip-tls-verify: true, certificate-authority: ca", ""),
       "contradicts"},
      {kubeconfig(std::string(kServer) + ", insecure-skip-tls-verify: 'true'", ""), "must be true or false"},
      {kubeconfig(std::string(kServer) + ", proxy-url: [x]", ""), "proxy-url: must be a string"},
      {kubeconfig(kServer, "username: a, password: b"),
       "users[\"u\"].user.username: password authentication"},
      {kubeconfig(kServer, "auth-provider: {name: gcp}"), "auth-provider: is not supported"},
      {kubeconfig(kServer, "token: t, as: root"), "impersonation"},
      {kubeconfig(kServer, "token: t, as-groups: [x]"), "impersonation"},
      {kubeconfig(kServer, "client-certificate: c"), "client-key: is missing"},
      {kubeconfig(kServer, "client-key: c"), "client-certificate: is missing"},
      {kubeconfig(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"),
       "user.exec.apiVersion"},
      {kubeconfig(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1beta1}"),
       "command: is missing"},
      {kubeconfig(kServer, v1 + "interactiveMode: Always}"), "requires a terminal"},
      {kubeconfig(kServer, v1 + "interactiveMode: Sometimes}"), "is none of"},
      {kubeconfig(kServer, v1 + "args: [1]}"), "interactiveMode: is required"},
      {kubeconfig(kServer, v1 + "interactiveMode: Never, args: [1]}"), "args: must be a list of strings"},
      {kubeconfig(kServer, v1 + "interactiveMode: Never, env: [{value: x}]}"), "env:"},
      {"[]", "is not a map"},
      {"kind: Pod", "expected Config"},
      {"kind: Config", "current-context: is missing"},
      {"current-context: a\ncontexts: [{name: b, context: {}}]", "contexts: has no entry named \"a\""},
      {"current-context: a\ncontexts: [{name: a, context: 5}]", "contexts[\"a\"].context: must be a map"},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: c}}]",
       "clusters: has no entry named \"c\""},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, "
       "cluster: {server: k}}]",
       "users: has no entry named \"u\""},
  };
  for (const auto& [yaml, words] : rows) {
    const auto got = decode(yaml);
    ASSERT_FALSE(got) << yaml;
    EXPECT_NE(got.error().what.find(words), std::string::npos) << got.error().what << "\nwanted: " << words;
  }
}

}  // namespace
}  // namespace sliced::kube
