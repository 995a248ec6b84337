#pragma once
// Certificates made on the spot, for servers and clients of tests.
#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace sliced::fake {

struct CertificateSpec {
  std::string common_name = "test";
  std::vector<std::string> dns{};
  std::vector<std::string> addresses{};
  long starts_in_seconds = -3600;
  long ends_in_seconds = 3600;
};

/// A certificate with its key, which can sign others.
class Identity {
 public:
  /// A certificate authority that signs itself.
  static Identity authority(const std::string& common_name = "test authority") {
    return Identity(CertificateSpec{.common_name = common_name}, nullptr, true);
  }
  /// A server or client certificate.
  Identity issue(const CertificateSpec& spec) const { return Identity(spec, this, false); }
  Identity issue_intermediate(const std::string& common_name) const {
    return Identity(CertificateSpec{.common_name = common_name}, this, true);
  }
  /// A server that is its own authority.
  static Identity self_signed(const CertificateSpec& spec) { return Identity(spec, nullptr, false); }

  std::string cert_pem() const {
    return pem([&](BIO* out) { PEM_write_bio_X509(out, certificate_.get()); });
  }
  std::string key_pem() const {
    return pem(
        [&](BIO* out) { PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  }
  std::string encrypted_key_pem(const char* passphrase) const {
    return pem([&](BIO* out) {
      PEM_write_bio_PKCS8PrivateKey(out, key_.get(), EVP_aes_128_cbc(), nullptr, 0, nullptr,
                                    const_cast<char*>(passphrase));
    });
  }

 private:
  Identity(const CertificateSpec& spec, const Identity* issuer, bool is_authority)
      : key_(EVP_EC_gen("P-256"), EVP_PKEY_free), certificate_(X509_new(), X509_free) {
    X509* made = certificate_.get();
    X509_set_version(made, X509_VERSION_3);
    static long serial = 0;
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made), spec.starts_in_seconds);
    X509_gmtime_adj(X509_getm_notAfter(made), spec.ends_in_seconds);
    X509_set_pubkey(made, key_.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(spec.common_name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(issuer == nullptr ? made : issuer->certificate_.get()));
    add(NID_basic_constraints, is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (is_authority) add(NID_key_usage, "critical,keyCertSign,cRLSign");
    std::string names;
    for (const std::string& name : spec.dns) names += (names.empty() ? "DNS:" : ",DNS:") + name;
    for (const std::string& address : spec.addresses) names += (names.empty() ? "IP:" : ",IP:") + address;
    if (!names.empty()) add(NID_subject_alt_name, names);
    X509_sign(made, issuer == nullptr ? key_.get() : issuer->key_.get(), EVP_sha256());
  }

  void add(int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    if (extension == nullptr || X509_add_ext(certificate_.get(), extension, -1) != 1) std::abort();
    X509_EXTENSION_free(extension);
  }

  template <class Write>
  static std::string pem(Write write) {
    BIO* out = BIO_new(BIO_s_mem());
    write(out);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out, &bytes);
    std::string text(bytes, static_cast<size_t>(size));
    BIO_free(out);
    return text;
  }

  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
};

}  // namespace sliced::fake
