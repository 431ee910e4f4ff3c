// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/client_certificate.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace berth::serving {
namespace {

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using X509Ptr = std::unique_ptr<X509, FreeWith<X509_free>>;
using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;

// The most certificates behind a client's own that are used.
constexpr std::size_t kIntermediatesMax = 16;
constexpr const char* kUidOid = "1.3.6.1.4.1.57683.2";

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

X509Ptr ParseDer(const std::string& der) {
  const auto* begin = reinterpret_cast<const unsigned char*>(der.data());
  return X509Ptr(d2i_X509(nullptr, &begin, static_cast<long>(std::min<std::size_t>(der.size(), LONG_MAX))));
}

std::string TextOf(const ASN1_STRING* value) {
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, value);
  std::string utf8;
  if (size > 0) utf8.assign(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return utf8;
}

// Values of this kind, in the order of the subject. Of several common names the last counts, as in Go.
ClientCertificate ReadSubject(const X509* certificate) {
  ClientCertificate read;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    const ASN1_OBJECT* type = X509_NAME_ENTRY_get_object(entry);
    const int nid = OBJ_obj2nid(type);
    std::string text = TextOf(X509_NAME_ENTRY_get_data(entry));
    if (nid == NID_commonName) {
      read.common_name = std::move(text);
    } else if (nid == NID_organizationName) {
      read.organizations.push_back(std::move(text));
    } else if (char oid[64]; OBJ_obj2txt(oid, sizeof oid, type, 1) > 0 && std::string_view(oid) == kUidOid) {
      read.uids.push_back(std::move(text));
    }
  }
  return read;
}

}  // namespace

std::string Sha256(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  BERTH_CHECK(EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr) == 1);
  return {reinterpret_cast<const char*>(digest), size};
}

Expected<std::shared_ptr<const ClientAuthorities>> ClientAuthorities::Make(std::string pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(std::min<std::size_t>(pem.size(), INT_MAX))));
  X509_STORE* store = X509_STORE_new();
  BERTH_CHECK(bio != nullptr && store != nullptr);
  std::shared_ptr<const ClientAuthorities> made(new ClientAuthorities(std::move(pem), store));
  bool has_any = false;
  for (;;) {
    const X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) break;
    X509_STORE_add_cert(store, certificate.get());
    has_any = true;
  }
  const unsigned long code = ERR_peek_last_error();
  const bool is_end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!has_any || !is_end) {
    return InvalidError("should hold PEM certificates (-----BEGIN CERTIFICATE-----) and nothing else");
  }
  // Every certificate of the bundle is trusted, intermediate ones too, as in Go.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return made;
}

ClientAuthorities::~ClientAuthorities() { X509_STORE_free(store_); }

Expected<ClientCertificate> ClientAuthorities::Verify(const std::vector<std::string>& shown, Time wall_now) const {
  const X509Ptr own = ParseDer(shown.front());
  const std::unique_ptr<X509_STORE_CTX, FreeWith<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  std::vector<X509Ptr> others;
  const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> chain(
      sk_X509_new_null(), [](STACK_OF(X509) * stack) { sk_X509_free(stack); });
  for (std::size_t i = 1; i < std::min(shown.size(), kIntermediatesMax + 1); ++i) {
    if (X509Ptr other = ParseDer(shown[i]); other != nullptr) others.push_back(std::move(other));
  }
  for (const X509Ptr& other : others) sk_X509_push(chain.get(), other.get());
  if (own == nullptr || context == nullptr || chain == nullptr ||
      X509_STORE_CTX_init(context.get(), store_, own.get(), chain.get()) != 1) {
    ERR_clear_error();
    return Error{ErrorCode::kUnauthorized, "the client's certificate does not parse"};
  }
  X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_CLIENT);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wall_now.time_since_epoch()).count();
  X509_STORE_CTX_set_time(context.get(), 0, static_cast<std::time_t>(seconds));
  const bool is_verified = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  ClientCertificate read = ReadSubject(own.get());
  if (!is_verified) {
    return Error{ErrorCode::kUnauthorized, "the certificate of \"" + read.common_name + "\" was not taken: " +
                                               X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()))};
  }
  read.fingerprint_sha256 = Hex(Sha256(shown.front()));
  return read;
}

}  // namespace berth::serving
