#include "reactor/net/tls_session.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "reactor/base/text.h"
#include "reactor/net/openssl_values.h"

namespace sliced::reactor::net {
namespace {

constexpr size_t kNamesShownMax = 8;

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

// Returns the names for which a certificate is valid, as text.
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

}  // namespace

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
    const size_t copied = self->in.copy(space, static_cast<size_t>(size));
    self->in.remove_prefix(copied);
    return static_cast<int>(copied);
  }

  static int write(BIO* bio, const char* bytes, int size) noexcept {
    static_cast<Pipe*>(BIO_get_data(bio))->out.append(bytes, static_cast<size_t>(size));
    return size;
  }

  static long ctrl(BIO*, int command, long, void*) noexcept { return command == BIO_CTRL_FLUSH ? 1 : 0; }
};

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

Result<std::unique_ptr<TlsSession>> TlsSession::accept(std::shared_ptr<const TlsContext> context) {
  ERR_clear_error();
  SSL* raw = SSL_new(context->raw_);
  if (raw == nullptr) return Error{Errc::kIo, "TLS: " + openssl_reason()};
  return std::unique_ptr<TlsSession>(new TlsSession(std::move(context), raw, ""));
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
  if (context_->is_server_)
    SSL_set_accept_state(raw_);
  else
    SSL_set_connect_state(raw_);
  SSL_set_app_data(raw_, this);
  SSL_set_verify(raw_,
                 context_->verify_ ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE,
                 &on_verified);
}

TlsSession::~TlsSession() { SSL_free(raw_); }

Result<Unit> TlsSession::set_name() {
  const std::string shown = in_quotes(server_name_);
  if (server_name_.empty() || server_name_.find('\0') != std::string::npos)
    return Error{Errc::kInvalid, "TLS: bad server name " + shown};
  X509_VERIFY_PARAM* parameters = SSL_get0_param(raw_);
  X509_VERIFY_PARAM_set_hostflags(parameters,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const bool good =
      is_address(server_name_)  // an address is verified, but not sent as SNI (RFC 6066 section 3)
          ? X509_VERIFY_PARAM_set1_ip_asc(parameters, server_name_.c_str()) == 1
          : X509_VERIFY_PARAM_set1_host(parameters, server_name_.data(), server_name_.size()) == 1 &&
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
  return close_requested_ ? close() : Result<Unit>(Unit{});
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
  if (close_requested_) return Error{Errc::kIo, "TLS: write after close"};
  if (established_) return write_now(plain);
  early_ += plain;
  return Unit{};
}

Result<Unit> TlsSession::write_now(std::string_view plain) {
  while (!plain.empty()) {
    ERR_clear_error();
    const int part = static_cast<int>(std::min<size_t>(plain.size(), 1 << 20));
    const int size = SSL_write(raw_, plain.data(), part);  // the pipe accepts all bytes, or it is an error
    if (size <= 0) return failure();
    plain.remove_prefix(static_cast<size_t>(size));
  }
  return Unit{};
}

Result<Unit> TlsSession::close() {
  close_requested_ = true;
  if (!established_ || failed_) return Unit{};
  ERR_clear_error();
  return SSL_shutdown(raw_) >= 0 ? Result<Unit>(Unit{}) : Result<Unit>(failure());
}

Result<Unit> TlsSession::end() {
  if (peer_closed_) return Unit{};
  return Error{Errc::kIo, "TLS: truncated: the connection was cut without close_notify"};
}

std::string TlsSession::take_outgoing() { return std::exchange(pipe_->out, {}); }
std::string TlsSession::take_plaintext() { return std::exchange(plain_, {}); }

std::string TlsSession::alpn() const {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(raw_, &chosen, &size);
  return size == 0 ? "" : std::string(reinterpret_cast<const char*>(chosen), size);
}

std::string TlsSession::peer_subject() const {
  if (!established_ || !context_->verify_) return "";
  X509* certificate = SSL_get0_peer_certificate(raw_);
  return certificate == nullptr ? "" : name_text(X509_get_subject_name(certificate));
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
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    return {Errc::kDenied, "TLS: the client shows no certificate"};
  if (reason >= SSL_AD_REASON_OFFSET) return {Errc::kDenied, "TLS: the peer refuses us: " + text};
  return {Errc::kIo, "TLS: " + text};
}

}  // namespace sliced::reactor::net
