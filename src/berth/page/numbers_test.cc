// SPDX-License-Identifier: Apache-2.0
#include "berth/page/numbers.h"

#include <chrono>

#include <gtest/gtest.h>

#include "berth/codec/json.h"
#include "berth/page/static_files.h"

namespace berth::page {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(NumbersTest, RatesAreOfTheTimeThatHasPassed) {
  NumberInput input;
  input.since = seconds(4);
  input.activity = {.arrived = 8, .bound = 2, .waited = {}};
  for (int i = 100; i >= 1; --i) input.activity.waited.push_back(milliseconds(i));
  input.decisions = 10;
  input.zones = {{"a", 2, 0.5, 0.25, 0.1}};
  const auto sample = SampleJson(input);
  EXPECT_EQ(sample.at("arrived").to_number<double>(), 2);
  EXPECT_EQ(sample.at("bound").to_number<double>(), 0.5);
  EXPECT_EQ(sample.at("decisions").to_number<double>(), 2.5);
  EXPECT_NEAR(sample.at("waitMsP50").to_number<double>(), 50.5, 1);
  EXPECT_NEAR(sample.at("waitMsP99").to_number<double>(), 99, 1);
  EXPECT_EQ(sample.at("use").at(0).at("cpu").to_number<double>(), 0.5);
  EXPECT_FALSE(sample.contains("queue")) << "nobody knows it";
  EXPECT_FALSE(sample.contains("cpu")) << "nobody decides here";
  EXPECT_FALSE(SampleJson({}).contains("waitMsP50")) << "nobody was bound";
}

TEST(NumbersTest, OfTheProcessAndItsProfiles) {
  const ProcessCounts before{10, 5'000, {{"a", 100, 7}}};
  const ProcessCounts now{11, 4'000, {{"a", 104, 7}, {"b", 0, 2}}};
  NumberInput input;
  input.since = seconds(2);
  input.process = Since(now, before);
  const auto sample = SampleJson(input);
  EXPECT_EQ(sample.at("cpu").to_number<double>(), 0.5);
  EXPECT_EQ(sample.at("memoryBytes").to_number<double>(), 4'000);
  EXPECT_EQ(codec::WriteJson(sample.at("profiles")),
            R"([{"name":"a","scheduled":2E0,"refused":0E0},{"name":"b","scheduled":0E0,"refused":1E0}])");
}

TEST(NumbersTest, KeepsTheNewest) {
  Numbers numbers;
  for (std::size_t i = 0; i < Numbers::kSamplesMax + 2; ++i) {
    NumberInput input;
    input.pending = i;
    numbers.Add(input);
  }
  const auto json = numbers.Json();
  EXPECT_EQ(json.at("samples").as_array().size(), Numbers::kSamplesMax);
  EXPECT_EQ(json.at("samples").at(0).at("pending").to_number<int>(), 2);
}

TEST(StaticFilesTest, ServesItsFilesAloneAndSaysSoWithoutThem) {
  const PageFile file[] = {{"index.html", "text/html; charset=utf-8", "<p>berth"}};
  const StaticFiles files(file);
  net::Request request;
  EXPECT_EQ(files.Answer(request, "/ui/").body, "<p>berth");
  EXPECT_EQ(files.Answer(request, "/ui/index.html").body, "<p>berth");
  EXPECT_EQ(files.Answer(request, "/ui/../index.html").status, 404);
  request.headers.push_back({"Accept-Encoding", "gzip"});
  EXPECT_EQ(files.Answer(request, "/ui/").Get("Content-Encoding"), "gzip");
  request.method = "PUT";
  EXPECT_EQ(files.Answer(request, "/ui/").status, 405);
  EXPECT_EQ(StaticFiles({}).Answer({}, "/ui/").body, NoPageText());
  EXPECT_EQ(StaticFiles({}).Answer({}, "/ui/app.js").status, 404);
}

}  // namespace
}  // namespace berth::page
