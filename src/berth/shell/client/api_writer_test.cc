// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/api_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/api/encode_protobuf.h"
#include "berth/codec/json.h"
#include "berth/shell/client/client_fakes.h"

namespace berth::client {
namespace {

class ApiWriterTest : public ::testing::Test {
 protected:
  ApiWriter::Done Keep() {
    return [this](Expected<void> r) { result = std::move(r); };
  }

  FakeLoop loop;
  FakeTransport transport;
  std::optional<Expected<void>> result;
  RestClient rest{loop, transport, nullptr, 1};
  ApiWriter writer{rest};
};

TEST_F(ApiWriterTest, Binds) {
  writer.Bind({"default", "web-1", "uid-1"}, "n1", Keep());
  const auto call = transport.Next();
  EXPECT_EQ(call->request.method, "POST");
  EXPECT_EQ(call->request.target, "/api/v1/namespaces/default/pods/web-1/binding");
  EXPECT_EQ(call->request.body,
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"namespace":"default","name":"web-1","uid":"uid-1"},)"
            R"("target":{"kind":"Node","name":"n1"}})");
  call->Answer(201, R"({"kind":"Status","status":"Success"})");
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->ok());
}

TEST_F(ApiWriterTest, SaysWhetherTheBindingMayHaveHappened) {
  struct Case {
    const char* name;
    std::function<void(FakeTransport::Call&)> answer;
    ErrorCode code;
    bool outcome_unknown;
  };
  const Case cases[] = {
      {"refused by the server", [](auto& c) { c.Answer(409, R"({"kind":"Status","reason":"Conflict"})"); },
       ErrorCode::kConflict, false},
      {"pod gone", [](auto& c) { c.Answer(404, R"({"kind":"Status","reason":"NotFound"})"); }, ErrorCode::kNotFound,
       false},
      {"answer lost", [](auto& c) { c.Fail(ErrorCode::kUnavailable, true); }, ErrorCode::kUnavailable, true},
      {"timeout", [](auto& c) { c.Fail(ErrorCode::kTimeout, true); }, ErrorCode::kTimeout, true},
      {"server's storage in trouble", [](auto& c) { c.Answer(500, ""); }, ErrorCode::kUnavailable, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    result.reset();
    writer.Bind({"default", "web-1", "uid-1"}, "n1", Keep());
    c.answer(*transport.Next());
    ASSERT_TRUE(result && !result->ok());
    EXPECT_EQ(result->error().code, c.code);
    EXPECT_EQ(result->error().outcome_unknown, c.outcome_unknown);
  }
}

// The caller has a queue of its own for them, and must know that they are not under way.
TEST_F(ApiWriterTest, EvictsOnceWithTheUidAsPrecondition) {
  writer.EvictPod({"default", "web-1", "uid-1"}, 30, Keep());
  const auto call = transport.Next();
  EXPECT_EQ(call->request.method, "POST");
  EXPECT_EQ(call->request.target, "/api/v1/namespaces/default/pods/web-1/eviction");
  EXPECT_EQ(call->request.body,
            R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"namespace":"default","name":"web-1"},)"
            R"("deleteOptions":{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":30,)"
            R"("preconditions":{"uid":"uid-1"}}})");
  call->Answer(429, R"({"kind":"Status","reason":"TooManyRequests","message":"Cannot evict pod"})");
  ASSERT_TRUE(result && !result->ok());
  EXPECT_EQ(result->error().code, ErrorCode::kTooManyRequests);
  EXPECT_FALSE(result->error().outcome_unknown);
}

TEST_F(ApiWriterTest, SendsBindingsAndStatusesOnce) {
  writer.Bind({"default", "web-1", "uid-1"}, "n1", Keep());
  transport.Next()->Answer(429, "{}", {{"Retry-After", "3"}});
  ASSERT_TRUE(result && !result->ok());
  EXPECT_EQ(result->error().code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(result->error().retry_after_ms, 3000);
  EXPECT_FALSE(result->error().outcome_unknown);
  result.reset();
  writer.PatchPodStatus({"default", "web-1", "uid-1"}, R"({"status":{}})", Keep());
  transport.Next()->Fail(ErrorCode::kUnavailable, false, "connection refused");
  EXPECT_TRUE(result && !result->ok());
}

TEST_F(ApiWriterTest, DeletesOnceTheServerIsReachableAgain) {
  writer.DeletePod({"default", "web-1", "uid-1"}, std::nullopt, Keep());
  transport.Next()->Fail(ErrorCode::kUnavailable, false, "connection refused");
  EXPECT_FALSE(result);
  loop.Advance(std::chrono::seconds(1));
  transport.Next()->Answer(200, "{}");
  EXPECT_TRUE(result && result->ok());
}

TEST_F(ApiWriterTest, PatchesStatus) {
  writer.PatchPodStatus({"default", "web-1", "uid-1"}, R"({"status":{"nominatedNodeName":null}})", Keep());
  const auto call = transport.Next();
  EXPECT_EQ(call->request.method, "PATCH");
  EXPECT_EQ(call->request.target, "/api/v1/namespaces/default/pods/web-1/status");
  EXPECT_EQ(FindHeader(call->request, "Content-Type"), "application/strategic-merge-patch+json");
  EXPECT_EQ(call->request.body, R"({"status":{"nominatedNodeName":null},"metadata":{"uid":"uid-1"}})");
  writer.PatchPodStatus({"default", "web-1", ""}, R"({"status":{}})", Keep());
  EXPECT_EQ(transport.Next()->request.body, R"({"status":{}})");
  writer.PatchPodStatus({"default", "web-1", "uid-1"}, "[", Keep());
  EXPECT_TRUE(result && !result->ok());
}

TEST_F(ApiWriterTest, Deletes) {
  writer.DeletePod({"default", "web-1", "uid-1"}, std::nullopt, Keep());
  auto call = transport.Next();
  EXPECT_EQ(call->request.method + ' ' + call->request.target, "DELETE /api/v1/namespaces/default/pods/web-1");
  EXPECT_EQ(call->request.body, R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"uid-1"}})");
  writer.DeletePod({"default", "web-1", ""}, 0, Keep());
  EXPECT_EQ(transport.Next()->request.body, R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0})");
}

TEST_F(ApiWriterTest, Reads) {
  std::optional<Expected<std::string>> json;
  const auto keep = [&](Expected<std::string> r) { json = std::move(r); };
  writer.GetPod("default", "web-1", keep);
  const auto call = transport.Next();
  EXPECT_EQ(call->request.method + ' ' + call->request.target, "GET /api/v1/namespaces/default/pods/web-1");
  call->Answer(200, R"({"kind":"Pod"})");
  EXPECT_EQ(json->value(), R"({"kind":"Pod"})");
  writer.GetPod("default", "web-1", keep);
  transport.Next()->Answer(404, R"({"kind":"Status","reason":"NotFound"})");
  EXPECT_EQ(json->error().code, ErrorCode::kNotFound);
}

TEST_F(ApiWriterTest, WritesObjectsOfAnyKind) {
  const ObjectTarget volume{"v1", "persistentvolumes", "", "pv-1"};
  const ObjectTarget claim{"resource.k8s.io/v1", "resourceclaims", "team a", "c", "status"};
  struct Case {
    const char* name;
    std::function<void(ApiWriter::ReadDone)> send;
    const char* line;
    const char* content_type;
    const char* body;
  };
  const Case cases[] = {
      {"merge patch", [&](auto d) { writer.Patch(volume, PatchFormat::kMerge, "{}", d); },
       "PATCH /api/v1/persistentvolumes/pv-1", "application/merge-patch+json", "{}"},
      {"strategic merge patch", [&](auto d) { writer.Patch(claim, PatchFormat::kStrategicMerge, "{}", d); },
       "PATCH /apis/resource.k8s.io/v1/namespaces/team%20a/resourceclaims/c/status",
       "application/strategic-merge-patch+json", "{}"},
      {"JSON patch", [&](auto d) { writer.Patch(volume, PatchFormat::kJson, "[]", d); },
       "PATCH /api/v1/persistentvolumes/pv-1", "application/json-patch+json", "[]"},
      {"create", [&](auto d) { writer.Create({"resource.k8s.io/v1", "resourceclaims", "n", ""}, "{}", d); },
       "POST /apis/resource.k8s.io/v1/namespaces/n/resourceclaims", "application/json", "{}"},
      {"delete", [&](auto d) { writer.Delete(volume, "u", d); }, "DELETE /api/v1/persistentvolumes/pv-1",
       "application/json", R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}})"},
      {"delete whatever it is", [&](auto d) { writer.Delete(volume, "", d); }, "DELETE /api/v1/persistentvolumes/pv-1",
       "application/json", R"({"apiVersion":"v1","kind":"DeleteOptions"})"},
      {"get", [&](auto d) { writer.Get(volume, d); }, "GET /api/v1/persistentvolumes/pv-1", "", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::optional<Expected<std::string>> answer;
    c.send([&](Expected<std::string> r) { answer = std::move(r); });
    const auto call = transport.Next();
    EXPECT_EQ(call->request.method + ' ' + call->request.target, c.line);
    EXPECT_EQ(FindHeader(call->request, "Content-Type"), c.content_type);
    EXPECT_EQ(call->request.body, c.body);
    call->Answer(200, R"({"kind":"Thing"})");
    ASSERT_TRUE(answer && answer->ok());
    EXPECT_EQ(answer->value(), R"({"kind":"Thing"})");
    answer.reset();
    c.send([&](Expected<std::string> r) { answer = std::move(r); });
    transport.Next()->Answer(409, R"({"kind":"Status","reason":"Conflict","message":"changed"})");
    ASSERT_TRUE(answer && !answer->ok());
    EXPECT_EQ(answer->error().code, ErrorCode::kConflict);
  }
}

TEST_F(ApiWriterTest, NeverAddressesACollection) {
  writer.DeletePod({"default", "", "uid-1"}, std::nullopt, Keep());
  EXPECT_TRUE(result && !result->ok());
  result.reset();
  writer.Bind({"", "web-1", ""}, "n1", Keep());
  EXPECT_TRUE(result && !result->ok());
  int refused = 0;
  const auto count = [&](const Expected<std::string>& r) { refused += r.ok() ? 0 : 1; };
  writer.Delete({"v1", "persistentvolumes", "", ""}, "u", count);
  writer.Patch({"v1", "", "", "x"}, PatchFormat::kMerge, "{}", count);
  writer.Get({"", "persistentvolumes", "", "x"}, count);
  writer.Create({"v1", "", "n", ""}, "{}", count);
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(transport.Waiting(), 0U);
}

class ProtobufWriterTest : public ::testing::Test {
 protected:
  static RestClientOptions Options() {
    RestClientOptions options;
    SetContentTypes(options, std::string(api::kProtobufMediaType), "");
    return options;
  }
  ApiWriter::Done Keep() {
    return [this](const Expected<void>& result) { results.push_back(result.ok() ? "ok" : result.error().message); };
  }

  FakeLoop loop;
  FakeTransport transport;
  RestClient rest{loop, transport, nullptr, 1, Options()};
  ApiWriter writer{rest};
  std::vector<std::string> results;
};

TEST_F(ProtobufWriterTest, SendsBindingsAndDeletions) {
  const std::string binding = api::EncodeBinding({"default", "web-1", "uid-1", "n1"});
  for (int i = 0; i < 2; ++i) {  // before and after the client knows that the server takes protobuf
    writer.Bind({"default", "web-1", "uid-1"}, "n1", Keep());
    const auto call = transport.Next();
    EXPECT_EQ(call->request.target, "/api/v1/namespaces/default/pods/web-1/binding");
    EXPECT_EQ(call->request.body, binding);
    EXPECT_EQ(FindHeader(call->request, "Content-Type"), api::kProtobufMediaType);
    EXPECT_EQ(FindHeader(call->request, "Accept"), "application/vnd.kubernetes.protobuf, application/json");
    call->Answer(201, "");
  }
  writer.DeletePod({"default", "web-1", "uid-1"}, 5, Keep());
  const auto call = transport.Next();
  EXPECT_EQ(call->request.body, api::EncodeDeleteOptions({5, "uid-1"}));
  call->Answer(200, "");
  writer.PatchPodStatus({"default", "web-1", "uid-1"}, R"({"status":{}})", Keep());
  EXPECT_EQ(FindHeader(transport.Next()->request, "Content-Type"), "application/strategic-merge-patch+json");
  EXPECT_EQ(results, (std::vector<std::string>{"ok", "ok", "ok"}));
}

TEST_F(ProtobufWriterTest, ReportsErrorsAsEver) {
  // A Status in protobuf: message, reason AlreadyExists, code 409.
  const std::string status =
      std::string("k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x0e\x1a\x05taken\x22\x02No\x30\x99\x03", 34);
  for (int i = 0; i < 2; ++i) {
    writer.Bind({"default", "web-1", "uid-1"}, "n1", Keep());
    transport.Next()->Answer(409, status);
    writer.Bind({"default", "web-1", "uid-1"}, "n1", Keep());
    transport.Next()->Answer(201, "");
  }
  EXPECT_EQ(results, (std::vector<std::string>{"taken", "ok", "taken", "ok"}));
}

TEST_F(ProtobufWriterTest, SendsJsonWhereTheServerWantsIt) {
  writer.Bind({"default", "web-1", "uid-1"}, "n1", Keep());
  writer.Bind({"default", "web-2", "uid-2"}, "n1", Keep());
  transport.Next()->Answer(415, "");
  transport.Next()->Answer(415, "");
  for (const char* uid : {"uid-1", "uid-2"}) {
    const auto call = transport.Next();
    EXPECT_THAT(call->request.body, ::testing::HasSubstr(uid));
    EXPECT_EQ(FindHeader(call->request, "Content-Type"), "application/json");
    call->Answer(201, "{}");
  }
  writer.Bind({"default", "web-3", "uid-3"}, "n1", Keep());
  const auto call = transport.Next();
  EXPECT_TRUE(call->request.body.starts_with('{'));
  call->Answer(201, "{}");
  EXPECT_EQ(results, (std::vector<std::string>{"ok", "ok", "ok"}));
}

}  // namespace
}  // namespace berth::client
