// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "berth/base/check.h"

namespace berth::net {
namespace {

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  BERTH_CHECK(extension != nullptr, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::string Contents(BIO* bio) {
  char* data = nullptr;
  // BIO_get_mem_data without its old-style cast.
  const long size = BIO_ctrl(bio, BIO_CTRL_INFO, 0, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

}  // namespace

Certificate::Certificate(const CertificateOptions& options, const Certificate* issuer)
    : key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), EVP_PKEY_free), certificate_(X509_new(), X509_free) {
  X509* const certificate = certificate_.get();
  X509* const signer = issuer != nullptr ? issuer->certificate_.get() : certificate;
  X509_set_version(certificate, 2);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), std::chrono::seconds(options.begins).count());
  X509_gmtime_adj(X509_getm_notAfter(certificate), std::chrono::seconds(options.ends).count());
  X509_set_pubkey(certificate, key_.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(options.common_name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(signer));
  AddExtension(certificate, signer, NID_basic_constraints, options.is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  std::string names;
  for (const std::string& name : options.names) names += (names.empty() ? "" : ",") + name;
  if (!names.empty()) AddExtension(certificate, signer, NID_subject_alt_name, names);
  EVP_PKEY* const signing_key = issuer != nullptr ? issuer->key_.get() : key_.get();
  BERTH_CHECK(X509_sign(certificate, signing_key, EVP_sha256()) > 0);
}

std::string Certificate::pem() const {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate_.get());
  return Contents(bio);
}

std::string Certificate::key_pem() const {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return Contents(bio);
}

std::shared_ptr<ssl_ctx_st> Certificate::MakeServerContext() const {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  BERTH_CHECK(SSL_CTX_use_certificate(context.get(), certificate_.get()) == 1);
  BERTH_CHECK(SSL_CTX_use_PrivateKey(context.get(), key_.get()) == 1);
  return context;
}

}  // namespace berth::net
