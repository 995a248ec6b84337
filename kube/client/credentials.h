#pragma once
// Address of the API server and credentials, from a pod's service account or a kubeconfig. Files are read on
// the executor, and again when they may have changed; plugins run as child processes.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/proxy.h"
#include "http/url.h"
#include "kube/client/kubeconfig.h"
#include "kube/objects/cluster.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/loop.h"

namespace sliced::kube {

/// Parameters of a connection; a change requires new connections.
struct Access {
  http::Url server;
  std::string ca_pem;  // "" trusts the system's store
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string client_certificate_pem, client_key_pem;
  std::optional<http::Proxy> proxy = {};
  std::string system_ca_stamp = {};  // of the system's store, if it is trusted
  bool operator==(const Access&) const = default;
};
/// Access and token. A new token needs no new connection.
struct Credentials {
  Access access;
  std::string token;  // "": none
  bool operator==(const Credentials&) const = default;
};

/// Loop thread only. Error texts contain no secrets.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  /// Calls on_ready once, not from within get(). Destroying the Call cancels. Cheap if nothing must be read.
  /// Errors: kInvalid, kNotFound, kDenied, kIo, kTimeout; the text names file and field, or the plugin.
  [[nodiscard]] virtual CallPtr get(std::function<void(Result<Credentials>)> on_ready) = 0;
  /// The server refused these credentials (401): the next get() loads them again. `refused` are those that
  /// were sent, so that ten requests with one old token cause one load.
  virtual void invalidate(const Credentials& refused) = 0;
  /// Returns their source: "kubeconfig /home/a/.kube/config", "service account".
  virtual std::string describe() const = 0;
};

/// Loaded credentials, and the plugin to run for the rest.
struct LoadedCredentials {
  Credentials credentials;
  std::optional<ExecPlugin> exec;
  std::string namespace_;  // of the context or the pod
  bool operator==(const LoadedCredentials&) const = default;
};

/// As k8s.io/client-go/rest InClusterConfig.
struct InClusterPaths {
  std::string host, port;  // KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT
  std::string directory = "/var/run/secrets/kubernetes.io/serviceaccount";  // token, ca.crt, namespace
};
/// From this process's environment; kNotFound outside of a pod.
Result<InClusterPaths> find_in_cluster();

/// Both block. Each file is at most 1 MiB. proxies: of the environment, evaluated at each load. Errors:
/// kInvalid, kNotFound, kDenied, kIo, kTooLarge;
/// each names the file. A missing namespace file is not an error.
Result<LoadedCredentials> load_in_cluster(
    const InClusterPaths& paths, const http::ProxyEnvironment& proxies = http::process_proxy_environment());
Result<LoadedCredentials> load_kubeconfig(
    const KubeconfigPlace& place, const http::ProxyEnvironment& proxies = http::process_proxy_environment());

/// Returns the context's values, without the files that it names. Blocks.
Result<Kubeconfig> read_kubeconfig(const KubeconfigPlace& place);

/// Checks at the start whether an unsupported proxy is configured; other problems are found on loading. Both
/// block.
Result<Unit> check_in_cluster_proxy(
    const InClusterPaths& paths, const http::ProxyEnvironment& proxies = http::process_proxy_environment());
Result<Unit> check_kubeconfig_proxy(
    const KubeconfigPlace& place, const http::ProxyEnvironment& proxies = http::process_proxy_environment());

/// Output of a plugin (k8s.io/client-go/pkg/apis/clientauthentication ExecCredential.status).
struct ExecCredential {
  std::string token, client_certificate_pem, client_key_pem;
  std::optional<int64_t> expires;  // seconds since 1970
  bool operator==(const ExecCredential&) const = default;
};
/// api_version: of the kubeconfig. Errors: kInvalid for another version, or without token and certificate.
Result<ExecCredential> decode_exec_credential(std::string_view text, const std::string& api_version);
/// The value of KUBERNETES_EXEC_INFO.
std::string encode_exec_info(const ExecPlugin& plugin, const Access& access);

/// Validity and timeouts of loading.
struct CredentialTimes {
  Millis reread_after{50'000};  // tokens are rotated in place; at most a minute old
  Millis read_max{10'000};
  Millis plugin_max{30'000};
  /// Margin before a credential's expiry.
  int64_t expiry_leeway_s = 10;
};

struct CredentialPorts {
  reactor::Loop& loop;  // for plugin processes
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  Log& log;
  /// Seconds since 1970, for the expiry of an ExecCredential.
  std::function<int64_t()> wall_clock;
};

/// Loads credentials with `load` on the executor: again after reread_after, immediately after invalidate(),
/// and at the expiry of a plugin's credential. A failed load is logged and keeps the old credentials, unless
/// the server refused them. Concurrent callers share one load.
/// Plugins run again when the kubeconfig has changed or the credential has expired; after a failure or
/// refusal with a delay of 1 s, doubling to 60 s, so that a server that refuses everything does not cause a
/// process per request.
class LoadingCredentials final : public CredentialSource {
 public:
  using Load = std::function<Result<LoadedCredentials>()>;  // runs on a worker; must capture by value
  LoadingCredentials(CredentialPorts ports, std::string description, Load load, CredentialTimes times = {});
  ~LoadingCredentials() override;

  CallPtr get(std::function<void(Result<Credentials>)> on_ready) override;
  void invalidate(const Credentials& refused) override;
  std::string describe() const override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

/// Reads nothing before the first get().
std::unique_ptr<CredentialSource> in_cluster_credentials(CredentialPorts ports, InClusterPaths paths);
std::unique_ptr<CredentialSource> kubeconfig_credentials(CredentialPorts ports, KubeconfigPlace place);
/// std::chrono's system clock, for CredentialPorts::wall_clock.
int64_t system_wall_clock();

}  // namespace sliced::kube
