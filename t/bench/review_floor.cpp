// The floor for a review: nothing but libuv and OpenSSL, one thread, requests of HTTP/1.1 over TLS that are kept open, each
// answered with its own body.
//   review_floor PORT CERTIFICATE KEY
// It listens on 127.0.0.1. Requests have a Content-Length, and nothing of them is looked at but that.
#include <openssl/ssl.h>
#include <uv.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Client {
  uv_tcp_t tcp{};
  SSL* ssl = nullptr;
  BIO *in = nullptr, *out = nullptr;
  std::string plain;  // received and decrypted, not answered yet
  char buffer[1 << 16];
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "review_floor: %s\n", what);
  std::exit(1);
}

void end(Client& c) {
  uv_close(reinterpret_cast<uv_handle_t*>(&c.tcp), [](uv_handle_t* handle) {
    auto* gone = static_cast<Client*>(handle->data);
    SSL_free(gone->ssl);
    delete gone;
  });
}

// What TLS wants to say goes out at once; the socket of a local client takes it.
void flush(Client& c) {
  char* data = nullptr;
  size_t left = static_cast<size_t>(BIO_get_mem_data(c.out, &data));
  while (left > 0) {
    uv_buf_t piece = uv_buf_init(data, static_cast<unsigned>(left));
    const int written = uv_try_write(reinterpret_cast<uv_stream_t*>(&c.tcp), &piece, 1);
    if (written == UV_EAGAIN) continue;
    if (written < 0) break;
    data += written;
    left -= static_cast<size_t>(written);
  }
  (void)BIO_reset(c.out);
}

void answer(Client& c) {
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

void on_alloc(uv_handle_t* handle, size_t, uv_buf_t* buffer) {
  auto& c = *static_cast<Client*>(handle->data);
  *buffer = uv_buf_init(c.buffer, sizeof c.buffer);
}

void on_read(uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
  auto& c = *static_cast<Client*>(stream->data);
  if (size < 0) return end(c);
  BIO_write(c.in, buffer->base, static_cast<int>(size));
  if (!SSL_is_init_finished(c.ssl)) SSL_do_handshake(c.ssl);
  char text[16384];
  for (int got; (got = SSL_read(c.ssl, text, sizeof text)) > 0;)
    c.plain.append(text, static_cast<size_t>(got));
  answer(c);
  flush(c);
}

void on_client(uv_stream_t* listener, int status) {
  if (status < 0) return;
  auto* c = new Client;
  uv_tcp_init(listener->loop, &c->tcp);
  c->tcp.data = c;
  c->ssl = SSL_new(static_cast<SSL_CTX*>(listener->data));
  c->in = BIO_new(BIO_s_mem());
  c->out = BIO_new(BIO_s_mem());
  SSL_set_bio(c->ssl, c->in, c->out);
  SSL_set_accept_state(c->ssl);
  if (uv_accept(listener, reinterpret_cast<uv_stream_t*>(&c->tcp)) != 0) return end(*c);
  uv_tcp_nodelay(&c->tcp, 1);
  uv_read_start(reinterpret_cast<uv_stream_t*>(&c->tcp), on_alloc, on_read);
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
