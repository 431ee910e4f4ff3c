// SPDX-License-Identifier: Apache-2.0
// The pods of the workloads in the terms of bench/cluster: how each kind looks.
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
// Selects pods of a colour in the namespaces of the existing and the measured pods.
api::PodAffinityTerm Term(const std::string& color, const char* key);

// Replaces the pod's requests.
void Request(api::Pod& pod, const char* cpu, const char* memory);

void Basic(api::Pod& pod);
void Light(api::Pod& pod);  // requests nothing
void AntiAffinity(api::Pod& pod);
void MatchingAnti(api::Pod& pod);  // a pod that AntiAffinity repels
void Affinity(api::Pod& pod);
void PreferredAffinity(api::Pod& pod);
void PreferredAntiAffinity(api::Pod& pod);
void NodeAffinity(api::Pod& pod);  // zone1 and zone2 only
void PinTo(api::Pod& pod, const std::string& node_name);
void Spread(api::Pod& pod, const char* key, int skew, api::UnsatisfiableConstraintAction action, const char* color);
void HardSpread(api::Pod& pod);
void SoftSpread(api::Pod& pod);
void HostnameSpread(api::Pod& pod);
void LowPriority(api::Pod& pod);   // 0.9 CPU, priority 0
void HighPriority(api::Pod& pod);  // 3 CPU, priority 10
void TooBig(api::Pod& pod);        // 9 CPU, priority 10
void Gate(api::Pod& pod);

// Pods of one kind, or of several kinds in turn.
Recipe Kinds(std::initializer_list<Dress> dresses);

// Pods of `count` Deployments with one ReplicaSet each: either interleaved, or `pods` / `count` of each in a row.
Recipe DeploymentPods(int count, int pods, bool interleaved);
std::string DeploymentName(int i);
std::string ReplicaSetName(int i);
framework::AnyObject MakeReplicaSet(int i);
framework::AnyObject MakeService(int i);  // selects the pods of this Deployment
framework::AnyObject MakeNamespace(const std::string& name, const api::StringMap& labels);

}  // namespace berth::bench
