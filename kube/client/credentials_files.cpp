// Reading credentials from files: the blocking half of kube/client/credentials.h.
#include "kube/client/credentials.h"
#include "kube/objects/yaml.h"
#include "reactor/base/text.h"
#include "reactor/net/tls_session.h"
#include "reactor/small_file.h"

namespace sliced::kube {
namespace {

constexpr size_t kTokenBytesMax = 64u << 10;

Result<std::string> read_token(const std::string& path) {
  auto bytes = reactor::read_small_file(path);
  if (!bytes) return bytes;
  std::string token(trim(*bytes));
  if (token.empty()) return Error{Errc::kInvalid, in_quotes(path) + ": is empty, expected a token"};
  if (token.size() > kTokenBytesMax)
    return Error{Errc::kTooLarge, in_quotes(path) + ": a token larger than 64 KiB"};
  if (token.find_first_of("\r\n") != std::string::npos)
    return Error{Errc::kInvalid, in_quotes(path) + ": has more than one line, expected a token"};
  return token;
}

Result<std::string> read_pem(const PemSource& source) {
  if (source.path.empty()) return source.data;
  auto bytes = reactor::read_small_file(source.path);
  if (bytes && bytes->find("-----BEGIN ") == std::string::npos)
    return Error{Errc::kInvalid, in_quotes(source.path) + ": has no PEM text in it"};
  return bytes;
}

}  // namespace

Result<InClusterPaths> find_in_cluster() {
  const char* host = getenv("KUBERNETES_SERVICE_HOST");
  const char* port = getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr || *host == '\0' || *port == '\0')
    return Error{
        Errc::kNotFound,
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: not in a pod; elsewhere say "
        "--cluster kubeconfig:PATH"};
  return InClusterPaths{.host = host, .port = port};
}

namespace {

Result<http::Url> in_cluster_url(const InClusterPaths& paths) {
  const std::string host = paths.host.find(':') == std::string::npos ? paths.host : '[' + paths.host + ']';
  auto url = http::decode_url("https://" + host + ':' + paths.port);
  if (!url) return std::move(url.error()).in("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT");
  return url;
}

}  // namespace

Result<LoadedCredentials> load_in_cluster(const InClusterPaths& paths,
                                          const http::ProxyEnvironment& proxies) {
  LoadedCredentials loaded;
  auto url = in_cluster_url(paths);
  if (!url) return url.error();
  auto proxy = http::proxy_for(*url, "", proxies);
  if (!proxy) return proxy.error();
  loaded.credentials.access.proxy = *std::move(proxy);
  auto token = read_token(paths.directory + "/token");
  if (!token) return std::move(token.error()).in("service account token");
  auto ca = read_pem({.data = "", .path = paths.directory + "/ca.crt"});
  if (!ca) return std::move(ca.error()).in("service account ca.crt");
  loaded.credentials.access.server = *std::move(url);
  loaded.credentials.access.ca_pem = *std::move(ca);
  loaded.credentials.token = *std::move(token);
  if (const auto name = reactor::read_small_file(paths.directory + "/namespace"))
    loaded.namespace_ = trim(*name);
  return loaded;
}

namespace {

Result<Json> read_kubeconfig_document(const std::string& path) {
  const auto bytes = reactor::read_small_file(path);
  if (!bytes) return bytes.error();
  YamlDocuments read = decode_yaml(*bytes);
  if (!read.problems.empty())
    return Error{Errc::kInvalid, in_quotes(path) + ": line " + std::to_string(read.problems[0].line) + ": " +
                                     read.problems[0].what};
  if (read.documents.size() != 1)
    return Error{Errc::kInvalid, in_quotes(path) + ": has " + std::to_string(read.documents.size()) +
                                     " documents, expected one kubeconfig"};
  return std::move(read.documents[0]);
}

}  // namespace

namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

Result<Kubeconfig> read_kubeconfig(const KubeconfigPlace& place) {
  Json merged;
  for (const std::string& path : place.paths) {
    auto document = read_kubeconfig_document(path);
    if (!document) {
      const bool is_last = merged.is_null() && &path == &place.paths.back();
      if (document.error().code == Errc::kNotFound && !is_last) continue;
      return document.error();
    }
    if (place.paths.size() == 1)
      merged = *std::move(document);
    else
      merge_kubeconfig(*std::move(document), directory_of(path), merged);
  }
  auto config = decode_kubeconfig(merged, directory_of(place.paths.front()), place.context);
  if (!config) return std::move(config.error()).in(in_quotes(join(place.paths, ":")));
  return config;
}

Result<Unit> check_in_cluster_proxy(const InClusterPaths& paths, const http::ProxyEnvironment& proxies) {
  const auto url = in_cluster_url(paths);
  if (!url) return url.error();
  const auto proxy = http::proxy_for(*url, "", proxies);
  if (!proxy) return proxy.error();
  return Unit{};
}

Result<Unit> check_kubeconfig_proxy(const KubeconfigPlace& place, const http::ProxyEnvironment& proxies) {
  const auto config = read_kubeconfig(place);
  if (!config) return Unit{};
  const auto proxy = http::proxy_for(config->server, config->proxy_url, proxies);
  if (!proxy) return proxy.error();
  return Unit{};
}

Result<LoadedCredentials> load_kubeconfig(const KubeconfigPlace& place,
                                          const http::ProxyEnvironment& proxies) {
  const std::string path = join(place.paths, ":");
  const auto config = read_kubeconfig(place);
  if (!config) return config.error();
  LoadedCredentials loaded;
  Access& access = loaded.credentials.access;
  auto proxy = http::proxy_for(config->server, config->proxy_url, proxies);
  if (!proxy) return std::move(proxy.error()).in(in_quotes(path));
  access.proxy = *std::move(proxy);
  access.server = config->server;
  access.tls_server_name = config->tls_server_name;
  access.insecure_skip_tls_verify = config->insecure_skip_tls_verify;
  loaded.exec = config->exec;
  loaded.namespace_ = config->namespace_;
  const struct {
    const char* field;
    const PemSource& source;
    std::string& into;
  } files[] = {{"certificate-authority", config->certificate_authority, access.ca_pem},
               {"client-certificate", config->client_certificate, access.client_certificate_pem},
               {"client-key", config->client_key, access.client_key_pem}};
  for (const auto& file : files) {
    auto pem = read_pem(file.source);
    if (!pem) return std::move(pem.error()).in(in_quotes(path) + ": " + file.field);
    file.into = *std::move(pem);
  }
  if (access.server.tls && access.ca_pem.empty() && !access.insecure_skip_tls_verify)
    access.system_ca_stamp = reactor::net::system_ca_stamp();
  loaded.credentials.token = config->token;
  if (!config->token_file.empty()) {
    auto token = read_token(config->token_file);
    if (!token) return std::move(token.error()).in(in_quotes(path) + ": tokenFile");
    loaded.credentials.token = *std::move(token);
  }
  return loaded;
}

}  // namespace sliced::kube
