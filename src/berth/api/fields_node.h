// SPDX-License-Identifier: Apache-2.0
// Node. Private to this folder.
#pragma once

#include <algorithm>

#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/node.h"

namespace berth::api::internal {

template <>
inline constexpr auto kFields<Taint> = Fields{
    Field{"key", 1, &Taint::key},
    Field{"value", 2, &Taint::value},
    Field{"effect", 3, &Taint::effect},
};

// Stored as its type and status.
struct NodeCondition;
template <>
inline constexpr auto kFields<NodeCondition> = Fields{
    Field{"type", 1, &std::pair<std::string, std::string>::first},
    Field{"status", 2, &std::pair<std::string, std::string>::second},
};

template <>
inline constexpr auto kFields<ContainerImage> = Fields{
    Field{"names", 1, &ContainerImage::names},
    Field{"sizeBytes", 2, &ContainerImage::size_bytes},
};

template <>
inline constexpr std::string_view kKind<Node> = "Node";
template <>
inline constexpr auto kFields<Node> = Fields{
    Field{"metadata", 1, &Node::metadata},
    Field{"spec", 2,
          Fields{
              Field{"unschedulable", 4, &Node::unschedulable},
              Field{"taints", 5, &Node::taints},
          }},
    Field{"status", 3,
          Fields{
              Field{"allocatable", 2, &Node::allocatable},
              Field{"conditions", 4, ListOf<NodeCondition>(&Node::conditions)},
              Field{"images", 8, &Node::images},
              Field{"declaredFeatures", 14, &Node::declared_features},
          }},
};
template <>
inline constexpr auto kAfter<Node> = [](Node& out) { std::sort(out.conditions.begin(), out.conditions.end()); };

}  // namespace berth::api::internal
