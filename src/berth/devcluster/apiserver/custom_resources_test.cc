// SPDX-License-Identifier: Apache-2.0
// CustomResourceDefinitions and their objects, through the API.
#include "berth/devcluster/apiserver/custom_resources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/devcluster/apiserver/test_server.h"

namespace berth::apiserver {
namespace {

constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kWidgets = "/apis/example.com/v1/namespaces/default/widgets";

// The definition of widgets.example.com with these versions.
std::string Definition(std::string_view versions, std::string_view names = "") {
  return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
      "names":{"plural":"widgets","kind":"Widget","shortNames":["wd"])" +
         std::string(names) + R"(},"versions":[)" + std::string(versions) + "]}}";
}
constexpr std::string_view kV1 = R"({"name":"v1","served":true,"storage":true,
    "subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size",
                                         "labelSelectorPath":".status.selector"}},
    "additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"}],
    "selectableFields":[{"jsonPath":".spec.color"}],
    "schema":{"openAPIV3Schema":{"type":"object","properties":{
      "spec":{"type":"object","required":["color"],"properties":{"color":{"type":"string","enum":["red","blue"]},
              "size":{"type":"integer","minimum":0,"default":1},
              "parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
                       "items":{"type":"object","required":["name"],
                                "properties":{"name":{"type":"string"},"value":{"type":"string"}}}}}},
      "status":{"type":"object","properties":{"size":{"type":"integer"},"selector":{"type":"string"}}}}}}})";

class CustomResourcesTest : public ::testing::Test {
 protected:
  Answer Do(std::string method, std::string target, std::string body = "", std::string type = "application/json") {
    std::vector<net::Header> headers;
    if (!body.empty()) headers.push_back({"Content-Type", type});
    return Call(server_.handler(), std::move(method), std::move(target), std::move(body), std::move(headers));
  }
  void Define(std::string_view versions = kV1) {
    const Answer made = Do("POST", kDefinitions, Definition(versions));
    ASSERT_EQ(made.status, 201) << made.response.body;
  }
  Answer Make(const std::string& name, const std::string& spec, const std::string& query = "") {
    return Do(
        "POST", kWidgets + query,
        R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":")" + name + R"("},"spec":)" + spec + '}');
  }

  ManualClock clock_;
  ApiServer server_{objects::ResourceTypes(), clock_};
};

// What a file would keep of one server, for the next one.
class MemoryLog final : public ObjectLog {
 public:
  bool Put(std::string_view type, std::string_view key, std::int64_t version, std::string_view document) override {
    return Write(type, version, [&] {
      objects[{std::string(type), std::string(key)}] = {std::string(type), version, std::string(document)};
    });
  }
  bool Remove(std::string_view type, std::string_view key, std::int64_t version) override {
    return Write(type, version, [&] { objects.erase({std::string(type), std::string(key)}); });
  }
  std::string WhyNot() const override { return "no room"; }

  ApiServerOptions Options() {
    ApiServerOptions options{.log = this, .saved_version = last_version};
    for (const auto& [key, object] : objects) options.saved.push_back(object);
    return options;
  }

  std::map<std::pair<std::string, std::string>, SavedObject> objects;
  std::int64_t last_version = 0;
  int writes_left = INT_MAX;  // after so many, nothing reaches the file: the server has been killed
  std::string refused;        // a type of which no write is kept

 private:
  template <typename Change>
  bool Write(std::string_view type, std::int64_t version, const Change& change) {
    if (type == refused) return false;
    if (writes_left <= 0) return true;
    --writes_left;
    last_version = version;
    change();
    return true;
  }
};

TEST_F(CustomResourcesTest, AreServedAtOnce) {
  EXPECT_EQ(Do("GET", kWidgets).status, 404);
  Define();
  const Answer definition = Do("GET", std::string(kDefinitions) + "/widgets.example.com");
  EXPECT_EQ(At(definition.body, "status.conditions.1.type"), "Established");
  EXPECT_EQ(At(definition.body, "status.conditions.1.status"), "True");
  EXPECT_EQ(At(definition.body, "status.storedVersions"), Json(R"(["v1"])"));
  EXPECT_EQ(definition.Text("status.acceptedNames.listKind"), "WidgetList");
  const Answer made = Make("a", R"({"color":"red","other":1})");
  ASSERT_EQ(made.status, 201) << made.response.body;
  EXPECT_EQ(At(made.body, "spec"), Json(R"({"color":"red","size":1})"));
  EXPECT_EQ(made.Text("metadata.generation"), "1");
  EXPECT_EQ(Do("GET", kWidgets).Text("kind"), "WidgetList");
  EXPECT_EQ(Do("GET", std::string(kWidgets) + "?fieldSelector=spec.color%3Dblue").Text("items"), "[]");
  EXPECT_EQ(Do("DELETE", std::string(kWidgets) + "/a").status, 200);
}

TEST_F(CustomResourcesTest, AreCheckedByTheirSchema) {
  Define();
  const Answer refused = Make("a", R"({"color":"green","size":-1})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(
      refused.Text("message"),
      "Widget.example.com \"a\" is invalid: [spec.color: Unsupported value: \"green\": supported values: \"red\", "
      "\"blue\", spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0]");
  EXPECT_EQ(Make("a", R"({"color":"red","more":1})", "?fieldValidation=Strict").Text("message"),
            "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field "
            "\"spec.more\"");
  EXPECT_EQ(Make("A", R"({"color":"red"})").status, 422);
  EXPECT_EQ(Do("POST", kWidgets, R"({"metadata":{"name":"a","labels":1},"spec":{"color":"red"}})").status, 400);
}

TEST_F(CustomResourcesTest, StatusAndScale) {
  Define();
  ASSERT_EQ(Make("a", R"({"color":"red"})").status, 201);
  const std::string a = std::string(kWidgets) + "/a";
  constexpr const char* kMerge = "application/merge-patch+json";
  // The status is written by its own path alone, and only what is not the status counts as a new generation.
  EXPECT_EQ(Do("PATCH", a, R"({"status":{"size":5}})", kMerge).Text("status"), "null");
  EXPECT_EQ(Do("PATCH", a + "/status", R"({"status":{"size":5,"selector":"a=b"},"spec":{"size":9}})", kMerge)
                .Text("metadata.generation"),
            "1");
  const Answer scale = Do("GET", a + "/scale");
  EXPECT_EQ(scale.Text("kind"), "Scale");
  EXPECT_EQ(At(scale.body, "spec"), Json(R"({"replicas":1})"));
  EXPECT_EQ(At(scale.body, "status"), Json(R"({"replicas":5,"selector":"a=b"})"));
  ASSERT_EQ(Do("PATCH", a + "/scale", R"({"spec":{"replicas":7}})", kMerge).status, 200);
  EXPECT_EQ(Do("GET", a).Text("spec.size"), "7");
  EXPECT_EQ(Do("GET", a).Text("metadata.generation"), "2");
}

TEST_F(CustomResourcesTest, Patches) {
  Define();
  ASSERT_EQ(Make("a", R"({"color":"red","parts":[{"name":"x","value":"1"}]})").status, 201);
  const std::string a = std::string(kWidgets) + "/a";
  EXPECT_EQ(Do("PATCH", a, "{}", "application/strategic-merge-patch+json").status, 415);
  const std::string applied = R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},
                                  "spec":{"parts":[{"name":"y","value":"2"}]}})";
  const Answer patched = Do("PATCH", a + "?fieldManager=me", applied, "application/apply-patch+yaml");
  ASSERT_EQ(patched.status, 200) << patched.response.body;
  EXPECT_EQ(At(patched.body, "spec.parts"), Json(R"([{"name":"x","value":"1"},{"name":"y","value":"2"}])"));
  EXPECT_EQ(At(patched.body, "metadata.managedFields.0.fieldsV1"),
            Json(R"({"f:spec":{"f:parts":{"k:{\"name\":\"y\"}":{".":{},"f:name":{},"f:value":{}}}}})"));
}

TEST_F(CustomResourcesTest, TablesHaveTheirColumns) {
  Define();
  ASSERT_EQ(Make("a", R"({"color":"red"})").status, 201);
  const Answer table =
      Call(server_.handler(), "GET", kWidgets, "", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(table.Text("columnDefinitions.1.name"), "Size");
  EXPECT_EQ(At(table.body, "rows.0.cells"), Json(R"(["a",1])"));
}

TEST_F(CustomResourcesTest, DiscoveryAndOpenApi) {
  const std::string before =
      std::string(Do("GET", "/apis").response.Get("ETag")) + Do("GET", "/openapi/v3").response.body;
  EXPECT_EQ(Do("GET", "/apis/example.com/v1").status, 404);
  Define();
  const Answer resources = Do("GET", "/apis/example.com/v1");
  EXPECT_EQ(At(resources.body, "resources.0"),
            Json(R"({"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["create",
                "delete","deletecollection","get","list","patch","update","watch"],"shortNames":["wd"]})"));
  EXPECT_EQ(resources.Text("resources.1.name"), "widgets/scale");
  EXPECT_EQ(resources.Text("resources.2.name"), "widgets/status");
  EXPECT_NE(Do("GET", "/openapi/v3").response.body.find("apis/example.com/v1"), std::string::npos);
  const Answer v3 = Do("GET", "/openapi/v3/apis/example.com/v1");
  ASSERT_EQ(v3.status, 200);
  const json::object& schemas = v3.body.at("components").at("schemas").as_object();
  EXPECT_EQ(schemas.at("com.example.v1.Widget").at("properties").at("spec").at("properties").at("size").at("default"),
            1);
  EXPECT_TRUE(schemas.contains("com.example.v1.WidgetList"));
  const json::value& patch = v3.body.at("paths").at("/apis/example.com/v1/namespaces/{namespace}/widgets/{name}");
  EXPECT_FALSE(
      patch.at("patch").at("requestBody").at("content").as_object().contains("application/strategic-merge-patch+json"));
  const Answer v2 = Do("GET", "/openapi/v2");
  EXPECT_TRUE(v2.body.at("definitions").as_object().contains("com.example.v1.Widget"));
  EXPECT_TRUE(v2.body.at("definitions").as_object().contains("io.k8s.api.core.v1.Pod"));
  ASSERT_EQ(Do("DELETE", std::string(kDefinitions) + "/widgets.example.com").status, 200);
  EXPECT_EQ(Do("GET", "/apis/example.com/v1").status, 404);
  EXPECT_EQ(std::string(Do("GET", "/apis").response.Get("ETag")) + Do("GET", "/openapi/v3").response.body, before);
}

TEST_F(CustomResourcesTest, SeveralVersionsOfTheSameObjects) {
  constexpr std::string_view kOld = R"({"name":"v1beta1","served":true,"storage":false,"deprecated":true,
      "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}})";
  Define(std::string(kOld) + ',' + std::string(kV1));
  const std::string old_path = "/apis/example.com/v1beta1/namespaces/default/widgets";
  const Answer made = Do("POST", old_path, R"({"metadata":{"name":"a"},"spec":{"color":"red"}})");
  ASSERT_EQ(made.status, 201) << made.response.body;
  EXPECT_EQ(made.response.Get("Warning"), "299 - \"example.com/v1beta1 Widget is deprecated\"");
  EXPECT_EQ(made.Text("apiVersion"), "example.com/v1beta1");
  EXPECT_EQ(Do("GET", std::string(kWidgets) + "/a").Text("apiVersion"), "example.com/v1");
  EXPECT_EQ(Do("GET", "/apis/example.com").Text("preferredVersion.version"), "v1");
  EXPECT_EQ(At(Do("GET", old_path).body, "items.0.apiVersion"), "example.com/v1beta1");
}

TEST_F(CustomResourcesTest, DeletionRemovesTheObjects) {
  Define();
  ASSERT_EQ(Make("a", R"({"color":"red"})").status, 201);
  const auto watch = RecordedWatch::Open(server_.handler(), std::string(kWidgets) + "?watch=true");
  ASSERT_EQ(watch->Take().size(), 1u);
  ASSERT_EQ(Do("DELETE", std::string(kDefinitions) + "/widgets.example.com").status, 200);
  const std::vector<std::string> events = watch->Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].starts_with("DELETED a")) << events[0];
  EXPECT_EQ(Do("GET", kWidgets).status, 404);
  Define();
  EXPECT_EQ(Do("GET", kWidgets).Text("items"), "[]");
}

TEST_F(CustomResourcesTest, DeletedOnesDoNotComeBack) {
  const std::string definition = std::string(kDefinitions) + "/widgets.example.com";
  const auto post = [](const ApiServer& server, const std::string& target, const std::string& body) {
    return Call(server.handler(), "POST", target, body).status;
  };
  const auto begin = [&](const ApiServer& server) {
    ASSERT_EQ(post(server, kDefinitions, Definition(kV1)), 201);
    for (const char* name : {"a", "b"}) {
      ASSERT_EQ(
          post(server, kWidgets, R"({"metadata":{"name":")" + std::string(name) + R"("},"spec":{"color":"red"}})"),
          201);
    }
  };
  for (int writes = 0; writes <= 3; ++writes) {
    SCOPED_TRACE("killed after " + std::to_string(writes) + " writes of the deletion");
    MemoryLog log;
    {
      const ApiServer server(objects::ResourceTypes(), clock_, log.Options());
      begin(server);
      log.writes_left = writes;
      ASSERT_EQ(Call(server.handler(), "DELETE", definition).status, 200);
      log.writes_left = INT_MAX;
    }
    const bool is_gone =
        Call(ApiServer(objects::ResourceTypes(), clock_, log.Options()).handler(), "GET", definition).status == 404;
    EXPECT_EQ(is_gone, writes == 3);
    if (!is_gone) continue;
    EXPECT_EQ(post(ApiServer(objects::ResourceTypes(), clock_, log.Options()), kDefinitions, Definition(kV1)), 201);
    const ApiServer server(objects::ResourceTypes(), clock_, log.Options());
    EXPECT_EQ(Call(server.handler(), "GET", kWidgets).Text("items"), "[]");
  }

  MemoryLog log;
  const ApiServer server(objects::ResourceTypes(), clock_, log.Options());
  begin(server);
  log.refused = "example.com/widgets";
  const Answer refused = Call(server.handler(), "DELETE", definition);
  EXPECT_EQ(refused.status, 500);
  EXPECT_EQ(refused.Text("message"), "Internal error occurred: not kept: no room");
  EXPECT_EQ(Call(server.handler(), "GET", definition).status, 200);
  log.refused.clear();
  EXPECT_EQ(Call(server.handler(), "DELETE", definition).status, 200);
}

TEST_F(CustomResourcesTest, ANamespaceTakesThemWithIt) {
  Define();
  ASSERT_EQ(Do("POST", "/api/v1/namespaces", R"({"metadata":{"name":"n"}})").status, 201);
  ASSERT_EQ(
      Do("POST", "/apis/example.com/v1/namespaces/n/widgets", R"({"metadata":{"name":"a"},"spec":{"color":"red"}})")
          .status,
      201);
  ASSERT_EQ(Do("DELETE", "/api/v1/namespaces/n").status, 200);
  EXPECT_EQ(Do("GET", "/apis/example.com/v1/widgets").Text("items"), "[]");
}

TEST_F(CustomResourcesTest, NamesThatAreTaken) {
  Define();
  const Answer second = Do("POST", kDefinitions, R"({"metadata":{"name":"things.example.com"},"spec":{
      "group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Widget"},
      "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  ASSERT_EQ(second.status, 201) << second.response.body;
  EXPECT_EQ(At(second.body, "status.conditions.0.reason"), "ListKindConflict");
  EXPECT_EQ(At(second.body, "status.conditions.0.message"), "\"WidgetList\" is already in use");
  EXPECT_EQ(At(second.body, "status.conditions.1.reason"), "NotAccepted");
  EXPECT_EQ(Do("GET", "/apis/example.com/v1/things").status, 404);
}

TEST_F(CustomResourcesTest, DefinitionsThatAreNone) {
  const auto message = [&](std::string_view versions) {
    return Do("POST", kDefinitions, Definition(versions)).Text("message");
  };
  EXPECT_NE(message(R"({"name":"v1","served":true,"storage":true})").find("schemas are required"), std::string::npos);
  EXPECT_NE(message(R"({"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
      "properties":{"spec":{}}}}})")
                .find("spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value"),
            std::string::npos);
  EXPECT_NE(message("").find("must have exactly one version marked as storage version"), std::string::npos);
}

TEST_F(CustomResourcesTest, SaysWhatItDoesNotDo) {
  const Answer made = Do("POST", kDefinitions, Definition(R"({"name":"v1","served":true,"storage":true,"schema":{
      "openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
      "x-kubernetes-validations":[{"rule":"self.a > 1"}],"properties":{"a":{"type":"integer"}}}}}}})"));
  ASSERT_EQ(made.status, 201) << made.response.body;
  EXPECT_EQ(made.response.Get("Warning"),
            "299 - \"berth's embedded API server does not check x-kubernetes-validations of this definition's "
            "objects\"");
}

// A group whose first label is that of one of Kubernetes' own groups has nothing to do with it.
TEST_F(CustomResourcesTest, AGroupThatLooksLikeOneOfKubernetes) {
  ASSERT_EQ(Do("POST", kDefinitions, R"({"metadata":{"name":"deployments.apps.example.com"},"spec":{
      "group":"apps.example.com","scope":"Namespaced","names":{"plural":"deployments","kind":"Deployment"},
      "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
      "properties":{"x":{"type":"string"}}}}}]}})")
                .status,
            201);
  const Answer made =
      Do("POST", "/apis/apps.example.com/v1/namespaces/default/deployments", R"({"metadata":{"name":"a"},"x":"1"})");
  EXPECT_EQ(made.status, 201) << made.response.body;
  EXPECT_EQ(made.Text("x"), "1");
}

TEST(IsMoreStable, SortsAsKubernetes) {
  const std::vector<std::string> sorted = {"v10",     "v2",        "v1",        "v11beta2", "v10beta3",
                                           "v3beta1", "v12alpha1", "v11alpha2", "foo1",     "foo10"};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      EXPECT_EQ(objects::IsMoreStable(sorted[i], sorted[k]), i < k) << sorted[i] << ' ' << sorted[k];
    }
  }
}

}  // namespace
}  // namespace berth::apiserver
