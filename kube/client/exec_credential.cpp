// The exchange with a credential plugin: KUBERNETES_EXEC_INFO in, ExecCredential out.
#include "kube/client/credentials.h"
#include "kube/objects/api_time.h"
#include "reactor/base/base64.h"
#include "reactor/base/text.h"

namespace sliced::kube {

Result<ExecCredential> decode_exec_credential(std::string_view text, const std::string& api_version) {
  const auto json = decode_json(text);
  if (!json) return Error{Errc::kInvalid, "its output is not JSON: " + json.error().what};
  if (json->text("kind") != "ExecCredential")
    return Error{Errc::kInvalid,
                 "its output: kind: " + in_quotes(json->text("kind")) + ", expected ExecCredential"};
  if (json->text("apiVersion") != api_version)
    return Error{Errc::kInvalid, "its output: apiVersion: " + in_quotes(json->text("apiVersion")) +
                                     ", but the kubeconfig asks for " + api_version};
  const Json* status = json->find("status");
  if (status == nullptr || status->object() == nullptr)
    return Error{Errc::kInvalid, "its output has no status"};
  ExecCredential credential{.token = std::string(trim(status->text("token"))),
                            .client_certificate_pem = std::string(status->text("clientCertificateData")),
                            .client_key_pem = std::string(status->text("clientKeyData")),
                            .expires = {}};
  if (credential.client_certificate_pem.empty() != credential.client_key_pem.empty())
    return Error{Errc::kInvalid, "its output: clientCertificateData and clientKeyData go together"};
  if (credential.token.empty() && credential.client_key_pem.empty())
    return Error{Errc::kInvalid, "its output has neither a token nor a client certificate"};
  if (credential.token.find_first_of("\r\n") != std::string::npos)
    return Error{Errc::kInvalid, "its output: status.token has more than one line"};
  const Json* expires = status->find("expirationTimestamp");
  if (expires == nullptr || expires->is_null()) return credential;
  credential.expires = expires->string() == nullptr ? std::nullopt : decode_api_time(*expires->string());
  if (!credential.expires)
    return Error{Errc::kInvalid,
                 "its output: status.expirationTimestamp: " + in_quotes(status->text("expirationTimestamp")) +
                     " is not an RFC 3339 time"};
  return credential;
}

std::string encode_exec_info(const ExecPlugin& plugin, const Access& access) {
  Json spec;
  spec.set("interactive", false);
  if (plugin.provide_cluster_info) {
    Json cluster;
    cluster.set("server", http::encode_url(access.server));
    if (!access.tls_server_name.empty()) cluster.set("tls-server-name", access.tls_server_name);
    if (access.insecure_skip_tls_verify) cluster.set("insecure-skip-tls-verify", true);
    if (!access.ca_pem.empty()) cluster.set("certificate-authority-data", encode_base64(access.ca_pem));
    if (!plugin.proxy_url.empty()) cluster.set("proxy-url", plugin.proxy_url);
    if (plugin.disable_compression) cluster.set("disable-compression", true);
    if (!plugin.config.is_null()) cluster.set("config", plugin.config);
    spec.set("cluster", std::move(cluster));
  }
  Json info;
  info.set("kind", "ExecCredential");
  info.set("apiVersion", plugin.api_version);
  info.set("spec", std::move(spec));
  return encode_json(info);
}

}  // namespace sliced::kube
