// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/rows/table.h"

#include <gtest/gtest.h>

namespace berth::objects {
namespace {

TEST(HumanDuration, IsKubectlsForm) {
  constexpr std::int64_t kHour = 3600;
  constexpr std::int64_t kDay = 24 * kHour;
  struct Case {
    std::int64_t seconds;
    const char* want;
  };
  const Case cases[] = {{-2, "<invalid>"},
                        {-1, "0s"},
                        {0, "0s"},
                        {5, "5s"},
                        {119, "119s"},
                        {120, "2m"},
                        {192, "3m12s"},
                        {599, "9m59s"},
                        {600, "10m"},
                        {179 * 60, "179m"},
                        {3 * kHour, "3h"},
                        {4 * kHour + 1800, "4h30m"},
                        {8 * kHour + 60, "8h"},
                        {47 * kHour, "47h"},
                        {2 * kDay, "2d"},
                        {2 * kDay + 5 * kHour, "2d5h"},
                        {8 * kDay + 1, "8d"},
                        {729 * kDay, "729d"},
                        {733 * kDay, "2y3d"},
                        {8 * 365 * kDay, "8y"}};
  for (const Case& c : cases) EXPECT_EQ(HumanDuration(c.seconds), c.want) << c.seconds;
}

TEST(NegotiateRepresentation, TakesTheFirstThatIsServed) {
  struct Case {
    const char* accept;
    Representation want;
  };
  const Case cases[] = {{"", Representation::kPlain},
                        {"*/*", Representation::kPlain},
                        {"application/json", Representation::kPlain},
                        {"application/vnd.kubernetes.protobuf,application/json", Representation::kPlain},
                        {"application/json;as=Table;v=v1;g=meta.k8s.io,application/"
                         "json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
                         Representation::kTable},
                        {"application/json; as=Table; g=meta.k8s.io; v=v1", Representation::kTable},
                        {"application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Representation::kPlain},
                        {"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
                         "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                         Representation::kPartialObjectMetadata},
                        {"application/vnd.kubernetes.protobuf", Representation::kNone},
                        {"text/html", Representation::kNone}};
  for (const Case& c : cases) EXPECT_EQ(NegotiateRepresentation(c.accept), c.want) << c.accept;
}

TEST(MakeTable, HoldsWhatKubectlReads) {
  const ResourceType& type = *FindResource("", "v1", "configmaps");
  const json::object item = json::parse(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c",
      "creationTimestamp":"2026-01-01T00:00:00Z"},"data":{"a":"b"}})")
                                .as_object();
  const json::object* const items[] = {&item};
  constexpr std::int64_t kNow = 1767225600 + 60;  // a minute after
  json::object table = MakeTable(type, items, {{"resourceVersion", "7"}}, IncludeObject::kMetadata, kNow);
  EXPECT_EQ(table["kind"], "Table");
  EXPECT_EQ(table["apiVersion"], "meta.k8s.io/v1");
  EXPECT_EQ(table["metadata"], json::parse(R"({"resourceVersion":"7"})"));
  const json::array& columns = table["columnDefinitions"].as_array();
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_EQ(columns[0].at("name"), "Name");
  EXPECT_EQ(columns[0].at("format"), "name");
  EXPECT_EQ(columns[0].at("priority"), 0);
  const json::object& row = table["rows"].as_array().at(0).as_object();
  EXPECT_EQ(row.at("cells"), json::parse(R"(["c",1,"60s"])"));
  EXPECT_EQ(row.at("object").at("kind"), "PartialObjectMetadata");
  EXPECT_EQ(row.at("object").at("metadata").at("name"), "c");

  EXPECT_TRUE(MakeTable(type, items, {}, IncludeObject::kNone, kNow)["rows"].as_array().at(0).at("object").is_null());
  EXPECT_EQ(MakeTable(type, items, {}, IncludeObject::kObject, kNow)["rows"].as_array().at(0).at("object"), item);
  EXPECT_TRUE(MakeTable(type, items, {}, IncludeObject::kNone, kNow, false)["columnDefinitions"].as_array().empty());
}

}  // namespace
}  // namespace berth::objects
