#pragma once
// An HTTP server whose every byte a test writes: it takes requests apart and lets the test answer as rudely
// as it likes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reactor/base/text.h"
#include "t/fake/tcp_server.h"

namespace sliced::fake {

struct SeenRequest {
  std::string method, target;                                // "GET", "/api/v1/nodes?limit=500"
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  size_t connection = 0;  // on which it came, counted from 0

  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return "";
  }
};

class RudeServer {
 public:
  using Connection = TcpServer::Connection;
  /// Called for each whole request, in order. The answer is whatever it does to the connection.
  using OnRequest = std::function<void(const SeenRequest&, Connection&)>;

  RudeServer(reactor::Loop& loop, OnRequest on_request, std::optional<TlsServerConfig> tls = {})
      : on_request_(std::move(on_request)),
        tcp_(loop, [this](Connection& from) { read(from); }, std::move(tls)) {}

  uint16_t port() const { return tcp_.port(); }
  size_t connections() const { return tcp_.count(); }
  TcpServer& tcp() { return tcp_; }

  std::vector<SeenRequest> requests;
  OnRequest on_request_;  // may be replaced between requests

 private:
  void read(Connection& from) {
    while (auto request = take(from)) {
      requests.push_back(*request);
      const OnRequest answer = on_request_;
      answer(*request, from);
    }
  }

  static std::optional<SeenRequest> take(Connection& from) {
    const size_t end = from.received.find("\r\n\r\n");
    if (end == std::string::npos) return std::nullopt;
    SeenRequest request{.connection = from.number};
    const std::string head = from.received.substr(0, end);
    size_t body_bytes = 0;
    bool first = true;
    for (std::string_view line : split(head, '\n')) {
      line = trim(line);
      if (std::exchange(first, false)) {
        const auto words = split(line, ' ');
        if (words.size() != 3 || words[2] != "HTTP/1.1") std::abort();
        request.method = words[0];
        request.target = words[1];
        continue;
      }
      const size_t colon = line.find(':');
      request.headers.emplace_back(lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
      if (request.headers.back().first == "content-length")
        body_bytes = static_cast<size_t>(parse_int(request.headers.back().second).value());
    }
    if (from.received.size() < end + 4 + body_bytes) return std::nullopt;
    request.body = from.received.substr(end + 4, body_bytes);
    from.received.erase(0, end + 4 + body_bytes);
    return request;
  }

  TcpServer tcp_;
};

/// "HTTP/1.1 200 X", the given header lines (each with its CRLF), Content-Length and the body.
inline std::string http_response(int status, std::string_view body, std::string_view headers = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
inline std::string chunked_head() { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"; }
inline std::string chunk(std::string_view bytes) {
  std::string size = hex(bytes.size(), 8);
  return size + "\r\n" + std::string(bytes) + "\r\n";
}
inline std::string last_chunk() { return "0\r\n\r\n"; }

}  // namespace sliced::fake
