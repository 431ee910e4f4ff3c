// SPDX-License-Identifier: Apache-2.0
// The REST API as clients see it, once in process and once over HTTP: the same requests, the same answers.
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <string>
#include <vector>

#include "berth/codec/yaml.h"
#include "berth/devcluster/apiserver/test_server.h"
#include "berth/devcluster/apiserver/watch.h"
#include "berth/shell/net/http_client.h"

namespace berth::apiserver {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class Rest : public ::testing::TestWithParam<const char*> {
 protected:
  Rest() : io_(1), client_io_(1), server_(TestTypes(), clock_, {.io = &io_}) {
    if (std::string_view(GetParam()) == "in_process") {
      transport_ = server_.InProcessTransport(client_io_);
      return;
    }
    net::HttpServerOptions options;
    options.malformed = &ApiServer::MalformedRequest;
    auto http = net::StartHttpServer(io_, options, server_.handler());
    BERTH_CHECK(http.ok(), http.ok() ? "" : http.error().message);
    http_ = std::move(http).value();
    net::HttpClientOptions client;
    client.base_url = "http://" + http_->address();
    auto transport = net::MakeHttpClient(client_io_, client);
    BERTH_CHECK(transport.ok());
    transport_ = std::move(transport).value();
  }
  ~Rest() override {
    transport_.reset();
    http_.reset();
  }

  Answer Do(std::string method, std::string target, std::string body = "", std::string type = "application/json") {
    std::vector<net::Header> headers;
    if (!type.empty() && !body.empty()) headers.push_back({"Content-Type", type});
    return Call(*transport_, std::move(method), std::move(target), std::move(body), std::move(headers));
  }
  void MakePod(const std::string& name, const std::string& more = "") {
    ASSERT_EQ(Do("POST", kPods, PodJson(name, more)).status, 201);
  }

  ManualClock clock_;
  net::IoContext io_;
  net::IoContext client_io_;
  ApiServer server_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<net::Transport> transport_;
};

INSTANTIATE_TEST_SUITE_P(Transports, Rest, ::testing::Values("in_process", "http"),
                         [](const auto& transport) { return std::string(transport.param); });

TEST_P(Rest, CreateGetReplaceDelete) {
  const Answer created = Do("POST", kPods, PodJson("web", R"("schedulerName":"berth")"));
  ASSERT_EQ(created.status, 201) << created.response.body;
  EXPECT_EQ(created.response.Get("Content-Type"), "application/json");
  EXPECT_EQ(created.Text("metadata.namespace"), "default");
  EXPECT_EQ(created.Text("metadata.creationTimestamp"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(created.Text("metadata.generation"), "1");
  EXPECT_EQ(created.Text("status.phase"), "Pending");
  const std::string uid = created.Text("metadata.uid");
  EXPECT_EQ(uid.size(), 36u);
  EXPECT_EQ(uid[14], '4');

  const Answer got = Do("GET", std::string(kPods) + "/web");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, created.body);

  json::value changed = got.body;
  changed.as_object()["spec"].as_object()["schedulerName"] = "other";
  changed.as_object()["status"].as_object()["phase"] = "Running";          // not by this path
  changed.as_object()["metadata"].as_object().erase("creationTimestamp");  // kept by the server
  const Answer replaced = Do("PUT", std::string(kPods) + "/web", json::serialize(changed));
  ASSERT_EQ(replaced.status, 200) << replaced.response.body;
  EXPECT_EQ(replaced.Text("spec.schedulerName"), "other");
  EXPECT_EQ(replaced.Text("status.phase"), "Pending");
  EXPECT_EQ(replaced.Text("metadata.uid"), uid);
  EXPECT_EQ(replaced.Text("metadata.creationTimestamp"), "2023-11-14T22:13:20Z");
  EXPECT_GT(std::stoll(replaced.Text("metadata.resourceVersion")),
            std::stoll(created.Text("metadata.resourceVersion")));

  // The version read first is no longer the current one.
  const Answer stale = Do("PUT", std::string(kPods) + "/web", json::serialize(changed));
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(stale.Text("reason"), "Conflict");
  EXPECT_EQ(
      stale.Text("message"),
      "Operation cannot be fulfilled on pods \"web\": the object has been modified; please apply your changes to the "
      "latest version and try again");

  // A replacement that changes nothing makes no new version.
  const Answer same = Do("PUT", std::string(kPods) + "/web", replaced.response.body);
  EXPECT_EQ(same.Text("metadata.resourceVersion"), replaced.Text("metadata.resourceVersion"));

  const Answer deleted = Do("DELETE", std::string(kPods) + "/web");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.Text("kind"), "Pod");
  const Answer gone = Do("GET", std::string(kPods) + "/web");
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.Text("message"), "pods \"web\" not found");
  EXPECT_EQ(gone.Text("details.kind"), "pods");
}

TEST_P(Rest, MalformedRequestsGetStatusObjects) {
  MakePod("web");
  MakePod("bound");
  ASSERT_EQ(Do("POST", std::string(kPods) + "/bound/binding", BindingJson("bound", "n1")).status, 201);
  struct Case {
    const char* name;
    const char* method;
    std::string target;
    std::string body;
    const char* type;
    int code;
    const char* reason;
    const char* message;
  };
  const std::string web = std::string(kPods) + "/web";
  const char* json_type = "application/json";
  const std::string big =
      R"({"metadata":{"name":"big","annotations":{"a":")" + std::string((3 << 20) + 10, 'x') + R"("}}})";
  const Case cases[] = {
      {"not JSON", "POST", kPods, "{", json_type, 400, "BadRequest", "not valid JSON: at the end"},
      {"not an object", "POST", kPods, "[]", json_type, 400, "BadRequest", "must be an object"},
      {"nesting bomb", "POST", kPods, std::string(10'000, '['), json_type, 400, "BadRequest", "nested deeper"},
      {"another kind", "POST", kPods, R"({"kind":"Node","metadata":{"name":"x"}})", json_type, 400, "BadRequest",
       "expected kind (Pod)"},
      {"another version", "POST", kPods, R"({"apiVersion":"v2","metadata":{"name":"x"}})", json_type, 400, "BadRequest",
       "the API version in the data (v2) does not match the expected API version (v1)"},
      {"another namespace", "POST", kPods, R"({"metadata":{"name":"x","namespace":"kube-system"}})", json_type, 400,
       "BadRequest", "the namespace of the provided object does not match the namespace sent on the request"},
      {"another name", "PUT", web, R"({"metadata":{"name":"x"}})", json_type, 400, "BadRequest",
       "the name of the object (x) does not match the name on the URL (web)"},
      {"a version on create", "POST", kPods, R"({"metadata":{"name":"x","resourceVersion":"3"}})", json_type, 400,
       "BadRequest", "resourceVersion should not be set"},
      {"metadata of another type", "POST", kPods, R"({"metadata":[]})", json_type, 400, "BadRequest", "metadata"},
      {"bad label selector", "GET", std::string(kPods) + "?labelSelector=a%20in", "", "", 400, "BadRequest",
       "unable to parse requirement"},
      {"bad field selector", "GET", std::string(kPods) + "?fieldSelector=x", "", "", 400, "BadRequest",
       "invalid selector"},
      {"unsupported field", "GET", std::string(kPods) + "?fieldSelector=spec.x%3D1", "", "", 400, "BadRequest",
       "field label not supported: spec.x"},
      {"bad limit", "GET", std::string(kPods) + "?limit=x", "", "", 400, "BadRequest", "limit must be a whole number"},
      {"bad watch", "GET", std::string(kPods) + "?watch=maybe", "", "", 400, "BadRequest",
       "watch must be true or false"},
      {"bad continue", "GET", std::string(kPods) + "?continue=x", "", "", 400, "BadRequest",
       "continue key is not valid"},
      {"bad escape", "GET", std::string(kPods) + "?labelSelector=%zz", "", "", 400, "BadRequest",
       "target is malformed"},
      {"unknown group", "GET", "/apis/nothing.io/v1/things", "", "", 404, "NotFound",
       "could not find the requested resource"},
      {"unknown resource", "GET", "/api/v1/things", "", "", 404, "NotFound", "could not find the requested resource"},
      {"unknown subresource", "GET", web + "/log2", "", "", 404, "NotFound", "could not find the requested resource"},
      {"logs", "GET", web + "/log?container=c", "", "", 404, "NotFound", "run no containers: there are no logs"},
      {"a shell", "POST", web + "/exec?command=sh", "", "", 404, "NotFound", "and nothing to connect to"},
      {"logs of a missing pod", "GET", std::string(kPods) + "/nobody/log", "", "", 404, "NotFound",
       "pods \"nobody\" not found"},
      {"too long a path", "GET", web + "/status/x", "", "", 404, "NotFound", "could not find the requested resource"},
      {"cluster-wide object of a namespace", "GET", "/api/v1/pods/web", "", "", 404, "NotFound", "could not find"},
      {"nodes have no namespace", "GET", "/api/v1/namespaces/default/nodes", "", "", 404, "NotFound", "could not find"},
      {"missing pod", "GET", std::string(kPods) + "/nobody", "", "", 404, "NotFound", "pods \"nobody\" not found"},
      {"replace a missing pod", "PUT", std::string(kPods) + "/nobody", "{}", json_type, 404, "NotFound",
       "pods \"nobody\" not found"},
      {"missing namespace", "POST", "/api/v1/namespaces/nowhere/pods", PodJson("x"), json_type, 404, "NotFound",
       "namespaces \"nowhere\" not found"},
      {"delete a missing deployment", "DELETE", "/apis/apps/v1/namespaces/default/deployments/x", "", "", 404,
       "NotFound", "deployments.apps \"x\" not found"},
      {"create across namespaces", "POST", "/api/v1/pods", PodJson("x"), json_type, 405, "MethodNotAllowed",
       "does not allow this method"},
      {"post to an object", "POST", web, PodJson("web"), json_type, 405, "MethodNotAllowed",
       "does not allow this method"},
      {"read a binding", "GET", web + "/binding", "", "", 405, "MethodNotAllowed", "does not allow this method"},
      {"already there", "POST", kPods, PodJson("web"), json_type, 409, "AlreadyExists", "pods \"web\" already exists"},
      {"another uid", "PUT", web, R"({"metadata":{"name":"web","uid":"u"}})", json_type, 409, "Conflict",
       "Precondition failed: UID"},
      {"an old version", "PUT", web, R"({"metadata":{"name":"web","resourceVersion":"1"}})", json_type, 409, "Conflict",
       "the object has been modified"},
      {"delete with another uid", "DELETE", web, R"({"preconditions":{"uid":"u"}})", json_type, 409, "Conflict",
       "Precondition failed: UID in precondition: u, UID in object meta"},
      {"body too long", "POST", kPods, big, json_type, 413, "RequestEntityTooLarge", ""},
      {"CBOR body", "POST", kPods, "x", "application/cbor", 415, "UnsupportedMediaType",
       "accepted media types include: application/json, application/yaml"},
      {"protobuf that is none", "POST", kPods, "k8s", "application/vnd.kubernetes.protobuf", 400, "BadRequest",
       "not valid protobuf: "},
      {"YAML that is none", "POST", kPods, "a: [", "application/yaml", 400, "BadRequest", "not valid YAML"},
      {"not UTF-8", "GET", std::string(kPods) + "/%ff", "", "", 400, "BadRequest", "it is not UTF-8"},
      {"unknown patch", "PATCH", web, "{}", "application/json", 415, "UnsupportedMediaType",
       "application/merge-patch+json"},
      {"server-side apply of nobody", "PATCH", web, "{}", "application/apply-patch+yaml", 422, "Invalid",
       "fieldManager: Required value: is required for apply patch"},
      {"a namespace for good", "DELETE", "/api/v1/namespaces/default", "", "", 403, "Forbidden",
       "namespaces \"default\" is forbidden: this namespace may not be deleted"},
      {"no name", "POST", kPods, R"({"metadata":{}})", json_type, 422, "Invalid",
       "Pod \"\" is invalid: metadata.name: Required value: name or generateName is required"},
      {"bad name", "POST", kPods, PodJson("Web_1"), json_type, 422, "Invalid",
       "a lowercase RFC 1123 subdomain must consist of"},
      {"bad label", "POST", kPods, R"({"metadata":{"name":"x","labels":{"a":"-"}}})", json_type, 422, "Invalid",
       "a valid label must be"},
      {"refused by validation", "POST", kPods, PodJson("x", R"("schedulerName":"refused")"), json_type, 422, "Invalid",
       "Pod \"x\" is invalid: spec.schedulerName: Invalid value: \"refused\": must not be refused"},
      {"patch test fails", "PATCH", web, R"([{"op":"test","path":"/metadata/name","value":"x"}])",
       "application/json-patch+json", 422, "Invalid", "the server rejected our request due to an error in our request"},
      {"match without version", "GET", std::string(kPods) + "?resourceVersionMatch=Exact", "", "", 422, "Invalid",
       "resourceVersionMatch is forbidden unless resourceVersion is provided"},
      {"dryRun of something", "POST", std::string(kPods) + "?dryRun=Some", PodJson("x"), json_type, 422, "Invalid",
       "dryRun: Unsupported value: \"Some\": supported values: \"All\""},
      {"lease without version", "PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", "{}", json_type, 201,
       "", ""},
      {"a version of the future", "GET", std::string(kPods) + "?resourceVersion=999999", "", "", 504, "Timeout",
       "Too large resource version: 999999"},
      {"bind: unknown pod", "POST", std::string(kPods) + "/nobody/binding", BindingJson("nobody", "n1"), json_type, 404,
       "NotFound", "pods \"nobody\" not found"},
      {"bind: taken", "POST", std::string(kPods) + "/bound/binding", BindingJson("bound", "n2"), json_type, 409,
       "Conflict",
       "Operation cannot be fulfilled on pods/binding \"bound\": pod bound is already assigned to node \"n1\""},
      {"bind: another uid", "POST", web + "/binding", BindingJson("web", "n1", "u"), json_type, 409, "Conflict",
       "Precondition failed: UID in precondition: u, UID in object meta"},
      {"bind: another kind", "POST", web + "/binding",
       R"({"metadata":{"name":"web"},"target":{"kind":"Pod","name":"n"}})", json_type, 422, "Invalid",
       "target.kind: Unsupported value: \"Pod\""},
      {"bind: no target", "POST", web + "/binding", R"({"metadata":{"name":"web"}})", json_type, 422, "Invalid",
       "Binding \"web\" is invalid: target.name: Required value"},
      {"bind: another name", "POST", web + "/binding", BindingJson("x", "n1"), json_type, 400, "BadRequest",
       "name in URL does not match name in Binding object"},
  };
  for (const Case& c : cases) {
    const Answer answer = Do(c.method, c.target, c.body, c.type);
    EXPECT_EQ(answer.status, c.code) << c.name << ": " << answer.response.body.substr(0, 500);
    if (c.code < 400) continue;
    if (c.code == 413 && answer.status == 0) continue;
    EXPECT_EQ(answer.Text("kind"), "Status") << c.name;
    EXPECT_EQ(answer.Text("status"), "Failure") << c.name;
    EXPECT_EQ(answer.Text("code"), std::to_string(c.code)) << c.name;
    EXPECT_EQ(answer.Text("reason"), c.reason) << c.name;
    EXPECT_NE(answer.Text("message").find(c.message), std::string::npos) << c.name << ": " << answer.Text("message");
  }
}

TEST_P(Rest, NegotiatesWhatItSends) {
  MakePod("web");
  const auto get = [&](const std::string& target, const std::string& accept) {
    return Call(*transport_, "GET", target, "", {{"Accept", accept}});
  };
  EXPECT_EQ(get(kPods, "application/vnd.kubernetes.protobuf, application/json").Text("kind"), "PodList");
  const Answer refused = get(kPods, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(refused.status, 406);
  EXPECT_EQ(refused.Text("reason"), "NotAcceptable");
  const Answer table = get(kPods, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
  EXPECT_EQ(table.Text("kind"), "Table");
  EXPECT_EQ(table.Text("rows.0.cells.0"), "web");
  EXPECT_EQ(table.Text("rows.0.object.kind"), "PartialObjectMetadata");
  const Answer partial = get(kPods, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
  EXPECT_EQ(partial.Text("kind"), "PartialObjectMetadataList");
  EXPECT_EQ(partial.Text("items.0.metadata.name"), "web");
  EXPECT_EQ(partial.Text("items.0.spec"), "null");
  const Answer pretty = Do("GET", std::string(kPods) + "/web?pretty=true");
  EXPECT_NE(pretty.response.body.find("\n  \"metadata\": {\n"), std::string::npos) << pretty.response.body;
  EXPECT_EQ(pretty.body, Do("GET", std::string(kPods) + "/web").body);
  const Answer yaml = Do("POST", kPods, "metadata:\n  name: from-yaml\n", "application/yaml");
  EXPECT_EQ(yaml.status, 201) << yaml.response.body;
}

TEST_P(Rest, AnswersInYaml) {
  MakePod("web");
  const auto call = [&](const std::string& method, const std::string& target, const std::string& accept,
                        const std::string& body = {}) {
    std::vector<net::Header> headers = {{"Accept", accept}};
    if (!body.empty()) headers.push_back({"Content-Type", "application/yaml"});
    net::Request request{method, target, headers, body};
    std::promise<net::Response> answer;
    transport_->Send(std::move(request), {}, [&](auto response) { answer.set_value(std::move(response).value()); });
    return answer.get_future().get();
  };
  const net::Response pod = call("GET", std::string(kPods) + "/web", "application/yaml");
  EXPECT_EQ(pod.status, 200);
  EXPECT_EQ(pod.Get("Content-Type"), "application/yaml");
  const auto read = codec::ParseYaml(pod.body);
  ASSERT_TRUE(read.ok()) << pod.body;
  EXPECT_EQ(*read, Do("GET", std::string(kPods) + "/web").body);

  const net::Response made = call("POST", kPods, "application/yaml", "metadata:\n  name: made\n");
  EXPECT_EQ(made.status, 201);
  EXPECT_NE(made.body.find("\n  name: made\n"), std::string::npos) << made.body;
  EXPECT_EQ(call("GET", kPods, "application/yaml, application/json").Get("Content-Type"), "application/yaml");
  EXPECT_EQ(call("GET", kPods, "application/json, application/yaml").Get("Content-Type"), "application/json");
  const net::Response missing = call("GET", std::string(kPods) + "/nobody", "application/yaml");
  EXPECT_EQ(missing.status, 404);
  EXPECT_NE(missing.body.find("reason: NotFound\n"), std::string::npos) << missing.body;
  EXPECT_EQ(call("GET", std::string(kPods) + "?watch=true", "application/yaml").status, 406)
      << "a stream of YAML has no ends of documents";
}

// As upstream decides who reads the answer.
TEST_P(Rest, IndentsForPeople) {
  MakePod("web");
  const auto is_indented = [&](const std::string& query, const std::string& agent) {
    return Call(*transport_, "GET", std::string(kPods) + "/web" + query, "", {{"User-Agent", agent}})
               .response.body.find("\n  \"metadata\": {\n") != std::string::npos;
  };
  EXPECT_TRUE(is_indented("?pretty=true", "kubectl/v1.36"));
  EXPECT_TRUE(is_indented("?pretty=1", ""));
  EXPECT_FALSE(is_indented("", "kubectl/v1.36"));
  EXPECT_FALSE(is_indented("?pretty=nonsense", "curl/8"));
  EXPECT_TRUE(is_indented("", "curl/7.88.1"));
  EXPECT_TRUE(is_indented("", "Mozilla/5.0 (X11)"));
  EXPECT_FALSE(is_indented("?pretty=false", "curl/7.88.1"));
  const Answer version = Call(*transport_, "GET", "/version", "", {{"User-Agent", "curl/7.88.1"}});
  EXPECT_TRUE(version.response.body.starts_with("{\n  \"")) << version.response.body;
  EXPECT_FALSE(version.response.body.ends_with("\n"));
}

TEST_P(Rest, ABindingIsAnsweredWithItsCode) {
  MakePod("web");
  const Answer bound = Do("POST", std::string(kPods) + "/web/binding", BindingJson("web", "n-1"));
  EXPECT_EQ(bound.status, 201);
  EXPECT_EQ(bound.Text("kind"), "Status");
  EXPECT_EQ(bound.Text("status"), "Success");
  EXPECT_EQ(bound.Text("code"), "201");
}

TEST_P(Rest, ListsByPageAndSelector) {
  for (const char* name : {"a", "b", "c", "d", "e"}) MakePod(name, name[0] < 'c' ? R"("schedulerName":"berth")" : "");
  ASSERT_EQ(
      Do("PATCH", std::string(kPods) + "/b", R"({"metadata":{"labels":{"app":"x"}}})", "application/merge-patch+json")
          .status,
      200);
  const auto names = [&](const Answer& answer) {
    std::string joined;
    const json::value items = At(answer.body, "items");
    if (!items.is_array()) return answer.response.body;
    for (const json::value& item : items.get_array()) joined += At(item, "metadata.name").as_string().c_str();
    return joined;
  };
  const struct {
    const char* query;
    const char* want;
  } cases[] = {
      {"", "abcde"},
      {"?fieldSelector=metadata.name%3Db", "b"},
      {"?fieldSelector=metadata.name!%3Db,metadata.namespace%3D%3Ddefault", "acde"},
      {"?fieldSelector=spec.schedulerName%3Dberth", "ab"},
      {"?fieldSelector=spec.nodeName%3D", "abcde"},
      {"?fieldSelector=status.phase!%3DPending", ""},
      {"?labelSelector=app", "b"},
      {"?labelSelector=app%20in%20(x,y)", "b"},
      {"?labelSelector=app%20notin%20(x,y)", "acde"},
      {"?labelSelector=!app", "acde"},
      {"?labelSelector=app!%3Dx&fieldSelector=spec.schedulerName%3Dberth", "a"},
      {"?resourceVersion=0", "abcde"},
      {"?resourceVersion=1&resourceVersionMatch=NotOlderThan", "abcde"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(names(Do("GET", std::string(kPods) + c.query)), c.want) << c.query;
    EXPECT_EQ(names(Do("GET", "/api/v1/pods" + std::string(c.query))), c.want) << "everywhere " << c.query;
  }
  EXPECT_EQ(names(Do("GET", "/api/v1/namespaces/kube-system/pods")), "");

  const Answer first = Do("GET", std::string(kPods) + "?limit=2");
  EXPECT_EQ(names(first), "ab");
  EXPECT_EQ(first.Text("metadata.remainingItemCount"), "3");
  // Later pages show the state of the first one.
  MakePod("bb");
  ASSERT_EQ(Do("DELETE", std::string(kPods) + "/d").status, 200);
  ASSERT_EQ(
      Do("PATCH", std::string(kPods) + "/c", R"({"metadata":{"labels":{"new":"1"}}})", "application/merge-patch+json")
          .status,
      200);
  const Answer second = Do("GET", std::string(kPods) + "?limit=2&continue=" + first.Text("metadata.continue"));
  EXPECT_EQ(names(second), "cd");
  EXPECT_EQ(second.Text("items.0.metadata.labels"), "null");
  EXPECT_EQ(second.Text("metadata.resourceVersion"), first.Text("metadata.resourceVersion"));
  EXPECT_EQ(second.Text("metadata.remainingItemCount"), "1");
  const Answer third = Do("GET", std::string(kPods) + "?limit=2&continue=" + second.Text("metadata.continue"));
  EXPECT_EQ(names(third), "e");
  EXPECT_EQ(third.Text("metadata.continue"), "null");
  EXPECT_EQ(names(Do("GET", std::string(kPods))), "abbbce");
  EXPECT_EQ(names(Do("GET", std::string(kPods) + "?resourceVersionMatch=Exact&resourceVersion=" +
                                first.Text("metadata.resourceVersion"))),
            "abcde");

  server_.Compact();
  MakePod("f");
  const Answer expired = Do("GET", std::string(kPods) + "?limit=2&continue=" + second.Text("metadata.continue"));
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(expired.Text("reason"), "Expired");
}

TEST_P(Rest, PatchesInThreeFormats) {
  MakePod("web", R"("containers":[{"name":"a","image":"x"}])");
  const std::string web = std::string(kPods) + "/web";
  EXPECT_EQ(Do("PATCH", web, R"({"metadata":{"labels":{"a":"1"}}})", "application/merge-patch+json")
                .Text("metadata.labels.a"),
            "1");
  EXPECT_EQ(Do("PATCH", web, R"([{"op":"add","path":"/metadata/labels/b","value":"2"}])", "application/json-patch+json")
                .Text("metadata.labels.b"),
            "2");
  const Answer strategic = Do("PATCH", web, R"({"spec":{"containers":[{"name":"a","image":"y"}]}})",
                              "application/strategic-merge-patch+json");
  EXPECT_EQ(strategic.Text("spec.containers"), R"([{"name":"a","image":"y"}])") << strategic.response.body;
  const Answer conflict =
      Do("PATCH", web, R"({"metadata":{"resourceVersion":"1","labels":{"c":"1"}}})", "application/merge-patch+json");
  EXPECT_EQ(conflict.status, 409);
  const Answer status = Do("PATCH", web + "/status", R"({"status":{"phase":"Running"},"spec":{"nodeName":"x"}})",
                           "application/merge-patch+json");
  EXPECT_EQ(status.Text("status.phase"), "Running");
  EXPECT_EQ(status.Text("spec.nodeName"), "null");
  const Answer dry =
      Do("PATCH", web + "?dryRun=All", R"({"metadata":{"labels":{"a":"9"}}})", "application/merge-patch+json");
  EXPECT_EQ(dry.Text("metadata.labels.a"), "9");
  EXPECT_EQ(Do("GET", web).Text("metadata.labels.a"), "1");
}

TEST_P(Rest, PatchesCannotGrowAnObjectWithoutBound) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  ASSERT_EQ(Do("POST", maps, R"({"metadata":{"name":"m"},"data":{"a":")" + std::string(1 << 20, 'x') + R"("}})").status,
            201);
  const char* copy =
      R"([{"op":"copy","from":"/data/a","path":"/data/b"},{"op":"copy","from":"/data/a","path":"/data/c"}])";
  EXPECT_EQ(Do("PATCH", maps + "/m", copy, "application/json-patch+json").status, 413);
  EXPECT_EQ(Do("GET", maps + "/m").Text("data.b"), "null");
}

TEST_P(Rest, BindsAPodOnce) {
  MakePod("web");
  const Answer bound = Do(
      "POST", std::string(kPods) + "/web/binding",
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"web","annotations":{"why":"x"}},"target":{"name":"nowhere"}})");
  EXPECT_EQ(bound.status, 201);
  EXPECT_EQ(bound.Text("kind"), "Status");
  EXPECT_EQ(bound.Text("status"), "Success");
  const Answer pod = Do("GET", std::string(kPods) + "/web");
  EXPECT_EQ(pod.Text("spec.nodeName"), "nowhere");
  EXPECT_EQ(pod.Text("metadata.annotations.why"), "x");
  EXPECT_EQ(pod.Text("status.conditions.0.type"), "PodScheduled");
  EXPECT_EQ(pod.Text("status.conditions.0.status"), "True");
  EXPECT_EQ(pod.Text("status.conditions.0.lastTransitionTime"), "2023-11-14T22:13:20Z");

  MakePod("other");
  const std::string uid = Do("GET", std::string(kPods) + "/other").Text("metadata.uid");
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/default/bindings", BindingJson("other", "n1", uid)).status, 201);
  EXPECT_EQ(Do("GET", std::string(kPods) + "/other").Text("spec.nodeName"), "n1");

  MakePod("gated", R"("schedulingGates":[{"name":"wait"}])");
  const Answer gated = Do("POST", std::string(kPods) + "/gated/binding", BindingJson("gated", "n1"));
  EXPECT_EQ(gated.status, 409);
  EXPECT_NE(gated.Text("message").find("has non-empty .spec.schedulingGates"), std::string::npos);

  ASSERT_EQ(Do("DELETE", std::string(kPods) + "/web").status, 200);
  const Answer dying = Do("POST", std::string(kPods) + "/web/binding", BindingJson("web", "n1"));
  EXPECT_EQ(dying.status, 409);
  EXPECT_NE(dying.Text("message").find("is being deleted, cannot be assigned to a host"), std::string::npos);
}

TEST_P(Rest, DeletesWithGraceAndFinalizers) {
  // A pod that no node runs goes at once; one that runs waits for its kubelet.
  MakePod("unbound");
  EXPECT_EQ(Do("DELETE", std::string(kPods) + "/unbound").status, 200);
  EXPECT_EQ(Do("GET", std::string(kPods) + "/unbound").status, 404);

  MakePod("bound", R"("nodeName":"n1","terminationGracePeriodSeconds":7)");
  const Answer first = Do("DELETE", std::string(kPods) + "/bound");
  EXPECT_EQ(first.Text("metadata.deletionGracePeriodSeconds"), "7");
  EXPECT_EQ(first.Text("metadata.deletionTimestamp"), "2023-11-14T22:13:27Z");
  EXPECT_EQ(Do("GET", std::string(kPods) + "/bound").Text("metadata.deletionTimestamp"), "2023-11-14T22:13:27Z");
  // Only a shorter period changes a pending deletion.
  EXPECT_EQ(
      Do("DELETE", std::string(kPods) + "/bound?gracePeriodSeconds=60").Text("metadata.deletionGracePeriodSeconds"),
      "7");
  EXPECT_EQ(Do("DELETE", std::string(kPods) + "/bound?gracePeriodSeconds=2").Text("metadata.deletionTimestamp"),
            "2023-11-14T22:13:22Z");
  EXPECT_EQ(Do("DELETE", std::string(kPods) + "/bound", R"({"gracePeriodSeconds":0})").status, 200);
  EXPECT_EQ(Do("GET", std::string(kPods) + "/bound").status, 404);

  ASSERT_EQ(Do("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"c","finalizers":["x.io/f"]}})")
                .status,
            201);
  const std::string map = "/api/v1/namespaces/default/configmaps/c";
  EXPECT_EQ(Do("DELETE", map).Text("kind"), "ConfigMap");
  EXPECT_NE(Do("GET", map).Text("metadata.deletionTimestamp"), "null");
  EXPECT_EQ(
      Do("PATCH", map, R"({"metadata":{"finalizers":["x.io/f","x.io/g"]}})", "application/merge-patch+json").status,
      422);
  EXPECT_EQ(Do("PATCH", map, R"({"metadata":{"finalizers":null}})", "application/merge-patch+json").status, 200);
  EXPECT_EQ(Do("GET", map).status, 404);

  ASSERT_EQ(Do("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"c"}})").status, 201);
  const Answer status = Do("DELETE", map);
  EXPECT_EQ(status.Text("kind"), "Status");
  EXPECT_EQ(status.Text("details.kind"), "configmaps");
  EXPECT_EQ(Do("DELETE", map + "?propagationPolicy=Sideways").status, 422);
}

TEST_P(Rest, DeletesCollectionsAndNamespaces) {
  for (const char* name : {"a", "b", "c"}) MakePod(name);
  ASSERT_EQ(
      Do("PATCH", std::string(kPods) + "/b", R"({"metadata":{"labels":{"keep":"1"}}})", "application/merge-patch+json")
          .status,
      200);
  const Answer gone = Do("DELETE", std::string(kPods) + "?labelSelector=!keep");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(At(gone.body, "items").as_array().size(), 2u);
  EXPECT_EQ(At(Do("GET", kPods).body, "items").as_array().size(), 1u);

  ASSERT_EQ(Do("POST", "/api/v1/namespaces", R"({"metadata":{"name":"team"}})").status, 201);
  ASSERT_EQ(Do("POST", "/api/v1/namespaces/team/pods", PodJson("x", R"("nodeName":"n")")).status, 201);
  EXPECT_EQ(Do("DELETE", "/api/v1/namespaces/team").status, 200);
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/team/pods/x").status, 404);
}

// What becomes of dependents is the garbage collector's to do: it knows by the finalizer.
TEST_P(Rest, ADeletionsPolicyIsAFinalizer) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  struct Case {
    const char* query;
    const char* finalizers_before;
    int status;
    const char* finalizers;  // "": it is gone
  };
  const std::vector<Case> cases = {
      {"", "[]", 200, ""},
      {"?propagationPolicy=Background", "[]", 200, ""},
      {"?propagationPolicy=Foreground", "[]", 200, R"(["foregroundDeletion"])"},
      {"?propagationPolicy=Orphan", R"(["x.io/f"])", 200, R"(["x.io/f","orphan"])"},
      {"?orphanDependents=true", "[]", 200, R"(["orphan"])"},
      {"?orphanDependents=false", R"(["x.io/f"])", 202, R"(["x.io/f"])"},
      {"", R"(["orphan"])", 200, R"(["orphan"])"},
      {"", R"(["foregroundDeletion","x.io/f"])", 200, R"(["foregroundDeletion","x.io/f"])"},
      {"?propagationPolicy=Background", R"(["orphan"])", 200, ""},
      {"?propagationPolicy=Foreground", R"(["orphan"])", 200, R"(["foregroundDeletion"])"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.query) + ' ' + c.finalizers_before);
    const std::string body = R"({"metadata":{"name":"c","finalizers":)" + std::string(c.finalizers_before) + "}}";
    ASSERT_EQ(Do("POST", maps, body).status, 201);
    const Answer answer = Do("DELETE", maps + "/c" + c.query);
    EXPECT_EQ(answer.status, c.status);
    const bool is_gone = c.finalizers[0] == '\0';
    EXPECT_EQ(answer.Text("kind"), is_gone ? "Status" : "ConfigMap");
    if (is_gone) {
      EXPECT_EQ(Do("GET", maps + "/c").status, 404);
      continue;
    }
    EXPECT_EQ(answer.Text("metadata.finalizers"), c.finalizers);
    EXPECT_NE(answer.Text("metadata.deletionTimestamp"), "null");
    EXPECT_EQ(answer.Text("metadata.deletionGracePeriodSeconds"), "0");
    const char* none = R"({"metadata":{"finalizers":null}})";
    ASSERT_EQ(Do("PATCH", maps + "/c", none, "application/merge-patch+json").status, 200);
    EXPECT_EQ(Do("GET", maps + "/c").status, 404);
  }
}

// A Job's pods stay when its deletion does not say otherwise, and upstream warns of it.
TEST(RestDeletion, AJobsPodsStayWithAWarning) {
  ManualClock clock;
  const ApiServer server(objects::ResourceTypes(), clock);
  const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
  const auto remove = [&](const std::string& query) {
    const std::string job = R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",)"
                            R"("containers":[{"name":"c","image":"i"}]}}}})";
    EXPECT_EQ(Call(server.handler(), "POST", jobs, job).status, 201);
    return Call(server.handler(), "DELETE", jobs + "/j" + query).response;
  };
  EXPECT_EQ(remove("?propagationPolicy=Background").Get("Warning"), "");
  const net::Response kept = remove("");
  EXPECT_TRUE(kept.Get("Warning").starts_with("299 - \"child pods are preserved by default when jobs are deleted; "));
  EXPECT_NE(kept.body.find(R"("finalizers":["orphan"])"), std::string::npos) << kept.body;
}

TEST_P(Rest, ATerminatingNamespaceIsEmptyAndTakesNothing) {
  ASSERT_EQ(Do("POST", "/api/v1/namespaces", R"({"metadata":{"name":"team","finalizers":["x.io/f"]}})").status, 201);
  const std::string maps = "/api/v1/namespaces/team/configmaps";
  ASSERT_EQ(Do("POST", maps, R"({"metadata":{"name":"c","finalizers":["x.io/f"]}})").status, 201);
  EXPECT_EQ(Do("DELETE", "/api/v1/namespaces/team").status, 200);
  const Answer team = Do("GET", "/api/v1/namespaces/team");
  EXPECT_EQ(team.status, 200);
  EXPECT_EQ(team.Text("status.phase"), "Terminating");
  EXPECT_EQ(Do("GET", maps + "/c").status, 404);
  for (const char* body : {R"({"metadata":{"name":"d"}})", R"({"metadata":{"generateName":"d"}})"}) {
    const Answer refused = Do("POST", maps, body);
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(refused.Text("reason"), "Forbidden");
    EXPECT_EQ(refused.Text("message"),
              "configmaps \"d\" is forbidden: unable to create new content in namespace team because it is being "
              "terminated");
    EXPECT_EQ(At(refused.body, "details.causes"),
              Json(R"([{"reason":"NamespaceTerminating","message":"namespace team is being terminated",
                        "field":"metadata.namespace"}])"));
  }
  EXPECT_EQ(
      Do("PATCH", "/api/v1/namespaces/team", R"({"metadata":{"finalizers":null}})", "application/merge-patch+json")
          .status,
      200);
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/team").status, 404);
  // The finalizer "kubernetes" is the namespace controller's, whose work the server has done.
  ASSERT_EQ(
      Do("POST", "/api/v1/namespaces", R"({"metadata":{"name":"team"},"spec":{"finalizers":["kubernetes"]}})").status,
      201);
  EXPECT_EQ(Do("GET", maps).Text("items"), "[]");
  EXPECT_EQ(Do("POST", maps, R"({"metadata":{"name":"c"}})").status, 201);
  EXPECT_EQ(Do("DELETE", "/api/v1/namespaces/team").status, 200);
  EXPECT_EQ(Do("GET", maps + "/c").status, 404);
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/team").status, 404);
}

TEST_P(Rest, GeneratesNamesAndTriesDryRuns) {
  const Answer generated = Do("POST", kPods, R"({"metadata":{"generateName":"web-"}})");
  EXPECT_EQ(generated.status, 201);
  EXPECT_EQ(generated.Text("metadata.name").size(), 9u);
  EXPECT_TRUE(generated.Text("metadata.name").starts_with("web-"));
  EXPECT_EQ(Do("POST", std::string(kPods) + "?dryRun=All", PodJson("dry")).status, 201);
  EXPECT_EQ(Do("GET", std::string(kPods) + "/dry").status, 404);
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  EXPECT_EQ(Do("PUT", leases + "/node", R"({"spec":{"holderIdentity":"a"}})").status, 201);
  EXPECT_EQ(Do("PUT", leases + "/node", R"({"spec":{"holderIdentity":"b"}})").status, 422);
}

// In upstream's words, by which controllers' logs are read.
TEST_P(Rest, ANameThatIsTaken) {
  MakePod("web");
  const auto refusal = [&](const std::string& metadata, const std::string& query = "") {
    const Answer answer = Do("POST", std::string(kPods) + query, "{\"metadata\":{" + metadata + "}}");
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(answer.Text("reason"), "AlreadyExists");
    return answer.Text("message") + " " + answer.Text("details.retryAfterSeconds");
  };
  const std::string taken = "pods \"web\" already exists";
  const std::string not_unique = ", the server was not able to generate a unique name for the object 1";
  EXPECT_EQ(refusal(R"("name":"web")"), taken + " null") << "it need not be tried again";
  EXPECT_EQ(refusal(R"("name":"web","generateName":"w-")"), taken + not_unique)
      << "the pods of a StatefulSet have both";
  EXPECT_EQ(refusal(R"("name":"web","generateName":"w-")", "?dryRun=All"), taken + not_unique);
  EXPECT_EQ(Do("PATCH", std::string(kPods) + "/web", R"({"metadata":{"finalizers":["example.com/wait"]}})",
               "application/merge-patch+json")
                .status,
            200);
  EXPECT_EQ(Do("DELETE", std::string(kPods) + "/web").status, 200);
  EXPECT_EQ(refusal(R"("name":"web")"), "object is being deleted: " + taken + " null");
}

TEST_P(Rest, EmptyLabelsAreNone) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  const Answer made = Do("POST", maps, R"({"metadata":{"name":"m","annotations":{},"labels":{"a":"b"}}})");
  EXPECT_FALSE(made.body.at("metadata").as_object().contains("annotations"));
  const Answer unlabeled =
      Do("PATCH", maps + "/m", R"({"metadata":{"labels":{"a":null}}})", "application/merge-patch+json");
  EXPECT_EQ(unlabeled.status, 200);
  EXPECT_FALSE(unlabeled.body.at("metadata").as_object().contains("labels"));
}

TEST_P(Rest, EphemeralContainersAreAdded) {
  MakePod("web");
  const std::string path = std::string(kPods) + "/web/ephemeralcontainers";
  const std::string strategic = "application/strategic-merge-patch+json";
  const Answer added = Do("PATCH", path,
                          R"({"spec":{"ephemeralContainers":[{"name":"debugger","image":"busybox"}],)"
                          R"("schedulerName":"not by this path"}})",
                          strategic);
  ASSERT_EQ(added.status, 200) << added.response.body;
  EXPECT_EQ(added.Text("spec.ephemeralContainers.0.name"), "debugger");
  EXPECT_EQ(added.Text("spec.schedulerName"), "null");
  EXPECT_EQ(Do("GET", path).body, added.body);

  const auto refusal = [&](const std::string& method, const std::string& body, const std::string& type) {
    const Answer answer = Do(method, path, body, type);
    EXPECT_EQ(answer.status, 422) << answer.response.body;
    return answer.Text("details.causes.0.field") + ": " + answer.Text("details.causes.0.message");
  };
  EXPECT_EQ(refusal("PATCH", R"({"spec":{"ephemeralContainers":[{"name":"debugger","image":"other"}]}})", strategic),
            "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"debugger\" may not be changed\n");
  EXPECT_EQ(refusal("PATCH", R"({"spec":{"ephemeralContainers":null}})", "application/merge-patch+json"),
            "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"debugger\" may not be removed\n");
  EXPECT_EQ(
      refusal("PATCH", R"({"spec":{"ephemeralContainers":[{"name":"b","image":"i","targetContainerName":"none"}]}})",
              strategic),
      "spec.ephemeralContainers[0].targetContainerName: Not found: \"none\"");
  EXPECT_EQ(
      refusal("PATCH", R"({"spec":{"ephemeralContainers":[{"name":"b","image":"i","ports":[{"containerPort":1}]}]}})",
              strategic),
      "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container");
  EXPECT_EQ(Do("PATCH", std::string(kPods) + "/web", R"({"metadata":{"labels":{"a":"b"}}})", strategic).status, 200);
  EXPECT_EQ(Do("POST", path, "{}").status, 405);
}

TEST_P(Rest, ScalesAndEvicts) {
  const std::string deployment = "/apis/apps/v1/namespaces/default/deployments/web";
  ASSERT_EQ(Do("POST", "/apis/apps/v1/namespaces/default/deployments",
               R"({"metadata":{"name":"web"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"},)"
               R"("matchExpressions":[{"key":"t","operator":"In","values":["a","b"]}]}}})")
                .status,
            201);
  const Answer scale = Do("GET", deployment + "/scale");
  EXPECT_EQ(scale.Text("kind"), "Scale");
  EXPECT_EQ(scale.Text("spec.replicas"), "3");
  EXPECT_EQ(scale.Text("status.selector"), "app=web,t in (a,b)");
  json::value wanted = scale.body;
  wanted.as_object()["spec"].as_object()["replicas"] = 5;
  EXPECT_EQ(Do("PUT", deployment + "/scale", json::serialize(wanted)).Text("spec.replicas"), "5");
  EXPECT_EQ(Do("PUT", deployment + "/scale", json::serialize(wanted)).status, 409);  // an old version now
  EXPECT_EQ(Do("PATCH", deployment + "/scale", R"({"spec":{"replicas":50}})", "application/merge-patch+json")
                .Text("spec.replicas"),
            "50");
  EXPECT_EQ(Do("GET", deployment).Text("spec.replicas"), "50");
  EXPECT_EQ(Do("PATCH", deployment + "/scale", R"({"spec":{"replicas":-1}})", "application/merge-patch+json").status,
            422);
  EXPECT_EQ(Do("GET", std::string(kPods) + "/x/scale").status, 404);

  ASSERT_EQ(Do("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
               R"({"metadata":{"name":"pdb"},"spec":{"selector":{"matchLabels":{"app":"web"}}}})")
                .status,
            201);
  for (const char* name : {"one", "two"}) {
    ASSERT_EQ(
        Do("POST", kPods,
           R"({"metadata":{"name":")" + std::string(name) + R"(","labels":{"app":"web"}},"spec":{"nodeName":"n"}})")
            .status,
        201);
    ASSERT_EQ(Do("PATCH", std::string(kPods) + "/" + name + "/status",
                 R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})",
                 "application/merge-patch+json")
                  .status,
              200);
  }
  const std::string budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/pdb";
  ASSERT_EQ(
      Do("PATCH", budget + "/status", R"({"status":{"disruptionsAllowed":1,"desiredHealthy":1,"currentHealthy":2}})",
         "application/merge-patch+json")
          .status,
      200);
  const auto evict = [&](const std::string& pod) {
    return Do("POST", std::string(kPods) + '/' + pod + "/eviction",
              R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":")" + pod + R"("}})");
  };
  EXPECT_EQ(evict("one").status, 201);
  EXPECT_NE(Do("GET", std::string(kPods) + "/one").Text("metadata.deletionTimestamp"), "null");
  EXPECT_EQ(Do("GET", budget).Text("status.disruptionsAllowed"), "0");
  ASSERT_EQ(
      Do("PATCH", budget + "/status", R"({"status":{"currentHealthy":1}})", "application/merge-patch+json").status,
      200);
  const Answer refused = evict("two");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.Text("details.causes.0.reason"), "DisruptionBudget");
  EXPECT_EQ(refused.Text("details.causes.0.message"),
            "The disruption budget pdb needs 1 healthy pods and has 1 currently");
  EXPECT_EQ(evict("nobody").status, 404);
}

TEST_P(Rest, EventsAreOneStoreInTwoSpellings) {
  ASSERT_EQ(Do("POST", "/apis/events.k8s.io/v1/namespaces/default/events",
               R"({"metadata":{"name":"e"},"regarding":{"name":"web"},"note":"hello","reason":"Scheduled",)"
               R"("reportingController":"berth","eventTime":"2023-11-14T22:13:20.000000Z"})")
                .status,
            201);
  const Answer core = Do("GET", "/api/v1/namespaces/default/events/e");
  EXPECT_EQ(core.Text("apiVersion"), "v1");
  EXPECT_EQ(core.Text("involvedObject.name"), "web");
  EXPECT_EQ(core.Text("message"), "hello");
  EXPECT_EQ(core.Text("reportingComponent"), "berth");
  EXPECT_EQ(core.Text("note"), "null");
  EXPECT_EQ(At(Do("GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dweb").body, "items")
                .as_array()
                .size(),
            1u);
  const Answer list = Do("GET", "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dweb");
  EXPECT_EQ(list.Text("items.0.note"), "hello");
  EXPECT_EQ(list.Text("items.0.apiVersion"), "events.k8s.io/v1");
  const Answer patched = Do("PATCH", "/apis/events.k8s.io/v1/namespaces/default/events/e", R"({"note":"again"})",
                            "application/merge-patch+json");
  EXPECT_EQ(patched.Text("note"), "again");
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/default/events/e").Text("message"), "again");
}

TEST_P(Rest, WatchesOverTheTransport) {
  MakePod("a");
  const std::string version = Do("GET", kPods).Text("metadata.resourceVersion");
  StreamedWatch everything(*transport_, std::string(kPods) + "?watch=1");
  StreamedWatch changes(*transport_, std::string(kPods) + "?watch=1&timeoutSeconds=1&resourceVersion=" + version);
  EXPECT_EQ(everything.Next(), "ADDED a@" + version);
  EXPECT_EQ(everything.status(), 200);
  const std::string second = Do("POST", kPods, PodJson("b")).Text("metadata.resourceVersion");
  EXPECT_EQ(everything.Next(), "ADDED b@" + second);
  EXPECT_EQ(changes.Next(), "ADDED b@" + second);
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(changes.Next(), "END");
  everything.Cancel();
  StreamedWatch refused(*transport_, "/api/v1/things?watch=1");
  EXPECT_EQ(refused.Next(), "END");
  EXPECT_EQ(refused.status(), 404);
}

// A pod that is as it was created is bound by splices into its text; a binding with annotations takes the way through
// the document.
TEST(Bindings, WriteTheSameWordsOnBothWays) {
  struct Case {
    const char* name;
    const char* metadata;
    const char* spec;
  };
  const Case cases[] = {
      {"plain", "", ""},
      {"labels and owner",
       R"(,"labels":{"a":"b"},"annotations":{"by":"hand"},"ownerReferences":[{"apiVersion":"apps/v1",)"
       R"("kind":"ReplicaSet","name":"r","uid":"u","controller":true}])",
       ""},
      {"braces and quotes", R"(,"annotations":{"a":"}\"}]"})", R"(,"priority":0,"hostname":"h")"}};
  ManualClock clock;
  ApiServer server(objects::ResourceTypes(), clock);
  const net::Handler handler = server.handler();
  const std::string path = std::string(kPods) + "/twin";
  for (const Case& c : cases) {
    std::vector<std::string> texts;
    for (const char* annotations : {"", R"(,"annotations":{"by":"hand"})"}) {
      const Answer made = Call(handler, "POST", kPods,
                               R"({"metadata":{"name":"twin")" + std::string(c.metadata) +
                                   R"(},"spec":{"containers":[{"name":"c","image":"i"}])" + c.spec + "}}");
      ASSERT_EQ(made.status, 201) << c.name << made.response.body;
      clock.Advance(std::chrono::seconds(5));
      const Answer done = Call(handler, "POST", path + "/binding",
                               R"({"metadata":{"name":"twin")" + std::string(annotations) +
                                   R"(},"target":{"kind":"Node","name":"node-1"}})");
      ASSERT_EQ(done.status, 201) << c.name << done.response.body;
      const Answer bound = Call(handler, "GET", path);
      EXPECT_EQ(bound.Text("spec.nodeName"), "node-1") << c.name;
      EXPECT_EQ(bound.Text("status.conditions.0.type"), "PodScheduled") << c.name;
      json::object document = bound.body.as_object();
      for (const char* each : {"uid", "resourceVersion", "annotations", "creationTimestamp"}) {
        document["metadata"].as_object().erase(each);
      }
      json::object& condition = document["status"].at("conditions").at(0).as_object();
      EXPECT_EQ(objects::StringMember(condition, "lastTransitionTime"), FormatRfc3339(clock.Now())) << c.name;
      condition.erase("lastTransitionTime");
      texts.push_back(json::serialize(document));
      const Answer listed = Call(handler, "GET", std::string(kPods) + "?fieldSelector=spec.nodeName%3Dnode-1");
      EXPECT_EQ(listed.Text("items.0.metadata.name"), "twin") << c.name;
      EXPECT_EQ(Call(handler, "POST", path + "/binding", BindingJson("twin", "n2")).status, 409) << c.name;
      ASSERT_EQ(Call(handler, "DELETE", path + "?gracePeriodSeconds=0").status, 200) << c.name;
    }
    EXPECT_EQ(texts[0], texts[1]) << c.name;
  }
}

// A watch of more than the connection may hold unread is sent as the peer reads, and not cut off.
TEST(RestOverHttp, LargeInitialStatesAreSentAsTheyAreRead) {
  ManualClock clock;
  net::IoContext io(1);
  net::IoContext client_io(1);
  ApiServer server(TestTypes(), clock, {.io = &io});
  constexpr int kObjects = 12;
  for (int i = 0; i < kObjects; ++i) {
    const std::string body =
        R"({"metadata":{"name":"m)" + std::to_string(i) + R"("},"data":{"a":")" + std::string(2 << 20, 'x') + R"("}})";
    ASSERT_EQ(Call(server.handler(), "POST", "/api/v1/namespaces/default/configmaps", body).status, 201);
  }
  net::HttpServerOptions options;
  options.stream_buffer_bytes_max = kWatchUnreadBytesMax + (std::size_t{4} << 20);
  const auto http = net::StartHttpServer(io, options, server.handler());
  ASSERT_TRUE(http.ok());
  net::HttpClientOptions client;
  client.base_url = "http://" + (*http)->address();
  const auto transport = net::MakeHttpClient(client_io, client);
  ASSERT_TRUE(transport.ok());
  StreamedWatch watch(**transport,
                      "/api/v1/configmaps?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                      "&resourceVersionMatch=NotOlderThan");
  for (int i = 0; i < kObjects; ++i) ASSERT_TRUE(watch.Next().starts_with("ADDED m")) << i;
  EXPECT_TRUE(watch.Next().ends_with("end-of-initial"));
}

}  // namespace
}  // namespace berth::apiserver
