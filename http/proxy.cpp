#include "http/proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "reactor/base/base64.h"
#include "reactor/base/text.h"

namespace sliced::http {
namespace {

using Address = std::array<uint8_t, 16>;  // IPv4 is mapped into IPv6

std::optional<Address> decode_address(std::string_view text) {
  const std::string copy(text);
  Address out{};
  if (inet_pton(AF_INET, copy.c_str(), &out[12]) == 1) {
    out[10] = out[11] = 0xff;
    return out;
  }
  if (inet_pton(AF_INET6, copy.c_str(), out.data()) == 1) return out;
  return std::nullopt;
}

bool is_v4(const Address& address) {
  static constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), address.begin());
}

bool is_loopback(const Address& address) {
  static constexpr Address kOne = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address == kOne || (is_v4(address) && address[12] == 127);
}

struct Network {
  Address address;
  size_t bits;
};
std::optional<Network> decode_network(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = decode_address(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  const auto bits = parse_int(digits);
  if (!address || !bits || digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  const bool is_short = text.substr(0, slash).find(':') == std::string_view::npos;
  if (*bits < 0 || *bits > (is_short ? 32 : 128)) return std::nullopt;
  return Network{*address, static_cast<size_t>(*bits) + (is_short ? 96 : 0)};
}

bool contains(const Network& network, const Address& address) {
  if (is_v4(network.address) != is_v4(address)) return false;
  for (size_t bit = 0; bit < network.bits; ++bit) {
    const uint8_t mask = static_cast<uint8_t>(0x80u >> (bit % 8));
    if ((network.address[bit / 8] & mask) != (address[bit / 8] & mask)) return false;
  }
  return true;
}

// "host:port" or "[v6]:port" (Go's net.SplitHostPort); nullopt for anything else.
std::optional<std::pair<std::string_view, std::string_view>> split_host_port(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (!host.empty() && host.front() == '[') {
    if (host.back() != ']') return std::nullopt;
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  if (host.find_first_of("[]") != std::string_view::npos) return std::nullopt;
  return std::pair(host, text.substr(colon + 1));
}

// Returns whether one entry of NO_PROXY matches. entry: lower-case, without surrounding blanks.
bool has(std::string_view entry, const std::string& host, const std::optional<Address>& address,
         const std::string& port) {
  if (const auto network = decode_network(entry)) return address && contains(*network, *address);
  const auto split_entry = split_host_port(entry);
  const std::string_view name = split_entry ? split_entry->first : entry;
  if (split_entry && !split_entry->second.empty() && split_entry->second != port) return false;
  if (name.empty()) return false;
  if (const auto exempt = decode_address(name)) return address == exempt;
  if (address) return false;
  // "a.b" matches a.b and its subdomains; ".a.b" and "*.a.b" only the subdomains.
  std::string suffix(name.starts_with("*.") ? name.substr(1) : name);
  const bool includes_domain = suffix[0] != '.';
  if (includes_domain) suffix.insert(0, 1, '.');
  return host.ends_with(suffix) || (includes_domain && host == suffix.substr(1));
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto byte = i + 2 < text.size() ? parse_hex(text.substr(i + 1, 2)) : std::nullopt;
    if (!byte) return std::nullopt;
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

Error bad_proxy(const std::string& source, std::string_view reason) {
  return {Errc::kInvalid, source + ": " + std::string(reason)};
}

Result<Proxy> decode_proxy(const std::string& text, const std::string& source) {
  const size_t colon = text.find("://");
  const std::string scheme = colon == std::string::npos ? "http" : lower(text.substr(0, colon));
  if (scheme != "http")
    return bad_proxy(source,
                     "a proxy by " + in_quotes(scheme, 32) +
                         ":// is not supported: name one by http://, or add the API server to NO_PROXY");
  std::string_view rest = text;
  if (colon != std::string::npos) rest.remove_prefix(colon + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  Proxy proxy{.source = source};
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = rest.substr(0, at);
    const size_t divider = std::min(user.find(':'), user.size());
    const auto name = percent_decode(user.substr(0, divider));
    const auto password = percent_decode(divider < user.size() ? user.substr(divider + 1) : "");
    if (!name || !password)
      return bad_proxy(source, "its user information has a '%' that is no %HH: write %25");
    proxy.authorization = "Basic " + encode_base64(*name + ":" + *password);
    rest.remove_prefix(at + 1);
  }
  auto url = decode_url("http://" + std::string(rest));
  if (!url)
    return bad_proxy(source, "no valid HOST or HOST:PORT in it; wanted http://[USER:PASSWORD@]HOST[:PORT]");
  proxy.host = url->host;
  proxy.port = url->port;
  return proxy;
}

}  // namespace

std::string describe(const Proxy& proxy) {
  const bool is_v6 = proxy.host.find(':') != std::string::npos;
  return "proxy " + (is_v6 ? "[" + proxy.host + "]" : proxy.host) + ":" + std::to_string(proxy.port) + " (" +
         proxy.source + ")";
}

ProxyEnvironment read_proxy_environment(const Getenv& get) {
  ProxyEnvironment out;
  const auto value = [&](const char* name) -> std::string {
    const char* found = get(name);
    return found == nullptr ? "" : found;
  };
  const auto first = [&](const char* upper, const char* lower_case, std::string& name) {
    name = value(upper).empty() && !value(lower_case).empty() ? lower_case : upper;
    return value(name.c_str());
  };
  std::string unused;
  out.https_proxy = first("HTTPS_PROXY", "https_proxy", out.https_name);
  out.http_proxy = first("HTTP_PROXY", "http_proxy", out.http_name);
  out.no_proxy = first("NO_PROXY", "no_proxy", unused);
  out.is_cgi = !value("REQUEST_METHOD").empty();
  return out;
}

ProxyEnvironment process_proxy_environment() {
  return read_proxy_environment([](const char* name) { return std::getenv(name); });
}

bool is_reached_directly(std::string_view host, uint16_t port, std::string_view no_proxy) {
  if (host == "localhost") return true;
  const auto address = decode_address(host);
  if (address && is_loopback(*address)) return true;
  const std::string name = lower(host), port_text = std::to_string(port);
  for (const std::string_view part : split(no_proxy, ',')) {
    const std::string entry = lower(trim(part));
    if (entry == "*") return true;
    if (!entry.empty() && has(entry, name, address, port_text)) return true;
  }
  return false;
}

Result<std::optional<Proxy>> proxy_for(const Url& server, const std::string& proxy_url,
                                       const ProxyEnvironment& environment) {
  const bool is_explicit = !proxy_url.empty();
  const std::string& text = is_explicit  ? proxy_url
                            : server.tls ? environment.https_proxy
                                         : environment.http_proxy;
  const std::string& source = server.tls ? environment.https_name : environment.http_name;
  if (text.empty()) return std::optional<Proxy>();
  if (!is_explicit && is_reached_directly(server.host, server.port, environment.no_proxy))
    return std::optional<Proxy>();
  auto proxy = decode_proxy(text, is_explicit ? "proxy-url" : source);
  if (!proxy) return proxy.error();
  if (!server.tls)
    return bad_proxy(proxy->source, environment.is_cgi && !is_explicit
                                        ? "not used where REQUEST_METHOD is set: it may be a client's header"
                                        : "an API server without TLS is not reached through a proxy: use "
                                          "https://, or add it to NO_PROXY");
  return std::optional(*std::move(proxy));
}

}  // namespace sliced::http
