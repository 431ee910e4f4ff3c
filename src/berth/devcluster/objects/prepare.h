// SPDX-License-Identifier: Apache-2.0
// What a create or an update does to an object beside what the client wrote: status, generation, addresses. Functions
// of their arguments: any thread.
#pragma once

#include <string_view>
#include <vector>

#include "berth/devcluster/objects/object.h"

namespace berth::objects::internal {

// Guaranteed, Burstable or BestEffort.
std::string_view QosClass(const json::object& pod);
void PreparePodCreate(json::object& pod);
void PrepareServiceCreate(json::object& service);
// Unless the job's author chose a selector, its pods are recognised by the job's uid.
void PrepareJobCreate(json::object& job);
void PrepareServiceUpdate(json::object& service, const json::object& old);

// How a type treats its status and its generation on writes to the object itself.
struct PrepareTraits {
  bool drops_status = false;  // on create; an update keeps the old status
  json::object first_status;  // what a create puts in its place; empty: no status at all
  bool has_generation = false;
  bool annotations_count = false;  // a change of annotations bumps the generation too (Deployment)
  // The parts of the object whose change bumps the generation, for types without a spec.
  std::vector<std::string_view> generation_members = {"spec"};
  void (*on_create)(json::object& object) = nullptr;  // what the kind does besides; null: nothing
};

void PrepareCreate(const PrepareTraits& traits, json::object& object);
void PrepareUpdate(const PrepareTraits& traits, json::object& object, const json::object& old);

}  // namespace berth::objects::internal
