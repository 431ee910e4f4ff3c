// SPDX-License-Identifier: Apache-2.0
// Verifies client certificates against authorities and reads the user from them. Hides OpenSSL. Thread-safe: immutable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"

struct x509_store_st;

namespace berth::serving {

// The result of ResponseWriter::PeerCertificates: DER, the client's own first. Null: the client has shown none.
using ShownCertificates = std::shared_ptr<const std::vector<std::string>>;

struct ClientCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> uids;   // of the subject, by Kubernetes' own OID (1.3.6.1.4.1.57683.2)
  std::string fingerprint_sha256;  // of the certificate, hex
};

class ClientAuthorities {
 public:
  // One or more PEM certificates. The error message is meant to follow the name of their source.
  static Expected<std::shared_ptr<const ClientAuthorities>> Make(std::string pem);
  ~ClientAuthorities();
  ClientAuthorities(const ClientAuthorities&) = delete;
  ClientAuthorities& operator=(const ClientAuthorities&) = delete;

  const std::string& pem() const { return pem_; }

  // The content of the first certificate, if these authorities have signed it for clients, directly or through the
  // other certificates of `shown`, and if it is valid at `wall_now`. `shown` is not empty.
  Expected<ClientCertificate> Verify(const std::vector<std::string>& shown, Time wall_now) const;

 private:
  ClientAuthorities(std::string pem, x509_store_st* store) : pem_(std::move(pem)), store_(store) {}

  const std::string pem_;
  x509_store_st* const store_;
};

// SHA-256 of a text, 32 bytes.
std::string Sha256(std::string_view text);

}  // namespace berth::serving
