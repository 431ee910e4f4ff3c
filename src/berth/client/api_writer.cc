#include "berth/client/api_writer.h"

#include <utility>

#include "berth/codec/json.h"

namespace berth::client {
namespace {

using codec::json::object;

RestClient::Done DropBody(ApiWriter::Done done) {
  return [done = std::move(done)](Expected<net::Response> response) {
    done(response.ok() ? Expected<void>() : Expected<void>(response.error()));
  };
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

std::string_view ContentType(PatchFormat format) {
  switch (format) {
    case PatchFormat::kMerge: return "application/merge-patch+json";
    case PatchFormat::kStrategicMerge: return "application/strategic-merge-patch+json";
    case PatchFormat::kJson: break;
  }
  return "application/json-patch+json";
}

}  // namespace

void ApiWriter::Bind(const PodTarget& pod, const std::string& node_name, Done done) {
  if (!IsComplete(pod.namespace_name, pod.name)) return done(Incomplete());
  object metadata{{"namespace", pod.namespace_name}, {"name", pod.name}};
  if (!pod.uid.empty()) metadata["uid"] = pod.uid;
  const object body{{"apiVersion", "v1"},
                    {"kind", "Binding"},
                    {"metadata", std::move(metadata)},
                    {"target", object{{"kind", "Node"}, {"name", node_name}}}};
  net::Request request;
  request.method = "POST";
  request.target = PodPath(pod.namespace_name, pod.name, "binding");
  request.body = codec::WriteJson(body);
  rest_.Do(std::move(request), {.timeout = options_.timeout, .tries = options_.tries}, DropBody(std::move(done)));
}

void ApiWriter::PatchPodStatus(const PodTarget& pod, std::string patch, Done done) {
  if (!IsComplete(pod.namespace_name, pod.name)) return done(Incomplete());
  if (!pod.uid.empty()) {
    auto document = codec::ParseJson(patch);
    if (!document.ok() || !document->is_object())
      return done(InvalidError("a pod's status patch should be a JSON object"));
    auto& metadata = document->as_object()["metadata"];
    if (!metadata.is_object()) metadata = object{};
    metadata.as_object()["uid"] = pod.uid;
    patch = codec::WriteJson(*document);
  }
  net::Request request;
  request.method = "PATCH";
  request.target = PodPath(pod.namespace_name, pod.name, "status");
  request.headers.push_back({"Content-Type", "application/strategic-merge-patch+json"});
  request.body = std::move(patch);
  rest_.Do(std::move(request), {.timeout = options_.timeout, .tries = options_.tries}, DropBody(std::move(done)));
}

void ApiWriter::DeletePod(const PodTarget& pod, std::optional<std::int64_t> grace_seconds, Done done) {
  if (!IsComplete(pod.namespace_name, pod.name)) return done(Incomplete());
  object body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (grace_seconds) body["gracePeriodSeconds"] = *grace_seconds;
  if (!pod.uid.empty()) body["preconditions"] = object{{"uid", pod.uid}};
  net::Request request;
  request.method = "DELETE";
  request.target = PodPath(pod.namespace_name, pod.name);
  request.body = codec::WriteJson(body);
  rest_.Do(std::move(request), {.timeout = options_.timeout, .tries = options_.tries}, DropBody(std::move(done)));
}

void ApiWriter::GetPod(const std::string& namespace_name, const std::string& name, ReadDone done) {
  if (!IsComplete(namespace_name, name)) return done(Incomplete());
  net::Request request;
  request.target = PodPath(namespace_name, name);
  Do(std::move(request), std::move(done));
}

void ApiWriter::Patch(const ObjectTarget& target, PatchFormat format, std::string body, ReadDone done) {
  if (!IsComplete(target)) return done(IncompleteTarget());
  net::Request request;
  request.method = "PATCH";
  request.target = PathOf(target, target.name);
  request.headers.push_back({"Content-Type", std::string(ContentType(format))});
  request.body = std::move(body);
  Do(std::move(request), std::move(done));
}

void ApiWriter::Create(const ObjectTarget& target, std::string body, ReadDone done) {
  if (target.group_version.empty() || target.resource.empty()) return done(IncompleteTarget());
  net::Request request;
  request.method = "POST";
  request.target = PathOf(target, {});
  request.body = std::move(body);
  Do(std::move(request), std::move(done));
}

void ApiWriter::Delete(const ObjectTarget& target, const std::string& uid, ReadDone done) {
  if (!IsComplete(target)) return done(IncompleteTarget());
  object body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!uid.empty()) body["preconditions"] = object{{"uid", uid}};
  net::Request request;
  request.method = "DELETE";
  request.target = PathOf(target, target.name);
  request.body = codec::WriteJson(body);
  Do(std::move(request), std::move(done));
}

void ApiWriter::Get(const ObjectTarget& target, ReadDone done) {
  if (!IsComplete(target)) return done(IncompleteTarget());
  net::Request request;
  request.target = PathOf(target, target.name);
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
