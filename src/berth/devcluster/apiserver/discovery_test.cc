// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/discovery.h"

#include <set>

#include <gtest/gtest.h>

#include "berth/devcluster/apiserver/openapi.h"
#include "berth/devcluster/apiserver/openapi_protobuf.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kAggregatedAccept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

json::object Get(std::string_view path, std::string_view accept = "application/json") {
  const auto answer = ServeDiscovery(path, accept, "127.0.0.1:8001");
  if (!answer || answer->status != 200) {
    ADD_FAILURE() << path << " is not served";
    return {};
  }
  return json::parse(answer->body).as_object();
}

// The entry of a list whose `key` is `value`.
json::object Find(const json::value& list, std::string_view key, std::string_view value) {
  for (const json::value& each : list.as_array()) {
    if (each.at(key) == json::value(value)) return each.as_object();
  }
  ADD_FAILURE() << "no " << key << " " << value;
  return {};
}

TEST(Discovery, GroupsAndVersions) {
  EXPECT_EQ(Get("/api"), json::parse(R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[
      {"clientCIDR":"0.0.0.0/0","serverAddress":"127.0.0.1:8001"}]})"));
  const json::object groups = Get("/apis");
  EXPECT_EQ(groups.at("kind"), "APIGroupList");
  EXPECT_EQ(Find(groups.at("groups"), "name", "apps"),
            json::parse(R"({"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],
                            "preferredVersion":{"groupVersion":"apps/v1","version":"v1"}})"));
  EXPECT_EQ(Get("/apis/apps/").at("kind"), "APIGroup");
  EXPECT_EQ(Get("/version").at("minor"), "36");
}

TEST(Discovery, ResourcesWithTheirSubresources) {
  const json::object apps = Get("/apis/apps/v1");
  EXPECT_EQ(apps.at("groupVersion"), "apps/v1");
  EXPECT_EQ(Find(apps.at("resources"), "name", "deployments"),
            json::parse(R"({"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment",
      "verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["deploy"],
      "categories":["all"]})"));
  EXPECT_EQ(Find(apps.at("resources"), "name", "deployments/scale"),
            json::parse(R"({"name":"deployments/scale","singularName":"","namespaced":true,"group":"autoscaling",
      "version":"v1","kind":"Scale","verbs":["get","patch","update"]})"));
  const json::object core = Get("/api/v1");
  EXPECT_EQ(Find(core.at("resources"), "name", "pods/binding").at("kind"), "Binding");
  EXPECT_EQ(Find(core.at("resources"), "name", "pods/eviction").at("group"), "policy");
  EXPECT_EQ(Find(core.at("resources"), "name", "nodes").at("namespaced"), false);
  EXPECT_EQ(Find(core.at("resources"), "name", "namespaces").at("verbs"),
            json::parse(R"(["create","delete","get","list","patch","update","watch"])"));
}

TEST(Discovery, AggregatedForClientsThatAskForIt) {
  const auto answer = ServeDiscovery("/apis", kAggregatedAccept, "");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content_type, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_FALSE(answer->etag.empty());
  const json::object document = Get("/apis", kAggregatedAccept);
  EXPECT_EQ(document.at("kind"), "APIGroupDiscoveryList");
  EXPECT_EQ(document.at("apiVersion"), "apidiscovery.k8s.io/v2");
  json::object apps;
  for (const json::value& item : document.at("items").as_array()) {
    if (item.at("metadata").at("name") == "apps") apps = item.as_object();
  }
  const json::value& version = apps.at("versions").at(0);
  EXPECT_EQ(version.at("version"), "v1");
  EXPECT_EQ(version.at("freshness"), "Current");
  const json::object deployments = Find(version.at("resources"), "resource", "deployments");
  EXPECT_EQ(deployments.at("scope"), "Namespaced");
  EXPECT_EQ(deployments.at("responseKind"), json::parse(R"({"group":"apps","version":"v1","kind":"Deployment"})"));
  EXPECT_EQ(Find(deployments.at("subresources"), "subresource", "scale").at("responseKind"),
            json::parse(R"({"group":"autoscaling","version":"v1","kind":"Scale"})"));

  EXPECT_TRUE(Get("/api", kAggregatedAccept).at("items").at(0).at("metadata").as_object().empty());
  EXPECT_EQ(Get("/apis", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList").at("apiVersion"),
            "apidiscovery.k8s.io/v2beta1");
  // A client that would rather have protobuf gets the plain documents as its last choice.
  EXPECT_EQ(Get("/apis", "application/vnd.kubernetes.protobuf;as=APIGroupDiscoveryList,application/json").at("kind"),
            "APIGroupList");
}

TEST(Discovery, WhatIsNotDiscovery) {
  for (const char* path : {"/apis/nope", "/apis/apps/v9", "/openapi/v3/apis/nope/v1", "/openapi/v3/nope"}) {
    EXPECT_EQ(ServeDiscovery(path, "", "")->status, 404) << path;
  }
  for (const char* path : {"/api/v1/pods", "/apis/apps/v1/deployments", "/nope", "/api/v2", "/healthz"}) {
    EXPECT_FALSE(ServeDiscovery(path, "", "")) << path;
  }
}

TEST(OpenApi, IndexNamesEveryGroupVersion) {
  const json::object index = Get("/openapi/v3");
  for (const objects::ResourceType& type : objects::ResourceTypes()) {
    const std::string path = type.group.empty() ? "api/v1" : "apis/" + type.group + "/" + type.version;
    const std::string url(index.at("paths").at(path).at("serverRelativeURL").as_string());
    const std::string want = "/openapi/v3/" + path + "?hash=";
    EXPECT_TRUE(url.starts_with(want)) << url;
  }
}

// Every $ref of a document, wherever it stands.
void CollectReferences(const json::value& value, std::set<std::string>& references) {
  if (value.is_array()) {
    for (const json::value& each : value.get_array()) CollectReferences(each, references);
  } else if (value.is_object()) {
    for (const auto& [key, below] : value.get_object()) {
      if (key == "$ref" && below.is_string()) references.insert(std::string(below.get_string()));
      CollectReferences(below, references);
    }
  }
}

TEST(OpenApi, ReferencesLeadSomewhere) {
  for (const char* path : {"/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1", "/openapi/v3/apis/storage.k8s.io/v1"}) {
    const json::object document = Get(path);
    const json::object& schemas = document.at("components").at("schemas").as_object();
    std::set<std::string> references;
    CollectReferences(document, references);
    for (const std::string& reference : references) {
      constexpr std::string_view kPrefix = "#/components/schemas/";
      ASSERT_TRUE(reference.starts_with(kPrefix)) << reference;
      EXPECT_TRUE(schemas.contains(reference.substr(kPrefix.size()))) << path << ' ' << reference;
    }
  }
  const json::object v2 = Get("/openapi/v2");
  std::set<std::string> references;
  CollectReferences(v2, references);
  for (const std::string& reference : references) {
    EXPECT_TRUE(v2.at("definitions").as_object().contains(reference.substr(14))) << reference;
  }
}

TEST(OpenApi, PatchAdvertisesFieldValidation) {
  const json::object document = Get("/openapi/v3/apis/apps/v1");
  const json::value& patch =
      document.at("paths").at("/apis/apps/v1/namespaces/{namespace}/deployments/{name}").at("patch");
  EXPECT_EQ(patch.at("x-kubernetes-group-version-kind"),
            json::parse(R"({"group":"apps","version":"v1","kind":"Deployment"})"));
  EXPECT_EQ(Find(patch.at("parameters"), "name", "fieldValidation").at("in"), "query");
  const json::value& containers =
      document.at("components").at("schemas").at("io.k8s.api.core.v1.PodSpec").at("properties").at("containers");
  EXPECT_EQ(containers.at("x-kubernetes-patch-merge-key"), "name");
  EXPECT_EQ(containers.at("x-kubernetes-patch-strategy"), "merge");
}

TEST(OpenApi, JsonIsServedAndForV2Protobuf) {
  constexpr const char* kAsked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  const auto protobuf = ServeDiscovery("/openapi/v2", kAsked, "");
  EXPECT_EQ(protobuf->status, 200);
  EXPECT_EQ(protobuf->content_type, kOpenApiV2MediaType);
  EXPECT_TRUE(
      protobuf->body.starts_with("\n\x03"
                                 "2.0"));  // field 1, swagger
  EXPECT_NE(protobuf->body.find("io.k8s.api.batch.v1.Job"), std::string::npos);
  const auto either = ServeDiscovery("/openapi/v2", std::string(kAsked) + ",application/json", "");
  EXPECT_EQ(either->content_type, "application/json");
  EXPECT_NE(either->etag, protobuf->etag);
  EXPECT_EQ(ServeDiscovery("/openapi/v2", "application/cbor", "")->status, 406);
  EXPECT_EQ(ServeDiscovery("/openapi/v3/apis/apps/v1", kAsked, "")->status, 406);
}

// By the bytes: a path with one parameter of each kind, a schema that refers and one that has properties.
TEST(OpenApi, AsProtobuf) {
  const json::value document = json::parse(R"({"swagger":"2.0","info":{"title":"K"},"paths":{"/p":{"get":{
      "parameters":[{"name":"q","in":"query","type":"string"}],"x-a":1}}},
      "definitions":{"D":{"type":"object","required":["s"],"properties":{"s":{"$ref":"#/r"}}}}})");
  using namespace std::string_literals;
  const std::string query = "\x12\x05query\x22\x01q\x32\x06string"s;  // QueryParameterSubSchema
  const std::string parameter = "\x0a\x16\x12\x14\x1a\x12"s + query;  // oneofs around it
  const std::string extension = "\x0a\x03x-a\x12\x03\x12\x01\x31"s;
  const std::string get = "\x42\x18"s + parameter + "\x6a\x0a" + extension;
  const std::string item = "\x12\x26"s + get;
  const std::string paths = "\x12\x2e\x0a\x02/p\x12\x28"s + item;
  const std::string property = "\x0a\x01s\x12\x05\x0a\x03#/r"s;
  const std::string schema = "\x9a\x01\x01s\xb2\x01\x08\x0a\x06object\xca\x01\x0c\x0a\x0a"s + property;
  const std::string definition = "\x0a\x23\x0a\x01\x44\x12\x1e"s + schema;
  EXPECT_EQ(EncodeOpenApiV2(document.as_object()),
            "\x0a\x03\x32.0\x12\x03\x0a\x01K\x42\x30"s + paths + "\x4a\x25" + definition);
}

}  // namespace
}  // namespace berth::apiserver
