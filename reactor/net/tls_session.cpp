#include "reactor/net/tls_session.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::reactor::net {
namespace {

constexpr size_t kStoreFilesMax = 4096;

constexpr size_t kCertificatesMax = 1024;
constexpr size_t kNamesShownMax = 8;

template <class T, void (*kFree)(T*)>
struct Free {
  void operator()(T* raw) const { kFree(raw); }
};
using BioPtr = std::unique_ptr<BIO, Free<BIO, BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, Free<X509, X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES, GENERAL_NAMES_free>>;

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason == nullptr ? "unknown failure" : reason;
  ERR_clear_error();
  return text;
}

BioPtr reader(const std::string& bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), 1u << 24))));
}

// Without it OpenSSL asks on the terminal.
int no_passphrase(char*, int, int, void*) noexcept { return -1; }

// All certificates of a PEM text, other blocks skipped.
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
  if (all.empty()) return Error{Errc::kInvalid, std::string(what) + ": no certificate in it (PEM wanted)"};
  return all;
}

Result<Unit> load_anchors(SSL_CTX* context, const TlsConfig& config) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  // Any certificate given is an anchor by itself, as in Go, whose clients read the same files.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  if (config.system_ca && SSL_CTX_set_default_verify_paths(context) != 1)
    return Error{Errc::kInvalid, "system certificates: " + openssl_reason()};
  if (config.ca_pem.empty()) {
    if (config.system_ca || config.insecure_skip_verify) return Unit{};
    return Error{Errc::kInvalid, "no certificate authority to verify the server with"};
  }
  auto anchors = decode_certificates(config.ca_pem, "certificate authority");
  if (!anchors) return std::move(anchors.error());
  for (const X509Ptr& anchor : *anchors)
    X509_STORE_add_cert(store, anchor.get());  // twice the same does no harm
  ERR_clear_error();
  return Unit{};
}

Result<Unit> load_client(SSL_CTX* context, const TlsConfig& config) {
  if (config.client_cert_pem.empty() && config.client_key_pem.empty()) return Unit{};
  if (config.client_cert_pem.empty() || config.client_key_pem.empty())
    return Error{Errc::kInvalid, "client certificate and key are only of use together"};
  auto chain = decode_certificates(config.client_cert_pem, "client certificate");
  if (!chain) return std::move(chain.error());
  const BioPtr in = reader(config.client_key_pem);
  const KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, no_passphrase, nullptr));
  if (!key) {
    const bool encrypted = config.client_key_pem.find("ENCRYPTED") != std::string::npos;
    const std::string reason = openssl_reason();
    return Error{Errc::kInvalid,
                 "client key: " + (encrypted ? "it is encrypted; give it unencrypted" : reason)};
  }
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1)
    return Error{Errc::kInvalid, "client certificate: " + openssl_reason()};
  for (size_t i = 1; i < chain->size(); ++i) SSL_CTX_add1_chain_cert(context, (*chain)[i].get());
  if (X509_check_private_key(chain->front().get(), key.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    ERR_clear_error();
    return Error{Errc::kInvalid, "client key does not belong to the client certificate"};
  }
  return Unit{};
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

bool is_address(const std::string& name) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 || inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

std::string time_text(const ASN1_TIME* time) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(out.get(), time);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(std::max(size, 0L)));
}

std::string name_text(const X509_NAME* name) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_ONELINE);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  return escaped(std::string_view(bytes, static_cast<size_t>(std::max(size, 0L))));
}

std::string general_name_text(const GENERAL_NAME& name) {
  const auto bytes = [](const ASN1_STRING* text) {
    return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<size_t>(ASN1_STRING_length(text)));
  };
  if (name.type == GEN_DNS) return escaped(bytes(name.d.dNSName));
  if (name.type != GEN_IPADD) return "";
  const std::string address = bytes(name.d.iPAddress);
  char text[INET6_ADDRSTRLEN] = "";
  if (address.size() == 4) inet_ntop(AF_INET, address.data(), text, sizeof text);
  if (address.size() == 16) inet_ntop(AF_INET6, address.data(), text, sizeof text);
  return text;
}

// The names a certificate is for, as text.
std::string names_of(X509* certificate) {
  const NamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> shown;
  const int count = names ? sk_GENERAL_NAME_num(names.get()) : 0;
  for (int i = 0; i < count && shown.size() < kNamesShownMax; ++i)
    if (std::string text = general_name_text(*sk_GENERAL_NAME_value(names.get(), i)); !text.empty())
      shown.push_back(std::move(text));
  return shown.empty() ? "no names at all" : join(shown, ", ");
}

std::string refusal_text(int code, X509* certificate, const std::string& server_name) {
  const std::string subject = certificate == nullptr
                                  ? "certificate"
                                  : "certificate of " + name_text(X509_get_subject_name(certificate));
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return subject + " has expired on " + time_text(X509_get0_notAfter(certificate));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return subject + " is not valid before " + time_text(X509_get0_notBefore(certificate)) +
             "; check the clock";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "certificate is for " + names_of(certificate) + "; not for " + escaped(server_name);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return subject + " is not signed by the certificate authority we were given (issuer " +
             name_text(X509_get_issuer_name(certificate)) + ")";
    default:
      return subject + ": " + X509_verify_cert_error_string(code);
  }
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

// The two ends of a session's transport: OpenSSL reads from a view and appends to a string, nothing is
// buffered twice.
struct TlsSession::Pipe {
  std::string_view in;
  std::string out;

  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bytes");
      BIO_meth_set_read(fresh, &read);
      BIO_meth_set_write(fresh, &write);
      BIO_meth_set_ctrl(fresh, &ctrl);
      return fresh;
    }();
    return made;
  }

  static int read(BIO* bio, char* space, int size) noexcept {
    auto* self = static_cast<Pipe*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (self->in.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const size_t taken = self->in.copy(space, static_cast<size_t>(size));
    self->in.remove_prefix(taken);
    return static_cast<int>(taken);
  }

  static int write(BIO* bio, const char* bytes, int size) noexcept {
    static_cast<Pipe*>(BIO_get_data(bio))->out.append(bytes, static_cast<size_t>(size));
    return size;
  }

  static long ctrl(BIO*, int command, long, void*) noexcept { return command == BIO_CTRL_FLUSH ? 1 : 0; }
};

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsConfig& config) {
  ERR_clear_error();
  std::shared_ptr<TlsContext> context(new TlsContext);
  context->raw_ = SSL_CTX_new(TLS_client_method());
  if (context->raw_ == nullptr) return Error{Errc::kIo, "TLS: " + openssl_reason()};
  context->verify_ = !config.insecure_skip_verify;
  SSL_CTX* raw = context->raw_;
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  if (auto loaded = load_anchors(raw, config); !loaded) return std::move(loaded.error()).in("TLS");
  if (auto loaded = load_client(raw, config); !loaded) return std::move(loaded.error()).in("TLS");
  const auto wire = alpn_wire(config.alpn);
  if (!wire) return Error(wire.error()).in("TLS");
  if (!wire->empty())
    SSL_CTX_set_alpn_protos(raw, reinterpret_cast<const unsigned char*>(wire->data()),
                            static_cast<unsigned>(wire->size()));
  return std::shared_ptr<const TlsContext>(std::move(context));
}

TlsContext::~TlsContext() { SSL_CTX_free(raw_); }

Result<std::unique_ptr<TlsSession>> TlsSession::open(std::shared_ptr<const TlsContext> context,
                                                     std::string server_name) {
  ERR_clear_error();
  SSL* raw = SSL_new(context->raw_);
  if (raw == nullptr) return Error{Errc::kIo, "TLS: " + openssl_reason()};
  std::unique_ptr<TlsSession> session(new TlsSession(std::move(context), raw, std::move(server_name)));
  if (auto named = session->set_name(); !named) return std::move(named.error());
  if (auto begun = session->handshake(); !begun) return std::move(begun.error());
  return session;
}

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, ssl_st* raw, std::string server_name)
    : context_(std::move(context)),
      raw_(raw),
      server_name_(std::move(server_name)),
      pipe_(std::make_unique<Pipe>()) {
  BIO* bio = BIO_new(Pipe::method());
  BIO_set_data(bio, pipe_.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(raw_, bio, bio);
  SSL_set_connect_state(raw_);
  SSL_set_app_data(raw_, this);
  SSL_set_verify(raw_, context_->verify_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, &on_verified);
}

TlsSession::~TlsSession() { SSL_free(raw_); }

Result<Unit> TlsSession::set_name() {
  const std::string shown = in_quotes(server_name_);
  if (server_name_.empty() || server_name_.find('\0') != std::string::npos)
    return Error{Errc::kInvalid, "TLS: bad server name " + shown};
  X509_VERIFY_PARAM* wanted = SSL_get0_param(raw_);
  X509_VERIFY_PARAM_set_hostflags(wanted,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const bool good =
      is_address(server_name_)  // an address is verified, but not sent as SNI (RFC 6066 section 3)
          ? X509_VERIFY_PARAM_set1_ip_asc(wanted, server_name_.c_str()) == 1
          : X509_VERIFY_PARAM_set1_host(wanted, server_name_.data(), server_name_.size()) == 1 &&
                SSL_set_tlsext_host_name(raw_, server_name_.c_str()) == 1;
  if (good) return Unit{};
  ERR_clear_error();
  return Error{Errc::kInvalid, "TLS: bad server name " + shown};
}

int TlsSession::on_verified(int good, x509_store_ctx_st* store) noexcept {
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* self = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  if (good == 1 || !self->context_->verify_) return 1;
  self->refusal_ = refusal_text(X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_current_cert(store),
                                self->server_name_);
  return 0;
}

Result<Unit> TlsSession::feed(std::string_view from_peer) {
  if (failed_) return Error{Errc::kIo, "TLS: used after an error"};
  pipe_->in = from_peer;
  if (!established_) {
    if (auto shaken = handshake(); !shaken) return shaken;
    if (!established_) return Unit{};
  }
  return read_all();
}

Result<Unit> TlsSession::handshake() {
  ERR_clear_error();
  const int answer = SSL_do_handshake(raw_);
  if (answer != 1) {
    const int error = SSL_get_error(raw_, answer);
    return error == SSL_ERROR_WANT_READ ? Result<Unit>(Unit{}) : Result<Unit>(failure());
  }
  established_ = true;
  if (!early_.empty())
    if (auto sent = write_now(std::exchange(early_, {})); !sent) return sent;
  return close_asked_ ? close() : Result<Unit>(Unit{});
}

Result<Unit> TlsSession::read_all() {
  char space[16 * 1024];  // the largest record
  while (!peer_closed_) {
    ERR_clear_error();
    const int size = SSL_read(raw_, space, sizeof space);
    if (size > 0) {
      plain_.append(space, static_cast<size_t>(size));
      continue;
    }
    const int error = SSL_get_error(raw_, size);
    if (error == SSL_ERROR_WANT_READ) return Unit{};
    if (error != SSL_ERROR_ZERO_RETURN) return failure();
    peer_closed_ = true;
  }
  return Unit{};
}

Result<Unit> TlsSession::write(std::string_view plain) {
  if (failed_) return Error{Errc::kIo, "TLS: used after an error"};
  if (close_asked_) return Error{Errc::kIo, "TLS: write after close"};
  if (established_) return write_now(plain);
  early_ += plain;
  return Unit{};
}

Result<Unit> TlsSession::write_now(std::string_view plain) {
  while (!plain.empty()) {
    ERR_clear_error();
    const int part = static_cast<int>(std::min<size_t>(plain.size(), 1 << 20));
    const int size = SSL_write(raw_, plain.data(), part);  // the pipe takes everything: whole or an error
    if (size <= 0) return failure();
    plain.remove_prefix(static_cast<size_t>(size));
  }
  return Unit{};
}

Result<Unit> TlsSession::close() {
  close_asked_ = true;
  if (!established_ || failed_) return Unit{};
  ERR_clear_error();
  return SSL_shutdown(raw_) >= 0 ? Result<Unit>(Unit{}) : Result<Unit>(failure());
}

Result<Unit> TlsSession::end() {
  if (peer_closed_) return Unit{};
  return Error{Errc::kIo, "TLS: truncated: the connection was cut without close_notify"};
}

std::string TlsSession::take_outgoing() { return std::exchange(pipe_->out, {}); }
std::string TlsSession::take_plain() { return std::exchange(plain_, {}); }

std::string TlsSession::alpn() const {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(raw_, &chosen, &size);
  return size == 0 ? "" : std::string(reinterpret_cast<const char*>(chosen), size);
}

Error TlsSession::failure() {
  failed_ = true;
  if (!refusal_.empty()) {
    ERR_clear_error();
    return {Errc::kDenied, "TLS: " + refusal_};
  }
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  const std::string text = openssl_reason();
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG)
    return {Errc::kIo, "TLS: the peer does not speak TLS (" + text + ")"};
  if (reason >= SSL_AD_REASON_OFFSET) return {Errc::kDenied, "TLS: the peer refuses us: " + text};
  return {Errc::kIo, "TLS: " + text};
}

}  // namespace sliced::reactor::net
