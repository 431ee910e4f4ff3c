// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

namespace berth::client {
namespace {

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

// OpenSSL would ask for the password on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

Bio View(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

Certificate Parse(std::string_view pem) {
  const Bio bio = View(pem);
  Certificate certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr) : nullptr);
  ERR_clear_error();
  return certificate;
}

Time ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return Time::max();
  return Time(std::chrono::seconds(::timegm(&parts)));
}

}  // namespace

Expected<CertificateInfo> ReadCertificate(std::string_view certificate_pem) {
  const Certificate certificate = Parse(certificate_pem);
  if (!certificate) return InvalidError("holds no PEM certificate; it should begin with -----BEGIN CERTIFICATE-----");
  CertificateInfo info;
  const Bio out(BIO_new(BIO_s_mem()));
  if (out && X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate.get()), 0, XN_FLAG_RFC2253) >= 0) {
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    if (size > 0) info.subject.assign(text, static_cast<std::size_t>(size));
  }
  info.valid_from = ToTime(X509_get0_notBefore(certificate.get()));
  info.valid_until = ToTime(X509_get0_notAfter(certificate.get()));
  return info;
}

Expected<void> CheckKey(std::string_view certificate_pem, std::string_view key_pem) {
  const Certificate certificate = Parse(certificate_pem);
  const Bio bio = View(key_pem);
  const Key key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr) : nullptr);
  ERR_clear_error();
  if (!key) {
    const bool is_encrypted = key_pem.find("ENCRYPTED") != std::string_view::npos;
    return InvalidError(is_encrypted ? "is encrypted; only keys without a password can be used"
                                     : "holds no PEM private key; it should begin with -----BEGIN PRIVATE KEY-----");
  }
  const bool matches = certificate && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!matches) return InvalidError("does not belong to the client certificate");
  return {};
}

}  // namespace berth::client
