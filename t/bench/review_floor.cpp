// The floor for a review: nothing but libuv and OpenSSL, one thread, requests of HTTP/1.1 over TLS that are kept open, each
// answered with its own body.
//   review_floor PORT CERTIFICATE KEY
// It listens on 127.0.0.1. Requests have a Content-Length, and nothing of them is looked at but that.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "t/bench/bare_tls.h"

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "review_floor: %s\n", what);
  std::exit(1);
}

void end(BareTls& c) {
  uv_close(reinterpret_cast<uv_handle_t*>(&c.tcp), [](uv_handle_t* handle) { delete &BareTls::of(handle); });
}

void answer(BareTls& c) {
  for (;;) {
    const size_t head = c.plain.find("\r\n\r\n"), length = c.plain.find("Content-Length: ");
    if (head == std::string::npos || length > head) return;
    const size_t size = std::strtoul(c.plain.c_str() + length + 16, nullptr, 10);
    if (c.plain.size() < head + 4 + size) return;
    const std::string whole =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(size) +
        "\r\n\r\n" + c.plain.substr(head + 4, size);
    c.plain.erase(0, head + 4 + size);
    SSL_write(c.ssl, whole.data(), static_cast<int>(whole.size()));
  }
}

void on_read(uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
  BareTls& c = BareTls::of(stream);
  if (size < 0) return end(c);
  c.take(*buffer, size);
  answer(c);
  c.flush();
}

void on_client(uv_stream_t* listener, int status) {
  if (status < 0) return;
  auto* c = new BareTls;
  c->open(listener->loop, static_cast<SSL_CTX*>(listener->data));
  SSL_set_accept_state(c->ssl);
  if (uv_accept(listener, c->stream()) != 0) return end(*c);
  uv_tcp_nodelay(&c->tcp, 1);
  uv_read_start(c->stream(), BareTls::on_alloc, on_read);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("review_floor PORT CERTIFICATE KEY");
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (SSL_CTX_use_certificate_chain_file(context, argv[2]) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, argv[3], SSL_FILETYPE_PEM) != 1)
    fail("no certificate");
  uv_tcp_t listener{};
  sockaddr_in at{};
  uv_ip4_addr("127.0.0.1", std::atoi(argv[1]), &at);
  uv_tcp_init(uv_default_loop(), &listener);
  listener.data = context;
  if (uv_tcp_bind(&listener, reinterpret_cast<const sockaddr*>(&at), 0) != 0 ||
      uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 64, on_client) != 0)
    fail("the port cannot be had");
  return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
