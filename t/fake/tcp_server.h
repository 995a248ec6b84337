#pragma once
// A server on 127.0.0.1 whose manners a test writes, plain or with TLS. It runs on the test's own loop; its
// sockets and its TLS are made by hand (OpenSSL on the descriptor), so that it does not inherit the mistakes
// of what it judges.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reactor/loop.h"
#include "reactor/poll.h"
#include "t/fake/certificates.h"

namespace sliced::fake {

struct TlsServerConfig {
  std::string cert_pem;  // leaf first
  std::string key_pem;
  std::string client_ca_pem{};      // set: a client certificate of this authority is demanded
  int version_max = 0;              // TLS1_2_VERSION, ...; 0 means the newest
  std::vector<std::string> alpn{};  // the first that the client offers is chosen
};

class TcpServer {
 public:
  /// One client. Lives until the server goes; its number counts from 0.
  class Connection {
   public:
    size_t number = 0;
    std::string received;     // all plain bytes so far; a test may consume it
    bool peer_ended = false;  // the client closed its half (TLS: close_notify or a bare end)
    bool handshake_done = false;
    std::string sni;  // the name that the client requested
    std::string client_common_name;
    std::string trouble;  // why TLS or the socket failed

    explicit Connection(reactor::Loop& loop) : loop_(loop) {}

    /// Sent as soon as the socket takes it; kept back until the handshake is done.
    void send(std::string bytes) {
      out_ += bytes;
      pump();
    }
    /// Ends properly after everything was sent: close_notify where there is TLS, then the end of the stream.
    void close() { end_ = End::kProper, pump(); }
    /// The end of the stream after everything was sent, without close_notify.
    void cut() { end_ = End::kCut, pump(); }
    /// Closes immediately, with a reset (RST); unsent bytes are lost.
    void reset() {
      const linger now{1, 0};
      setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      drop();
    }
    /// Stops reading, so that the client's writes pile up.
    void deaf(bool on) {
      deaf_ = on;
      pump();
    }
    bool open() const { return fd_ >= 0; }

    ~Connection() { drop(); }

   private:
    friend class TcpServer;
    enum class End { kNo, kProper, kCut };

    void drop() {
      if (ssl_ != nullptr) SSL_free(std::exchange(ssl_, nullptr));
      if (poll_) poll_->interest(false, false);
      const int fd = std::exchange(fd_, -1);
      if (fd < 0) return;
      const auto close = [fd](reactor::Poll* poll) {
        delete poll;
        ::close(fd);
      };
      std::shared_ptr<reactor::Poll> poll(poll_.release(), close);
      if (is_called_) loop_.scheduler().destroy_later(std::move(poll));
    }

    // > 0: bytes; 0: the end; -1: try later; -2: failed.
    int read_some(char* space, int size) {
      if (ssl_ == nullptr) {
        const ssize_t got = ::recv(fd_, space, static_cast<size_t>(size), 0);
        return got >= 0 ? static_cast<int>(got) : errno == EAGAIN ? -1 : fail("recv");
      }
      ERR_clear_error();
      const int got = SSL_read(ssl_, space, size);
      return got > 0 ? got : verdict(got);
    }
    int write_some() {
      if (ssl_ == nullptr) {
        const ssize_t put = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
        return put >= 0 ? static_cast<int>(put) : errno == EAGAIN ? -1 : fail("send");
      }
      ERR_clear_error();
      const int put = SSL_write(ssl_, out_.data(), static_cast<int>(out_.size()));
      return put > 0 ? put : verdict(put);
    }
    int verdict(int answer) {
      const int error = SSL_get_error(ssl_, answer);
      if (error == SSL_ERROR_WANT_READ) return -1;
      if (error == SSL_ERROR_WANT_WRITE) return want_write_ = true, -1;
      if (error == SSL_ERROR_ZERO_RETURN) return 0;
      const int reason = ERR_GET_REASON(ERR_peek_last_error());
      if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return handshake_done ? 0 : fail("end during the handshake");
      return fail(ERR_reason_error_string(ERR_peek_last_error()));
    }
    int fail(const char* why) {
      trouble = why == nullptr ? "failed" : why;
      return -2;
    }

    bool shake() {
      if (ssl_ == nullptr || handshake_done) return handshake_done = true;
      ERR_clear_error();
      const int answer = SSL_accept(ssl_);
      if (answer != 1) {
        if (verdict(answer) != -1) drop();
        return false;
      }
      const char* name = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
      sni = name == nullptr ? "" : name;
      if (X509* client = SSL_get1_peer_certificate(ssl_)) {
        char text[256] = "";
        X509_NAME_get_text_by_NID(X509_get_subject_name(client), NID_commonName, text, sizeof text);
        client_common_name = text;
        X509_free(client);
      }
      return handshake_done = true;
    }

    // Everything the socket allows now. Returns whether there is something new for the test.
    bool pump() {
      want_write_ = false;
      bool has_progressed = false;
      if (fd_ < 0) return false;
      if (shake()) {
        has_progressed = receive();
        transmit();
      }
      if (fd_ >= 0) poll_->interest(!deaf_ && !peer_ended, want_write_ || (handshake_done && !out_.empty()));
      return has_progressed;
    }

    bool receive() {
      char space[16384];
      bool has_progressed = false;
      while (fd_ >= 0 && !deaf_ && !peer_ended) {
        const int got = read_some(space, sizeof space);
        if (got == -1) break;
        has_progressed = true;
        if (got > 0) received.append(space, static_cast<size_t>(got));
        if (got == 0) peer_ended = true;
        if (got == -2) drop();
      }
      return has_progressed;
    }

    void transmit() {
      while (fd_ >= 0 && !out_.empty()) {
        const int put = write_some();
        if (put == -1) return;
        if (put <= 0) return drop();
        out_.erase(0, static_cast<size_t>(put));
      }
      if (fd_ < 0 || end_ == End::kNo) return;
      if (ssl_ != nullptr && end_ == End::kProper) SSL_shutdown(ssl_);
      ::shutdown(fd_, SHUT_WR);
      end_ = End::kNo;
    }

    reactor::Loop& loop_;
    int fd_ = -1;
    SSL* ssl_ = nullptr;
    std::unique_ptr<reactor::Poll> poll_;
    std::string out_;
    End end_ = End::kNo;
    bool is_called_ = false;  // by its poll_
    bool deaf_ = false;
    bool want_write_ = false;
  };

  /// Called when a connection is there (received is empty then) and whenever it received something or ended.
  using OnProgress = std::function<void(Connection&)>;

  explicit TcpServer(reactor::Loop& loop, OnProgress on_progress = {},
                     std::optional<TlsServerConfig> tls = {}, uint16_t port = 0)
      : loop_(loop), on_progress_(std::move(on_progress)) {
    if (tls) configure(*tls);
    listen(port);
  }
  TcpServer(TcpServer&&) = delete;
  ~TcpServer() {
    connections_.clear();
    stop_listening();
    SSL_CTX_free(tls_);
  }

  uint16_t port() const { return port_; }
  size_t count() const { return connections_.size(); }
  Connection& connection(size_t number) { return *connections_.at(number); }

  /// New clients are refused (RST); those that are there stay.
  void stop_listening() {
    poll_.reset();
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  /// On the same port again.
  void listen_again() { listen(port_); }

 private:
  static void must(bool good) {
    if (!good) std::abort();
  }

  void configure(const TlsServerConfig& config) {
    tls_ = SSL_CTX_new(TLS_server_method());
    if (config.version_max != 0) SSL_CTX_set_max_proto_version(tls_, config.version_max);
    BIO* chain = BIO_new_mem_buf(config.cert_pem.data(), static_cast<int>(config.cert_pem.size()));
    bool leaf = true;
    while (X509* next = PEM_read_bio_X509(chain, nullptr, nullptr, nullptr)) {
      must((leaf ? SSL_CTX_use_certificate(tls_, next) : SSL_CTX_add1_chain_cert(tls_, next)) == 1);
      leaf = false;
      X509_free(next);
    }
    BIO_free(chain);
    BIO* key_text = BIO_new_mem_buf(config.key_pem.data(), static_cast<int>(config.key_pem.size()));
    EVP_PKEY* key = PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
    must(key != nullptr && SSL_CTX_use_PrivateKey(tls_, key) == 1);
    EVP_PKEY_free(key);
    BIO_free(key_text);
    if (!config.client_ca_pem.empty()) demand_client(config.client_ca_pem);
    alpn_ = config.alpn;
    if (!alpn_.empty()) SSL_CTX_set_alpn_select_cb(tls_, &choose, this);
    ERR_clear_error();
  }

  void demand_client(const std::string& ca_pem) {
    BIO* text = BIO_new_mem_buf(ca_pem.data(), static_cast<int>(ca_pem.size()));
    X509* authority = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    must(X509_STORE_add_cert(SSL_CTX_get_cert_store(tls_), authority) == 1);
    X509_free(authority);
    BIO_free(text);
    SSL_CTX_set_verify(tls_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }

  static int choose(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                    unsigned in_size, void* server) {
    const std::string_view offered(reinterpret_cast<const char*>(in), in_size);
    for (const std::string& protocol : static_cast<TcpServer*>(server)->alpn_) {
      const size_t at = offered.find(static_cast<char>(protocol.size()) + protocol);
      if (at == std::string_view::npos) continue;
      *out = in + at + 1;
      *out_size = static_cast<unsigned char>(protocol.size());
      return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
  }

  void listen(uint16_t port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    must(::listen(fd_, 64) == 0);
    socklen_t size = sizeof address;
    must(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    poll_ = reactor::Poll::open(loop_, fd_, [this](reactor::Poll::Ready) { accept(); }).value();
    poll_->interest(true, false);
  }

  void accept() {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Connection& made = *connections_.emplace_back(std::make_unique<Connection>(loop_));
    made.number = connections_.size() - 1;
    made.fd_ = fd;
    if (tls_ != nullptr) {
      made.ssl_ = SSL_new(tls_);
      SSL_set_fd(made.ssl_, fd);
      SSL_set_mode(made.ssl_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }
    made.poll_ = reactor::Poll::open(loop_, fd, [this, &made](reactor::Poll::Ready) {
                   made.is_called_ = true;
                   if (made.pump() && on_progress_) on_progress_(made);
                   made.is_called_ = false;
                 }).value();
    made.poll_->interest(true, false);
    if (on_progress_) on_progress_(made);
  }

  reactor::Loop& loop_;
  OnProgress on_progress_;
  SSL_CTX* tls_ = nullptr;
  std::vector<std::string> alpn_;
  int fd_ = -1;
  uint16_t port_ = 0;
  std::unique_ptr<reactor::Poll> poll_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace sliced::fake
