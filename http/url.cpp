#include "http/url.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::http {
namespace {

constexpr size_t kUrlBytesMax = 2048;

bool is_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_unreserved(char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; }
bool is_host_char(char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_'; }
bool is_ipv6_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
}
bool is_path_char(char c) {
  return is_unreserved(c) || c == '/' || c == '%' || c == ':' || c == '@' || c == '+';
}

// The part before an '@' may be a password, so it is omitted, wherever the error is.
Error bad_url(std::string_view text, std::string_view why) {
  const std::string_view without_userinfo = text.substr(text.rfind('@') + 1);  // the whole text without '@'
  return {Errc::kInvalid, "address " + in_quotes(without_userinfo) + ": " + std::string(why)};
}

uint16_t default_port(const Url& url) { return url.tls ? 443 : 80; }

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : '[' + host + ']';
}

// Decodes "host", "host:port", "[v6]" or "[v6]:port"; returns false for other forms.
bool decode_authority(std::string_view authority, Url& url) {
  std::string_view port;
  if (!authority.empty() && authority[0] == '[') {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return false;
    url.host = authority.substr(1, close - 1);
    if (!std::all_of(url.host.begin(), url.host.end(), is_ipv6_char) ||
        url.host.find(':') == std::string::npos)
      return false;
    port = authority.substr(close + 1);
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, colon);
    if (!std::all_of(url.host.begin(), url.host.end(), is_host_char)) return false;
    port = authority.substr(colon);
  }
  url.port = default_port(url);
  if (url.host.empty()) return false;
  if (port.empty()) return true;
  const auto number = parse_int(port.substr(1));
  if (port[0] != ':' || !number || *number < 1 || *number > 65535) return false;
  url.port = static_cast<uint16_t>(*number);
  return true;
}

}  // namespace

Result<Url> decode_url(std::string_view text) {
  if (text.size() > kUrlBytesMax) return bad_url(text, "longer than 2048 bytes");
  Url url;
  std::string_view rest = text;
  if (const size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    if (text.substr(0, scheme) == "http") {
      url.tls = false;
    } else if (text.substr(0, scheme) != "https") {
      return bad_url(text, "only https:// and http:// are understood");
    }
    rest = text.substr(scheme + 3);
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (rest.substr(0, slash).find('@') != std::string_view::npos)
    return bad_url(text, "user information in the address is not supported");
  if (!decode_authority(rest.substr(0, slash), url)) return bad_url(text, "no valid HOST or HOST:PORT in it");
  std::string_view path = rest.substr(slash);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (!std::all_of(path.begin(), path.end(), is_path_char))
    return bad_url(text, "its path has characters that have no place there (a query or fragment?)");
  url.base_path = path;
  return url;
}

std::string encode_url(const Url& url) {
  return (url.tls ? "https://" : "http://") + bracketed(url.host) + ':' + std::to_string(url.port) +
         url.base_path;
}

std::string host_header(const Url& url) {
  return url.port == default_port(url) ? bracketed(url.host)
                                       : bracketed(url.host) + ':' + std::to_string(url.port);
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += "0123456789ABCDEF"[byte >> 4];
    out += "0123456789ABCDEF"[byte & 15];
  }
  return out;
}

std::string encode_query(const QueryItems& items) {
  std::string out;
  for (const auto& [key, value] : items) {
    if (!out.empty()) out += '&';
    out += percent_encode(key) + '=' + percent_encode(value);
  }
  return out;
}

}  // namespace sliced::http
