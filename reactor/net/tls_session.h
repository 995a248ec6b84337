#pragma once
// TLS as bytes in, bytes out (OpenSSL over memory BIOs); knows no socket and no loop. TLS 1.2 and later.
#include <memory>
#include <string>
#include <string_view>

#include "reactor/base/result.h"
#include "reactor/net/tls_context.h"

struct x509_store_ctx_st;

namespace sliced::reactor::net {

/// One connection. Feed what the peer sent; after every call send what take_outgoing() returns, and use
/// take_plain(). Errors: any error is final. kDenied when a certificate is refused, by us or by the peer.
/// Texts say what failed:
///         "certificate of CN = x has expired on ...", "certificate is for a, 10.0.0.1; not for c".
class TlsSession {
 public:
  /// server_name: a DNS name (sent as SNI) or an IP address; must be among the certificate's subject
  /// alternative names (the common name does not count). The first outgoing bytes are ready at once.
  static Result<std::unique_ptr<TlsSession>> open(std::shared_ptr<const TlsContext> context,
                                                  std::string server_name);
  /// The server's side; the client speaks first.
  /// Errors: kIo, that there is no memory for one; nothing of the peer is known yet.
  static Result<std::unique_ptr<TlsSession>> accept(std::shared_ptr<const TlsContext> context);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;

  /// Bytes from the peer, cut anywhere.
  /// Decrypts all of them: what take_plain() then has is bounded by what was fed, so whoever reads a piece of
  /// the socket at a time holds a piece.
  Result<Unit> feed(std::string_view from_peer);
  /// Before the handshake is done, plain bytes are kept and sent after it.
  Result<Unit> write(std::string_view plain);
  /// Sends close_notify. Reading goes on.
  Result<Unit> close();
  /// The transport ended. Errors: kIo "truncated" unless the peer said close_notify.
  /// Whoever cut the connection may have cut the message, too (RFC 8446 section 6.1), so this is never the
  /// end of a body.
  Result<Unit> end();

  /// Both take it out of the session: what is not sent is lost.
  std::string take_outgoing();
  std::string take_plain();
  bool established() const { return established_; }
  bool peer_closed() const { return peer_closed_; }  // close_notify came
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
  bool close_asked_ = false;
  bool failed_ = false;
};

}  // namespace sliced::reactor::net
