#pragma once
// Addresses of API servers and the percent-encoding of paths and queries (RFC 3986).
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::http {

/// Where an API server is. A path in front of all requests is what some proxies have ("/k8s/clusters/c-1").
struct Url {
  bool tls = true;
  std::string host;  // a name or an address; IPv6 without brackets
  uint16_t port = 443;
  std::string base_path;  // "" or "/a/b", never with a '/' at its end
  bool operator==(const Url&) const = default;
};

/// "https://host[:port][/base]" or http. kInvalid for other schemes, user information, queries and fragments.
/// A text without a scheme is https, as kubectl reads it.
/// Texts of errors do not show what stands before an '@'.
/// At most 2,048 bytes. A '/' at the end goes; nothing is decoded or made lower case, so two texts for one
/// server may differ.
Result<Url> decode_url(std::string_view text);
/// "https://[::1]:6443/base".
std::string encode_url(const Url& url);
/// The Host header: no port where it is the scheme's own, brackets around IPv6.
std::string host_header(const Url& url);

using QueryItems = std::vector<std::pair<std::string, std::string>>;
/// Everything but RFC 3986's unreserved characters becomes %HH: right for path segments and for query values.
std::string percent_encode(std::string_view text);
/// "a=1&b=x%3Dy", without a '?'.
std::string encode_query(const QueryItems& items);

}  // namespace sliced::http
