#pragma once
// Selects the proxy to an API server: HTTPS_PROXY, HTTP_PROXY and NO_PROXY as Go programs read them
// (golang.org/x/net/http/httpproxy), and a kubeconfig's proxy-url, which takes precedence. Pure.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http/url.h"
#include "reactor/base/result.h"

namespace sliced::http {

/// An http:// proxy, used with CONNECT.
struct Proxy {
  std::string host;
  uint16_t port = 80;
  std::string authorization;  // value of Proxy-Authorization; "" if none
  std::string source;         // "HTTPS_PROXY": its source, for people
  bool operator==(const Proxy&) const = default;
};
/// Returns "proxy 10.0.0.1:3128 (HTTPS_PROXY)", without credentials.
std::string describe(const Proxy& proxy);

/// The environment; of each pair the first that is not empty. Read with the credentials
/// (kube/client/credentials.h); requires that no thread changes it.
struct ProxyEnvironment {
  std::string https_proxy, http_proxy, no_proxy;
  std::string https_name = "HTTPS_PROXY", http_name = "HTTP_PROXY";  // the spelling that was used
  bool is_cgi = false;  // REQUEST_METHOD is set: then HTTP_PROXY may be a client's header
};
using Getenv = std::function<const char*(const char* name)>;
/// Reads the upper-case spelling first, then the lower-case one, as golang.org/x/net/http/httpproxy does.
ProxyEnvironment read_proxy_environment(const Getenv& get);
ProxyEnvironment process_proxy_environment();

/// Returns nullopt for a direct connection. proxy_url: from a kubeconfig; NO_PROXY does not apply to it.
/// Errors: kInvalid with the variable or field: an invalid address, a scheme other than http (https, socks5),
/// an API server without TLS behind a proxy. A proxy that does not apply causes no error. Texts contain no
/// user information.
Result<std::optional<Proxy>> proxy_for(const Url& server, const std::string& proxy_url,
                                       const ProxyEnvironment& environment);

/// Returns true if NO_PROXY contains the host, or it is localhost or a loopback address.
bool is_reached_directly(std::string_view host, uint16_t port, std::string_view no_proxy);

}  // namespace sliced::http
