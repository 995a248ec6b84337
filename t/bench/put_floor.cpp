// The floor for a write: nothing but libuv and OpenSSL, one open connection, a PUT of given bytes, and the
// time until its answer is complete.
//   put_floor ADDRESS PORT PATH TOKEN
// Standard input: a decimal length and a newline, then that many bytes of body; again and again.
// Standard output: "STATUS MICROSECONDS" for each. The server's certificate is not looked at.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "t/bench/bare_tls.h"

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "put_floor: %s\n", what);
  std::exit(1);
}

void flush(BareTls& c) {
  if (const int status = c.flush(); status != 0) fail(uv_strerror(status));
}

void on_read(uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
  BareTls& c = BareTls::of(stream);
  if (size < 0) fail(uv_strerror(static_cast<int>(size)));
  c.take(*buffer, size);
  flush(c);
}

// Length or chunks: an API server uses both.
bool is_complete(const std::string& answer) {
  const size_t head = answer.find("\r\n\r\n");
  if (head == std::string::npos) return false;
  const size_t length = answer.find("Content-Length: ");
  if (length < head)
    return answer.size() >= head + 4 + std::strtoul(answer.c_str() + length + 16, nullptr, 10);
  return answer.ends_with("\r\n0\r\n\r\n");
}

void connect(BareTls& c, const char* address, int port) {
  sockaddr_in to{};
  if (uv_ip4_addr(address, port, &to) != 0) fail("wants an IPv4 address");
  c.open(uv_default_loop(), SSL_CTX_new(TLS_client_method()));
  uv_tcp_nodelay(&c.tcp, 1);
  SSL_set_connect_state(c.ssl);
  static uv_connect_t request;
  const auto on_connect = [](uv_connect_t* done, int status) {
    if (status < 0) fail(uv_strerror(status));
    BareTls& c = BareTls::of(done->handle);
    uv_read_start(done->handle, BareTls::on_alloc, on_read);
    SSL_do_handshake(c.ssl);
    flush(c);
  };
  uv_tcp_connect(&request, &c.tcp, reinterpret_cast<const sockaddr*>(&to), on_connect);
  while (!SSL_is_init_finished(c.ssl)) uv_run(uv_default_loop(), UV_RUN_ONCE);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) fail("put_floor ADDRESS PORT PATH TOKEN");
  BareTls c;
  connect(c, argv[1], std::atoi(argv[2]));
  std::string length;
  while (std::getline(std::cin, length)) {
    std::string body(std::strtoul(length.c_str(), nullptr, 10), '\0');
    std::cin.read(body.data(), static_cast<std::streamsize>(body.size()));
    const std::string request =
        "PUT " + std::string(argv[3]) + " HTTP/1.1\r\nHost: " + argv[1] + "\r\nAuthorization: Bearer " +
        argv[4] + "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    const auto since = std::chrono::steady_clock::now();
    c.plain.clear();
    SSL_write(c.ssl, request.data(), static_cast<int>(request.size()));
    flush(c);
    while (!is_complete(c.plain)) uv_run(uv_default_loop(), UV_RUN_ONCE);
    const auto took =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - since);
    std::printf("%s %lld\n", c.plain.substr(9, 3).c_str(), static_cast<long long>(took.count()));
    std::fflush(stdout);
  }
  return 0;
}
