// SPDX-License-Identifier: Apache-2.0
// Reads the objects of a case file (plugin_case.h), in their short form or as whole manifests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/codec/json.h"
#include "berth/core/config/field_errors.h"
#include "berth/framework/objects.h"

namespace berth::authoring {

using NodePtr = std::shared_ptr<const api::Node>;
using PodPtr = std::shared_ptr<const api::Pod>;

// Each function reads the item at `path`. On an error it adds to `errors` and returns null.

// {name, labels, annotations, allocatable, taints, unschedulable, images, conditions}. Defaults are those of testing's
// MakeNode: 4 CPUs, 32Gi of memory, 110 pods, the label kubernetes.io/hostname.
NodePtr ReadCaseNode(const codec::json::value& item, const std::string& path, config::FieldErrors& errors);

// {name, namespace, labels, annotations, requests, image, node}, and any field of a pod's spec. `scheduler_name` is the
// default scheduler.
PodPtr ReadCasePod(const codec::json::value& item, const std::string& path, const std::string& scheduler_name,
                   config::FieldErrors& errors);

// Reads a manifest of any kind in framework/objects.h.
void ReadCaseObject(const codec::json::value& item, const std::string& path, std::vector<framework::AnyObject>& out,
                    config::FieldErrors& errors);

}  // namespace berth::authoring
