#pragma once
// TLS over one connection of libuv's and nothing else: what the floors of a write and of a review have in common.
// One thread; the peer is on this machine, so that a full socket is waited for.
#include <openssl/ssl.h>
#include <uv.h>

#include <string>

/// Owns its TLS state; the handle is its user's to close, before this goes. handle.data is this.
struct BareTls {
  uv_tcp_t tcp{};
  SSL* ssl = nullptr;
  BIO *in = nullptr, *out = nullptr;
  std::string plain;  // received and decrypted, and not taken yet
  char buffer[1 << 16];

  /// Outlives neither the context nor the loop.
  void open(uv_loop_t* loop, SSL_CTX* context) {
    uv_tcp_init(loop, &tcp);
    tcp.data = this;
    ssl = SSL_new(context);
    in = BIO_new(BIO_s_mem());
    out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in, out);
  }
  ~BareTls() { SSL_free(ssl); }

  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&tcp); }
  static BareTls& of(void* handle) { return *static_cast<BareTls*>(static_cast<uv_handle_t*>(handle)->data); }

  /// What TLS wants to say goes out at once. 0, or libuv's error.
  int flush() {
    char* data = nullptr;
    auto left = static_cast<size_t>(BIO_get_mem_data(out, &data));
    int status = 0;
    while (left > 0 && status == 0) {
      uv_buf_t piece = uv_buf_init(data, static_cast<unsigned>(left));
      const int written = uv_try_write(stream(), &piece, 1);
      if (written == UV_EAGAIN) continue;
      if (written < 0)
        status = written;
      else
        data += written, left -= static_cast<size_t>(written);
    }
    (void)BIO_reset(out);
    return status;
  }

  /// What has come is decrypted, and the handshake goes on.
  void take(const uv_buf_t& got, ssize_t size) {
    BIO_write(in, got.base, static_cast<int>(size));
    if (!SSL_is_init_finished(ssl)) SSL_do_handshake(ssl);
    char text[16384];
    for (int part; (part = SSL_read(ssl, text, sizeof text)) > 0;)
      plain.append(text, static_cast<size_t>(part));
  }

  static void on_alloc(uv_handle_t* handle, size_t, uv_buf_t* into) {
    BareTls& own = of(handle);
    *into = uv_buf_init(own.buffer, sizeof own.buffer);
  }
};
