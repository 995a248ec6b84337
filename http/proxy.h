#pragma once
// Which proxy stands between us and an API server: HTTPS_PROXY, HTTP_PROXY and NO_PROXY as Go programs read
// them (golang.org/x/net/http/httpproxy), and a kubeconfig's proxy-url, which goes before them. Pure.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http/url.h"
#include "reactor/base/result.h"

namespace sliced::http {

/// An http:// proxy: asked for a tunnel with CONNECT.
struct Proxy {
  std::string host;
  uint16_t port = 80;
  std::string authorization;  // value of Proxy-Authorization; "" none
  std::string source;         // "HTTPS_PROXY": whose word it is, for people
  bool operator==(const Proxy&) const = default;
};
/// "proxy 10.0.0.1:3128 (HTTPS_PROXY)": without who we are to it.
std::string describe(const Proxy& proxy);

/// The environment; of each pair the first that is not empty.
/// Asked for each time that credentials are read (kube/client/credentials.h): nobody changes it while this runs.
struct ProxyEnvironment {
  std::string https_proxy, http_proxy, no_proxy;
  std::string https_name = "HTTPS_PROXY", http_name = "HTTP_PROXY";  // which of the spellings was taken
  bool is_cgi = false;  // REQUEST_METHOD is set: then HTTP_PROXY may be a client's header
};
using Getenv = std::function<const char*(const char* name)>;
/// The two spellings are looked at in the order upper case, lower case, as golang.org/x/net/http/httpproxy
/// does.
ProxyEnvironment read_proxy_environment(const Getenv& get);
ProxyEnvironment process_proxy_environment();

/// nullopt: directly. proxy_url: a kubeconfig's; NO_PROXY does not apply to it.
/// Errors: kInvalid, with the variable or field: an address that cannot be understood, a scheme other than
///         http (https, socks5), an API server without TLS behind a proxy. What does not apply is no error.
///         Texts do not show user information.
Result<std::optional<Proxy>> proxy_for(const Url& server, const std::string& proxy_url,
                                       const ProxyEnvironment& environment);

/// True when NO_PROXY has the host, or it is localhost or a loopback address.
bool is_reached_directly(std::string_view host, uint16_t port, std::string_view no_proxy);

}  // namespace sliced::http
