// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/test_server.h"

#include <charconv>
#include <utility>

#include "berth/devcluster/objects/object.h"
#include "berth/shell/net/one_answer.h"

namespace berth::apiserver {
namespace {

const json::value* Walk(const json::object& object, std::string_view path) {
  const json::object* at = &object;
  while (true) {
    const std::size_t dot = path.find('.');
    const json::value* member = objects::FindMember(*at, path.substr(0, dot));
    if (member == nullptr || dot == std::string_view::npos) return member;
    at = member->if_object();
    if (at == nullptr) return nullptr;
    path.remove_prefix(dot + 1);
  }
}

objects::ResourceType Type(std::string group, std::string version, std::string kind, std::string plural) {
  objects::ResourceType type;
  type.group = std::move(group);
  type.version = std::move(version);
  type.kind = std::move(kind);
  type.plural = std::move(plural);
  type.field = [](const json::object& object, std::string_view field) { return Walk(object, field); };
  type.validate = [](const json::object& object, const json::object*) {
    std::vector<objects::FieldError> errors;
    const json::object* spec = objects::ObjectMember(object, "spec");
    if (spec != nullptr && objects::StringMember(*spec, "schedulerName") == "refused") {
      errors.push_back({"spec.schedulerName", "FieldValueInvalid", "Invalid value: \"refused\": must not be refused"});
    }
    return errors;
  };
  type.columns = {{"Name", "string", "name", "the name", 0}};
  type.row = [](const json::object& object, std::int64_t) {
    return json::array{objects::StringMember(*objects::ObjectMember(object, "metadata"), "name")};
  };
  return type;
}

std::vector<objects::ResourceType> MakeTypes() {
  std::vector<objects::ResourceType> types;
  objects::ResourceType pods = Type("", "v1", "Pod", "pods");
  pods.has_status = true;
  pods.selectable_fields = {"spec.nodeName", "spec.schedulerName", "status.phase"};
  pods.prepare_create = [](json::object& pod) {
    objects::MutableObject(pod, "status")["phase"] = "Pending";
    objects::MutableObject(pod, "metadata")["generation"] = 1;
  };
  types.push_back(pods);
  objects::ResourceType nodes = Type("", "v1", "Node", "nodes");
  nodes.namespaced = false;
  nodes.has_status = true;
  types.push_back(nodes);
  objects::ResourceType namespaces = Type("", "v1", "Namespace", "namespaces");
  namespaces.namespaced = false;
  namespaces.has_status = true;
  types.push_back(namespaces);
  types.push_back(Type("", "v1", "ConfigMap", "configmaps"));
  types.push_back(Type("coordination.k8s.io", "v1", "Lease", "leases"));
  objects::ResourceType deployments = Type("apps", "v1", "Deployment", "deployments");
  deployments.has_status = true;
  deployments.has_scale = true;
  types.push_back(deployments);
  objects::ResourceType budgets = Type("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets");
  budgets.has_status = true;
  types.push_back(budgets);
  objects::ResourceType events = Type("", "v1", "Event", "events");
  events.selectable_fields = {"involvedObject.name", "reason"};
  types.push_back(events);
  objects::ResourceType events_v1 = Type("events.k8s.io", "v1", "Event", "events");
  events_v1.storage_group = "";
  events_v1.storage_version = "v1";
  types.push_back(events_v1);
  return types;
}

std::string Describe(const json::value& event) {
  const std::string type(objects::StringMember(event.get_object(), "type"));
  if (type == "ERROR") {
    return type + ' ' + json::serialize(At(event, "object.code"));
  }
  std::string line = type + ' ' +
                     std::string(At(event, "object.metadata.name").is_string()
                                     ? objects::View(At(event, "object.metadata.name").get_string())
                                     : std::string_view("-"));
  const json::value version = At(event, "object.metadata.resourceVersion");
  line += '@' + (version.is_string() ? std::string(objects::View(version.get_string())) : std::string("?"));
  if (!At(event, "object.metadata.annotations").is_null()) line += " end-of-initial";
  return line;
}

}  // namespace

const std::vector<objects::ResourceType>& TestTypes() {
  static const std::vector<objects::ResourceType> types = MakeTypes();
  return types;
}

json::value Json(std::string_view text) {
  auto parsed = codec::ParseJson(text);
  BERTH_CHECK(parsed.ok(), text);
  return std::move(parsed).value();
}

json::value At(const json::value& root, std::string_view path) {
  const json::value* at = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view step = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    if (const json::object* object = at->if_object()) {
      at = objects::FindMember(*object, step);
    } else if (const json::array* array = at->if_array()) {
      std::size_t index = 0;
      std::from_chars(step.data(), step.data() + step.size(), index);
      at = index < array->size() ? &(*array)[index] : nullptr;
    } else {
      at = nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return *at;
}

std::string Answer::Text(std::string_view path) const {
  const json::value value = At(body, path);
  return value.is_string() ? std::string(objects::View(value.get_string())) : json::serialize(value);
}

namespace {

Answer ToAnswer(net::Response response) {
  Answer answer;
  answer.status = response.status;
  if (response.body.starts_with('{')) {
    auto parsed = codec::ParseJson(response.body, {.bytes_max = std::size_t{64} << 20});
    if (parsed.ok()) answer.body = std::move(parsed).value();
  }
  answer.response = std::move(response);
  return answer;
}

net::Request MakeRequest(std::string method, std::string target, std::string body, std::vector<net::Header> headers) {
  net::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers = std::move(headers);
  request.body = std::move(body);
  return request;
}

}  // namespace

Answer Call(const net::Handler& handler, std::string method, std::string target, std::string body,
            std::vector<net::Header> headers) {
  auto writer = std::make_shared<net::OneAnswer>();
  handler(MakeRequest(std::move(method), std::move(target), std::move(body), std::move(headers)), writer);
  return ToAnswer(std::move(writer->answer));
}

Answer Call(net::Transport& transport, std::string method, std::string target, std::string body,
            std::vector<net::Header> headers) {
  auto promise = std::make_shared<std::promise<net::Response>>();
  auto future = promise->get_future();
  transport.Send(MakeRequest(std::move(method), std::move(target), std::move(body), std::move(headers)),
                 {.timeout = std::chrono::seconds(20)}, [promise](Expected<net::Response> result) {
                   net::Response failed;
                   failed.body = result.ok() ? "" : result.error().message;
                   promise->set_value(result.ok() ? std::move(result).value() : std::move(failed));
                 });
  if (future.wait_for(std::chrono::seconds(30)) != std::future_status::ready) return {};
  return ToAnswer(future.get());
}

std::shared_ptr<RecordedWatch> RecordedWatch::Open(const net::Handler& handler, std::string target,
                                                   std::vector<net::Header> headers) {
  auto watch = std::make_shared<RecordedWatch>();
  handler(MakeRequest("GET", std::move(target), "", std::move(headers)), watch);
  return watch;
}

void RecordedWatch::Send(net::Response response) {
  head = std::move(response);
  has_ended = true;
}

void RecordedWatch::StartStream(net::Response response) {
  bytes_ += response.body;
  head = std::move(response);
}

bool RecordedWatch::Write(std::string_view bytes) {
  if (is_broken) return false;
  bytes_ += bytes;
  if (!reads) buffered += bytes.size();
  return true;
}

std::vector<json::value> RecordedWatch::TakeDocuments() {
  std::vector<json::value> documents;
  std::size_t begin = 0;
  for (std::size_t end; (end = bytes_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    documents.push_back(Json(std::string_view(bytes_).substr(begin, end - begin)));
  }
  bytes_.erase(0, begin);
  return documents;
}

std::vector<std::string> RecordedWatch::Take() {
  std::vector<std::string> lines;
  for (const json::value& document : TakeDocuments()) lines.push_back(Describe(document));
  return lines;
}

StreamedWatch::StreamedWatch(net::Transport& transport, std::string target) {
  net::StreamCallbacks callbacks;
  callbacks.on_head = [this](const net::Response& head) {
    const std::lock_guard lock(mutex_);
    status_ = head.status;
  };
  callbacks.on_bytes = [this](std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    changed_.notify_all();
  };
  callbacks.on_end = [this](const Expected<void>&) {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  };
  handle_ = transport.Stream(MakeRequest("GET", std::move(target), "", {}), {}, std::move(callbacks));
}

std::string StreamedWatch::Next() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return has_ended_ || bytes_.find('\n') != std::string::npos; };
  if (!changed_.wait_for(lock, std::chrono::seconds(10), ready)) return "";
  const std::size_t end = bytes_.find('\n');
  if (end == std::string::npos) return "END";
  const std::string line = bytes_.substr(0, end);
  bytes_.erase(0, end + 1);
  return Describe(Json(line));
}

int StreamedWatch::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::string PodJson(std::string_view name, std::string_view more) {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + std::string(name) + R"("},"spec":{)" +
         std::string(more) + "}}";
}

std::string BindingJson(std::string_view pod, std::string_view node, std::string_view uid) {
  return R"({"kind":"Binding","apiVersion":"v1","metadata":{"name":")" + std::string(pod) + '"' +
         (uid.empty() ? "" : R"(,"uid":")" + std::string(uid) + '"') + R"(},"target":{"kind":"Node","name":")" +
         std::string(node) + R"("}})";
}

}  // namespace berth::apiserver
