// SPDX-License-Identifier: Apache-2.0
// Authorizer: decides whether a user may make a request, as upstream's delegating authorization. system:masters may
// make any, everybody may read the paths that are always allowed, and a SubjectAccessReview decides the rest. On its
// loop's thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "berth/shell/serving/options.h"
#include "berth/shell/serving/review_client.h"
#include "berth/shell/serving/ttl_cache.h"
#include "berth/shell/serving/user.h"

namespace berth::serving {

struct AuthorizationVerdict {
  bool is_allowed = false;
  std::string reason;  // of a refusal; may be empty
};

class Authorizer {
 public:
  using Done = std::function<void(Expected<AuthorizationVerdict>)>;

  static constexpr std::size_t kVerdictsMax = 8192;
  // Verdicts about longer paths are not cached, as upstream.
  static constexpr std::size_t kKeptPathBytesMax = 10'000;
  // The most requests that wait for the same answer.
  static constexpr std::size_t kWaitingMax = 1024;

  // kInvalid for a path that upstream refuses: a * before its end. `reviews` and `clock` must outlive it. Without
  // `reviews` (null) only system:masters and the paths that are always allowed pass.
  static Expected<std::unique_ptr<Authorizer>> Make(const AuthorizationOptions& options, const Clock& clock,
                                                    ReviewClient* reviews);

  // `verb` is the request's method in lower case. `done` is called once, before this returns or later.
  void Authorize(const User& user, const std::string& verb, const std::string& path, Done done);

 private:
  Authorizer(const AuthorizationOptions& options, const Clock& clock, ReviewClient* reviews)
      : options_(options), clock_(clock), reviews_(reviews) {}

  bool IsAlwaysAllowed(std::string_view path) const;
  void OnReviewed(const std::string& key, bool is_kept, const Expected<codec::json::value>& status);

  const AuthorizationOptions options_;
  const Clock& clock_;
  ReviewClient* const reviews_;
  std::vector<std::string> paths_;     // without their first slash
  std::vector<std::string> prefixes_;  // likewise
  TtlCache<AuthorizationVerdict> verdicts_{kVerdictsMax};
  std::map<std::string, std::vector<Done>> waiting_;
};

}  // namespace berth::serving
