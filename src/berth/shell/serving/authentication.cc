// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/authentication.h"

#include <algorithm>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/base/text.h"
#include "berth/shell/net/url.h"

namespace berth::serving {
namespace {

// A longer token is refused: kube-apiserver refuses heads of that size.
constexpr std::size_t kTokenBytesMax = std::size_t{64} << 10;

// The first header of that name that has a value.
std::string FirstValue(const net::Request& request, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const net::Header& header : request.headers) {
      if (!net::EqualsIgnoreCase(header.name, name)) continue;
      if (!header.value.empty()) return header.value;
      break;  // Go's Header.Get sees only the first header of a name
    }
  }
  return {};
}

std::vector<std::string> AllValues(const net::Request& request, const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const std::string& name : names) {
    for (const net::Header& header : request.headers) {
      if (net::EqualsIgnoreCase(header.name, name) && !header.value.empty()) values.push_back(header.value);
    }
  }
  return values;
}

std::map<std::string, std::vector<std::string>> ExtraValues(const net::Request& request,
                                                            const std::vector<std::string>& prefixes) {
  std::map<std::string, std::vector<std::string>> extra;
  for (const std::string& prefix : prefixes) {
    for (const net::Header& header : request.headers) {
      if (header.name.size() < prefix.size() ||
          !net::EqualsIgnoreCase(std::string_view(header.name).substr(0, prefix.size()), prefix)) {
        continue;
      }
      std::string key = LowerCase(std::string_view(header.name).substr(prefix.size()));
      if (auto decoded = net::PercentDecode(key, false); decoded.ok()) key = *std::move(decoded);
      extra[key].push_back(header.value);
    }
  }
  return extra;
}

bool Holds(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

User WithAuthenticatedGroup(User user) {
  if (user.name != kAnonymous && !Holds(user.groups, kAuthenticatedGroup) &&
      !Holds(user.groups, kUnauthenticatedGroup)) {
    user.groups.emplace_back(kAuthenticatedGroup);
  }
  return user;
}

// The user in a front proxy's headers; nullopt: they name nobody, or no front proxy is trusted.
Expected<std::optional<User>> ByRequestHeaders(const Trust::RequestHeader& trust, const net::Request& request,
                                               const std::vector<std::string>& shown, Time wall_now) {
  BERTH_ASSIGN_OR_RETURN(const ClientCertificate proxy, trust.authorities->Verify(shown, wall_now));
  if (!trust.allowed_names.empty() && !Holds(trust.allowed_names, proxy.common_name)) {
    return Error{ErrorCode::kUnauthorized,
                 "x509: subject with cn=" + proxy.common_name + " is not in the allowed list"};
  }
  User user;
  user.name = FirstValue(request, trust.username_headers);
  if (user.name.empty()) return std::optional<User>();
  user.uid = FirstValue(request, trust.uid_headers);
  user.groups = AllValues(request, trust.group_headers);
  user.extra = ExtraValues(request, trust.extra_header_prefixes);
  return std::optional<User>(std::move(user));
}

// The user of a certificate; nullopt: it has no name.
Expected<std::optional<User>> ByCertificate(const ClientAuthorities& authorities, const std::vector<std::string>& shown,
                                            Time wall_now) {
  BERTH_ASSIGN_OR_RETURN(ClientCertificate certificate, authorities.Verify(shown, wall_now));
  if (certificate.common_name.empty()) return std::optional<User>();
  if (certificate.uids.size() > 1) {
    return Error{ErrorCode::kUnauthorized, "expected 1 UID, but found multiple: " + GoList(certificate.uids)};
  }
  if (certificate.uids.size() == 1 && certificate.uids.front().empty()) {
    return Error{ErrorCode::kUnauthorized, "UID cannot be an empty string"};
  }
  User user;
  user.name = std::move(certificate.common_name);
  user.groups = std::move(certificate.organizations);
  if (!certificate.uids.empty()) user.uid = certificate.uids.front();
  user.extra["authentication.kubernetes.io/credential-id"] = {"X509SHA256=" + certificate.fingerprint_sha256};
  return std::optional<User>(std::move(user));
}

// The bearer token; empty: there is none.
std::string BearerToken(const net::Request& request) {
  const std::string header = FirstValue(request, {"Authorization"});
  const std::string_view text = Trim(header);
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || !net::EqualsIgnoreCase(text.substr(0, space), "bearer")) return {};
  const std::string_view rest = text.substr(space + 1);
  return std::string(rest.substr(0, rest.find(' ')));
}

std::vector<std::string> Strings(const codec::json::value* list) {
  std::vector<std::string> strings;
  if (list == nullptr || !list->is_array()) return strings;
  for (const codec::json::value& each : list->get_array()) {
    if (each.is_string()) strings.emplace_back(each.get_string());
  }
  return strings;
}

std::string TextIn(const codec::json::object& object, std::string_view key) {
  const codec::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// The user in a TokenReview; nullopt: not authenticated, and the server gives no reason.
Expected<std::optional<User>> UserOfReview(const codec::json::object& status) {
  const codec::json::value* authenticated = status.if_contains("authenticated");
  if (authenticated == nullptr || !authenticated->is_bool() || !authenticated->get_bool()) {
    const std::string reason = TextIn(status, "error");
    if (!reason.empty()) return Error{ErrorCode::kUnauthorized, reason};
    return std::optional<User>();
  }
  User user;
  if (const codec::json::value* value = status.if_contains("user"); value != nullptr && value->is_object()) {
    const codec::json::object& object = value->get_object();
    user.name = TextIn(object, "username");
    user.uid = TextIn(object, "uid");
    user.groups = Strings(object.if_contains("groups"));
    if (const codec::json::value* extra = object.if_contains("extra"); extra != nullptr && extra->is_object()) {
      for (const auto& [key, values] : extra->get_object()) user.extra[std::string(key)] = Strings(&values);
    }
  }
  return std::optional<User>(std::move(user));
}

}  // namespace

void Authenticator::Authenticate(const net::Request& request, const ShownCertificates& shown, Done done) {
  const Trust& trust = trust_.now();
  std::vector<std::string> failures;
  // True when the user is known.
  const auto take = [&](Expected<std::optional<User>> result) {
    if (!result.ok()) {
      failures.push_back(result.error().message);
    } else if (*result) {
      done(WithAuthenticatedGroup(**std::move(result)));
      return true;
    }
    return false;
  };
  if (shown != nullptr && !shown->empty()) {
    const Time now = clock_.WallNow();
    if (trust.request_header && trust.request_header->authorities != nullptr &&
        take(ByRequestHeaders(*trust.request_header, request, *shown, now))) {
      return;
    }
    if (trust.clients != nullptr && take(ByCertificate(*trust.clients, *shown, now))) return;
  }
  if (token_reviews_ != nullptr) {
    if (const std::string token = BearerToken(request); !token.empty()) {
      AskAboutToken(token, std::move(done), std::move(failures));
      return;
    }
  }
  if (!failures.empty()) {
    done(Error{ErrorCode::kUnauthorized, GoAggregate(failures)});
    return;
  }
  done(User{std::string(kAnonymous), {}, {std::string(kUnauthenticatedGroup)}, {}});
}

void Authenticator::AskAboutToken(const std::string& token, Done done, std::vector<std::string> failures) {
  const auto finish = [done = std::move(done),
                       failures = std::move(failures)](const Expected<KnownUser>& known) mutable {
    if (!known.ok() && known.error().code == ErrorCode::kTooManyRequests) {
      done(known.error());
    } else if (known.ok() && known->has_value()) {
      done(WithAuthenticatedGroup(**known));
    } else {
      failures.push_back(known.ok() ? "invalid bearer token" : known.error().message);
      done(Error{ErrorCode::kUnauthorized, GoAggregate(failures)});
    }
  };
  std::function<void(const Expected<KnownUser>&)> waiter = finish;
  if (token.size() > kTokenBytesMax) {
    waiter(KnownUser());
    return;
  }
  const std::string key = Sha256(token);
  if (const KnownUser* known = tokens_.Find(key, clock_.Now()); known != nullptr) {
    waiter(KnownUser(*known));
    return;
  }
  auto& waiting = waiting_[key];
  if (waiting.size() >= kWaitingMax) {
    waiter(Error{ErrorCode::kTooManyRequests, "too many requests wait for the answer about one token"});
    return;
  }
  waiting.push_back(std::move(waiter));
  if (waiting.size() > 1) return;
  token_reviews_->Ask(
      R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":)" +
          GoJson(token) + R"(},"status":{"user":{}}})",
      [this, key](const Expected<codec::json::value>& status) { OnTokenReviewed(key, status); });
}

void Authenticator::OnTokenReviewed(const std::string& key, const Expected<codec::json::value>& status) {
  Expected<KnownUser> known = KnownUser();
  if (status.ok()) {
    known = UserOfReview(status->get_object());
  } else {
    known = status.error();
  }
  // Failed reviews, and refusals with a reason, are not cached, as upstream.
  if (known.ok() && token_ttl_ > Duration{0}) tokens_.Set(key, *known, clock_.Now() + token_ttl_);
  const auto waiting = waiting_.extract(key);
  if (waiting.empty()) return;
  for (const auto& waiter : waiting.mapped()) waiter(known);
}

}  // namespace berth::serving
