// The floor for a write: nothing but libuv and OpenSSL, one open connection, a PUT of given bytes, and the
// time until its answer is complete.
//   put_floor ADDRESS PORT PATH TOKEN
// Standard input: a decimal length and a newline, then that many bytes of body; again and again.
// Standard output: "STATUS MICROSECONDS" for each. The server's certificate is not looked at.
#include <openssl/ssl.h>
#include <uv.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

namespace {

struct Connection {
  uv_loop_t* loop = uv_default_loop();
  uv_tcp_t tcp{};
  SSL* ssl = nullptr;
  BIO *in = nullptr, *out = nullptr;
  std::string plain;  // what has been received and decrypted
  char buffer[1 << 16];
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "put_floor: %s\n", what);
  std::exit(1);
}

// What TLS wants to say goes out at once; the socket of a local server takes it.
void flush(Connection& c) {
  char* data = nullptr;
  size_t left = static_cast<size_t>(BIO_get_mem_data(c.out, &data));
  while (left > 0) {
    uv_buf_t piece = uv_buf_init(data, static_cast<unsigned>(left));
    const int written = uv_try_write(reinterpret_cast<uv_stream_t*>(&c.tcp), &piece, 1);
    if (written == UV_EAGAIN) continue;
    if (written < 0) fail(uv_strerror(written));
    data += written;
    left -= static_cast<size_t>(written);
  }
  (void)BIO_reset(c.out);
}

void on_alloc(uv_handle_t* handle, size_t, uv_buf_t* buffer) {
  auto& c = *static_cast<Connection*>(handle->data);
  *buffer = uv_buf_init(c.buffer, sizeof c.buffer);
}

void on_read(uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
  auto& c = *static_cast<Connection*>(stream->data);
  if (size < 0) fail(uv_strerror(static_cast<int>(size)));
  BIO_write(c.in, buffer->base, static_cast<int>(size));
  if (!SSL_is_init_finished(c.ssl)) SSL_do_handshake(c.ssl);
  char text[16384];
  for (int got; (got = SSL_read(c.ssl, text, sizeof text)) > 0;)
    c.plain.append(text, static_cast<size_t>(got));
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

void connect(Connection& c, const char* address, int port) {
  sockaddr_in to{};
  if (uv_ip4_addr(address, port, &to) != 0) fail("wants an IPv4 address");
  uv_tcp_init(c.loop, &c.tcp);
  uv_tcp_nodelay(&c.tcp, 1);
  c.tcp.data = &c;
  c.ssl = SSL_new(SSL_CTX_new(TLS_client_method()));
  c.in = BIO_new(BIO_s_mem());
  c.out = BIO_new(BIO_s_mem());
  SSL_set_bio(c.ssl, c.in, c.out);
  SSL_set_connect_state(c.ssl);
  static uv_connect_t request;
  const auto on_connect = [](uv_connect_t* done, int status) {
    if (status < 0) fail(uv_strerror(status));
    auto& c = *static_cast<Connection*>(done->handle->data);
    uv_read_start(done->handle, on_alloc, on_read);
    SSL_do_handshake(c.ssl);
    flush(c);
  };
  uv_tcp_connect(&request, &c.tcp, reinterpret_cast<const sockaddr*>(&to), on_connect);
  while (!SSL_is_init_finished(c.ssl)) uv_run(c.loop, UV_RUN_ONCE);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) fail("put_floor ADDRESS PORT PATH TOKEN");
  Connection c;
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
    while (!is_complete(c.plain)) uv_run(c.loop, UV_RUN_ONCE);
    const auto took =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - since);
    std::printf("%s %lld\n", c.plain.substr(9, 3).c_str(), static_cast<long long>(took.count()));
    std::fflush(stdout);
  }
  return 0;
}
