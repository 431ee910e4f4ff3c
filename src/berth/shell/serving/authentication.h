// SPDX-License-Identifier: Apache-2.0
// Authenticator: finds the user of a request, in upstream's order (k8s.io/apiserver,
// authenticatorfactory.DelegatingAuthenticatorConfig): a front proxy's headers, the client's certificate, a bearer
// token by TokenReview, else system:anonymous. On its loop's thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/shell/net/transport.h"
#include "berth/shell/serving/options.h"
#include "berth/shell/serving/review_client.h"
#include "berth/shell/serving/trust.h"
#include "berth/shell/serving/ttl_cache.h"
#include "berth/shell/serving/user.h"

namespace berth::serving {

class Authenticator {
 public:
  // Errors: the credential is not accepted (kUnauthorized), could not be checked, or too many checks are under way
  // (kTooManyRequests). The message is for the log.
  using Done = std::function<void(Expected<User>)>;

  // The most cached answers about tokens, by the tokens' hashes.
  static constexpr std::size_t kTokensMax = 4096;
  // The most requests that wait for the answer about one token.
  static constexpr std::size_t kWaitingMax = 1024;

  // `trust`, `clock` and `token_reviews` (null: tokens are ignored) must outlive it.
  Authenticator(const TrustSource& trust, const Clock& clock, ReviewClient* token_reviews, Duration token_ttl)
      : trust_(trust), clock_(clock), token_reviews_(token_reviews), token_ttl_(token_ttl) {}

  // `done` is called once, before this returns or later.
  void Authenticate(const net::Request& request, const ShownCertificates& shown, Done done);

 private:
  // The user; nullopt: the API server does not accept the token.
  using KnownUser = std::optional<User>;

  void AskAboutToken(const std::string& token, Done done, std::vector<std::string> failures);
  void OnTokenReviewed(const std::string& key, const Expected<codec::json::value>& status);

  const TrustSource& trust_;
  const Clock& clock_;
  ReviewClient* const token_reviews_;
  const Duration token_ttl_;
  TtlCache<KnownUser> tokens_{kTokensMax};
  // Callbacks that wait for the same answer, by the token's hash.
  std::map<std::string, std::vector<std::function<void(const Expected<KnownUser>&)>>> waiting_;
};

}  // namespace berth::serving
