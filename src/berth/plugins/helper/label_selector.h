// What upstream says when a label selector of an object cannot be used. Pure.
#pragma once

#include <string>

#include "berth/api/selector.h"

namespace berth::plugins {

// The text of the error of metav1.LabelSelectorAsSelector; empty when the selector is usable. Like upstream it stops at
// the first requirement with a fault.
std::string LabelSelectorError(const api::LabelSelector& selector);

// As Go's %q prints it: quoted, with control characters and bytes that are no UTF-8 escaped.
std::string GoQuoted(std::string_view text);

}  // namespace berth::plugins
