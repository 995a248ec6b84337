#pragma once
// Where the API server is and who we are to it: from a pod's service account, or from a kubeconfig. Files are
// read on the executor and read again when they may have changed; plugins run as child processes.
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

/// What makes a connection what it is: when any of it changes, connections are made anew.
struct Access {
  http::Url server;
  std::string ca_pem;  // "" trusts the system's store
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string client_certificate_pem, client_key_pem;
  std::optional<http::Proxy> proxy = {};
  std::string system_ca_stamp = {};  // of the system's store, where that is trusted
  bool operator==(const Access&) const = default;
};
/// As whom to speak. The token is no part of Access: a new one needs no new connection.
struct Credentials {
  Access access;
  std::string token;  // "" when there is none
  bool operator==(const Credentials&) const = default;
};

/// On the loop's thread. Texts never hold a secret.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  /// on_ready is called once, never from within get(); dropping the Call cancels. Cheap when nothing has to
  /// be read.
  /// Errors: kInvalid, kNotFound, kDenied, kIo, kTimeout; the text names file and field, or the plugin.
  [[nodiscard]] virtual CallPtr get(std::function<void(Result<Credentials>)> on_ready) = 0;
  /// The server refused these (401): the next get() reads everything anew, unless that has happened already.
  /// refused: those that were sent, so that ten requests with one old token cause one load and not ten.
  virtual void invalidate(const Credentials& refused) = 0;
  /// The place they come from: "kubeconfig /home/a/.kube/config", "service account".
  virtual std::string describe() const = 0;
};

/// What loading yields: credentials, and the plugin that has to be asked for the rest.
struct LoadedCredentials {
  Credentials credentials;
  std::optional<ExecPlugin> exec;
  std::string namespace_;  // the context's, or the pod's
  bool operator==(const LoadedCredentials&) const = default;
};

/// A pod's view (k8s.io/client-go/rest InClusterConfig).
struct InClusterPaths {
  std::string host, port;  // KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT
  std::string directory = "/var/run/secrets/kubernetes.io/serviceaccount";  // token, ca.crt, namespace
};
/// From this process's environment; kNotFound outside of a pod.
Result<InClusterPaths> find_in_cluster();

/// Both block: files are read. Each file is at most 1 MiB.
/// proxies: of the environment, asked at each load. Errors: kInvalid, kNotFound, kDenied, kIo, kTooLarge;
/// each names the file. A namespace file that is missing is no error.
Result<LoadedCredentials> load_in_cluster(
    const InClusterPaths& paths, const http::ProxyEnvironment& proxies = http::process_proxy_environment());
Result<LoadedCredentials> load_kubeconfig(
    const KubeconfigPlace& place, const http::ProxyEnvironment& proxies = http::process_proxy_environment());

/// What the context says, without the files that it points to. Blocks.
Result<Kubeconfig> read_kubeconfig(const KubeconfigPlace& place);

/// Before the start: a proxy that stands between us and the server and cannot be used. What else is wrong
/// with the files is said by loading them. Both block.
Result<Unit> check_in_cluster_proxy(
    const InClusterPaths& paths, const http::ProxyEnvironment& proxies = http::process_proxy_environment());
Result<Unit> check_kubeconfig_proxy(
    const KubeconfigPlace& place, const http::ProxyEnvironment& proxies = http::process_proxy_environment());

/// What a plugin printed (k8s.io/client-go/pkg/apis/clientauthentication ExecCredential.status).
struct ExecCredential {
  std::string token, client_certificate_pem, client_key_pem;
  std::optional<int64_t> expires;  // seconds since 1970
  bool operator==(const ExecCredential&) const = default;
};
/// api_version: what the kubeconfig asks for; kInvalid for an answer in another one, or without token and
/// certificate.
Result<ExecCredential> decode_exec_credential(std::string_view text, const std::string& api_version);
/// The value of KUBERNETES_EXEC_INFO.
std::string encode_exec_info(const ExecPlugin& plugin, const Access& access);

/// How long what was read is good, and how long reading may take.
struct CredentialTimes {
  Millis reread_after{50'000};  // tokens are rotated in place: never older than a minute, with 10 s to spare
  Millis read_max{10'000};
  Millis plugin_max{30'000};
  /// Before a credential's expiry: what is sent then may arrive behind it.
  int64_t expiry_leeway_s = 10;
};

/// Loads through `load` (on the executor) and keeps what it got: re-read on demand once reread_after has
/// passed, at once after invalidate(), and, for a plugin, when its credential expires. A failing re-read
/// keeps the old credentials and is logged, unless the server has refused them. All askers of one moment
/// share one load.
/// Plugins:   run again at once when the kubeconfig asks for something else or the credential has expired;
///            after a failure, and after a refusal, no sooner than 1 s, doubling to 60 s, so that a server
///            that refuses everything has none run for each request.
/// Ownership: askers hold their Call; a State that a callback of a worker or a child keeps alive goes with
/// that.
class LoadingCredentials final : public CredentialSource {
 public:
  using Load =
      std::function<Result<LoadedCredentials>()>;  // blocks; runs on a worker: captures by value only
  struct Ports {
    reactor::Loop& loop;  // plugins are its children
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    Log& log;
    /// Seconds since 1970: what an ExecCredential's expiry is measured against, once, when it arrives.
    std::function<int64_t()> wall_clock;
  };
  LoadingCredentials(Ports ports, std::string description, Load load, CredentialTimes times = {});
  ~LoadingCredentials() override;

  CallPtr get(std::function<void(Result<Credentials>)> on_ready) override;
  void invalidate(const Credentials& refused) override;
  std::string describe() const override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

/// Nothing is read before the first get().
std::unique_ptr<CredentialSource> in_cluster_credentials(LoadingCredentials::Ports ports,
                                                         InClusterPaths paths);
std::unique_ptr<CredentialSource> kubeconfig_credentials(LoadingCredentials::Ports ports,
                                                         KubeconfigPlace place);
/// std::chrono's system clock, for Ports::wall_clock.
int64_t system_wall_clock();

}  // namespace sliced::kube
