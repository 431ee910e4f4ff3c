// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, made on the spot.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

struct evp_pkey_st;
struct ssl_ctx_st;
struct x509_st;

namespace berth::net {

struct CertificateOptions {
  std::string common_name = "test";
  std::vector<std::string> names;  // "DNS:kube.example", "IP:127.0.0.1"
  std::chrono::hours begins{-1};   // from now
  std::chrono::hours ends{24};     // from now
  bool is_authority = false;
};

class Certificate {
 public:
  // Signed by `issuer`, or by itself.
  explicit Certificate(const CertificateOptions& options, const Certificate* issuer = nullptr);

  std::string pem() const;
  std::string key_pem() const;
  // For servers in tests that call OpenSSL themselves.
  std::shared_ptr<ssl_ctx_st> MakeServerContext() const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
  std::shared_ptr<x509_st> certificate_;
};

}  // namespace berth::net
