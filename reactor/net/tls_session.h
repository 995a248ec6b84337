#pragma once
// TLS as a conversion of bytes (OpenSSL over memory BIOs), independent of sockets and loop. TLS 1.2 and
// later.
#include <memory>
#include <string>
#include <string_view>

#include "reactor/base/result.h"
#include "reactor/net/tls_context.h"

struct x509_store_ctx_st;

namespace sliced::reactor::net {

/// One connection. Feed the peer's bytes; after every call send take_outgoing(), and use take_plaintext().
/// Errors: every error is final. kDenied if either side refuses a certificate. Texts name the cause:
/// "certificate of CN = x has expired on ...", "certificate is for a, 10.0.0.1; not for c".
class TlsSession {
 public:
  /// server_name: a DNS name (sent as SNI) or an IP address, which must be among the certificate's subject
  /// alternative names (the common name does not count). The first outgoing bytes are available immediately.
  static Result<std::unique_ptr<TlsSession>> open(std::shared_ptr<const TlsContext> context,
                                                  std::string server_name);
  /// The server's side; the client sends first. Errors: kIo without memory.
  static Result<std::unique_ptr<TlsSession>> accept(std::shared_ptr<const TlsContext> context);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;

  /// Decrypts bytes from the peer, split anywhere. take_plaintext() then has at most as many bytes as were fed.
  Result<Unit> feed(std::string_view from_peer);
  /// Plain bytes before the end of the handshake are sent after it.
  Result<Unit> write(std::string_view plain);
  /// Sends close_notify. Reading continues.
  Result<Unit> close();
  /// Call at the end of the transport. Errors: kIo "truncated" without close_notify from the peer: an
  /// attacker may have cut the message (RFC 8446 section 6.1), so this never ends a body.
  Result<Unit> end();

  /// Both remove the bytes from the session.
  std::string take_outgoing();
  std::string take_plaintext();
  bool established() const { return established_; }
  bool peer_closed() const { return peer_closed_; }  // close_notify was received
  std::string alpn() const;                          // chosen protocol; empty when none
  std::string peer_subject() const;                  // of the peer's verified certificate; "" without

 private:
  TlsSession(std::shared_ptr<const TlsContext> context, ssl_st* raw, std::string server_name);
  struct Pipe;
  Result<Unit> set_name();
  Result<Unit> handshake();
  Result<Unit> write_now(std::string_view plain);
  Result<Unit> read_all();
  Error failure();
  static int on_verified(int good, x509_store_ctx_st* store) noexcept;

  std::shared_ptr<const TlsContext> context_;
  ssl_st* raw_;
  std::string server_name_;
  std::unique_ptr<Pipe> pipe_;  // outlives raw_, which the destructor frees first
  std::string refusal_;         // why verification failed
  std::string early_;           // plain bytes written before the handshake was done
  std::string plain_;
  bool established_ = false;
  bool peer_closed_ = false;
  bool close_requested_ = false;
  bool failed_ = false;
};

}  // namespace sliced::reactor::net
