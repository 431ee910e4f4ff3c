// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/api_writer.h"

#include <utility>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/api/encode_protobuf.h"
#include "berth/codec/json.h"

namespace berth::client {
namespace {

using codec::json::object;

constexpr std::string_view kEitherType = "application/vnd.kubernetes.protobuf, application/json";

RestClient::Done DropBody(ApiWriter::Done done) {
  return [done = std::move(done)](Expected<net::Response> response) {
    done(response.ok() ? Expected<void>() : Expected<void>(response.error()));
  };
}

std::string JsonBinding(const PodTarget& pod, const std::string& node_name) {
  object metadata{{"namespace", pod.namespace_name}, {"name", pod.name}};
  if (!pod.uid.empty()) metadata["uid"] = pod.uid;
  return codec::WriteJson(object{{"apiVersion", "v1"},
                                 {"kind", "Binding"},
                                 {"metadata", std::move(metadata)},
                                 {"target", object{{"kind", "Node"}, {"name", node_name}}}});
}

object DeleteOptions(std::optional<std::int64_t> grace_seconds, const std::string& uid) {
  object body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (grace_seconds) body["gracePeriodSeconds"] = *grace_seconds;
  if (!uid.empty()) body["preconditions"] = object{{"uid", uid}};
  return body;
}

std::string JsonDeleteOptions(std::optional<std::int64_t> grace_seconds, const std::string& uid) {
  return codec::WriteJson(DeleteOptions(grace_seconds, uid));
}

std::string PodPath(const std::string& namespace_name, const std::string& name, std::string_view subresource = {}) {
  return ObjectPath("/api/v1", namespace_name, "pods", name, subresource);
}

// A target without a namespace or name would address the collection, and a DELETE of that deletes all pods.
bool IsComplete(const std::string& namespace_name, const std::string& name) {
  return !namespace_name.empty() && !name.empty();
}
Error Incomplete() { return InvalidError("a write to a pod needs its namespace and name"); }

bool IsComplete(const ObjectTarget& target) {
  return !target.group_version.empty() && !target.resource.empty() && !target.name.empty();
}
Error IncompleteTarget() { return InvalidError("a request for an object needs its group, version, resource and name"); }

std::string PathOf(const ObjectTarget& target, const std::string& name) {
  const bool is_core = target.group_version.find('/') == std::string::npos;
  return ObjectPath((is_core ? "/api/" : "/apis/") + target.group_version, target.namespace_name, target.resource, name,
                    target.subresource);
}

void AddTraceParent(net::Request& request, const std::string& traceparent) {
  if (!traceparent.empty()) request.headers.push_back({"traceparent", traceparent});
}

std::string_view ContentType(PatchFormat format) {
  switch (format) {
    case PatchFormat::kMerge: return "application/merge-patch+json";
    case PatchFormat::kStrategicMerge: return "application/strategic-merge-patch+json";
    case PatchFormat::kJson: break;
  }
  return "application/json-patch+json";
}

}  // namespace

ApiWriter::ApiWriter(RestClient& rest, ApiWriterOptions options)
    : rest_(rest),
      options_(options),
      protobuf_(std::make_shared<std::atomic<Protobuf>>(rest.options().sends_protobuf ? Protobuf::kUntried
                                                                                      : Protobuf::kOff)) {}

void ApiWriter::Bind(const PodTarget& pod, const std::string& node_name, Done done) {
  if (!IsComplete(pod.namespace_name, pod.name)) return done(Incomplete());
  net::Request request;
  request.method = "POST";
  request.target = PodPath(pod.namespace_name, pod.name, "binding");
  AddTraceParent(request, pod.traceparent);
  DoInEitherForm(
      std::move(request), 1,
      [&pod, &node_name](bool as_protobuf) {
        if (!as_protobuf) return JsonBinding(pod, node_name);
        return api::EncodeBinding({pod.namespace_name, pod.name, pod.uid, node_name});
      },
      std::move(done));
}

void ApiWriter::PatchPodStatus(const PodTarget& pod, std::string patch, Done done) {
  if (!IsComplete(pod.namespace_name, pod.name)) return done(Incomplete());
  if (!patch.starts_with('{') || !patch.ends_with('}')) {
    return done(InvalidError("a pod's status patch should be a JSON object"));
  }
  if (!pod.uid.empty()) {
    patch.pop_back();
    if (patch != "{") patch += ',';
    patch += R"("metadata":{"uid":)" + codec::WriteJson(codec::json::value(pod.uid)) + "}}";
  }
  net::Request request;
  request.method = "PATCH";
  request.target = PodPath(pod.namespace_name, pod.name, "status");
  request.headers.push_back({"Content-Type", "application/strategic-merge-patch+json"});
  request.body = std::move(patch);
  DoBlind(std::move(request), 1, std::move(done));
}

void ApiWriter::DeletePod(const PodTarget& pod, std::optional<std::int64_t> grace_seconds, Done done) {
  if (!IsComplete(pod.namespace_name, pod.name)) return done(Incomplete());
  net::Request request;
  request.method = "DELETE";
  request.target = PodPath(pod.namespace_name, pod.name);
  DoInEitherForm(
      std::move(request), options_.tries,
      [&pod, grace_seconds](bool as_protobuf) {
        if (!as_protobuf) return JsonDeleteOptions(grace_seconds, pod.uid);
        return api::EncodeDeleteOptions({grace_seconds, pod.uid});
      },
      std::move(done));
}

void ApiWriter::EvictPod(const PodTarget& pod, std::optional<std::int64_t> grace_seconds, Done done) {
  if (!IsComplete(pod.namespace_name, pod.name)) return done(Incomplete());
  net::Request request;
  request.method = "POST";
  request.target = PodPath(pod.namespace_name, pod.name, "eviction");
  request.body = codec::WriteJson(object{{"apiVersion", "policy/v1"},
                                         {"kind", "Eviction"},
                                         {"metadata", object{{"namespace", pod.namespace_name}, {"name", pod.name}}},
                                         {"deleteOptions", DeleteOptions(grace_seconds, pod.uid)}});
  DoBlind(std::move(request), 1, std::move(done));
}

void ApiWriter::DoBlind(net::Request request, int tries, Done done) {
  // Nobody reads the answer, and in protobuf it is smaller.
  if (rest_.options().takes_protobuf) request.headers.push_back({"Accept", std::string(kEitherType)});
  rest_.Do(std::move(request), {.timeout = options_.timeout, .tries = tries}, DropBody(std::move(done)));
}

void ApiWriter::DoInEitherForm(net::Request request, int tries, MakeBody make_body, Done done) {
  const Protobuf protobuf = protobuf_->load();
  request.body = make_body(protobuf != Protobuf::kOff);
  if (protobuf == Protobuf::kOff) return DoBlind(std::move(request), tries, std::move(done));
  net::Request in_json;
  if (protobuf == Protobuf::kUntried) {
    in_json = request;
    in_json.body = make_body(false);
  }
  request.headers.push_back({"Content-Type", std::string(api::kProtobufMediaType)});
  if (protobuf == Protobuf::kTaken) return DoBlind(std::move(request), tries, std::move(done));
  if (rest_.options().takes_protobuf) request.headers.push_back({"Accept", std::string(kEitherType)});
  RestClient* const rest = &rest_;
  rest_.Do(std::move(request), {.timeout = options_.timeout, .tries = tries, .any_status = true},
           [rest, timeout = options_.timeout, tries, protobuf_state = protobuf_, in_json = std::move(in_json),
            done = std::move(done)](Expected<net::Response> response) {
             if (!response.ok()) return done(response.error());
             if (response->status >= 200 && response->status < 300) {
               Protobuf untried = Protobuf::kUntried;
               protobuf_state->compare_exchange_strong(untried, Protobuf::kTaken);
               return done({});
             }
             if (response->status != 415) return done(ErrorFromResponse(in_json, *response));
             protobuf_state->store(Protobuf::kOff);
             rest->Do(in_json, {.timeout = timeout, .tries = tries}, DropBody(done));
           });
}

void ApiWriter::GetPod(const PodTarget& pod, ReadDone done) {
  if (!IsComplete(pod.namespace_name, pod.name)) return done(Incomplete());
  net::Request request;
  request.target = PodPath(pod.namespace_name, pod.name);
  AddTraceParent(request, pod.traceparent);
  Do(std::move(request), std::move(done));
}

void ApiWriter::Patch(const ObjectTarget& target, PatchFormat format, std::string body, ReadDone done) {
  if (!IsComplete(target)) return done(IncompleteTarget());
  net::Request request;
  request.method = "PATCH";
  request.target = PathOf(target, target.name);
  AddTraceParent(request, target.traceparent);
  request.headers.push_back({"Content-Type", std::string(ContentType(format))});
  request.body = std::move(body);
  Do(std::move(request), std::move(done));
}

void ApiWriter::Create(const ObjectTarget& target, std::string body, ReadDone done) {
  if (target.group_version.empty() || target.resource.empty()) return done(IncompleteTarget());
  net::Request request;
  request.method = "POST";
  request.target = PathOf(target, {});
  AddTraceParent(request, target.traceparent);
  request.body = std::move(body);
  Do(std::move(request), std::move(done));
}

void ApiWriter::Delete(const ObjectTarget& target, const std::string& uid, ReadDone done) {
  if (!IsComplete(target)) return done(IncompleteTarget());
  net::Request request;
  request.method = "DELETE";
  request.target = PathOf(target, target.name);
  AddTraceParent(request, target.traceparent);
  request.body = JsonDeleteOptions({}, uid);
  Do(std::move(request), std::move(done));
}

void ApiWriter::Get(const ObjectTarget& target, ReadDone done) {
  if (!IsComplete(target)) return done(IncompleteTarget());
  net::Request request;
  request.target = PathOf(target, target.name);
  AddTraceParent(request, target.traceparent);
  Do(std::move(request), std::move(done));
}

void ApiWriter::Do(net::Request request, ReadDone done) {
  rest_.Do(std::move(request), {.timeout = options_.timeout, .tries = options_.tries},
           [done = std::move(done)](Expected<net::Response> response) {
             if (!response.ok()) return done(response.error());
             done(std::move(response->body));
           });
}

}  // namespace berth::client
