// SPDX-License-Identifier: Apache-2.0
// Authenticator: who asks, in upstream's order (k8s.io/apiserver, authenticatorfactory.DelegatingAuthenticatorConfig):
// a front proxy's headers, the client's certificate, a bearer token by TokenReview, else nobody known. On its loop's
// thread only.
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
  // An error: what was shown is not taken (kUnauthorized), could not be looked at, or too much is being looked at
  // (kTooManyRequests). Its message is for the log.
  using Done = std::function<void(Expected<User>)>;

  // Tokens that were asked about lately, by their hashes.
  static constexpr std::size_t kTokensMax = 4096;
  // Requests that wait for the answer about one token.
  static constexpr std::size_t kWaitingMax = 1024;

  // `trust`, `clock` and `token_reviews` (null: tokens say nothing) must outlive it.
  Authenticator(const TrustSource& trust, const Clock& clock, ReviewClient* token_reviews, Duration token_ttl)
      : trust_(trust), clock_(clock), token_reviews_(token_reviews), token_ttl_(token_ttl) {}

  // `done` is called once, before this returns or later.
  void Authenticate(const net::Request& request, const ShownCertificates& shown, Done done);

 private:
  // nullopt: a token that is not known.
  using KnownUser = std::optional<User>;

  void AskAboutToken(const std::string& token, Done done, std::vector<std::string> failures);
  void OnTokenReviewed(const std::string& key, const Expected<codec::json::value>& status);

  const TrustSource& trust_;
  const Clock& clock_;
  ReviewClient* const token_reviews_;
  const Duration token_ttl_;
  TtlCache<KnownUser> tokens_{kTokensMax};
  // By the token's hash: who waits for the same answer.
  std::map<std::string, std::vector<std::function<void(const Expected<KnownUser>&)>>> waiting_;
};

}  // namespace berth::serving
