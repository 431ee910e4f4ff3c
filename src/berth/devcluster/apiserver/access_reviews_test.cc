// SPDX-License-Identifier: Apache-2.0
// Questions about users and rights, and the tokens of service accounts.
#include "berth/devcluster/apiserver/access_reviews.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "berth/devcluster/apiserver/test_server.h"

namespace berth::apiserver {
namespace {

constexpr const char* kAccess = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
constexpr const char* kTokens = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccounts = "/api/v1/namespaces/default/serviceaccounts";

class AccessReviewsTest : public ::testing::Test {
 protected:
  Answer Post(std::string target, std::string body, std::vector<net::Header> headers = {}) {
    return Call(server_.handler(), "POST", std::move(target), std::move(body), std::move(headers));
  }
  // A token for the service account "robot", which is made for it.
  std::string Token(const std::string& spec = "{}") {
    Post(kAccounts, R"({"metadata":{"name":"robot"}})");
    const Answer made = Post(std::string(kAccounts) + "/robot/token", R"({"spec":)" + spec + '}');
    EXPECT_EQ(made.status, 201) << made.response.body;
    return made.Text("status.token");
  }
  Answer Review(const std::string& token, const std::string& more = "") {
    return Post(kTokens, R"({"spec":{"token":")" + token + '"' + more + "}}");
  }

  ManualClock clock_;
  ApiServer server_{objects::ResourceTypes(), clock_};
};

TEST_F(AccessReviewsTest, EverybodyMayDoEverything) {
  const Answer self = Post(kAccess, R"({"spec":{"resourceAttributes":{"verb":"create","resource":"pods"}}})");
  ASSERT_EQ(self.status, 201) << self.response.body;
  EXPECT_EQ(self.Text("kind"), "SelfSubjectAccessReview");
  EXPECT_EQ(At(self.body, "status"), Json(R"({"allowed":true})"));
  EXPECT_EQ(self.Text("spec.resourceAttributes.verb"), "create");
  EXPECT_EQ(Post("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                 R"({"spec":{"user":"jane","nonResourceAttributes":{"path":"/metrics","verb":"get"}}})")
                .Text("status.allowed"),
            "true");
  EXPECT_EQ(Post("/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
                 R"({"spec":{"user":"jane","resourceAttributes":{"namespace":"default","verb":"get"}}})")
                .Text("status.allowed"),
            "true");
  const Answer rules =
      Post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", R"({"spec":{"namespace":"default"}})");
  EXPECT_EQ(At(rules.body, "status"), Json(R"({"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}],
                     "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}],"incomplete":false})"));
}

TEST_F(AccessReviewsTest, QuestionsThatAreNone) {
  EXPECT_EQ(Post(kAccess, R"({"spec":{}})").Text("message"),
            "SelfSubjectAccessReview.authorization.k8s.io \"\" is invalid: spec: Invalid value: null: exactly one of "
            "nonResourceAttributes or resourceAttributes must be specified");
  EXPECT_EQ(
      Post("/apis/authorization.k8s.io/v1/subjectaccessreviews", R"({"spec":{"resourceAttributes":{"verb":"get"}}})")
          .Text("message"),
      "SubjectAccessReview.authorization.k8s.io \"\" is invalid: spec.user: Invalid value: \"\": at least one of "
      "user or group must be specified");
  EXPECT_EQ(Post("/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
                 R"({"spec":{"user":"jane","resourceAttributes":{"namespace":"other","verb":"get"}}})")
                .status,
            422);
  EXPECT_EQ(Post(kAccess, R"({"metadata":{"name":"x"},"spec":{"resourceAttributes":{"verb":"get"}}})").status, 422);
  EXPECT_EQ(Post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "{}").Text("message"),
            "no namespace on request");
  EXPECT_EQ(Post(std::string(kAccess) + "?fieldValidation=Strict", R"({"spec":{"who":"me"}})").status, 400);
  // Nothing is kept, so nothing can be read.
  EXPECT_EQ(Call(server_.handler(), "GET", kAccess).status, 405);
  EXPECT_EQ(Call(server_.handler(), "GET", std::string(kAccess) + "/x").status, 404);
  EXPECT_EQ(Call(server_.handler(), "POST", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", "{}").status,
            405);
}

TEST_F(AccessReviewsTest, WhoAmI) {
  constexpr const char* kSelf = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  EXPECT_EQ(At(Post(kSelf, "{}").body, "status.userInfo"),
            Json(R"({"username":"system:anonymous","groups":["system:unauthenticated"]})"));
  EXPECT_EQ(At(Post(kSelf, "{}", {{"Impersonate-User", "jane"}, {"Impersonate-Group", "dev"}}).body, "status.userInfo"),
            Json(R"({"username":"jane","groups":["dev","system:authenticated"]})"));
  EXPECT_EQ(At(Post(kSelf, "{}", {{"Impersonate-User", "system:serviceaccount:default:robot"}}).body,
               "status.userInfo.groups"),
            Json(R"(["system:serviceaccounts","system:serviceaccounts:default","system:authenticated"])"));
}

TEST_F(AccessReviewsTest, ATokenIsKnownAgain) {
  const Answer reviewed = Review(Token());
  ASSERT_EQ(reviewed.status, 201) << reviewed.response.body;
  EXPECT_EQ(reviewed.Text("status.authenticated"), "true");
  EXPECT_EQ(reviewed.Text("status.user.username"), "system:serviceaccount:default:robot");
  EXPECT_EQ(At(reviewed.body, "status.audiences"), Json(R"(["https://kubernetes.default.svc.cluster.local"])"));
  const std::string for_others = Token(R"({"audiences":["vault"]})");
  EXPECT_EQ(Review(for_others).Text("status.authenticated"), "null");
  EXPECT_EQ(Review(for_others, R"(,"audiences":["vault","other"])").Text("status.audiences"), R"(["vault"])");
}

TEST_F(AccessReviewsTest, ATokenThatIsNone) {
  const std::string token = Token();
  std::string changed = token;
  changed[changed.find('.') + 3] ^= 1;
  for (const std::string& wrong : {changed, std::string("nonsense"), std::string("a.b"), std::string("a.b.c"),
                                   token.substr(0, token.rfind('.')), std::string(20'000, 'a')}) {
    const Answer reviewed = Review(wrong);
    EXPECT_EQ(reviewed.status, 201);
    EXPECT_EQ(reviewed.Text("status.authenticated"), "null") << wrong;
    EXPECT_NE(reviewed.Text("status.error").find("invalid bearer token"), std::string::npos);
  }
  EXPECT_EQ(Review("").Text("message"), "token is required for TokenReview in authentication");
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(Review(token).Text("status.error"), "[invalid bearer token, service account token has expired]");
}

TEST_F(AccessReviewsTest, ATokenEndsWithItsServiceAccount) {
  const std::string token = Token();
  EXPECT_EQ(Call(server_.handler(), "DELETE", std::string(kAccounts) + "/robot").status, 200);
  EXPECT_EQ(Review(token).Text("status.authenticated"), "null");
  Post(kAccounts, R"({"metadata":{"name":"robot"}})");  // another one of this name
  EXPECT_EQ(Review(token).Text("status.authenticated"), "null");
}

TEST_F(AccessReviewsTest, ClientsFromOutsideShowAToken) {
  ApiServer server(objects::ResourceTypes(), clock_, {.token_key = "key", .admin_token = "secret"});
  const auto get = [&](const std::string& target, const std::string& token) {
    std::vector<net::Header> headers;
    if (!token.empty()) headers.push_back({"Authorization", token});
    return Call(server.outside_handler(), "GET", target, "", headers);
  };
  EXPECT_EQ(get("/api/v1/nodes", "").status, 401);
  EXPECT_EQ(get("/api/v1/nodes", "").Text("message"), "Unauthorized");
  for (const char* wrong : {"Bearer wrong", "Bearer ", "Basic secret", "secret"}) {
    EXPECT_EQ(get("/api/v1/nodes", wrong).status, 401) << wrong;
  }
  EXPECT_EQ(get("/api/v1/nodes", "Bearer secret").status, 200);
  EXPECT_EQ(get("/readyz?verbose", "").status, 200);
  EXPECT_EQ(Call(server.handler(), "GET", "/api/v1/nodes").status, 200) << "in process nobody has to";
  // Service accounts have tokens, too.
  ASSERT_EQ(Call(server.handler(), "POST", kAccounts, R"({"metadata":{"name":"robot"}})").status, 201);
  const std::string token =
      Call(server.handler(), "POST", std::string(kAccounts) + "/robot/token", "{}").Text("status.token");
  EXPECT_EQ(get("/api/v1/nodes", "Bearer " + token).status, 200);
  const Answer self = Call(server.outside_handler(), "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                           {{"Authorization", "Bearer secret"}});
  EXPECT_EQ(At(self.body, "status.userInfo"),
            Json(R"({"username":"berth-admin","groups":["system:masters","system:authenticated"]})"));
}

TEST_F(AccessReviewsTest, AnAdministratorNeedsAKeyThatNobodyCanGuess) {
  EXPECT_DEATH(ApiServer(objects::ResourceTypes(), clock_, {.admin_token = "secret"}), "signed with the seed");
}

// As `berth run --secure-port` asks when somebody comes to it with the token of `berth cluster --token`.
TEST_F(AccessReviewsTest, TheAdministratorsTokenIsKnownAgain) {
  ApiServer server(objects::ResourceTypes(), clock_, {.token_key = "key", .admin_token = "secret"});
  const auto review = [&](const std::string& spec) {
    return Call(server.handler(), "POST", "/apis/authentication.k8s.io/v1/tokenreviews", "{\"spec\":{" + spec + "}}");
  };
  const Answer known = review(R"("token":"secret")");
  EXPECT_EQ(known.Text("status.authenticated"), "true");
  EXPECT_EQ(At(known.body, "status.user"),
            Json(R"({"username":"berth-admin","groups":["system:masters","system:authenticated"]})"));
  EXPECT_EQ(At(known.body, "status.audiences"), Json(R"(["https://kubernetes.default.svc.cluster.local"])"));
  EXPECT_EQ(review(R"("token":"secret","audiences":["vault"])").Text("status.authenticated"), "null");
  EXPECT_EQ(review(R"("token":"other")").Text("status.authenticated"), "null");
  EXPECT_EQ(Review("secret").Text("status.authenticated"), "null") << "a server without a token has no administrator";
}

TEST_F(AccessReviewsTest, TokenRequestsAsUpstreamRefusesThem) {
  const std::string target = std::string(kAccounts) + "/robot/token";
  EXPECT_EQ(Post(target, "{}").Text("message"), "serviceaccounts \"robot\" not found");
  Token();
  EXPECT_EQ(Post(target, R"({"spec":{"expirationSeconds":10}})").Text("message"),
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 10: may not "
            "specify a duration less than 10 minutes");
  EXPECT_EQ(Post(target, R"({"metadata":{"name":"other"}})").status, 422);
  EXPECT_EQ(Post(target, R"({"metadata":{"uid":"other"}})").status, 409);
  EXPECT_EQ(Post(target, R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"none"}}})").status, 404);
  EXPECT_EQ(Post(target, R"({"spec":{"boundObjectRef":{"kind":"Service","apiVersion":"v1","name":"x"}}})").status, 400);
  EXPECT_EQ(Call(server_.handler(), "GET", target).status, 405);
  const Answer made = Post(target, R"({"spec":{"expirationSeconds":600}})");
  EXPECT_EQ(made.Text("status.expirationTimestamp"), "2023-11-14T22:23:20Z");
  EXPECT_EQ(made.Text("metadata.name"), "robot");
}

}  // namespace
}  // namespace berth::apiserver
