#include "daemon/status/guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/status/pages.h"
#include "reactor/base/text.h"

namespace sliced::status {
namespace {

bool is_address(const std::string& host) {
  unsigned char parsed[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, host.c_str(), parsed) == 1 || ::inet_pton(AF_INET6, host.c_str(), parsed) == 1;
}

// "" or ":9810".
bool is_port(std::string_view text) {
  return text.empty() ||
         (text.front() == ':' && text.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

// Returns the host of "[::1]:9810", "node-1:9810", "10.0.0.1", without brackets and port, in lower case; ""
// if invalid.
std::string host_of(std::string_view authority) {
  const bool is_bracketed = authority.starts_with('[');
  const size_t end = is_bracketed ? authority.find(']') : std::min(authority.rfind(':'), authority.size());
  if (end == std::string_view::npos) return "";
  if (!is_port(authority.substr(is_bracketed ? end + 1 : end))) return "";
  return lower(is_bracketed ? authority.substr(1, end - 1) : authority.substr(0, end));
}

}  // namespace

std::string refusal_of(const http::RequestHead& request, const OwnNames& names) {
  if (request.from && request.from->credentials) return {};
  const std::string host = host_of(request.authority);
  if (!is_address(host) && host != "localhost" && !names.contains(host))
    return "this is not read under the name " + in_quotes(host) +
           ": use an IP address, localhost, or the name of the node";
  const bool is_foreign =
      std::any_of(request.headers.begin(), request.headers.end(), [&](const auto& header) {
        return lower(header.name) == "origin" && header.value != "http://" + request.authority;
      });
  if (is_foreign) return "pages of another origin may not read this";
  const auto says = [&](std::string_view name) {
    const std::string* value = request.header(name);
    return value == nullptr ? std::string_view() : *value;
  };
  const std::string_view site = says("sec-fetch-site"), to = says("sec-fetch-dest");
  const bool is_link = says("sec-fetch-mode") == "navigate" && (to.empty() || to == "document");
  if (!site.empty() && site != "same-origin" && site != "none" && !is_link)
    return "pages of another site may not read this";
  return {};
}

http::Serve guarded(http::Serve serve, OwnNames names, std::set<std::string> open) {
  return [serve = std::move(serve), names = std::move(names), open = std::move(open)](
             const http::RequestHead& request, http::Response& response) -> std::unique_ptr<http::Call> {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (open.contains(path)) return serve(request, response);
    const std::string refusal = refusal_of(request, names);
    if (refusal.empty()) return serve(request, response);
    send(response, {.status = 403, .body = refusal + "\n"});
    return nullptr;
  };
}

}  // namespace sliced::status
