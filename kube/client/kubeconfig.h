#pragma once
// The part of a kubeconfig (client-go clientcmd/api/v1 Config) that its current context names. Pure: other
// files are read later (kube/client/credentials.h).
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/url.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// PEM text inside the kubeconfig, or the path of a file; the text has precedence. data: decoded from base64,
/// not validated as a certificate.
struct PemSource {
  std::string data, path;
  bool empty() const { return data.empty() && path.empty(); }
  bool operator==(const PemSource&) const = default;
};

/// client-go ExecConfig: a program that prints an ExecCredential (credentials.h). args and env have at most
/// 256 elements each.
struct ExecPlugin {
  std::string command;  // as in the kubeconfig; made absolute if it contains '/'
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to the daemon's own
  std::string api_version;                               // client.authentication.k8s.io/v1 or /v1beta1
  std::string install_hint;
  bool provide_cluster_info = false;
  // Settings of the cluster for the plugin, unchanged.
  std::string proxy_url;  // without those of the environment, which the plugin inherits
  bool disable_compression = false;
  Json config;  // its extension client.authentication.k8s.io/exec; null if absent
  bool operator==(const ExecPlugin&) const = default;
};

/// The values of the current context: server, and identity. A client certificate belongs to the connection, a
/// token to each request. If both exist, both are used.
struct Kubeconfig {
  std::string context, cluster, user;  // names, for error texts
  std::string namespace_;              // of the context; "" if absent
  http::Url server;
  PemSource certificate_authority;
  std::string tls_server_name;
  std::string proxy_url;  // unparsed; see http/proxy.h
  bool insecure_skip_tls_verify = false;
  PemSource client_certificate, client_key;
  std::string token, token_file;  // the file has precedence
  std::optional<ExecPlugin> exec;
  bool operator==(const Kubeconfig&) const = default;
};

/// Paths of kubeconfigs, merged as in kubectl: the first file that sets a value has precedence. context: ""
/// for the current context of the files.
struct KubeconfigPlace {
  KubeconfigPlace(std::string path) : paths{std::move(path)} {}  // NOLINT: one file is the usual case
  KubeconfigPlace(std::vector<std::string> all, std::string named)
      : paths(std::move(all)), context(std::move(named)) {}
  std::vector<std::string> paths;  // at least one; of several, missing ones are skipped
  std::string context;
};

/// Merges a document into `into`: named entries and values that are still missing. Relative paths in `more`
/// are relative to `directory`.
void merge_kubeconfig(Json more, const std::string& directory, Json& into);

/// Relative paths are relative to `directory`, that of the kubeconfig. context: name of the context; "" for
/// the current one. Unknown fields are ignored, as in kubectl; so are clusters, users and contexts that the
/// context does not name. Error texts contain no token, key or password.
/// Errors: kInvalid, with the field, for missing, malformed or unsupported values (passwords, auth-provider,
/// impersonation, interactive plugins).
Result<Kubeconfig> decode_kubeconfig(const Json& document, const std::string& directory,
                                     const std::string& context = "");

}  // namespace sliced::kube
