#pragma once
// Own certificate and trusted authorities for TLS (OpenSSL).
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reactor/base/result.h"

struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_st;

namespace sliced::reactor::net {

/// PEM texts; the caller reads files and reloads them (tls_files.h for servers, kube/client/credentials.h for
/// clients). At most 1,024 certificates in a text; other blocks are ignored.
struct TlsConfig {
  std::string
      ca_pem;  // one or more certificates; each is a trust anchor, also an intermediate or a server's own
  bool system_ca = false;       // trust the system's store as well (1 MB of memory)
  std::string client_cert_pem;  // chain, leaf first; needs client_key_pem
  std::string client_key_pem;   // unencrypted
  bool insecure_skip_verify = false;
  std::vector<std::string> alpn;  // {"h2", "http/1.1"}, most preferred first; empty: none
};

/// The same for servers. Client certificates are verified in the handshake, in which a client without one is
/// refused if client_ca_pem is set.
struct TlsServerConfig {
  std::string cert_pem;       // chain, leaf first
  std::string key_pem;        // unencrypted
  std::string client_ca_pem;  // "": no client certificates are requested; otherwise each client must have one
                              // of it
  std::vector<std::string> alpn;  // {"h2", "http/1.1"}, most preferred first; empty: any
};

/// Returns a text that changes with the system's store (OpenSSL's default files, or SSL_CERT_FILE and
/// SSL_CERT_DIR): name, inode, size and modification time of each. Blocks.
std::string system_ca_stamp();

/// The shared configuration of sessions. Immutable: create a new one when credentials change; open sessions
/// keep theirs.
/// Threads: created on any thread (reading the system's store blocks). OpenSSL counts references, so that
/// sessions may outlive the last shared_ptr.
class TlsContext {
 public:
  /// Errors: kInvalid with the cause: CA without a certificate, no trust anchor, key and certificate do not
  /// match, encrypted key.
  static Result<std::shared_ptr<const TlsContext>> make(const TlsConfig& config);
  /// TLS 1.2 with forward secrecy, and later; without session resumption. Errors: the same.
  static Result<std::shared_ptr<const TlsContext>> make_server(const TlsServerConfig& config);
  ~TlsContext();
  /// Validity of the own certificate, the first of its chain: start and end in seconds since 1970.
  struct Validity {
    int64_t begins = 0, ends = 0;
  };
  /// Returns {0, 0} without a certificate.
  Validity validity() const { return validity_; }
  TlsContext(const TlsContext&) = delete;

 private:
  friend class TlsSession;
  TlsContext() = default;
  ssl_ctx_st* open(const ssl_method_st* method);
  static int choose_protocol(ssl_st*, const unsigned char** chosen, unsigned char* size,
                             const unsigned char* offered, unsigned offered_size, void* context) noexcept;

  ssl_ctx_st* raw_ = nullptr;
  std::string alpn_;  // of a server: the protocols in wire format
  Validity validity_;
  bool verify_ = true, is_server_ = false;
};

}  // namespace sliced::reactor::net
