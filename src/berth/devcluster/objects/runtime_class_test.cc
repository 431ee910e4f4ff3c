// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/runtime_class.h"

#include <gtest/gtest.h>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {
namespace {

TEST(ApplyRuntimeClass, FillsThePodIn) {
  const json::object sandboxed = json::parse(R"({"metadata":{"name":"sandboxed"},"handler":"s",
      "overhead":{"podFixed":{"cpu":"250m","memory":"64Mi"}},
      "scheduling":{"nodeSelector":{"sandbox":"yes"},"tolerations":[{"key":"sandbox","operator":"Exists"}]}})")
                                     .as_object();
  const json::object plain = json::parse(R"({"metadata":{"name":"plain"},"handler":"p"})").as_object();
  struct {
    const char* name;
    const char* spec;
    const char* want_spec;  // empty: refused
    const char* want_error;
  } const cases[] = {
      {"no class", R"({"overhead":{"cpu":"1"}})", R"({"overhead":{"cpu":"1"}})", ""},
      {"class with all", R"({"runtimeClassName":"sandboxed","tolerations":[{"key":"own"}]})",
       R"({"runtimeClassName":"sandboxed","overhead":{"cpu":"250m","memory":"64Mi"},"nodeSelector":{"sandbox":"yes"},
           "tolerations":[{"key":"own"},{"key":"sandbox","operator":"Exists"}]})",
       ""},
      {"what the class says is there already",
       R"({"runtimeClassName":"sandboxed","overhead":{"cpu":"0.25","memory":"65536Ki"},
           "nodeSelector":{"sandbox":"yes","disk":"ssd"},"tolerations":[{"key":"sandbox","operator":"Exists"}]})",
       R"({"runtimeClassName":"sandboxed","overhead":{"cpu":"250m","memory":"64Mi"},
           "nodeSelector":{"sandbox":"yes","disk":"ssd"},"tolerations":[{"key":"sandbox","operator":"Exists"}]})",
       ""},
      {"class with nothing", R"({"runtimeClassName":"plain"})", R"({"runtimeClassName":"plain"})", ""},
      {"unknown class", R"({"runtimeClassName":"x"})", "", "pod rejected: RuntimeClass \"x\" not found"},
      {"another overhead", R"({"runtimeClassName":"sandboxed","overhead":{"cpu":"1"}})", "",
       "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"},
      {"another node", R"({"runtimeClassName":"sandboxed","nodeSelector":{"sandbox":"no"}})", "",
       "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; pod.spec.nodeSelector[sandbox] = no"},
  };
  for (const auto& [name, spec, want_spec, want_error] : cases) {
    json::object pod;
    pod["spec"] = json::parse(spec);
    EXPECT_EQ(ApplyRuntimeClass(pod, {&sandboxed, &plain}).value_or(""), want_error) << name;
    if (*want_spec != '\0') {
      EXPECT_EQ(pod["spec"], json::parse(want_spec)) << name;
    }
  }
}

}  // namespace
}  // namespace berth::objects
