#pragma once
// Addresses of API servers and the percent-encoding of paths and queries (RFC 3986).
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::http {

/// Address of an API server. base_path precedes the path of each request, as some proxies require
/// ("/k8s/clusters/c-1").
struct Url {
  bool tls = true;
  std::string host;  // a name or an address; IPv6 without brackets
  uint16_t port = 443;
  std::string base_path;  // "" or "/a/b", without '/' at the end
  bool operator==(const Url&) const = default;
};

/// Decodes "https://host[:port][/base]" or http, at most 2,048 bytes. A text without a scheme is https, as in
/// kubectl. Removes a '/' at the end; nothing else is normalized, so two texts for one server may differ.
/// Errors: kInvalid for other schemes, user information, queries and fragments; texts omit the part before an
/// '@'.
Result<Url> decode_url(std::string_view text);
/// Returns "https://[::1]:6443/base".
std::string encode_url(const Url& url);
/// Returns the Host header: without the scheme's default port, with brackets around IPv6.
std::string host_header(const Url& url);

using QueryItems = std::vector<std::pair<std::string, std::string>>;
/// Encodes everything except RFC 3986's unreserved characters as %HH, for path segments and query values.
std::string percent_encode(std::string_view text);
/// Returns "a=1&b=x%3Dy", without '?'.
std::string encode_query(const QueryItems& items);

}  // namespace sliced::http
