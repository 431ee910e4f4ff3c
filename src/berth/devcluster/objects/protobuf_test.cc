// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/protobuf.h"

#include <gtest/gtest.h>

namespace berth::objects {
namespace {

namespace json = codec::json;

std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string Number(int field, std::int64_t value) {
  return Varint(static_cast<std::uint64_t>(field) << 3) + Varint(static_cast<std::uint64_t>(value));
}
std::string Bytes(int field, std::string_view bytes) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}
std::string Envelope(std::string_view api_version, std::string_view kind, std::string_view raw) {
  return std::string("k8s\0", 4) + Bytes(1, Bytes(1, api_version) + Bytes(2, kind)) + Bytes(2, raw) + Bytes(3, "") +
         Bytes(4, "");
}
std::string Pair(std::string_view key, std::string_view value) { return Bytes(1, key) + Bytes(2, value); }

TEST(DecodeProtobuf, RefusesWhatIsKnownInJsonAlone) {
  const std::string schema = Bytes(5, "object") + Bytes(8, "a default");
  const std::string version = Bytes(1, "v1") + Bytes(4, Bytes(1, schema));
  const auto decoded = DecodeProtobuf(
      Envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", Bytes(2, Bytes(1, "x.org") + Bytes(7, version))));
  ASSERT_FALSE(decoded.ok());
  EXPECT_NE(decoded.error().message.find("JSONSchemaProps, a part of which is taken in JSON alone"), std::string::npos)
      << decoded.error().message;
}

TEST(DecodeProtobuf, MakesTheDocumentThatTheBytesStandFor) {
  struct Case {
    const char* name;
    std::string body;
    const char* want;
  };
  // As a Go client writes them: every field that is no pointer, empty ones too.
  const std::string meta = Bytes(1, "web") + Bytes(2, "") + Bytes(3, "default") + Bytes(4, "") + Bytes(5, "") +
                           Bytes(6, "") + Number(7, 0) + Bytes(8, "") + Bytes(11, Pair("app", "web"));
  const std::string container = Bytes(1, "c") + Bytes(2, "nginx") + Bytes(5, "") +
                                Bytes(6, Bytes(1, "") + Number(2, 0) + Number(3, 80) + Bytes(4, "TCP")) +
                                Bytes(8, Bytes(1, Pair("cpu", Bytes(1, "500m")))) + Number(16, 0);
  const std::string pod_template =
      Bytes(1, Bytes(11, Pair("app", "web"))) + Bytes(2, Bytes(2, container) + Bytes(3, ""));
  const std::string spec = Number(1, 0) + Bytes(2, Bytes(1, Pair("app", "web"))) + Bytes(3, pod_template) +
                           Bytes(4, Bytes(1, "") + Bytes(2, Bytes(1, Number(1, 1) + Number(2, 0) + Bytes(3, "25%")) +
                                                                Bytes(2, Number(1, 0) + Number(2, 2) + Bytes(3, "")))) +
                           Number(5, 0) + Number(7, 0);
  const std::string times = Bytes(1, Bytes(1, "e") + Bytes(3, "d") + Bytes(8, Number(1, 1767225600) + Number(2, 0))) +
                            Bytes(2, Bytes(1, "Pod")) + Bytes(10, Number(1, 1767225600) + Number(2, 5000));
  const std::string probe = Bytes(1, Bytes(2, Bytes(1, "/x") + Bytes(2, Number(1, 0) + Number(2, 80)))) + Number(2, 3);
  const Case cases[] = {
      {"deployment", Envelope("apps/v1", "Deployment", Bytes(1, meta) + Bytes(2, spec) + Bytes(3, Number(1, 0))),
       R"({"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"default","labels":{"app":"web"}},
          "spec":{"replicas":0,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
          "spec":{"containers":[{"name":"c","image":"nginx","ports":[{"containerPort":80,"protocol":"TCP"}],
          "resources":{"limits":{"cpu":"500m"}}}]}},"strategy":{"rollingUpdate":{"maxUnavailable":"25%","maxSurge":2}}},
          "status":{}})"},
      {"binding", Envelope("v1", "Binding", Bytes(1, Bytes(1, "p")) + Bytes(2, Bytes(1, "Node") + Bytes(3, "n1"))),
       R"({"kind":"Binding","apiVersion":"v1","metadata":{"name":"p"},"target":{"kind":"Node","name":"n1"}})"},
      {"delete options", Envelope("v1", "DeleteOptions", Number(1, 0) + Bytes(4, "Background")),
       R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Background"})"},
      {"times", Envelope("v1", "Event", times),
       R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"d","creationTimestamp":"2026-01-01T00:00:00Z"},
          "involvedObject":{"kind":"Pod"},"eventTime":"2026-01-01T00:00:00.000005Z"})"},
      {"inlined message", Envelope("v1", "Pod", Bytes(2, Bytes(2, Bytes(10, probe)))),
       R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"livenessProbe":{"httpGet":{"path":"/x","port":80},
          "initialDelaySeconds":3}}]}})"},
      {"secret", Envelope("v1", "Secret", Bytes(2, Pair("a", "b"))),
       R"({"kind":"Secret","apiVersion":"v1","data":{"a":"Yg=="}})"},
      {"unknown fields", Envelope("v1", "Pod", Bytes(99, "x") + Number(98, 7)), R"({"kind":"Pod","apiVersion":"v1"})"},
  };
  for (const Case& c : cases) {
    const auto decoded = DecodeProtobuf(c.body);
    ASSERT_TRUE(decoded.ok()) << c.name << ": " << decoded.error().message;
    EXPECT_EQ(*decoded, json::parse(c.want).as_object()) << c.name << "\n got " << *decoded;
  }
}

TEST(DecodeProtobuf, RefusesWhatIsNone) {
  struct Case {
    const char* name;
    std::string body;
    const char* want;
  };
  const Case cases[] = {
      {"empty", "", "the body is no Kubernetes protobuf: it must begin with \"k8s\\x00\""},
      {"JSON", "{}", "the body is no Kubernetes protobuf: it must begin with \"k8s\\x00\""},
      {"cut off", Envelope("v1", "Pod", Bytes(1, "x")).substr(0, 12), "the envelope of the protobuf body is malformed"},
      {"kind", Envelope("v1", "Nonsense", ""), "no kind \"Nonsense\" is known in version \"v1\""},
      {"type of a field", Envelope("v1", "Pod", Number(1, 5)), "the protobuf body has a malformed Pod.metadata"},
      {"inside", Envelope("v1", "Pod", Bytes(1, "\xff")), "the protobuf body has a malformed ObjectMeta"},
      {"text", Envelope("v1", "Pod", Bytes(1, Bytes(1, "\xff\xfe"))),
       "the protobuf body has a malformed ObjectMeta.name"},
      {"half of a pair", Envelope("v1", "Pod", Bytes(1, Bytes(1, "\xed\xa0\x80"))),
       "the protobuf body has a malformed ObjectMeta.name"},
      {"year", Envelope("v1", "Pod", Bytes(1, Bytes(8, Number(1, 1LL << 60)))),
       "the protobuf body has a malformed ObjectMeta.creationTimestamp"},
      {"group", Envelope("v1", "Pod", "\x0b"), "the protobuf body has a malformed Pod"},
  };
  for (const Case& c : cases) {
    const auto decoded = DecodeProtobuf(c.body);
    ASSERT_FALSE(decoded.ok()) << c.name;
    EXPECT_EQ(decoded.error().message, c.want) << c.name;
  }
}

}  // namespace
}  // namespace berth::objects
