// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/rest_parameters.h"

#include <gtest/gtest.h>

#include "berth/devcluster/apiserver/rendering.h"

namespace berth::apiserver {
namespace {

TEST(RestParameters, ContinueTokensComeBack) {
  for (const std::int64_t version : {std::int64_t{1}, std::int64_t{-1}, INT64_MAX}) {
    const auto token = DecodeContinueToken(EncodeContinueToken({version, "default/pod-7"}));
    ASSERT_TRUE(token.ok()) << version;
    EXPECT_EQ(token->resource_version, version);
    EXPECT_EQ(token->after_key, "default/pod-7");
  }
  for (const char* bad : {"", "x", "%%%", "e30", "W10", "eyJydiI6MH0"})
    EXPECT_FALSE(DecodeContinueToken(bad).ok()) << bad;
  EXPECT_FALSE(DecodeContinueToken(EncodeContinueToken({-2, "a"})).ok());
  EXPECT_FALSE(DecodeContinueToken(EncodeContinueToken({5, ""})).ok());
}

TEST(RestParameters, MediaTypesLoseTheirParameters) {
  EXPECT_EQ(MediaType("Application/JSON; charset=utf-8"), "application/json");
  EXPECT_EQ(MediaType(" text/plain "), "text/plain");
  EXPECT_EQ(MediaType(""), "");
}

TEST(RestParameters, DeleteOptionsComeFromBodyOrQuery) {
  const auto parse = [](const std::string& query, const std::string& body) {
    return ParseDeleteOptions(body, "", net::ParseTarget("/x?" + query).value());
  };
  EXPECT_EQ(parse("gracePeriodSeconds=5", "")->grace_period_seconds, 5);
  EXPECT_EQ(parse("gracePeriodSeconds=5", R"({"gracePeriodSeconds":0})")->grace_period_seconds, 0);
  EXPECT_EQ(parse("propagationPolicy=Orphan", "")->propagation_policy, "Orphan");
  EXPECT_EQ(parse("", R"({"orphanDependents":true})")->orphan_dependents, true);
  EXPECT_EQ(parse("orphanDependents=false", "")->orphan_dependents, false);
  EXPECT_FALSE(parse("", R"({"orphanDependents":true,"propagationPolicy":"Orphan"})").ok());
  EXPECT_FALSE(parse("orphanDependents=true&propagationPolicy=Orphan", "").ok());
  EXPECT_TRUE(parse("dryRun=All", "")->is_dry_run);
  EXPECT_TRUE(parse("", R"({"dryRun":["All"]})")->is_dry_run);
  EXPECT_EQ(parse("", R"({"preconditions":{"uid":"u","resourceVersion":"7"}})")->preconditions.resource_version, "7");
  for (const char* bad :
       {R"({"gracePeriodSeconds":"x"})", R"({"propagationPolicy":"x"})", R"({"dryRun":["x"]})", R"({"kind":"Pod"})"}) {
    EXPECT_FALSE(parse("", bad).ok()) << bad;
  }
}

TEST(Rendering, PrettyJsonIndents) {
  EXPECT_EQ(PrettyJson(R"({"a":[1,"b{,\""],"c":{},"d":[]})"),
            "{\n  \"a\": [\n    1,\n    \"b{,\\\"\"\n  ],\n  \"c\": {},\n  \"d\": []\n}");
}

}  // namespace
}  // namespace berth::apiserver
