#pragma once
// Private to reactor/net: owners of OpenSSL's values, and its error texts.
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
// Each owns the result of OpenSSL's new or d2i function, with one reference if it counts them.
using BioPtr = std::unique_ptr<BIO, Free<BIO, BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, Free<X509, X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES, GENERAL_NAMES_free>>;

/// Returns the newest error in the thread's queue, for people, and clears the queue.
std::string openssl_reason();

}  // namespace sliced::reactor::net
