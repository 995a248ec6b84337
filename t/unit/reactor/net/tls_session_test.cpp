#include "reactor/net/tls_session.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <optional>

#include "t/fake/certificates.h"

namespace sliced::reactor::net {
namespace {

using fake::CertificateSpec;
using fake::Identity;

// The other side, over memory BIOs of OpenSSL's own.
class Peer {
 public:
  explicit Peer(const Identity& identity, const std::string& more_certificates = "", int version_max = 0,
                const Identity* client_authority = nullptr)
      : context_(SSL_CTX_new(TLS_server_method())) {
    use(identity.cert_pem() + more_certificates, identity.key_pem());
    if (version_max != 0) {
      SSL_CTX_set_min_proto_version(context_, 0);
      SSL_CTX_set_max_proto_version(context_, version_max);
    }
    if (version_max != 0 && version_max < TLS1_2_VERSION) SSL_CTX_set_security_level(context_, 0);
    if (client_authority != nullptr) {
      X509* authority = decode(client_authority->cert_pem());
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority);
      X509_free(authority);
      SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    ssl_ = SSL_new(context_);
    SSL_set_accept_state(ssl_);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  }
  ~Peer() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }

  // Takes bytes, returns bytes; decrypted bytes are appended to `plain`.
  std::string exchange(std::string_view bytes) {
    BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
    ERR_clear_error();
    char space[4096];
    for (int size; (size = SSL_read(ssl_, space, sizeof space)) > 0;)
      plain.append(space, static_cast<size_t>(size));
    return outgoing();
  }
  std::string write(std::string_view text) {
    SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
    return outgoing();
  }
  std::string close() {
    SSL_shutdown(ssl_);
    return outgoing();
  }
  bool got_close() const { return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0; }
  std::string sni() const {
    const char* name = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? "" : name;
  }
  std::string version() const { return SSL_get_version(ssl_); }
  std::string plain;

 private:
  static X509* decode(const std::string& pem) {
    BIO* text = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    X509* made = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    BIO_free(text);
    return made;
  }
  void use(const std::string& chain, const std::string& key) {
    BIO* text = BIO_new_mem_buf(chain.data(), static_cast<int>(chain.size()));
    for (bool leaf = true; X509* next = PEM_read_bio_X509(text, nullptr, nullptr, nullptr); leaf = false) {
      leaf ? SSL_CTX_use_certificate(context_, next) : SSL_CTX_add1_chain_cert(context_, next);
      X509_free(next);
    }
    BIO_free(text);
    text = BIO_new_mem_buf(key.data(), static_cast<int>(key.size()));
    EVP_PKEY* decoded = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
    SSL_CTX_use_PrivateKey(context_, decoded);
    EVP_PKEY_free(decoded);
    BIO_free(text);
    ERR_clear_error();
  }
  std::string outgoing() {
    BIO* out = SSL_get_wbio(ssl_);
    std::string bytes(BIO_ctrl_pending(out), '\0');
    if (!bytes.empty()) BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  SSL_CTX* context_;
  SSL* ssl_ = nullptr;
};

std::shared_ptr<const TlsContext> trusting(const Identity& authority) {
  return TlsContext::make({.ca_pem = authority.cert_pem()}).value();
}

// Carries bytes to and fro until both are quiet. cut: our session gets them in pieces of that size.
Result<Unit> converse(TlsSession& session, Peer& peer, size_t cut = 1 << 20) {
  std::string to_us;
  for (int round = 0; round < 20; ++round) {
    const std::string to_peer = session.take_outgoing();
    if (to_peer.empty() && round > 0 && to_us.empty()) break;
    to_us = peer.exchange(to_peer);
    for (size_t at = 0; at < to_us.size(); at += cut)
      if (auto fed = session.feed(std::string_view(to_us).substr(at, cut)); !fed) return fed;
  }
  return Unit{};
}

std::unique_ptr<TlsSession> open(std::shared_ptr<const TlsContext> context,
                                 const std::string& name = "server.test") {
  return TlsSession::open(std::move(context), name).value();
}

struct TlsSessionTest : testing::Test {
  const Identity authority = Identity::authority();
  const Identity server = authority.issue(
      {.common_name = "server", .dns = {"server.test", "*.wild.test"}, .addresses = {"10.0.0.1", "fd00::1"}});
};

TEST_F(TlsSessionTest, TransfersBytesHoweverTheyAreCut) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const size_t cut : {1, 2, 3, 5, 7, 100, 1 << 20}) {
      Peer peer(server, "", version);
      const auto session = open(trusting(authority));
      ASSERT_TRUE(session->write("early"));
      ASSERT_TRUE(converse(*session, peer, cut)) << cut;
      EXPECT_TRUE(session->established());
      EXPECT_EQ(peer.plain, "early") << "kept until the handshake was done";
      EXPECT_EQ(peer.sni(), "server.test");
      const std::string answer(100'000, 'a');
      const std::string bytes = peer.write(answer);
      for (size_t at = 0; at < bytes.size(); at += cut)
        ASSERT_TRUE(session->feed(std::string_view(bytes).substr(at, cut)));
      EXPECT_EQ(session->take_plaintext(), answer);
      EXPECT_EQ(session->take_plaintext(), "");
      ASSERT_TRUE(session->write(answer));
      peer.exchange(session->take_outgoing());
      EXPECT_EQ(peer.plain, "early" + answer);
    }
  }
}

TEST_F(TlsSessionTest, VerifiesNamesAndAddresses) {
  const struct {
    std::string name;
    const char* refusal;  // nullptr: good
    std::string sni{};
  } rows[] = {
      {"server.test", nullptr, "server.test"},
      {"SERVER.test", nullptr, "SERVER.test"},
      {"a.wild.test", nullptr, "a.wild.test"},
      {"10.0.0.1", nullptr, ""},
      {"fd00::1", nullptr, ""},
      {"FD00:0::1", nullptr, ""},
      {"a.b.wild.test", "not for a.b.wild.test"},
      {"10.0.0.2", "certificate is for server.test, *.wild.test, 10.0.0.1, fd00::1; not for 10.0.0.2"},
      {"server", "not for server"},
  };
  for (const auto& row : rows) {
    Peer peer(server);
    const auto session = open(trusting(authority), row.name);
    const auto outcome = converse(*session, peer);
    if (row.refusal == nullptr) {
      EXPECT_TRUE(outcome.ok() && session->established())
          << row.name << ": " << (outcome ? "" : outcome.error().what);
      EXPECT_EQ(peer.sni(), row.sni);
    } else {
      ASSERT_FALSE(outcome) << row.name;
      EXPECT_EQ(outcome.error().code, Errc::kDenied);
      EXPECT_NE(outcome.error().what.find(row.refusal), std::string::npos) << outcome.error().what;
      EXPECT_NE(session->take_outgoing(), "") << "the peer is told by an alert";
      EXPECT_FALSE(session->feed("x")) << "an error is final";
    }
  }
}

TEST_F(TlsSessionTest, RefusalsNameTheReason) {
  const Identity stranger = Identity::authority("stranger");
  const Identity intermediate = authority.issue_intermediate("intermediate");
  const CertificateSpec good{.common_name = "leaf", .dns = {"server.test"}};
  const CertificateSpec old{
      .common_name = "leaf", .dns = {"server.test"}, .starts_in_seconds = -7200, .ends_in_seconds = -3600};
  const CertificateSpec early{
      .common_name = "leaf", .dns = {"server.test"}, .starts_in_seconds = 3600, .ends_in_seconds = 7200};
  const CertificateSpec nameless{.common_name = "server.test"};
  const Identity own = Identity::self_signed(good);
  const struct {
    const char* why;
    Identity identity;
    std::string more;
    std::string trusted;
    const char* refusal;  // nullptr: good
  } rows[] = {
      {"expired", authority.issue(old), "", authority.cert_pem(), "certificate of CN = leaf has expired on "},
      {"not yet", authority.issue(early), "", authority.cert_pem(), "check the clock"},
      {"no names", authority.issue(nameless), "", authority.cert_pem(),
       "certificate is for no names at all; not for server.test"},
      {"stranger", stranger.issue(good), "", authority.cert_pem(),
       "certificate of CN = leaf is not signed by the certificate authority we were given (issuer CN = "
       "stranger)"},
      {"stranger of the same name", Identity::authority().issue(good), "", authority.cert_pem(),
       "is not signed by"},
      {"chain", intermediate.issue(good), intermediate.cert_pem(), authority.cert_pem(), nullptr},
      {"chain with a hole", intermediate.issue(good), "", authority.cert_pem(), "is not signed by"},
      {"intermediate as anchor", intermediate.issue(good), "", intermediate.cert_pem(), nullptr},
      {"own certificate as anchor", own, "", own.cert_pem(), nullptr},
      {"self-signed", own, "", authority.cert_pem(), "is not signed by"},
      {"one of several authorities", authority.issue(good), "", stranger.cert_pem() + authority.cert_pem(),
       nullptr},
      {"signed by a leaf", server.issue(good), server.cert_pem(), authority.cert_pem(),
       "certificate of CN = "},
  };
  for (const auto& row : rows) {
    Peer peer(row.identity, row.more);
    const auto session = open(TlsContext::make({.ca_pem = row.trusted}).value());
    const auto outcome = converse(*session, peer);
    if (row.refusal == nullptr) {
      EXPECT_TRUE(outcome) << row.why << ": " << outcome.error().what;
    } else {
      ASSERT_FALSE(outcome) << row.why;
      EXPECT_NE(outcome.error().what.find(row.refusal), std::string::npos)
          << row.why << ": " << outcome.error().what;
    }
    const auto blind = open(TlsContext::make({.insecure_skip_verify = true}).value());
    Peer again(row.identity, row.more);
    EXPECT_TRUE(converse(*blind, again) && blind->established())
        << row.why << ": verification was switched off";
  }
}

TEST_F(TlsSessionTest, RefusesOldVersions) {
  Peer peer(server, "", TLS1_1_VERSION);
  const auto session = open(trusting(authority));
  EXPECT_FALSE(converse(*session, peer));
  EXPECT_FALSE(session->established());
}

TEST_F(TlsSessionTest, PresentsTheClientCertificate) {
  const Identity clients = Identity::authority("clients");
  const Identity client = clients.issue({.common_name = "node-a"});
  const Identity wrong = authority.issue({.common_name = "node-a"});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto outcome = [&](const Identity* identity) {
      TlsConfig config{.ca_pem = authority.cert_pem()};
      if (identity != nullptr)
        config.client_cert_pem = identity->cert_pem(), config.client_key_pem = identity->key_pem();
      Peer peer(server, "", version, &clients);
      const auto session = open(TlsContext::make(config).value());
      return converse(*session, peer);
    };
    EXPECT_TRUE(outcome(&client));
    for (const Identity* refused : {&wrong, static_cast<const Identity*>(nullptr)}) {
      const auto answer = outcome(refused);
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().code, Errc::kDenied);
      EXPECT_NE(answer.error().what.find("the peer refuses us"), std::string::npos) << answer.error().what;
    }
  }
}

TEST_F(TlsSessionTest, TheEndIsCleanOnlyWithCloseNotify) {
  for (const bool clean : {true, false}) {
    Peer peer(server);
    const auto session = open(trusting(authority));
    ASSERT_TRUE(converse(*session, peer));
    ASSERT_TRUE(session->feed(peer.write("last")));
    if (clean) {
      ASSERT_TRUE(session->feed(peer.close()));
    }
    EXPECT_EQ(session->take_plaintext(), "last");
    EXPECT_EQ(session->peer_closed(), clean);
    const auto ended = session->end();
    EXPECT_EQ(ended.ok(), clean);
    if (!clean) {
      EXPECT_NE(ended.error().what.find("truncated"), std::string::npos);
    }
  }
}

TEST_F(TlsSessionTest, ClosingNotifiesThePeerAndContinuesReading) {
  Peer peer(server);
  const auto session = open(trusting(authority));
  ASSERT_TRUE(converse(*session, peer));
  ASSERT_TRUE(session->write("bye"));
  ASSERT_TRUE(session->close());
  EXPECT_FALSE(session->write("more"));
  peer.exchange(session->take_outgoing());
  EXPECT_EQ(peer.plain, "bye");
  EXPECT_TRUE(peer.got_close());
  ASSERT_TRUE(session->feed(peer.write("answer")));
  EXPECT_EQ(session->take_plaintext(), "answer");
}

TEST_F(TlsSessionTest, ClosingBeforeTheHandshakeSendsWrittenData) {
  Peer peer(server);
  const auto session = open(trusting(authority));
  ASSERT_TRUE(session->write("short"));
  ASSERT_TRUE(session->close());
  ASSERT_TRUE(converse(*session, peer));
  EXPECT_EQ(peer.plain, "short");
  EXPECT_TRUE(peer.got_close());
}

TEST_F(TlsSessionTest, GarbageIsAnErrorAtEveryPoint) {
  const auto plain = open(trusting(authority));
  const auto answer = plain->feed("HTTP/1.1 400 Bad Request\r\n\r\n");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().what.find("does not speak TLS"), std::string::npos) << answer.error().what;

  Peer peer(server);
  const auto session = open(trusting(authority));
  ASSERT_TRUE(converse(*session, peer));
  std::string record = peer.write("secret");
  record[record.size() / 2] = static_cast<char>(record[record.size() / 2] ^ 1);
  EXPECT_FALSE(session->feed(record)) << "a bit was flipped";
  EXPECT_EQ(session->take_plaintext(), "");
}

TEST_F(TlsSessionTest, ContextErrorsNameThePart) {
  const Identity client = authority.issue({.common_name = "node-a"});
  const Identity other = authority.issue({.common_name = "node-b"});
  const std::string ca = authority.cert_pem(), cert = client.cert_pem(), key = client.key_pem();
  const std::string broken = ca.substr(0, ca.size() / 2) + "!!!" + ca.substr(ca.size() / 2);
  const struct {
    const char* why;
    TlsConfig config;
    const char* text;
  } rows[] = {
      {"nothing to trust", {}, "no certificate authority"},
      {"not PEM", {.ca_pem = "hello"}, "certificate authority: no certificate in it"},
      {"a key, not a certificate", {.ca_pem = key}, "certificate authority: no certificate in it"},
      {"broken", {.ca_pem = broken}, "certificate authority: certificate 1: "},
      {"second broken", {.ca_pem = ca + broken}, "certificate authority: certificate 2: "},
      {"key without certificate", {.ca_pem = ca, .client_key_pem = key}, "only of use together"},
      {"certificate without key", {.ca_pem = ca, .client_cert_pem = cert}, "only of use together"},
      {"other key",
       {.ca_pem = ca, .client_cert_pem = cert, .client_key_pem = other.key_pem()},
       "does not belong"},
      {"encrypted key",
       {.ca_pem = ca, .client_cert_pem = cert, .client_key_pem = client.encrypted_key_pem("secret")},
       "it is encrypted"},
      {"no key in it", {.ca_pem = ca, .client_cert_pem = cert, .client_key_pem = cert}, "client key: "},
      {"ALPN", {.ca_pem = ca, .alpn = {""}}, "ALPN"},
  };
  for (const auto& row : rows) {
    const auto context = TlsContext::make(row.config);
    ASSERT_FALSE(context) << row.why;
    EXPECT_EQ(context.error().code, Errc::kInvalid) << row.why;
    EXPECT_NE(context.error().what.find(row.text), std::string::npos)
        << row.why << ": " << context.error().what;
  }
  EXPECT_TRUE(TlsContext::make({.ca_pem = "# comment\n" + ca + "\nrest\n" + ca}))
      << "text around blocks is skipped";
  EXPECT_TRUE(TlsContext::make({.system_ca = true}));
}

TEST_F(TlsSessionTest, BadServerNamesAreRefused) {
  for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string(300, 'a')}) {
    const auto session = TlsSession::open(trusting(authority), name);
    ASSERT_FALSE(session) << name.size();
    EXPECT_EQ(session.error().code, Errc::kInvalid);
  }
}

}  // namespace
}  // namespace sliced::reactor::net
