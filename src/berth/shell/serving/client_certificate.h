// SPDX-License-Identifier: Apache-2.0
// Certificates that clients have shown: whether an authority has signed them, and for whom. OpenSSL stays behind it.
// Thread-safe: immutable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"

struct x509_store_st;

namespace berth::serving {

// As ResponseWriter::PeerCertificates has them: DER, the client's own first; null: none was shown.
using ShownCertificates = std::shared_ptr<const std::vector<std::string>>;

struct ClientCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> uids;   // of the subject, by Kubernetes' own OID (1.3.6.1.4.1.57683.2)
  std::string fingerprint_sha256;  // of the certificate, hex
};

class ClientAuthorities {
 public:
  // One PEM certificate or more. The error continues a sentence that begins with where they are from.
  static Expected<std::shared_ptr<const ClientAuthorities>> Make(std::string pem);
  ~ClientAuthorities();
  ClientAuthorities(const ClientAuthorities&) = delete;
  ClientAuthorities& operator=(const ClientAuthorities&) = delete;

  const std::string& pem() const { return pem_; }

  // What stands in the first certificate, when these authorities have signed it for clients, directly or through the
  // others, and it is valid at `wall_now`. `shown` has at least one.
  Expected<ClientCertificate> Verify(const std::vector<std::string>& shown, Time wall_now) const;

 private:
  ClientAuthorities(std::string pem, x509_store_st* store) : pem_(std::move(pem)), store_(store) {}

  const std::string pem_;
  x509_store_st* const store_;
};

// SHA-256 of a text, 32 bytes.
std::string Sha256(std::string_view text);

}  // namespace berth::serving
