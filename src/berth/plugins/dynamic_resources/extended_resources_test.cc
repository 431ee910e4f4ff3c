// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/extended_resources.h"

#include <gtest/gtest.h>

#include "berth/plugins/dynamic_resources/device_testing.h"

namespace berth::plugins {
namespace {

using testing::Amounts;
using testing::MakePod;

// "name=count ..." and "container/resource>request ...", for the resources g and n, which classes of the same names
// provide.
std::string Requests(const testing::PodBuilder& pod) {
  DeviceClasses classes;
  classes.Changed(nullptr, MakeClass("g", "'extendedResourceName': 'x.y/g'"));
  classes.Changed(nullptr, MakeClass("n", "'extendedResourceName': 'x.y/n'"));
  const auto made = MakeExtendedResourceRequests(pod.Build().spec, {"x.y/n", "x.y/g"}, classes);
  std::string text;
  for (const api::DeviceRequest& request : made.requests) {
    text += request.name + "=" + request.exactly->device_class_name + std::to_string(request.exactly->count) + " ";
  }
  text += "|";
  for (const api::ContainerExtendedResourceRequest& mapping : made.mappings) {
    text += " " + mapping.container_name + "/" + mapping.resource_name + ">" + mapping.request_name;
  }
  return text;
}

testing::PodBuilder Pod(const Amounts& amounts) {
  auto pod = MakePod("p");
  for (const auto& [name, amount] : amounts) pod.Request(name, amount);
  return pod;
}

TEST(ExtendedResources, OneRequestForEachContainerAndResource) {
  EXPECT_EQ(Requests(Pod({{"x.y/g", "2"}})), "container-0-request-0=g2 | c/x.y/g>container-0-request-0");
  // Requests are numbered among all of the container's.
  EXPECT_EQ(Requests(Pod({{"cpu", "1"}, {"x.y/g", "1"}, {"x.y/n", "3"}})),
            "container-0-request-1=g1 container-0-request-2=n3 | c/x.y/g>container-0-request-1 "
            "c/x.y/n>container-0-request-2");
  EXPECT_EQ(Requests(Pod({{"x.y/g", "0"}})), "|");
  EXPECT_EQ(Requests(Pod({{"x.y/g", "1500m"}})), "|");
  EXPECT_EQ(Requests(Pod({{"x.y/other", "1"}})), "|");
}

TEST(ExtendedResources, InitContainersUseTheDevicesOfTheOthersAgain) {
  const auto with_init = [](const Amounts& init, const Amounts& main) {
    auto pod = Pod(main);
    pod.InitContainer("i", init);
    return Requests(pod);
  };
  const std::string main = "container-1-request-0";
  EXPECT_EQ(with_init({{"x.y/g", "1"}}, {{"x.y/g", "2"}}).substr(0, 26), main + "=g2 |");
  const std::string more = with_init({{"x.y/g", "3"}}, {{"x.y/g", "2"}});
  EXPECT_TRUE(more.starts_with("container-0-request-0=g1 " + main + "=g2 |")) << more;
}

TEST(ExtendedResources, InitContainersShareTheLargestRequestOfThem) {
  auto pod = Pod({});
  pod.InitContainer("i", {{"x.y/g", "1"}}).InitContainer("i", {{"x.y/g", "3"}}).InitContainer("i", {{"x.y/g", "2"}});
  const std::string text = Requests(pod);
  EXPECT_TRUE(text.starts_with("container-1-request-0=g3 |")) << text;
  EXPECT_EQ(text.find(">container-0-"), std::string::npos);
  EXPECT_EQ(text.find(">container-2-"), std::string::npos);
  // A sidecar lives on.
  auto sidecar = Pod({{"x.y/g", "1"}});
  sidecar.Sidecar("i", {{"x.y/g", "3"}});
  EXPECT_TRUE(Requests(sidecar).starts_with("container-0-request-0=g3 container-1-request-0=g1 |"));
}

TEST(ExtendedResources, DeviceBackedRequests) {
  DeviceClasses classes;
  const auto requests = [&](const Amounts& amounts) {
    return DeviceBackedRequests(*Pod(amounts).Info(), classes).size();
  };
  EXPECT_EQ(requests({{"x.y/g", "1"}}), 0U);
  classes.Changed(nullptr, MakeClass("g", "'extendedResourceName': 'x.y/g'"));
  EXPECT_EQ(requests({{"x.y/g", "1"}, {"cpu", "1"}}), 1U);
  EXPECT_EQ(requests({{"x.y/g", "0"}, {"x.y/n", "1"}}), 0U);
  EXPECT_EQ(requests({{"x.y/g", "1"}, {"x.y/n", "1"}}), 2U);
}

}  // namespace
}  // namespace berth::plugins
