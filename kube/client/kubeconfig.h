#pragma once
// The part of a kubeconfig (client-go clientcmd/api/v1 Config) that its current context names. Pure: files
// that it points to are read later (kube/client/credentials.h).
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/url.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// PEM text given inside the kubeconfig or by the path of a file; the text wins where both are given.
/// data: decoded from base64 already. Nobody has looked yet whether it is a certificate.
struct PemSource {
  std::string data, path;
  bool empty() const { return data.empty() && path.empty(); }
  bool operator==(const PemSource&) const = default;
};

/// client-go ExecConfig: a program that prints an ExecCredential.
/// Run when a credential is wanted (credentials.h); args and env are at most 256 each.
struct ExecPlugin {
  std::string command;  // as in the kubeconfig; made absolute by it when it has a '/'
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to the daemon's own
  std::string api_version;                               // client.authentication.k8s.io/v1 or /v1beta1
  std::string install_hint;
  bool provide_cluster_info = false;
  // Of the cluster, for who is told of it: as they stand there.
  std::string proxy_url;  // never one of the environment, which the plugin has itself
  bool disable_compression = false;
  Json config;  // its extension client.authentication.k8s.io/exec; null when there is none
  bool operator==(const ExecPlugin&) const = default;
};

/// What the current context names: one server, and how to be somebody there. A client certificate goes with
/// the connection, a token with each request.
/// Both a token and a certificate may be there; then both are used.
struct Kubeconfig {
  std::string context, cluster, user;  // names, for error texts
  std::string namespace_;              // of the context; "" when it names none
  http::Url server;
  PemSource certificate_authority;
  std::string tls_server_name;
  std::string proxy_url;  // as it stands there; http/proxy.h reads it
  bool insecure_skip_tls_verify = false;
  PemSource client_certificate, client_key;
  std::string token, token_file;  // the file wins where both are given
  std::optional<ExecPlugin> exec;
  bool operator==(const Kubeconfig&) const = default;
};

/// Where a kubeconfig is read: as kubectl has it, of several files together, of which the first to say something
/// counts. context: "" the one that the files name.
struct KubeconfigPlace {
  KubeconfigPlace(std::string path) : paths{std::move(path)} {}  // NOLINT: one file is the usual case
  KubeconfigPlace(std::vector<std::string> all, std::string named)
      : paths(std::move(all)), context(std::move(named)) {}
  std::vector<std::string> paths;  // at least one; of several those that are missing are passed over
  std::string context;
};

/// One document of several: named entries that are not there yet, and what else the first one lacks. Of `more` relative
/// paths are made relative to its own directory.
void merge_kubeconfig(Json more, const std::string& directory, Json& into);

/// Relative paths are made relative to `directory`, the kubeconfig's own. kInvalid, naming the field, for
/// what is missing, malformed or not supported (passwords, auth-provider, impersonation,
/// interactive plugins).
/// Fields that it does not know are passed over, as kubectl does. Texts never show a token, a key or a
/// password.
/// Clusters, users and contexts that the current one does not name are not looked at: what is wrong there
/// costs nothing.
/// context: of which name; "" the current one.
Result<Kubeconfig> decode_kubeconfig(const Json& document, const std::string& directory,
                                     const std::string& context = "");

}  // namespace sliced::kube
