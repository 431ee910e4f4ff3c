// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/metrics.h"

namespace berth::framework {
namespace {

class NoMetrics final : public Metrics {
 public:
  Counter& GetCounter(std::string_view, std::string_view, const Labels&) override { return counter_; }
  Gauge& GetGauge(std::string_view, std::string_view, const Labels&) override { return gauge_; }
  Histogram& GetHistogram(std::string_view, std::string_view, const std::vector<double>&, const Labels&) override {
    return histogram_;
  }

 private:
  class NoCounter final : public Counter {
    void Add(double) override {}
  };
  class NoGauge final : public Gauge {
    void Set(double) override {}
  };
  class NoHistogram final : public Histogram {
    void Observe(double) override {}
  };
  NoCounter counter_;
  NoGauge gauge_;
  NoHistogram histogram_;
};

}  // namespace

Metrics& Metrics::None() {
  static NoMetrics none;
  return none;
}

}  // namespace berth::framework
