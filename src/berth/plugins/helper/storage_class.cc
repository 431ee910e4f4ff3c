// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/storage_class.h"

#include <string_view>

namespace berth::plugins {
namespace {

constexpr std::string_view kBetaClassAnnotation = "volume.beta.kubernetes.io/storage-class";

}  // namespace

const std::string& ClassOf(const api::PersistentVolume& volume) {
  const std::string* beta = volume.metadata.annotations.Find(kBetaClassAnnotation);
  return beta != nullptr ? *beta : volume.spec.storage_class_name;
}

const std::string& ClassOf(const api::PersistentVolumeClaim& claim) {
  static const std::string kNone;
  if (const std::string* beta = claim.metadata.annotations.Find(kBetaClassAnnotation)) return *beta;
  return claim.storage_class_name ? *claim.storage_class_name : kNone;
}

}  // namespace berth::plugins
