// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/schema.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "berth/api/field_list.h"

namespace berth::objects {
namespace {

json::object Parse(std::string_view text) { return json::parse(text).as_object(); }
const ResourceType& Type(std::string_view group, std::string_view plural) {
  const ResourceType* type = FindResource(group, "v1", plural);
  EXPECT_NE(type, nullptr) << plural;
  return *type;
}
const ResourceType& Pods() { return Type("", "pods"); }
const ResourceType& Deployments() { return Type("apps", "deployments"); }

TEST(Schema, EveryServedKindHasOne) {
  for (const ResourceType& type : ResourceTypes()) {
    const SchemaType* schema = FindSchema(type.group, type.version, type.kind);
    ASSERT_NE(schema, nullptr) << type.group << '/' << type.kind;
    EXPECT_NE(schema->Find("metadata"), nullptr) << type.kind;
  }
}

// Null where the schema has no such field.
const SchemaField* FindField(const SchemaType* type, std::string_view path) {
  const SchemaField* field = nullptr;
  while (!path.empty() && type != nullptr) {
    const std::string_view name = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    field = type->Find(name);
    type = field == nullptr ? nullptr : field->type;
  }
  return path.empty() ? field : nullptr;
}

// The tables of src/berth/api name some of the same fields, for the scheduler's own values: name and number agree.
TEST(Schema, AgreesWithWhatTheSchedulerDecodes) {
  for (const std::string_view kind : api::ListKinds()) {
    const SchemaType* schema = nullptr;
    for (const ResourceType& type : ResourceTypes()) {
      if (type.kind == kind && type.storage_version.empty()) schema = FindSchema(type.group, type.version, type.kind);
    }
    ASSERT_NE(schema, nullptr) << kind;
    EXPECT_FALSE(api::ListFields(kind).empty()) << kind;
    for (const api::ListedField& listed : api::ListFields(kind)) {
      const SchemaField* field = FindField(schema, listed.path);
      ASSERT_NE(field, nullptr) << kind << ' ' << listed.path;
      EXPECT_EQ(static_cast<int>(listed.number), field->number) << kind << ' ' << listed.path;
      EXPECT_EQ(static_cast<int>(listed.inline_number), field->inline_number) << kind << ' ' << listed.path;
    }
  }
}

TEST(UnknownFields, AreNamedAsTheRealServerNamesThem) {
  const auto found = UnknownFields(Pods(), Parse(R"({
    "apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labelz":{},"labels":{"any":"thing"}},
    "spec":{"containerz":[],"nodeSelector":{"a":"b"},
            "containers":[{"name":"c","imag":"x","resources":{"limits":{"cpu":"1"},"limitz":1}}],
            "affinity":{"x":{}}},
    "foo":1})"));
  const std::vector<std::string> want = {
      R"(unknown field "metadata.labelz")",         R"(unknown field "spec.containerz")",
      R"(unknown field "spec.containers[0].imag")", R"(unknown field "spec.containers[0].resources.limitz")",
      R"(unknown field "spec.affinity.x")",         R"(unknown field "foo")"};
  EXPECT_EQ(found, want);
}

TEST(UnknownFields, StopAtTheirBound) {
  json::object pod;
  for (std::size_t i = 0; i < kUnknownFieldsMax + 10; ++i) pod["x" + std::to_string(i)] = 1;
  EXPECT_EQ(UnknownFields(Pods(), pod).size(), kUnknownFieldsMax);
}

TEST(DropUnknownFields, LeavesWhatIsKnown) {
  json::object object =
      Parse(R"({"spec":{"replicaz":1,"replicas":2,"template":{"spec":{"containers":[{"i":1,"name":"c"}]}}}})");
  DropUnknownFields(Deployments(), object);
  EXPECT_EQ(object, Parse(R"({"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c"}]}}}})"));
}

// One by one, each in the time that all others behind it take to move, these would be hours.
TEST(DropUnknownFields, ManyAreDroppedInOneGo) {
  constexpr int kMembers = 200'000;
  json::object pod;
  pod["kind"] = "Pod";
  json::object spec;
  for (int i = 0; i < kMembers; ++i) {
    pod["x" + std::to_string(i)] = 1;
    spec["n" + std::to_string(i)] = nullptr;
  }
  pod["spec"] = spec;
  pod["metadata"] = json::object{{"name", "a"}};
  DropNulls(pod);
  DropUnknownFields(Pods(), pod);
  EXPECT_EQ(json::serialize(pod), R"({"kind":"Pod","spec":{},"metadata":{"name":"a"}})");
}

TEST(WrongType, SpeaksAsTheRealServerDoes) {
  struct Case {
    const char* group;
    const char* plural;
    const char* text;
    const char* want;  // empty: fits
  };
  constexpr const char* kQuantityError =
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const Case cases[] = {
      {"", "pods", R"({"spec":{"containers":"x"}})",
       "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container"},
      {"", "pods", R"({"spec":{"containers":["x"]}})",
       "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container"},
      {"", "pods", R"({"metadata":{"name":7}})",
       "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"},
      {"", "pods", R"({"metadata":{"labels":{"a":1}}})",
       "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"},
      {"", "pods", R"({"metadata":{"labels":["a"]}})",
       "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string"},
      {"", "pods", R"({"spec":{"priority":"5"}})",
       "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32"},
      {"", "pods", R"({"spec":{"priority":5000000000000}})",
       "json: cannot unmarshal number 5000000000000 into Go struct field PodSpec.spec.priority of type int32"},
      {"", "pods", R"({"spec":{"hostNetwork":"true"}})",
       "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool"},
      {"", "pods", R"({"spec":[]})", "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec"},
      {"", "pods", R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1x"}}}]}})", kQuantityError},
      {"", "pods", R"({"spec":{"containers":[{"resources":{"limits":{"cpu":true}}}]}})", kQuantityError},
      {"", "pods", R"({"spec":{"containers":[{"resources":{"limits":{"cpu":0.5,"memory":"1Gi"}}}]}})", ""},
      {"", "pods", R"({"metadata":{"creationTimestamp":"x"}})",
       "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""},
      {"", "pods", R"({"metadata":{"creationTimestamp":null},"spec":null})", ""},
      {"", "pods", R"({"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":"http"}}}]}})", ""},
      {"", "secrets", R"({"data":{"a":"%%"}})", "illegal base64 data at input byte 0"},
      {"", "secrets", R"({"data":{"a":"eA=="}})", ""},
      {"apps", "deployments", R"({"spec":{"template":{"spec":{"containers":{"a":1}}}}})",
       "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type "
       "[]v1.Container"},
      {"apps", "deployments", R"({"spec":5})",
       "json: cannot unmarshal number into Go struct field Deployment.spec of type v1.DeploymentSpec"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(WrongType(Type(c.group, c.plural), Parse(c.text)).value_or(""), c.want) << c.text;
  }
  const auto wrong = FindWrongField(
      Type("apps", "deployments"),
      Parse(R"({"spec":{"template":{"spec":{"containers":[{},{"resources":{"requests":{"cpu":"1..5"}}}]}}}})"));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->field, "spec.template.spec.containers[1].resources.requests[cpu]");
  EXPECT_TRUE(wrong->message.starts_with("\"1..5\" is no quantity: ")) << wrong->message;
  const auto other =
      FindWrongField(Type("", "pods"), Parse(R"({"spec":{"containers":[{"ports":[{"hostPort":"x"}]}]}})"));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->field, "spec.containers[0].ports[0].hostPort");
  EXPECT_TRUE(other->message.starts_with("json: cannot unmarshal string into Go struct field ContainerPort."));
  EXPECT_FALSE(FindWrongField(Type("", "pods"), Parse(R"({"spec":{"containers":[]}})")));
  EXPECT_EQ(WrongTypeMessage(Deployments(), "x"), "Deployment in version \"v1\" cannot be handled as a Deployment: x");
}

TEST(DropNulls, TakesNullsOutEverywhere) {
  json::object object = Parse(R"({"a":null,"b":{"c":null,"d":[null,{"e":null}]},"f":0})");
  DropNulls(object);
  EXPECT_EQ(object, Parse(R"({"b":{"d":[{}]},"f":0})"));
}

TEST(PatchMergeKey, ComesFromTheSchema) {
  struct Case {
    const char* kind;
    const char* path;
    const char* want;
  };
  const Case cases[] = {{"Pod", "spec.containers", "name"},
                        {"Deployment", "spec.template.spec.containers", "name"},
                        {"Deployment", "spec.template.spec.containers.ports", "containerPort"},
                        {"Deployment", "spec.template.spec.containers.env", "name"},
                        {"Pod", "spec.containers.volumeMounts", "mountPath"},
                        {"Pod", "spec.volumes", "name"},
                        {"Pod", "spec.tolerations", ""},
                        {"Pod", "spec.topologySpreadConstraints", "topologyKey"},
                        {"Pod", "spec.hostAliases", "ip"},
                        {"Pod", "spec.schedulingGates", "name"},
                        {"Pod", "status.conditions", "type"},
                        {"Pod", "metadata.finalizers", "*"},
                        {"Node", "metadata.ownerReferences", "uid"},
                        {"Node", "spec.taints", ""},
                        {"Node", "status.addresses", "type"},
                        {"Service", "spec.ports", "port"},
                        {"Event", "metadata.finalizers", "*"},
                        {"Pod", "spec.nonsense", ""},
                        {"Pod", "spec", ""},
                        {"Nonsense", "spec.containers", ""}};
  for (const Case& c : cases) EXPECT_EQ(PatchMergeKey(c.kind, c.path), c.want) << c.kind << ' ' << c.path;
}

// What the scheduler's plugins read of a pod comes back as it was written.
TEST(Schema, KnowsWhatSchedulingReads) {
  const ResourceType& pods = *FindResource("", "v1", "pods");
  const json::object pod = json::parse(R"({"spec":{
      "affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{
        "topologyKey":"z","namespaces":["n"],"namespaceSelector":{},"matchLabelKeys":["a"],"mismatchLabelKeys":["b"],
        "labelSelector":{"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]}}}]}},
      "topologySpreadConstraints":[{"maxSkew":1,"minDomains":2,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule",
        "nodeAffinityPolicy":"Honor","nodeTaintsPolicy":"Ignore","matchLabelKeys":["a"],"labelSelector":{}}],
      "volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"c","readOnly":true}},
        {"name":"b","ephemeral":{"volumeClaimTemplate":{"spec":{"storageClassName":"s","accessModes":["ReadWriteOnce"]}}}},
        {"name":"c","gcePersistentDisk":{"pdName":"d","readOnly":true}},
        {"name":"d","awsElasticBlockStore":{"volumeID":"d"}},
        {"name":"e","rbd":{"monitors":["m"],"image":"i","pool":"p","readOnly":true}},
        {"name":"f","iscsi":{"targetPortal":"t","iqn":"iqn.2026-01.x:y","lun":0,"readOnly":true}},
        {"name":"g","csi":{"driver":"d"}},{"name":"h","azureDisk":{"diskName":"d","diskURI":"u"}}],
      "resourceClaims":[{"name":"r","resourceClaimTemplateName":"t"}],"hostUsers":false,
      "resources":{"requests":{"cpu":"1"}},"overhead":{"cpu":"1"},
      "containers":[{"name":"c","resources":{"claims":[{"name":"r","request":"x"}]},"restartPolicy":"Always"}]},
    "status":{"resourceClaimStatuses":[{"name":"r","resourceClaimName":"x"}],
      "extendedResourceClaimStatus":{"resourceClaimName":"x","requestMappings":[
        {"containerName":"c","resourceName":"a/b","requestName":"r"}]}}})")
                               .as_object();
  EXPECT_EQ(UnknownFields(pods, pod), std::vector<std::string>());
  EXPECT_EQ(WrongType(pods, pod), std::nullopt);
  json::object kept = pod;
  DropUnknownFields(pods, kept);
  EXPECT_EQ(kept, pod);
}

}  // namespace
}  // namespace berth::objects
