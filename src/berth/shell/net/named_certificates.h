// SPDX-License-Identifier: Apache-2.0
// NamedCertificates: chooses the certificate that a TLS server shows to a client. Upstream:
// DynamicServingCertificateController of k8s.io/apiserver and getCertificate of Go's crypto/tls. For the sources of
// this folder. Immutable once it is attached.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"

struct ssl_ctx_st;
struct ssl_st;
struct x509_st;

namespace berth::net {

class TlsContext;

class NamedCertificates {
 public:
  // Adds a certificate; earlier ones take precedence. If `names` is empty, those of the certificate count, after the
  // given names of all others.
  void Add(std::shared_ptr<const TlsContext> context, const std::vector<std::string>& names);

  // The context for a client that asks for `name`, or for none if it is empty, and has connected to `address`. Null:
  // the server's own.
  const TlsContext* Find(std::string_view name, std::string_view address, ssl_ctx_st* own) const;

  // Connections of `context` choose by `named` from now on. `context` owns it.
  static void Attach(std::unique_ptr<NamedCertificates> named, ssl_ctx_st* context);

 private:
  std::vector<std::shared_ptr<const TlsContext>> contexts_;
  StringHashMap<const TlsContext*> given_;
  StringHashMap<const TlsContext*> implied_;
};

}  // namespace berth::net
