#pragma once
// Private to reactor/net: who frees OpenSSL's values, and what it says of failures.
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace sliced::reactor::net {

template <class T, void (*kFree)(T*)>
struct Free {
  void operator()(T* raw) const { kFree(raw); }
};
// Each owns what the library's new or d2i gave, and a reference where it counts them.
using BioPtr = std::unique_ptr<BIO, Free<BIO, BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, Free<X509, X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES, GENERAL_NAMES_free>>;

/// Why the last call has failed, for people: the newest reason in the thread's queue of errors, which it clears,
/// so that the next failure does not show this one's.
std::string openssl_reason();

}  // namespace sliced::reactor::net
