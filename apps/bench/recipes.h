// SPDX-License-Identifier: Apache-2.0
// The pods of the workloads, in the words of bench/cluster: how each kind looks.
#pragma once

#include <initializer_list>
#include <string>

#include "workloads.h"

namespace berth::bench {

inline constexpr const char* kHostname = "kubernetes.io/hostname";
inline constexpr const char* kZone = "topology.kubernetes.io/zone";
inline constexpr const char* kExistingNamespace = "bench-0";
inline constexpr const char* kMeasuredNamespace = "bench-1";
inline constexpr const char* kSideNamespace = "bench-churn";
inline constexpr const char* kCsiDriver = "ebs.csi.aws.com";

using Dress = void (*)(api::Pod&);

api::Quantity Amount(const char* text);
api::LabelSelector Selecting(std::string key, std::string value);
// Selects a colour, in the existing and the measured pods' namespaces.
api::PodAffinityTerm Term(const std::string& color, const char* key);

// Replace what the pod requests.
void Request(api::Pod& pod, const char* cpu, const char* memory);

void Basic(api::Pod& pod);
void Light(api::Pod& pod);  // requests nothing
void AntiAffinity(api::Pod& pod);
void MatchingAnti(api::Pod& pod);  // what AntiAffinity repels
void Affinity(api::Pod& pod);
void PreferredAffinity(api::Pod& pod);
void PreferredAntiAffinity(api::Pod& pod);
void NodeAffinity(api::Pod& pod);  // zone1 and zone2
void PinTo(api::Pod& pod, const std::string& node_name);
void Spread(api::Pod& pod, const char* key, int skew, api::UnsatisfiableConstraintAction action, const char* color);
void HardSpread(api::Pod& pod);
void SoftSpread(api::Pod& pod);
void HostnameSpread(api::Pod& pod);
void LowPriority(api::Pod& pod);   // 0.9 CPU, priority 0
void HighPriority(api::Pod& pod);  // 3 CPU, priority 10
void TooBig(api::Pod& pod);        // 9 CPU, priority 10
void Gate(api::Pod& pod);

// One kind of pods, or several in turn.
Recipe Kinds(std::initializer_list<Dress> dresses);

// Pods of `count` Deployments with a ReplicaSet each: in turn, or of each `pods` / `count` one after another.
Recipe DeploymentPods(int count, int pods, bool interleaved);
std::string DeploymentName(int i);
std::string ReplicaSetName(int i);
framework::AnyObject MakeReplicaSet(int i);
framework::AnyObject MakeService(int i);  // selects that Deployment's pods
framework::AnyObject MakeNamespace(const std::string& name, const api::StringMap& labels);

}  // namespace berth::bench
