#include "reactor/net/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include "reactor/base/text.h"
#include "reactor/net/openssl_values.h"

namespace sliced::reactor::net {
namespace {

constexpr size_t kStoreFilesMax = 4096;
constexpr size_t kCertificatesMax = 1024;

BioPtr reader(const std::string& bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), 1u << 24))));
}

// Without this callback OpenSSL asks for a passphrase on the terminal.
int no_passphrase(char*, int, int, void*) noexcept { return -1; }

// Returns all certificates of a PEM text; skips other blocks.
Result<std::vector<X509Ptr>> decode_certificates(const std::string& pem, std::string_view what) {
  std::vector<X509Ptr> all;
  const BioPtr in = reader(pem);
  ERR_clear_error();
  while (X509* next = PEM_read_bio_X509(in.get(), nullptr, no_passphrase, nullptr)) {
    all.emplace_back(next);
    if (all.size() > kCertificatesMax)
      return Error{Errc::kTooLarge, std::string(what) + ": too many certificates"};
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = openssl_reason();
  if (!at_end)
    return Error{Errc::kInvalid,
                 std::string(what) + ": certificate " + std::to_string(all.size() + 1) + ": " + reason};
  if (all.empty()) return Error{Errc::kInvalid, std::string(what) + ": no certificate in it (expected PEM)"};
  return all;
}

Result<Unit> add_anchors(X509_STORE* store, const std::string& ca_pem) {
  // Each given certificate is a trust anchor, as in Go, whose clients read the same files.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  auto anchors = decode_certificates(ca_pem, "certificate authority");
  if (!anchors) return std::move(anchors.error());
  for (const X509Ptr& anchor : *anchors)
    X509_STORE_add_cert(store, anchor.get());  // adding a certificate twice is harmless
  ERR_clear_error();
  return Unit{};
}

Result<Unit> load_anchors(SSL_CTX* context, const TlsConfig& config) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  if (config.system_ca && SSL_CTX_set_default_verify_paths(context) != 1)
    return Error{Errc::kInvalid, "system certificates: " + openssl_reason()};
  if (config.ca_pem.empty()) {
    if (config.system_ca || config.insecure_skip_verify) return Unit{};
    return Error{Errc::kInvalid, "no certificate authority to verify the server with"};
  }
  return add_anchors(store, config.ca_pem);
}

int64_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

// whose: "client" or "server", for error texts.
Result<TlsContext::Validity> load_identity(SSL_CTX* context, const std::string& cert_pem,
                                           const std::string& key_pem, const std::string& owner) {
  if (cert_pem.empty() || key_pem.empty())
    return Error{Errc::kInvalid, owner + " certificate and key are only of use together"};
  auto chain = decode_certificates(cert_pem, owner + " certificate");
  if (!chain) return std::move(chain.error());
  const BioPtr in = reader(key_pem);
  const KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, no_passphrase, nullptr));
  if (!key) {
    const bool encrypted = key_pem.find("ENCRYPTED") != std::string::npos;
    const std::string reason = openssl_reason();
    return Error{Errc::kInvalid,
                 owner + " key: " + (encrypted ? "it is encrypted; give it unencrypted" : reason)};
  }
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1)
    return Error{Errc::kInvalid, owner + " certificate: " + openssl_reason()};
  for (size_t i = 1; i < chain->size(); ++i) SSL_CTX_add1_chain_cert(context, (*chain)[i].get());
  if (X509_check_private_key(chain->front().get(), key.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    ERR_clear_error();
    return Error{Errc::kInvalid, owner + " key does not belong to the " + owner + " certificate"};
  }
  const X509* leaf = chain->front().get();
  return TlsContext::Validity{seconds_of(X509_get0_notBefore(leaf)), seconds_of(X509_get0_notAfter(leaf))};
}

Result<std::string> alpn_wire(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255)
      return Error{Errc::kInvalid, "ALPN: bad protocol " + in_quotes(protocol)};
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  return wire;
}

std::string variable_or(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

std::string stamp_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return path + " -\n";
  return path + " " + std::to_string(found.st_ino) + " " + std::to_string(found.st_size) + " " +
         std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec) + "\n";
}

}  // namespace

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason == nullptr ? "unknown failure" : reason;
  ERR_clear_error();
  return text;
}

std::string system_ca_stamp() {
  const std::string file = variable_or(X509_get_default_cert_file_env(), X509_get_default_cert_file());
  const std::string directories = variable_or(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
  std::string stamps = stamp_of(file);
  for (const std::string_view directory : split(directories, ':')) {
    std::vector<std::string> paths;
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end;
         !error && at != end && paths.size() < kStoreFilesMax; at.increment(error))
      paths.push_back(at->path().string());
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) stamps += stamp_of(path);
  }
  return hex(stable_hash(stamps), 16);
}

// Applies the common settings of clients and servers.
SSL_CTX* TlsContext::open(const ssl_method_st* method) {
  ERR_clear_error();
  raw_ = SSL_CTX_new(method);
  if (raw_ == nullptr) return nullptr;
  SSL_CTX_set_min_proto_version(raw_, TLS1_2_VERSION);
  SSL_CTX_set_options(raw_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(raw_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_session_cache_mode(raw_, SSL_SESS_CACHE_OFF);
  return raw_;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsConfig& config) {
  std::shared_ptr<TlsContext> context(new TlsContext);
  SSL_CTX* raw = context->open(TLS_client_method());
  if (raw == nullptr) return Error{Errc::kIo, "TLS: " + openssl_reason()};
  context->verify_ = !config.insecure_skip_verify;
  if (auto loaded = load_anchors(raw, config); !loaded) return std::move(loaded.error()).in("TLS");
  if (!config.client_cert_pem.empty() || !config.client_key_pem.empty()) {
    const auto loaded = load_identity(raw, config.client_cert_pem, config.client_key_pem, "client");
    if (!loaded) return Error(loaded.error()).in("TLS");
    context->validity_ = *loaded;
  }
  const auto wire = alpn_wire(config.alpn);
  if (!wire) return Error(wire.error()).in("TLS");
  if (!wire->empty())
    SSL_CTX_set_alpn_protos(raw, reinterpret_cast<const unsigned char*>(wire->data()),
                            static_cast<unsigned>(wire->size()));
  return std::shared_ptr<const TlsContext>(std::move(context));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make_server(const TlsServerConfig& config) {
  std::shared_ptr<TlsContext> context(new TlsContext);
  SSL_CTX* raw = context->open(TLS_server_method());
  if (raw == nullptr) return Error{Errc::kIo, "TLS: " + openssl_reason()};
  context->is_server_ = true;
  context->verify_ = !config.client_ca_pem.empty();
  // With TLS 1.2, uses only the cipher suites that HTTP/2 permits (RFC 9113 section 9.2.2).
  SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_options(raw, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(raw, 0);  // without resumption each client sends its certificate
  const auto loaded = load_identity(raw, config.cert_pem, config.key_pem, "server");
  if (!loaded) return Error(loaded.error()).in("TLS");
  context->validity_ = *loaded;
  if (context->verify_)
    if (auto loaded = add_anchors(SSL_CTX_get_cert_store(raw), config.client_ca_pem); !loaded)
      return std::move(loaded.error()).in("TLS: clients");
  auto wire = alpn_wire(config.alpn);
  if (!wire) return std::move(wire.error()).in("TLS");
  context->alpn_ = *std::move(wire);
  if (!context->alpn_.empty()) SSL_CTX_set_alpn_select_cb(raw, &choose_protocol, context.get());
  return std::shared_ptr<const TlsContext>(std::move(context));
}

// Chooses our most preferred protocol that the client offers. Without one the handshake fails (RFC 7301
// section 3.2).
int TlsContext::choose_protocol(ssl_st*, const unsigned char** chosen, unsigned char* size,
                                const unsigned char* offered, unsigned offered_size, void* context) noexcept {
  const std::string& ours = static_cast<const TlsContext*>(context)->alpn_;
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(ours.data()),
                                            static_cast<unsigned>(ours.size()), offered, offered_size);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

TlsContext::~TlsContext() { SSL_CTX_free(raw_); }

}  // namespace sliced::reactor::net
