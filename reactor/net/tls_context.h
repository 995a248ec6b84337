#pragma once
// Who we are over TLS, and whom we trust (OpenSSL).
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reactor/base/result.h"

struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_st;

namespace sliced::reactor::net {

/// PEM texts and not paths: who reads files, and when again, is the caller's (tls_files.h for servers,
/// kube/client/credentials.h for clients). At most 1,024 certificates a text; other blocks in it are passed over.
struct TlsConfig {
  std::string
      ca_pem;  // one or more certificates; each is a trust anchor, also an intermediate or a server's own
  bool system_ca = false;       // trust the system's store as well (1 MB of memory)
  std::string client_cert_pem;  // chain, leaf first; needs client_key_pem
  std::string client_key_pem;   // unencrypted
  bool insecure_skip_verify = false;
  std::vector<std::string> alpn;  // {"h2", "http/1.1"}, the dearest first; empty offers none
};

/// The same texts, from the other side. Whoever shows a certificate is verified before anything of it is
/// believed, and a client without one is refused in the handshake.
struct TlsServerConfig {
  std::string cert_pem;       // chain, leaf first
  std::string key_pem;        // unencrypted
  std::string client_ca_pem;  // "": clients are not asked for a certificate; else each must show one of it
  std::vector<std::string> alpn;  // {"h2", "http/1.1"}, the dearest first; empty: whatever clients offer
};

/// Changes when the system's store does (the files that OpenSSL reads by default, or those of SSL_CERT_FILE
/// and SSL_CERT_DIR): name, inode, size and time of modification of each. Blocks: files are looked at.
std::string system_ca_stamp();

/// What all sessions with one configuration share. Immutable; make a new one when credentials change:
/// sessions that are open go on with theirs.
/// Threads: made on any thread (reading the system's store blocks; TlsFiles has a worker make it). OpenSSL
/// counts references in it, so a session keeps what it needs when the last shared_ptr goes.
class TlsContext {
 public:
  /// Errors: kInvalid, naming what is wrong: CA without a certificate, no trust anchor at all, key does not
  ///         belong to certificate, encrypted key.
  static Result<std::shared_ptr<const TlsContext>> make(const TlsConfig& config);
  /// TLS 1.2 with forward secrecy and later; no session is resumed. Errors: the same.
  static Result<std::shared_ptr<const TlsContext>> make_server(const TlsServerConfig& config);
  ~TlsContext();
  /// Of our own certificate, the first of its chain: from, and to before, these seconds since 1970.
  struct Validity {
    int64_t begins = 0, ends = 0;
  };
  /// {0, 0} where there is no certificate of our own.
  Validity validity() const { return validity_; }
  TlsContext(const TlsContext&) = delete;

 private:
  friend class TlsSession;
  TlsContext() = default;
  ssl_ctx_st* open(const ssl_method_st* method);
  static int choose_protocol(ssl_st*, const unsigned char** chosen, unsigned char* size,
                             const unsigned char* offered, unsigned offered_size, void* context) noexcept;

  ssl_ctx_st* raw_ = nullptr;
  std::string alpn_;  // ours, as the wire has them; of a server
  Validity validity_;
  bool verify_ = true, is_server_ = false;
};

}  // namespace sliced::reactor::net
