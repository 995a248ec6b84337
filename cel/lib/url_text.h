#pragma once
// URLs as CEL in Kubernetes reads them (url(), isURL()), which is as Go's net/url does.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::cel {

/// The parts of a URL. What the getters of CEL return is UTF-8: where an escape makes other bytes, U+FFFD
/// stands for each.
struct UrlText {
  std::string scheme;          // getScheme(), lower case
  std::string opaque;          // of "mailto:a@b" what follows the scheme; such a URL has no host and no path
  bool has_authority = false;  // "http:///p" has an empty one, "http:/p" has none
  std::string user;            // unescaped, with the password and the '@' behind it
  std::string host;            // getHost(), with the port, unescaped
  std::string escaped_path;    // getEscapedPath()
  std::string query;           // without '?', escaped
  bool has_query = false;      // "/a?" has an empty one
  std::string fragment;        // escaped

  std::string hostname() const;  // without port and brackets
  std::string port() const;      // "" when there is none
  /// By key the values in their order. Parts with a broken escape or a ';' are left out, and all of more than
  /// 10,000.
  std::map<std::string, std::vector<std::string>> query_values() const;
  /// Equal are URLs that are written alike: the scheme's case and needless escapes of the path apart.
  bool operator==(const UrlText&) const = default;
};

/// Absolute, or a path from '/'. A '#' is part of the path or the query here.
bool is_url(std::string_view text);
/// kInvalid when it is no URL by is_url, or its fragment has a broken escape.
Result<UrlText> decode_url_text(std::string_view text);

}  // namespace sliced::cel
