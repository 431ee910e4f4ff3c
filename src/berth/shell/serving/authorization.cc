// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/authorization.h"

#include <algorithm>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/shell/serving/client_certificate.h"

namespace berth::serving {
namespace {

std::string ReviewSpec(const User& user, const std::string& verb, const std::string& path) {
  std::string spec = R"({"nonResourceAttributes":{"path":)" + GoJson(path) + R"(,"verb":)" + GoJson(verb) +
                     R"(},"user":)" + GoJson(user.name);
  if (!user.groups.empty()) spec += R"(,"groups":)" + GoJson(user.groups);
  if (!user.extra.empty()) {
    spec += R"(,"extra":{)";
    bool is_first = true;
    for (const auto& [key, values] : user.extra) {
      if (!std::exchange(is_first, false)) spec += ',';
      spec += GoJson(key) + ':' + GoJson(values);
    }
    spec += '}';
  }
  if (!user.uid.empty()) spec += R"(,"uid":)" + GoJson(user.uid);
  return spec + '}';
}

bool IsTrue(const codec::json::object& object, std::string_view key) {
  const codec::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

Expected<AuthorizationVerdict> VerdictOfReview(const codec::json::object& status) {
  const bool is_denied = IsTrue(status, "denied");
  AuthorizationVerdict verdict{IsTrue(status, "allowed"), {}};
  if (is_denied && verdict.is_allowed) {
    return Error{ErrorCode::kInternal, "webhook subject access review returned both allow and deny response"};
  }
  if (const codec::json::value* reason = status.if_contains("reason"); reason != nullptr && reason->is_string())
    verdict.reason = std::string(reason->get_string());
  return verdict;
}

}  // namespace

Expected<std::unique_ptr<Authorizer>> Authorizer::Make(const AuthorizationOptions& options, const Clock& clock,
                                                       ReviewClient* reviews) {
  std::unique_ptr<Authorizer> made(new Authorizer(options, clock, reviews));
  for (const std::string& path : options.always_allow_paths) {
    std::string rest = path.starts_with('/') ? path.substr(1) : path;
    if (rest.find('*') < std::max<std::size_t>(rest.size(), 1) - 1) {
      return InvalidError("--authorization-always-allow-paths: only trailing * allowed in " + GoQuoted(rest));
    }
    if (rest.ends_with('*')) {
      rest.pop_back();
      made->prefixes_.push_back(std::move(rest));
    } else {
      made->paths_.push_back(std::move(rest));
    }
  }
  return made;
}

bool Authorizer::IsAlwaysAllowed(std::string_view path) const {
  if (path.starts_with('/')) path.remove_prefix(1);
  return std::find(paths_.begin(), paths_.end(), path) != paths_.end() ||
         std::any_of(prefixes_.begin(), prefixes_.end(),
                     [path](const std::string& prefix) { return path.starts_with(prefix); });
}

void Authorizer::Authorize(const User& user, const std::string& verb, const std::string& path, Done done) {
  if (std::find(user.groups.begin(), user.groups.end(), kMastersGroup) != user.groups.end() || IsAlwaysAllowed(path)) {
    done(AuthorizationVerdict{true, {}});
    return;
  }
  if (reviews_ == nullptr) {
    done(AuthorizationVerdict{});
    return;
  }
  const std::string spec = ReviewSpec(user, verb, path);
  const std::string key = Sha256(spec);
  if (const AuthorizationVerdict* known = verdicts_.Find(key, clock_.Now()); known != nullptr) {
    done(AuthorizationVerdict(*known));
    return;
  }
  auto& waiting = waiting_[key];
  if (waiting.size() >= kWaitingMax) {
    done(Error{ErrorCode::kTooManyRequests, "too many requests wait for the same authorization"});
    return;
  }
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  const bool is_kept = path.size() + verb.size() < kKeptPathBytesMax;
  reviews_->Ask(R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":)" + spec +
                    R"(,"status":{"allowed":false}})",
                [this, key, is_kept](const Expected<codec::json::value>& status) { OnReviewed(key, is_kept, status); });
}

void Authorizer::OnReviewed(const std::string& key, bool is_kept, const Expected<codec::json::value>& status) {
  Expected<AuthorizationVerdict> verdict = AuthorizationVerdict{};
  if (status.ok()) {
    verdict = VerdictOfReview(status->get_object());
  } else {
    verdict = status.error();
  }
  if (verdict.ok() && is_kept) {
    const Duration ttl = verdict->is_allowed ? options_.authorized_ttl : options_.unauthorized_ttl;
    if (ttl > Duration{0}) verdicts_.Set(key, *verdict, clock_.Now() + ttl);
  }
  auto waiting = waiting_.extract(key);
  if (waiting.empty()) return;
  for (const Done& done : waiting.mapped()) done(verdict);
}

}  // namespace berth::serving
