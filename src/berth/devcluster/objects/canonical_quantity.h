// SPDX-License-Identifier: Apache-2.0
// Quantities as kube-apiserver writes them back: "1500m", "1Gi", "2" for 1.5, "1024Mi" and the number 2. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {

// The canonical text of a quantity in the format it came in (decimal, binary or with an exponent); the text itself when
// it is no quantity.
std::string CanonicalQuantity(std::string_view text);

// Every quantity of `object` that the type's schema knows, in place. Numbers become strings.
void CanonicalizeQuantities(const ResourceType& type, json::object& object);

}  // namespace berth::objects
