#include <gtest/gtest.h>

#include "kube/client/credentials.h"

namespace sliced::kube {
namespace {

const std::string kV1 = "client.authentication.k8s.io/v1";

std::string exec_credential(const std::string& status) {
  return R"({"kind":"ExecCredential","apiVersion":")" + kV1 + R"(","status":)" + status + "}";
}

TEST(DecodeExecCredential, AcceptsOnlyValidCredentials) {
  const struct {
    const char* status;
    ExecCredential want;
  } rows[] = {
      {R"({"token":"t\n"})", {"t", "", "", {}}},
      {R"({"token":"t","expirationTimestamp":null})", {"t", "", "", {}}},
      {R"({"clientCertificateData":"c","clientKeyData":"k"})", {"", "c", "k", {}}},
      {R"({"token":"t","expirationTimestamp":"1970-01-01T00:01:00Z"})", {"t", "", "", 60}},
      {R"({"token":"t","expirationTimestamp":"2024-02-29T12:00:00.123456789Z"})", {"t", "", "", 1709208000}},
      {R"({"token":"t","expirationTimestamp":"2024-02-29T13:30:00+01:30"})", {"t", "", "", 1709208000}},
      {R"({"token":"t","expirationTimestamp":"2024-02-29T10:00:00-02:00"})", {"t", "", "", 1709208000}},
  };
  for (const auto& row : rows) {
    const auto got = decode_exec_credential(exec_credential(row.status), kV1);
    ASSERT_TRUE(got) << row.status << ": " << got.error().what;
    EXPECT_EQ(*got, row.want) << row.status;
  }
}

TEST(DecodeExecCredential, Refuses) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "not JSON"},
      {"<html>", "not JSON"},
      {R"({"kind":"Pod"})", "kind"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"t"}})",
       "apiVersion"},
      {R"({"kind":"ExecCredential","apiVersion":")" + kV1 + R"("})", "status"},
      {exec_credential("{}"), "neither"},
      {exec_credential(R"({"clientKeyData":"k"})"), "go together"},
      {exec_credential(R"({"token":"a\nb"})"), "line"},
      {exec_credential(R"({"token":"t","expirationTimestamp":"tomorrow"})"), "expirationTimestamp"},
      {exec_credential(R"({"token":"t","expirationTimestamp":5})"), "expirationTimestamp"},
      {exec_credential(R"({"token":"t","expirationTimestamp":"2024-02-30T12:00:00Z"})"),
       "expirationTimestamp"},
      {exec_credential(R"({"token":"t","expirationTimestamp":"2024-02-29T12:00:00+0130"})"),
       "expirationTimestamp"},
  };
  for (const auto& [text, word] : rows) {
    const auto got = decode_exec_credential(text, kV1);
    ASSERT_FALSE(got) << text;
    EXPECT_NE(got.error().what.find(word), std::string::npos) << got.error().what;
  }
}

TEST(EncodeExecInfo, PassesTheClusterOnRequest) {
  ExecPlugin plugin{.command = "p", .api_version = kV1};
  Access access{.server = *http::decode_url("https://k:1"), .ca_pem = "foob", .tls_server_name = "n"};
  EXPECT_EQ(encode_exec_info(plugin, access),
            R"({"kind":"ExecCredential","apiVersion":")" + kV1 + R"(","spec":{"interactive":false}})");
  plugin.provide_cluster_info = true;
  EXPECT_EQ(
      encode_exec_info(plugin, access),
      R"({"kind":"ExecCredential","apiVersion":")" + kV1 +
          R"(","spec":{"interactive":false,"cluster":{"server":"https://k:1","tls-server-name":"n","certificate-authority-data":"Zm9vYg=="}}})");
}

// As client-go's rest.ConfigToExecCluster: the kubeconfig's proxy, not the environment's, which a plugin has
// itself.
TEST(EncodeExecInfo, PassesServerAndTls) {
  ExecPlugin plugin{.command = "p",
                    .api_version = kV1,
                    .provide_cluster_info = true,
                    .proxy_url = "http://u:p@proxy:3128",
                    .disable_compression = true,
                    .config = Json::Object{{"audience", "a"}}};
  Access access{.server = *http::decode_url("https://k:1")};
  access.proxy = http::Proxy{.host = "of-the-environment", .port = 1};
  EXPECT_EQ(
      encode_exec_info(plugin, access),
      R"({"kind":"ExecCredential","apiVersion":")" + kV1 +
          R"(","spec":{"interactive":false,"cluster":{"server":"https://k:1","proxy-url":"http://u:p@proxy:3128","disable-compression":true,"config":{"audience":"a"}}}})");
}

}  // namespace
}  // namespace sliced::kube
