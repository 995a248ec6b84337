#pragma once
// URLs of Kubernetes' CEL library (url(), isURL()), which follows Go's net/url.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::cel {

/// The parts of a URL. CEL's getters return UTF-8: each invalid byte of an escape becomes U+FFFD.
struct UrlText {
  std::string scheme;          // getScheme(), lower case
  std::string opaque;          // for "mailto:a@b" the part after the scheme; such a URL has no host and no
                               // path
  bool has_authority = false;  // "http:///p" has an empty one, "http:/p" has none
  std::string user;            // unescaped, with the password and the '@' after it
  std::string host;            // getHost(), with the port, unescaped
  std::string escaped_path;    // getEscapedPath()
  std::string query;           // without '?', escaped
  bool has_query = false;      // "/a?" has an empty one
  std::string fragment;        // escaped

  std::string hostname() const;  // without port and brackets
  std::string port() const;      // "" if there is none
  /// Returns the values by key, in order. Omits parts with an invalid escape or a ';', and everything if
  /// there are more than 10,000.
  std::map<std::string, std::vector<std::string>> query_values() const;
  /// URLs with equal texts are equal, ignoring the scheme's case and unnecessary escapes of the path.
  bool operator==(const UrlText&) const = default;
};

/// Accepts an absolute URL, or a path from '/'. A '#' is part of the path or the query here.
bool is_url(std::string_view text);
/// Errors: kInvalid if is_url() is false, or the fragment has an invalid escape.
Result<UrlText> decode_url_text(std::string_view text);

}  // namespace sliced::cel
