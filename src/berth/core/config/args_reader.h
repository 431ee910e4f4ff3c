// SPDX-License-Identifier: Apache-2.0
// Implements framework::PluginArgs for a value in a configuration. Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/core/config/reader.h"
#include "berth/framework/plugin_args.h"

namespace berth::config {

class ArgsReader final : public framework::PluginArgs {
 public:
  // `value` and `errors` must outlive it. Its destructor reports unknown fields.
  ArgsReader(const codec::json::value& value, std::string path, FieldErrors& errors)
      : reader_(value, std::move(path), errors) {}

  using PluginArgs::Read;
  void Read(std::string_view field, std::string& out) override {
    Note(field, [&] { reader_.Read(field, out); });
  }
  void Read(std::string_view field, bool& out) override {
    Note(field, [&] { reader_.Read(field, out); });
  }
  void Read(std::string_view field, double& out) override {
    Note(field, [&] { reader_.Read(field, out); });
  }
  void Read(std::string_view field, Duration& out) override {
    Note(field, [&] { reader_.Read(field, out); });
  }
  void Read(std::string_view field, std::vector<std::string>& out) override;
  void Read(std::string_view field, StringsByKey& out) override;
  void ReadInRange(std::string_view field, std::int64_t& out, std::int64_t min, std::int64_t max) override;
  void Object(std::string_view field, const Visit& visit) override;
  void Objects(std::string_view field, const Visit& visit) override;
  bool Has(std::string_view field) override { return reader_.Find(field) != nullptr; }
  bool IsBad(std::string_view field) const override;
  bool IsBad() const override { return reader_.errors().count() > 0; }
  void Required(std::string_view field) override;
  void Invalid(std::string_view field, std::string_view message) override;

 private:
  // Records the field if `read` reports an error.
  template <typename ReadOne>
  void Note(std::string_view field, ReadOne read) {
    const std::size_t before = reader_.errors().count();
    read();
    if (reader_.errors().count() > before) bad_.emplace_back(field);
  }

  mutable ObjectReader reader_;
  std::vector<std::string> bad_;
};

}  // namespace berth::config
