// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/rest_list.h"

#include <utility>

#include "berth/devcluster/apiserver/status_response.h"

namespace berth::apiserver {
namespace {

objects::StatusError TooLargeVersion(std::int64_t wanted, std::int64_t current) {
  return {.code = 504,
          .reason = "Timeout",
          .message = "Too large resource version: " + std::to_string(wanted) + ", current: " + std::to_string(current),
          .causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}},
          .retry_after_seconds = 1};
}

}  // namespace

objects::Outcome<net::Response> ListObjects(Registry& registry, const RestCall& call, const ListParameters& list) {
  const objects::ServedType& served = *call.route.served;
  BERTH_ASSIGN_OR_RETURN(const Rendering rendering, call.rendering);
  Store::ListQuery query;
  query.selector = list.selector;
  if (list.limit > 0) query.limit = list.limit;
  const std::int64_t wanted = list.resource_version.value_or(0);
  if (!list.continue_token.empty()) {
    if (wanted != 0) return objects::BadRequest("specifying resource version is not allowed when using continue");
    BERTH_ASSIGN_OR_RETURN(ContinueToken token, DecodeContinueToken(list.continue_token));
    query.after_key = std::move(token.after_key);
    query.at_version = token.resource_version == -1 ? 0 : token.resource_version;
  } else if (wanted > 0 && (list.match == "Exact" || (list.match.empty() && list.limit > 0))) {
    query.at_version = wanted;
  } else if (wanted > registry.store().resource_version()) {
    return TooLargeVersion(wanted, registry.store().resource_version());
  }
  const Store::ListResult result = registry.store().List(served.table, query);
  if (result.failure == Store::ListFailure::kFuture) {
    return TooLargeVersion(query.at_version, registry.store().resource_version());
  }
  if (result.failure == Store::ListFailure::kExpired) {
    if (list.continue_token.empty()) return objects::Expired("The resourceVersion for the provided list is too old.");
    return objects::Expired(
        "The provided continue parameter is too old to display a consistent list result. You must start a new "
        "list without the continue parameter.");
  }
  ListMetadata metadata;
  metadata.resource_version = result.resource_version;
  if (result.has_more && !result.objects.empty()) {
    metadata.continue_token = EncodeContinueToken({result.resource_version, result.objects.back()->key});
    if (query.selector.IsEverything()) metadata.remaining = result.remaining;
  }
  return JsonResponse(200, RenderList(rendering, result.objects, metadata));
}

objects::Outcome<objects::Done> WatchObjects(Registry& registry, WatchHub& watches, const RestCall& call,
                                             ListParameters list, const std::shared_ptr<net::ResponseWriter>& writer) {
  WatchRequest watch;
  watch.keeper = call.route.keeper;
  BERTH_ASSIGN_OR_RETURN(watch.rendering, call.rendering);
  watch.selector = std::move(list.selector);
  watch.has_bookmarks = list.has_bookmarks;
  if (list.timeout) watch.timeout = *list.timeout;
  watch.ends_initial_events = list.sends_initial_events.value_or(false);
  // Without a version, or with 0, a watch begins with the objects there are; sendInitialEvents=false asks for changes
  // only.
  const std::int64_t wanted = list.resource_version.value_or(0);
  if (wanted > 0 && !watch.ends_initial_events) watch.after_version = wanted;
  if (wanted > registry.store().resource_version() && watch.ends_initial_events) {
    return TooLargeVersion(wanted, registry.store().resource_version());
  }
  if (list.sends_initial_events == false && wanted == 0) watch.after_version = registry.store().resource_version();
  watches.Start(std::move(watch), writer);
  return objects::Done();
}

}  // namespace berth::apiserver
