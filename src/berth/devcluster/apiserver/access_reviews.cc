// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/access_reviews.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <openssl/crypto.h>

#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/devcluster/apiserver/service_account_tokens.h"
#include "berth/devcluster/apiserver/status_response.h"
#include "berth/devcluster/objects/body_check.h"
#include "berth/devcluster/objects/validate/rules.h"
#include "berth/shell/net/url.h"

namespace berth::apiserver {
namespace {

constexpr std::int64_t kTokenSecondsDefault = 3600;
constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";
constexpr std::string_view kAuthenticated = "system:authenticated";

json::array Strings(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.push_back(json::string(text));
  return array;
}

json::array All() { return json::array{"*"}; }

std::int64_t Seconds(Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

UserInfo ServiceAccountUser(std::string_view namespace_name, std::string_view name, std::string_view uid) {
  UserInfo user;
  user.name = std::string(kServiceAccountPrefix) + std::string(namespace_name) + ':' + std::string(name);
  user.uid = uid;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + std::string(namespace_name),
                 std::string(kAuthenticated)};
  return user;
}

// The names of all types that can be the object of a token, by kind.
std::string_view BoundPlural(std::string_view kind) {
  if (kind == "Pod") return "pods";
  if (kind == "Node") return "nodes";
  if (kind == "Secret") return "secrets";
  return {};
}

const objects::ResourceType& TokenRequestType() {
  static const objects::ResourceType kType = [] {
    objects::ResourceType type;
    type.group = "authentication.k8s.io";
    type.version = "v1";
    type.kind = "TokenRequest";
    type.plural = "tokenrequests";
    return type;
  }();
  return kType;
}

// Objects whose status has the answer to a question of access.
void Allow(json::object& review) { review["status"] = json::object{{"allowed", true}}; }

json::object Rules() {
  json::object resources{{"verbs", All()}, {"apiGroups", All()}, {"resources", All()}};
  json::object paths{{"verbs", All()}, {"nonResourceURLs", All()}};
  json::object status;
  status["resourceRules"] = json::array{std::move(resources)};
  status["nonResourceRules"] = json::array{std::move(paths)};
  status["incomplete"] = false;
  return status;
}

net::Response Created(const json::object& document, const std::vector<std::string>& warnings) {
  net::Response response = JsonResponse(201, json::serialize(document));
  for (const std::string& warning : warnings) {
    response.headers.push_back({"Warning", "299 - " + json::serialize(json::string(warning))});
  }
  return response;
}

bool HasAudience(const json::array& audiences, std::string_view wanted) {
  return std::any_of(audiences.begin(), audiences.end(), [&](const json::value& each) {
    return each.is_string() && objects::View(each.get_string()) == wanted;
  });
}

constexpr std::string_view kAnonymous = "system:anonymous";

UserInfo Anonymous() {
  UserInfo user;
  user.name = kAnonymous;
  user.groups = {"system:unauthenticated"};
  return user;
}

UserInfo Admin() {
  UserInfo user;
  user.name = "berth-admin";
  user.groups = {"system:masters", std::string(kAuthenticated)};
  return user;
}

// Whom the request wants to be taken for (Impersonate-User), else `sender`.
UserInfo Impersonated(const net::Request& request, UserInfo sender) {
  UserInfo user;
  user.name = request.Get("Impersonate-User");
  if (user.name.empty()) return sender;
  if (user.name == kAnonymous) return Anonymous();
  user.uid = request.Get("Impersonate-Uid");
  for (const net::Header& header : request.headers) {
    if (net::EqualsIgnoreCase(header.name, "Impersonate-Group")) user.groups.push_back(header.value);
  }
  if (user.groups.empty() && user.name.starts_with(kServiceAccountPrefix)) {
    const std::string_view rest = std::string_view(user.name).substr(kServiceAccountPrefix.size());
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    user.groups = ServiceAccountUser(rest.substr(0, colon), rest.substr(std::min(colon + 1, rest.size())), "").groups;
  }
  if (std::find(user.groups.begin(), user.groups.end(), kAuthenticated) == user.groups.end()) {
    user.groups.emplace_back(kAuthenticated);
  }
  return user;
}

// A body that is answered and not kept.
objects::Outcome<json::object> ReadBody(const RestCall& call, const objects::ResourceType& type,
                                        std::vector<std::string>& warnings) {
  BERTH_ASSIGN_OR_RETURN(objects::WriteOptions options, call.write);
  options.warnings = &warnings;
  BERTH_ASSIGN_OR_RETURN(json::object body, call.Body());
  BERTH_RETURN_IF_ERROR(objects::CheckBody(type, body, options));
  objects::MutableObject(body, "metadata").erase("managedFields");
  return body;
}

}  // namespace

json::object UserInfo::ToObject() const {
  json::object user;
  if (!name.empty()) user["username"] = name;
  if (!uid.empty()) user["uid"] = uid;
  if (!groups.empty()) user["groups"] = Strings(groups);
  if (!extra.empty()) user["extra"] = extra;
  return user;
}

std::optional<UserInfo> AccessReviews::Authenticate(const net::Request& request) const {
  if (admin_token_.empty()) return Impersonated(request, Anonymous());
  constexpr std::string_view kBearer = "Bearer ";
  std::string_view token = request.Get("Authorization");
  if (!token.starts_with(kBearer)) return std::nullopt;
  token.remove_prefix(kBearer.size());
  Identified identified = Identify(token, json::array{json::string(kTokenIssuer)});
  if (!identified.user) return std::nullopt;
  return Impersonated(request, *std::move(identified.user));
}

objects::Outcome<net::Response> AccessReviews::Review(const RestCall& call) const {
  const objects::ResourceType& type = *call.route.served->type;
  BERTH_RETURN_IF_ERROR(call.rendering);
  std::vector<std::string> warnings;
  BERTH_ASSIGN_OR_RETURN(json::object review, ReadBody(call, type, warnings));
  json::object& metadata = objects::MutableObject(review, "metadata");
  if (type.namespaced) metadata["namespace"] = call.route.namespace_name;
  const bool has_more = metadata.size() > (type.namespaced ? 1U : 0U);
  const bool is_about_access = type.kind.ends_with("AccessReview");
  std::vector<objects::FieldError> errors = type.validate(review, nullptr);
  if (is_about_access && has_more) {
    errors.push_back(objects::internal::Invalid(
        "metadata", metadata, type.namespaced ? "must be empty except for namespace" : "must be empty"));
  }
  if (!errors.empty()) return objects::Invalid(type, "", errors);
  if (is_about_access) {
    Allow(review);
  } else if (type.kind == "SelfSubjectRulesReview") {
    const json::object* spec = objects::ObjectMember(review, "spec");
    if (spec == nullptr || objects::StringMember(*spec, "namespace").empty())
      return objects::BadRequest("no namespace on request");
    review["spec"] = json::object();  // as upstream's answer
    review["status"] = Rules();
  } else if (type.kind == "SelfSubjectReview") {
    metadata = {{"creationTimestamp", FormatRfc3339(registry_.WallNow())}};
    review["status"] = json::object{{"userInfo", Authenticate(call.request).value_or(Anonymous()).ToObject()}};
  } else {
    BERTH_RETURN_IF_ERROR(ReviewToken(review));
  }
  return Created(review, warnings);
}

AccessReviews::Identified AccessReviews::Identify(std::string_view token, const json::array& audiences) const {
  const auto refused = [](std::string why) { return Identified{std::nullopt, {}, std::move(why)}; };
  constexpr std::string_view kWrongAudiences = "token audiences do not match those that were asked for";
  if (!admin_token_.empty() && token.size() == admin_token_.size() &&
      CRYPTO_memcmp(token.data(), admin_token_.data(), token.size()) == 0) {
    if (!HasAudience(audiences, kTokenIssuer)) return refused(std::string(kWrongAudiences));
    return {Admin(), json::array{json::string(kTokenIssuer)}, {}};
  }
  const auto claims = ReadToken(token_key_, token);
  if (!claims) return refused("it was not issued by this server");
  const json::value* expires = objects::FindMember(*claims, "exp");
  if (expires == nullptr || !expires->is_int64() || expires->get_int64() <= Seconds(registry_.WallNow())) {
    return refused("service account token has expired");
  }
  const json::object* kubernetes = objects::ObjectMember(*claims, "kubernetes.io");
  const json::object* account = kubernetes == nullptr ? nullptr : objects::ObjectMember(*kubernetes, "serviceaccount");
  const json::array* own = objects::ArrayMember(*claims, "aud");
  if (account == nullptr || own == nullptr) return refused("it names no service account");
  const std::string_view namespace_name = objects::StringMember(*kubernetes, "namespace");
  const std::string_view name = objects::StringMember(*account, "name");
  const auto found = registry_.Get(*registry_.Find("", "v1", "serviceaccounts"), namespace_name, name);
  if (!found.ok() || (*found)->uid != objects::StringMember(*account, "uid")) {
    return refused("service account " + std::string(namespace_name) + '/' + std::string(name) + " has been deleted");
  }
  Identified identified;
  for (const json::value& each : audiences) {
    if (each.is_string() && HasAudience(*own, objects::View(each.get_string()))) identified.audiences.push_back(each);
  }
  if (identified.audiences.empty()) return refused(std::string(kWrongAudiences));
  identified.user = ServiceAccountUser(namespace_name, name, (*found)->uid);
  identified.user->extra["authentication.kubernetes.io/credential-id"] =
      json::array{json::string("JTI=" + std::string(objects::StringMember(*claims, "jti")))};
  return identified;
}

objects::Outcome<objects::Done> AccessReviews::ReviewToken(json::object& review) const {
  const json::object* spec = objects::ObjectMember(review, "spec");
  const std::string_view token = spec == nullptr ? std::string_view() : objects::StringMember(*spec, "token");
  if (token.empty()) return objects::BadRequest("token is required for TokenReview in authentication");
  const json::array server{json::string(kTokenIssuer)};
  const json::array* wanted = objects::ArrayMember(*spec, "audiences");
  Identified identified = Identify(token, wanted == nullptr || wanted->empty() ? server : *wanted);
  json::object status;
  if (identified.user) {
    status["authenticated"] = true;
    status["user"] = identified.user->ToObject();
    status["audiences"] = std::move(identified.audiences);
  } else {
    status["user"] = json::object();
    status["error"] = "[invalid bearer token, " + identified.why_not + ']';
  }
  review["status"] = std::move(status);
  return objects::Done();
}

objects::Outcome<json::object> AccessReviews::BoundObject(const json::object& reference,
                                                          std::string_view namespace_name) const {
  const std::string_view kind = objects::StringMember(reference, "kind");
  const std::string_view plural = BoundPlural(kind);
  if (plural.empty() || objects::StringMember(reference, "apiVersion") != "v1") {
    return objects::BadRequest("cannot bind token for object of type " +
                               std::string(objects::StringMember(reference, "apiVersion")) +
                               ", Kind=" + std::string(kind));
  }
  const objects::ServedType& served = *registry_.Find("", "v1", plural);
  const std::string_view name = objects::StringMember(reference, "name");
  BERTH_ASSIGN_OR_RETURN(const objects::ObjectPtr object,
                         registry_.Get(served, served.type->namespaced ? namespace_name : std::string_view(), name));
  const std::string_view uid = objects::StringMember(reference, "uid");
  if (!uid.empty() && uid != object->uid) {
    return objects::Conflict(
        *served.type, name,
        "the UID in the bound object reference (" + std::string(uid) +
            ") does not match the UID in record. The object might have been deleted and then recreated");
  }
  return json::object{{"name", json::string(name)}, {"uid", object->uid}};
}

objects::Outcome<net::Response> AccessReviews::RequestToken(const RestCall& call) const {
  const objects::ResourceType& type = TokenRequestType();
  const std::string& namespace_name = call.route.namespace_name;
  std::vector<std::string> warnings;
  BERTH_ASSIGN_OR_RETURN(json::object request, ReadBody(call, type, warnings));
  json::object& metadata = objects::MutableObject(request, "metadata");
  for (const auto& [member, want] : {std::pair<const char*, const std::string&>{"name", call.route.name},
                                     std::pair<const char*, const std::string&>{"namespace", namespace_name}}) {
    const std::string_view own = objects::StringMember(metadata, member);
    if (!own.empty() && own != want) {
      return objects::Invalid(
          type, call.route.name,
          {objects::internal::Invalid("metadata." + std::string(member), json::string(own),
                                      "must match the service account " + std::string(member) + " if specified")});
    }
    metadata[member] = want;
  }
  BERTH_ASSIGN_OR_RETURN(const objects::ObjectPtr account,
                         registry_.Get(*call.route.served, namespace_name, call.route.name));
  if (const std::string_view uid = objects::StringMember(metadata, "uid"); !uid.empty() && uid != account->uid) {
    return objects::Conflict(type, call.route.name,
                             "the UID in the token request (" + std::string(uid) +
                                 ") does not match the UID of the service account (" + account->uid + ')');
  }
  json::object& spec = objects::MutableObject(request, "spec");
  if (const json::array* audiences = objects::ArrayMember(spec, "audiences");
      audiences == nullptr || audiences->empty()) {
    spec["audiences"] = json::array{json::string(kTokenIssuer)};
  }
  spec.emplace("expirationSeconds", kTokenSecondsDefault);
  const objects::internal::Errors errors = objects::internal::Validate(
      *objects::FindSchema("authentication.k8s.io", "v1", "TokenRequest"), request, nullptr);
  if (!errors.empty()) return objects::Invalid(type, "", errors);

  const Time now = registry_.WallNow();
  const std::int64_t seconds = spec["expirationSeconds"].get_int64();
  const UserInfo user = ServiceAccountUser(namespace_name, call.route.name, account->uid);
  json::object kubernetes;
  kubernetes["namespace"] = namespace_name;
  kubernetes["serviceaccount"] = json::object{{"name", call.route.name}, {"uid", account->uid}};
  if (const json::object* reference = objects::ObjectMember(spec, "boundObjectRef")) {
    BERTH_ASSIGN_OR_RETURN(json::object bound, BoundObject(*reference, namespace_name));
    std::string member(BoundPlural(objects::StringMember(*reference, "kind")));
    member.pop_back();  // the claim is called after one of them
    kubernetes[member] = std::move(bound);
  }
  json::object claims;
  claims["aud"] = spec["audiences"];
  claims["exp"] = Seconds(now) + seconds;
  claims["iat"] = Seconds(now);
  claims["iss"] = kTokenIssuer;
  // Tokens that are asked for at one moment for one account differ in nothing else.
  claims["jti"] = registry_.NewUid();
  claims["kubernetes.io"] = std::move(kubernetes);
  claims["nbf"] = Seconds(now);
  claims["sub"] = user.name;
  metadata["uid"] = account->uid;
  metadata["creationTimestamp"] = FormatRfc3339(now);
  json::object status;
  status["token"] = SignToken(token_key_, claims);
  status["expirationTimestamp"] = FormatRfc3339(now + std::chrono::seconds(seconds));
  request["status"] = std::move(status);
  return Created(request, warnings);
}

}  // namespace berth::apiserver
