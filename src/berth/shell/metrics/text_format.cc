// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/metrics/text_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::metrics {
namespace {

// Help texts keep their quotes; values of labels are within quotes.
void AppendEscaped(std::string& text, std::string_view value, bool is_quoted) {
  for (const char c : value) {
    switch (c) {
      case '\\': text += "\\\\"; break;
      case '\n': text += "\\n"; break;
      case '"': text += is_quoted ? "\\\"" : "\""; break;
      default: text += c;
    }
  }
}

std::string_view TypeName(MetricType type) {
  switch (type) {
    case MetricType::kCounter: return "counter";
    case MetricType::kGauge: return "gauge";
    case MetricType::kHistogram: break;
  }
  return "histogram";
}

// Writes the lines of one family.
class FamilyWriter {
 public:
  FamilyWriter(const MetricFamily& family, std::vector<MetricSeries> series, std::string& text)
      : family_(family), series_(std::move(series)), text_(text), order_(family.description().labels.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const std::vector<std::string>& labels = family.description().labels;
    std::ranges::sort(order_, {}, [&](std::size_t i) -> const std::string& { return labels[i]; });
  }

  void Write() {
    const MetricDescription& description = family_.description();
    text_.append("# HELP ").append(description.name).append(" ");
    AppendEscaped(text_, description.help, false);
    text_.append("\n# TYPE ").append(description.name).append(" ").append(TypeName(family_.type())).append("\n");
    std::ranges::sort(series_, [&](const MetricSeries& a, const MetricSeries& b) {
      for (const std::size_t i : order_) {
        if (a.label_values[i] != b.label_values[i]) return a.label_values[i] < b.label_values[i];
      }
      return false;
    });
    for (const MetricSeries& series : series_) {
      if (family_.type() == MetricType::kHistogram) {
        WriteHistogram(series);
      } else {
        WriteLine("", series, "", FormatNumber(series.value));
      }
    }
  }

 private:
  void WriteHistogram(const MetricSeries& series) {
    const std::vector<double>& bounds = family_.description().buckets;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < series.counts.size(); ++i) {
      count += series.counts[i];
      WriteLine("_bucket", series, i < bounds.size() ? FormatNumber(bounds[i]) : "+Inf", std::to_string(count));
    }
    WriteLine("_sum", series, "", FormatNumber(series.sum));
    WriteLine("_count", series, "", std::to_string(count));
  }

  // The label `le` comes last, as in Go.
  void WriteLine(std::string_view suffix, const MetricSeries& series, std::string_view le, std::string_view value) {
    text_.append(family_.description().name).append(suffix);
    char separator = '{';
    const auto add = [&](std::string_view label, std::string_view label_value) {
      text_ += separator;
      text_.append(label).append("=\"");
      AppendEscaped(text_, label_value, true);
      text_ += '"';
      separator = ',';
    };
    for (const std::size_t i : order_) add(family_.description().labels[i], series.label_values[i]);
    if (!le.empty()) add("le", le);
    if (separator == ',') text_ += '}';
    text_.append(" ").append(value).append("\n");
  }

  const MetricFamily& family_;
  std::vector<MetricSeries> series_;
  std::string& text_;
  std::vector<std::size_t> order_;  // of the labels, by name
};

}  // namespace

std::string FormatNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 512> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  const std::string scientific(text.data(), end.ptr);
  // The limits are those of C's %g. std::chars_format::general leaves the choice to the implementation.
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= 6) return scientific;
  const auto fixed = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  return std::string(text.data(), fixed.ptr);
}

std::string WriteText(MetricRegistry& registry, const MetricView& view) {
  std::string text;
  for (const MetricFamily* family : registry.Read()) {
    if (view.Shows(*family)) FamilyWriter(*family, view.Series(*family), text).Write();
  }
  return text;
}

}  // namespace berth::metrics
