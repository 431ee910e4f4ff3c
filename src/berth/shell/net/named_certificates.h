// SPDX-License-Identifier: Apache-2.0
// NamedCertificates: which certificate a TLS server shows to whom. Upstream: DynamicServingCertificateController of
// k8s.io/apiserver and getCertificate of Go's crypto/tls. For the sources of this folder. Immutable once it is
// attached.
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
  // In the order of precedence. `names` empty: those of the context's certificate, behind all that are given anywhere.
  void Add(std::shared_ptr<const TlsContext> context, const std::vector<std::string>& names);

  // What is shown to who asks for `name`; empty: for none, and has reached `address`. Null: the server's own, which is
  // `own`'s.
  const TlsContext* Find(std::string_view name, std::string_view address, ssl_ctx_st* own) const;

  // From now on `context` and its connections choose by `named`, which lives as long as they do.
  static void Attach(std::unique_ptr<NamedCertificates> named, ssl_ctx_st* context);

 private:
  std::vector<std::shared_ptr<const TlsContext>> contexts_;
  StringHashMap<const TlsContext*> given_;
  StringHashMap<const TlsContext*> implied_;
};

}  // namespace berth::net
