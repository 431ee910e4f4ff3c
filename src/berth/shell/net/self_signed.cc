// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/self_signed.h"

#include <ctime>
#include <memory>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace berth::net {
namespace {

template <auto kFree>
struct FreeBy {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

bool AddSelfSignedExtension(X509* certificate, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreeBy<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetRandomSerial(X509* certificate) {
  const std::unique_ptr<BIGNUM, FreeBy<BN_free>> number(BN_new());
  return number != nullptr && BN_rand(number.get(), 63, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

std::string PemOf(BIO* bio) {
  char* data = nullptr;
  // The macro BIO_get_mem_data has an old-style cast.
  const long size = BIO_ctrl(bio, BIO_CTRL_INFO, 0, &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

Expected<std::pair<std::string, std::string>> MakeSelfSigned(const SelfSignedOptions& options) {
  const std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  const std::unique_ptr<X509, FreeBy<X509_free>> certificate(X509_new());
  bool ok = key != nullptr && certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
            SetRandomSerial(certificate.get());
  if (ok) {
    const auto seconds = [](Time time) {
      return static_cast<std::time_t>(
          std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
    };
    const Time begin = options.now - std::chrono::hours(1);
    ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds(begin));
    ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds(begin + options.validity));
    X509_NAME* const name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(options.common_name.c_str()), -1, -1, 0);
    std::string names;
    for (const std::string& each : options.names) names += (names.empty() ? "" : ",") + each;
    ok = X509_set_issuer_name(certificate.get(), name) == 1 && X509_set_pubkey(certificate.get(), key.get()) == 1 &&
         AddSelfSignedExtension(certificate.get(), NID_basic_constraints, "critical,CA:FALSE") &&
         AddSelfSignedExtension(certificate.get(), NID_key_usage, "critical,digitalSignature") &&
         AddSelfSignedExtension(certificate.get(), NID_ext_key_usage, "serverAuth") &&
         AddSelfSignedExtension(certificate.get(), NID_subject_alt_name, names.c_str()) &&
         X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0;
  }
  const std::unique_ptr<BIO, FreeBy<BIO_free_all>> certificate_pem(BIO_new(BIO_s_mem()));
  const std::unique_ptr<BIO, FreeBy<BIO_free_all>> key_pem(BIO_new(BIO_s_mem()));
  ok = ok && PEM_write_bio_X509(certificate_pem.get(), certificate.get()) == 1 &&
       PEM_write_bio_PrivateKey(key_pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1;
  if (!ok) {
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return Error{ErrorCode::kInternal,
                 std::string("a self-signed certificate could not be made: ") + (reason != nullptr ? reason : "?")};
  }
  return std::pair(PemOf(certificate_pem.get()), PemOf(key_pem.get()));
}

}  // namespace berth::net
