// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/status.h"

namespace berth::framework {

std::string_view ToString(Code code) {
  switch (code) {
    case Code::kSuccess: return "Success";
    case Code::kError: return "Error";
    case Code::kUnschedulable: return "Unschedulable";
    case Code::kUnschedulableAndUnresolvable: return "UnschedulableAndUnresolvable";
    case Code::kWait: return "Wait";
    case Code::kSkip: return "Skip";
    case Code::kPending: return "Pending";
  }
  return "Error";
}

// Most pods get this status from some plugin: a single static instance avoids reference counting.
const Status::Rep& Status::SkippedRep() {
  static const Rep kSkipped{Code::kSkip, {}, {}};
  return kSkipped;
}

Status Status::Skip() {
  static const Status kSkipped = [] {
    Status skipped;
    skipped.rep_ = std::shared_ptr<const Rep>(std::shared_ptr<const Rep>(), &SkippedRep());
    return skipped;
  }();
  return kSkipped;
}

Status::Status(Code code, std::vector<std::string> reasons) {
  if (code == Code::kSkip && reasons.empty()) {
    *this = Skip();
  } else if (code != Code::kSuccess) {
    rep_ = std::make_shared<const Rep>(Rep{code, std::move(reasons), {}});
  }
}

const std::vector<std::string>& Status::reasons() const {
  static const std::vector<std::string> kNone;
  return rep_ ? rep_->reasons : kNone;
}

Status Status::WithPlugin(std::string_view plugin) const {
  Status named;
  if (rep_) named.rep_ = std::make_shared<const Rep>(Rep{rep_->code, rep_->reasons, std::string(plugin)});
  return named;
}

std::string Status::Message() const {
  std::string message;
  for (const std::string& reason : reasons()) {
    if (!message.empty()) message += ", ";
    message += reason;
  }
  return message;
}

bool operator==(const Status& a, const Status& b) {
  if (a.rep_ == b.rep_) return true;
  if (!a.rep_ || !b.rep_) return false;
  return a.rep_->code == b.rep_->code && a.rep_->plugin == b.rep_->plugin && a.rep_->reasons == b.rep_->reasons;
}

}  // namespace berth::framework
