// SPDX-License-Identifier: Apache-2.0
// Server-side apply and managedFields, through the API.
#include "berth/devcluster/objects/fields/managed_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "berth/devcluster/apiserver/test_server.h"

namespace berth::apiserver {
namespace {

constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";
constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

std::string Web(std::string_view spec, std::string_view containers = R"([{"name":"a","image":"nginx"}])") {
  return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{)" + std::string(spec) +
         R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":)" +
         std::string(containers) + "}}}}";
}
std::string Map(std::string_view data) {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":)" + std::string(data) + '}';
}

class ServerSideApply : public ::testing::Test {
 protected:
  Answer Apply(const std::string& target, std::string body, const std::string& manager, const std::string& more = "") {
    return Call(server_.handler(), "PATCH", target + "?fieldManager=" + manager + more, std::move(body),
                {{"Content-Type", "application/apply-patch+yaml"}});
  }
  Answer Patch(const std::string& target, std::string body, std::vector<net::Header> headers = {}) {
    headers.push_back({"Content-Type", "application/merge-patch+json"});
    return Call(server_.handler(), "PATCH", target, std::move(body), std::move(headers));
  }
  Answer Get(const std::string& target) { return Call(server_.handler(), "GET", target); }
  // "manager/operation/subresource fields", one for each entry.
  std::vector<std::string> Managers(const std::string& target) {
    std::vector<std::string> all;
    const json::value entries = At(Get(target).body, "metadata.managedFields");
    if (!entries.is_array()) return all;
    for (const json::value& each : entries.as_array()) {
      std::string text(At(each, "manager").as_string());
      text += '/' + std::string(At(each, "operation").as_string());
      if (At(each, "subresource").is_string()) text += '/' + std::string(At(each, "subresource").as_string());
      all.push_back(text + ' ' + json::serialize(At(each, "fieldsV1")));
    }
    return all;
  }

  const std::string web_ = std::string(kDeployments) + "/web";
  const std::string map_ = std::string(kMaps) + "/m";
  ManualClock clock_;
  ApiServer server_{objects::ResourceTypes(), clock_};
};

TEST_F(ServerSideApply, CreatesChangesAndLeavesAlone) {
  const Answer created = Apply(map_, Map(R"({"a":"1","b":"2"})"), "one");
  ASSERT_EQ(created.status, 201) << created.response.body;
  EXPECT_EQ(Managers(map_), std::vector<std::string>{R"(one/Apply {"f:data":{"f:a":{},"f:b":{}}})"});
  const std::string version = created.Text("metadata.resourceVersion");
  clock_.Advance(std::chrono::hours(1));
  // The same again is no write.
  const Answer again = Apply(map_, Map(R"({"a":"1","b":"2"})"), "one");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.Text("metadata.resourceVersion"), version);
  // What is not applied any more goes.
  const Answer less = Apply(map_, Map(R"({"b":"3"})"), "one");
  EXPECT_EQ(At(less.body, "data"), Json(R"({"b":"3"})"));
  EXPECT_EQ(less.Text("metadata.managedFields.0.time"), "2023-11-14T23:13:20Z");
}

TEST_F(ServerSideApply, YamlIsTaken) {
  ASSERT_EQ(Apply(map_, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: '1'}\n", "one").status, 201);
  EXPECT_EQ(At(Get(map_).body, "data"), Json(R"({"a":"1"})"));
}

TEST_F(ServerSideApply, OwnersTogether) {
  ASSERT_EQ(Apply(map_, Map(R"({"a":"1"})"), "one").status, 201);
  ASSERT_EQ(Apply(map_, Map(R"({"a":"1","b":"2"})"), "two").status, 200);  // the same value is no conflict
  EXPECT_EQ(Managers(map_), (std::vector<std::string>{R"(one/Apply {"f:data":{"f:a":{}}})",
                                                      R"(two/Apply {"f:data":{"f:a":{},"f:b":{}}})"}));
  const Answer conflict = Apply(map_, Map(R"({"a":"9"})"), "one");
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.Text("reason"), "Conflict");
  EXPECT_EQ(conflict.Text("message"), "Apply failed with 1 conflict: conflict with \"two\": .data.a");
  EXPECT_EQ(At(conflict.body, "details.causes"),
            Json(R"([{"reason":"FieldManagerConflict","message":"conflict with \"two\"","field":".data.a"}])"));
  ASSERT_EQ(Apply(map_, Map(R"({"a":"9"})"), "one", "&force=true").status, 200);
  EXPECT_EQ(Managers(map_),
            (std::vector<std::string>{R"(one/Apply {"f:data":{"f:a":{}}})", R"(two/Apply {"f:data":{"f:b":{}}})"}));
  // What somebody else owns as well stays.
  ASSERT_EQ(Apply(map_, Map(R"({"a":"9","b":"2"})"), "two").status, 200);
  EXPECT_EQ(At(Apply(map_, Map("{}"), "one").body, "data"), Json(R"({"a":"9","b":"2"})"));
}

TEST_F(ServerSideApply, ConflictsWithUpdates) {
  ASSERT_EQ(Call(server_.handler(), "POST", std::string(kDeployments) + "?fieldManager=kubectl-create",
                 Web(R"("replicas":1,)"))
                .status,
            201);
  EXPECT_EQ(Apply(web_, Web(R"("replicas":2,)"), "me").Text("message"),
            "Apply failed with 1 conflict: conflict with \"kubectl-create\" using apps/v1: .spec.replicas");
  EXPECT_EQ(Apply(web_, Web(R"("replicas":2,)", R"([{"name":"a","image":"other"}])"), "me").Text("message"),
            "Apply failed with 2 conflicts: conflicts with \"kubectl-create\" using apps/v1:\n- .spec.replicas\n"
            "- .spec.template.spec.containers[name=\"a\"].image");
  ASSERT_EQ(Apply(web_, Web("", R"([{"name":"a","image":"nginx"},{"name":"b","image":"x"}])"), "me").status, 200);
  const Answer got = Get(web_);
  EXPECT_EQ(got.Text("spec.replicas"), "1");
  EXPECT_EQ(got.Text("spec.template.spec.containers.1.name"), "b");
  // Not named any more: its container goes, the one that it shares stays.
  ASSERT_EQ(Apply(web_, Web(""), "me").status, 200);
  EXPECT_EQ(At(Get(web_).body, "spec.template.spec.containers").as_array().size(), 1u);
}

TEST_F(ServerSideApply, UpdatesTakeFieldsOver) {
  ASSERT_EQ(Apply(map_, Map(R"({"a":"1","b":"2","c":"3"})"), "one").status, 201);
  ASSERT_EQ(Patch(map_ + "?fieldManager=hand", R"({"data":{"a":"9","b":null,"d":"4"}})").status, 200);
  EXPECT_EQ(Managers(map_), (std::vector<std::string>{R"(one/Apply {"f:data":{"f:c":{}}})",
                                                      R"(hand/Update {"f:data":{"f:a":{},"f:d":{}}})"}));
  // Without a fieldManager the User-Agent tells who it is.
  ASSERT_EQ(Patch(map_, R"({"data":{"c":"5"}})", {{"User-Agent", "tool/v1 (linux)"}}).status, 200);
  EXPECT_EQ(Managers(map_), (std::vector<std::string>{R"(hand/Update {"f:data":{"f:a":{},"f:d":{}}})",
                                                      R"(tool/Update {"f:data":{"f:c":{}}})"}));
}

TEST_F(ServerSideApply, SubresourcesHaveTheirOwnEntries) {
  ASSERT_EQ(Apply(web_, Web(R"("replicas":1,)"), "me").status, 201);
  ASSERT_EQ(Patch(web_ + "/scale?fieldManager=kubectl", R"({"spec":{"replicas":3}})").status, 200);
  ASSERT_EQ(Patch(web_ + "/status?fieldManager=controller", R"({"status":{"replicas":3}})").status, 200);
  const std::vector<std::string> managers = Managers(web_);
  ASSERT_EQ(managers.size(), 3u);
  EXPECT_EQ(managers[1], R"(controller/Update/status {"f:status":{"f:replicas":{}}})");
  EXPECT_EQ(managers[2], R"(kubectl/Update/scale {"f:spec":{"f:replicas":{}}})");
  EXPECT_EQ(Apply(web_, Web(R"("replicas":1,)"), "me").Text("message"),
            "Apply failed with 1 conflict: conflict with \"kubectl\" with subresource \"scale\" using apps/v1: "
            ".spec.replicas");
}

TEST_F(ServerSideApply, WhatNobodyTracks) {
  ASSERT_EQ(Call(server_.handler(), "POST", kMaps, Map(R"({"a":"1"})")).status, 201);
  ASSERT_EQ(Patch(map_ + "?fieldManager=hand", R"({"data":{"b":"2"}})").status, 200);
  EXPECT_TRUE(Managers(map_).empty());
  EXPECT_EQ(Apply(map_, Map(R"({"a":"2"})"), "me").Text("message"),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a");
  ASSERT_EQ(Apply(map_, Map(R"({"c":"3"})"), "me").status, 200);
  EXPECT_EQ(Managers(map_),
            (std::vector<std::string>{R"(me/Apply {"f:data":{"f:c":{}}})",
                                      R"(before-first-apply/Update {"f:data":{".":{},"f:a":{},"f:b":{}}})"}));
}

TEST_F(ServerSideApply, AfterAClientSideApply) {
  const std::string last = R"({\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\",\"b\":\"2\"},\"kind\":\"ConfigMap\",)"
                           R"(\"metadata\":{\"annotations\":{},\"name\":\"m\"}}\n)";
  ASSERT_EQ(Call(server_.handler(), "POST", std::string(kMaps) + "?fieldManager=kubectl-client-side-apply",
                 R"({"metadata":{"name":"m","annotations":{"kubectl.kubernetes.io/last-applied-configuration":")" +
                     last + R"("}},"data":{"a":"1","b":"2"}})")
                .status,
            201);
  // kubectl may take over what kubectl has applied; anybody else may not.
  EXPECT_EQ(Apply(map_, Map(R"({"a":"3"})"), "other").status, 409);
  const Answer taken = Apply(map_, Map(R"({"a":"3"})"), "kubectl");
  ASSERT_EQ(taken.status, 200) << taken.response.body;
  EXPECT_EQ(At(taken.body, "metadata.annotations").at("kubectl.kubernetes.io/last-applied-configuration"),
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"a":"3"}})"
            "\n");
}

TEST_F(ServerSideApply, ADryRunChangesNothing) {
  EXPECT_EQ(Apply(map_, Map(R"({"a":"1"})"), "one", "&dryRun=All").status, 201);
  EXPECT_EQ(Get(map_).status, 404);
  ASSERT_EQ(Apply(map_, Map(R"({"a":"1"})"), "one").status, 201);
  EXPECT_EQ(Apply(map_, Map(R"({"a":"2"})"), "one", "&dryRun=All").Text("data.a"), "2");
  EXPECT_EQ(Get(map_).Text("data.a"), "1");
}

TEST_F(ServerSideApply, ManagedFieldsThatAClientWrites) {
  ASSERT_EQ(Apply(map_, Map(R"({"a":"1"})"), "one").status, 201);
  // kubectl moves what client-side apply owned to its apply entry in this way.
  const Answer moved = Patch(map_ + "?fieldManager=kubectl", R"({"metadata":{"managedFields":[{"manager":"two",
      "operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}]}})");
  ASSERT_EQ(moved.status, 200) << moved.response.body;
  EXPECT_EQ(Managers(map_), std::vector<std::string>{R"(two/Apply {"f:data":{"f:a":{}}})"});
  // Nonsense is not taken.
  ASSERT_EQ(Patch(map_, R"({"metadata":{"managedFields":[{"manager":"x","operation":"Take"}]}})").status, 200);
  EXPECT_EQ(Managers(map_).size(), 1u);
  ASSERT_EQ(Patch(map_, R"({"metadata":{"managedFields":[{}]}})").status, 200);
  EXPECT_TRUE(Managers(map_).empty());
}

TEST_F(ServerSideApply, ManyUpdatersArePutTogether) {
  ASSERT_EQ(Apply(map_, Map(R"({"a":"1"})"), "one").status, 201);
  for (int i = 0; i < 30; ++i) {
    clock_.Advance(std::chrono::seconds(1));
    const std::string n = std::to_string(i);
    ASSERT_EQ(Patch(map_ + "?fieldManager=m" + n, R"({"data":{"k)" + n + R"(":"1"}})").status, 200);
  }
  const std::vector<std::string> managers = Managers(map_);
  EXPECT_EQ(managers.size(), 1 + objects::kUpdateManagersMax);
  EXPECT_TRUE(managers[1].starts_with("ancient-changes/Update")) << managers[1];
}

TEST_F(ServerSideApply, WhatIsRefused) {
  const auto message = [&](const std::string& body, const std::string& query = "?fieldManager=me") {
    return Call(server_.handler(), "PATCH", map_ + query, body, {{"Content-Type", "application/apply-patch+yaml"}})
        .Text("message");
  };
  EXPECT_EQ(message(Map("{}"), ""),
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch");
  EXPECT_EQ(message("[]"), "error decoding patch: it must be an object");
  EXPECT_EQ(message(R"({"kind":"Secret","apiVersion":"v1"})"), "invalid object type: /v1, Kind=Secret");
  EXPECT_EQ(message(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","managedFields":[]}})"),
            "metadata.managedFields must be nil");
  EXPECT_EQ(message(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"default"},"dta":{}})"),
            "failed to create typed patch object (default/m; /v1, Kind=ConfigMap): .dta: field not declared in schema");
  EXPECT_EQ(message(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"other"}})"),
            "the name of the object (other) does not match the name on the URL (m)");
  EXPECT_EQ(Patch(map_ + "?force=true", "{}").status, 422);
  const Answer gone = Apply(
      map_, R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","uid":"u","resourceVersion":"7"}})", "me");
  EXPECT_EQ(gone.status, 409);
  EXPECT_EQ(gone.Text("message"),
            "Operation cannot be fulfilled on configmaps \"m\": uid mismatch: the provided object specified uid u, and "
            "no existing object was found");
}

// Deep or wide objects cost what they hold.
TEST_F(ServerSideApply, LargeObjects) {
  std::string data;
  for (int i = 0; i < 20'000; ++i) data += (i == 0 ? "" : ",") + ("\"k" + std::to_string(i)) + R"(":"v")";
  ASSERT_EQ(Apply(map_, Map('{' + data + '}'), "one").status, 201);
  EXPECT_EQ(Apply(map_, Map('{' + data + '}'), "two").status, 200);
  EXPECT_EQ(At(Apply(map_, Map(R"({"k1":"v"})"), "one").body, "data").as_object().size(), 20'000u);
}

}  // namespace
}  // namespace berth::apiserver
