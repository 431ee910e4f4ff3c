// SPDX-License-Identifier: Apache-2.0
#include "berth/page/page_on_demand.h"

#include <utility>

#include "berth/shell/serving/answers.h"

namespace berth::page {

void PageOnDemand::Handle(net::Request request, const net::Target& target, const std::string& path,
                          const std::shared_ptr<net::ResponseWriter>& writer) {
  const auto unavailable = [&](const std::string& why) {
    writer->Send(serving::Failure(request, 503, "ServiceUnavailable", why));
  };
  // The service is not closed between the look at it and the request.
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return unavailable("berth is ending");
  if (path != "/ui" && PageService::IsFile(path)) {
    if (!files_) files_.emplace(PageFiles());
    return writer->Send(files_->Answer(request, path));
  }
  if (!opened_) {
    Expected<Opened> opened = open_();
    if (!opened.ok()) return unavailable(opened.error().Wrap("the page cannot be opened").message);
    opened_ = *std::move(opened);
    opened_->service->Start();
  }
  used_at_ = clock_.Now();
  opened_->service->Handle(std::move(request), target, path, writer);
}

bool PageOnDemand::CloseIfUnused() {
  std::optional<Opened> closed;
  {
    const std::lock_guard lock(mutex_);
    if (!opened_) return false;
    if (opened_->service->IsInUse()) used_at_ = clock_.Now();
    if (clock_.Now() - used_at_ < kUnusedMax) return false;
    closed = std::move(opened_);
    opened_.reset();
    files_.reset();
  }
  closed->service->Stop();
  return true;
}

void PageOnDemand::Stop() {
  std::optional<Opened> closed;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    closed = std::move(opened_);
    opened_.reset();
  }
  if (closed) closed->service->Stop();
}

bool PageOnDemand::IsOpen() const {
  const std::lock_guard lock(mutex_);
  return opened_.has_value();
}

}  // namespace berth::page
