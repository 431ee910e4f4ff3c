// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/snapshot_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "berth/codec/json.h"
#include "berth/whatif/anonymizer.h"
#include "berth/whatif/zstd_file.h"

namespace berth::whatif {
namespace {

using simdjson::dom::element;
namespace json = codec::json;

constexpr std::string_view kFormat = "berth-snapshot";
constexpr std::size_t kProgressObjects = 1'000;  // between two calls of `progress`

std::string BerthVersion() {
  const std::string agent = client::DefaultUserAgent();  // "berth/0.1.0"
  return agent.substr(agent.find('/') + 1);
}

std::string Size(std::uint64_t bytes) {
  constexpr std::uint64_t kKibi = 1024;
  if (bytes < kKibi * kKibi) return std::to_string((bytes + kKibi - 1) / kKibi) + " KiB";
  const std::uint64_t tenths = bytes * 10 / (kKibi * kKibi);
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " MiB";
}

}  // namespace

std::string ToText(const SnapshotContents& contents) {
  std::size_t others = 0;
  for (std::size_t kind = 0; kind < kKindCount; ++kind)
    others += kind == kNodes || kind == kPods ? 0 : contents.counts.at(kind);
  const std::string& version = contents.kubernetes_version;
  return std::to_string(contents.counts.at(kNodes)) + " nodes, " + std::to_string(contents.counts.at(kPods)) +
         " pods, " + std::to_string(others) + " other objects, Kubernetes " + (version.empty() ? "unknown" : version) +
         ", read " + FormatRfc3339(contents.read_at) + ", " + Size(contents.bytes) +
         (contents.is_anonymous ? ", anonymous" : "");
}

std::vector<std::string> AnnotationsThatPluginsRead() {
  return {"berth.dev/*",
          "cluster-autoscaler.kubernetes.io/safe-to-evict",
          "descheduler.alpha.kubernetes.io/*",
          "hightower.com/cost",
          "karpenter.sh/do-not-disrupt",
          "kubernetes.io/config.mirror",
          "kubernetes.io/config.source",
          "pv.kubernetes.io/bind-completed",
          "pv.kubernetes.io/bound-by-controller",
          "resource.kubernetes.io/extended-resource-claim",
          "storage.alpha.kubernetes.io/migrated-plugins",
          "volume.beta.kubernetes.io/storage-class",
          "volume.kubernetes.io/selected-node"};
}

// --- Writing ---------------------------------------------------------------------------------------------------------

SnapshotWriter::SnapshotWriter(SnapshotWriteOptions options, std::unique_ptr<ZstdFileWriter> file)
    : options_(std::move(options)), file_(std::move(file)) {
  api::PruneOptions prune;
  prune.annotations = AnnotationsThatPluginsRead();
  prune.annotations.insert(prune.annotations.end(), options_.annotations.begin(), options_.annotations.end());
  for (std::size_t kind = 0; kind < kKindCount; ++kind) {
    const std::string_view name = KindInfo(kind).name;
    if (options_.anonymizer != nullptr) {
      prune.rewrite_of = [this, name](std::string_view path) { return options_.anonymizer->RewriteOf(name, path); };
    }
    pruners_.emplace_back(name, prune);
  }
}

SnapshotWriter::~SnapshotWriter() = default;

Expected<std::unique_ptr<SnapshotWriter>> SnapshotWriter::Create(SnapshotWriteOptions options) {
  BERTH_ASSIGN_OR_RETURN(auto file, ZstdFileWriter::Create(options.path, options.overwrites));
  std::unique_ptr<SnapshotWriter> writer(new SnapshotWriter(std::move(options), std::move(file)));
  writer->line_ =
      codec::WriteJson(json::object{{"format", kFormat}, {"version", kSnapshotVersion}, {"berth", BerthVersion()}});
  BERTH_RETURN_IF_ERROR(writer->WriteLine());
  return writer;
}

Expected<void> SnapshotWriter::WriteLine() {
  line_ += '\n';
  return file_->Write(line_);
}

Expected<void> SnapshotWriter::Take(std::size_t kind, const element& object) {
  line_.assign(R"({"kind":")").append(KindInfo(kind).name).append(R"(","object":)");
  pruners_.at(kind).Append(object, line_);
  line_ += '}';
  ++contents_.counts.at(kind);
  return WriteLine();
}

Expected<void> SnapshotWriter::RestartList(std::size_t kind) {
  contents_.counts.at(kind) = 0;
  line_.assign(R"({"anew":")").append(KindInfo(kind).name).append(R"("})");
  return WriteLine();
}

Expected<void> SnapshotWriter::Finish(const ClusterState& state) {
  json::object counts;
  for (std::size_t kind = 0; kind < kKindCount; ++kind) counts[KindInfo(kind).name] = contents_.counts[kind];
  json::array left_out;
  for (const std::string& line : state.left_out)
    left_out.emplace_back(options_.anonymizer == nullptr ? line : options_.anonymizer->LeftOut(line));
  json::object end;
  end["kubernetes"] = state.kubernetes_version;
  end["source"] = options_.anonymizer == nullptr ? state.source : "";
  end["readAt"] = FormatRfc3339(state.read_at);
  end["leftOut"] = std::move(left_out);
  end["counts"] = std::move(counts);
  line_ = codec::WriteJson(json::object{{"end", std::move(end)}});
  BERTH_RETURN_IF_ERROR(WriteLine());
  BERTH_RETURN_IF_ERROR(file_->Finish());
  contents_.kubernetes_version = state.kubernetes_version;
  contents_.read_at = state.read_at;
  contents_.bytes = file_->bytes_written();
  contents_.is_anonymous = options_.anonymizer != nullptr;
  return {};
}

// --- Reading ---------------------------------------------------------------------------------------------------------

Expected<void> SnapshotParser::Take(std::string_view line) {
  const auto parsed = reader_.Parse(line);
  if (!has_header_) {
    if (!parsed.ok()) return InvalidError("is no snapshot of berth: its first line is no JSON");
    return TakeHeader(*parsed);
  }
  if (has_end_) return InvalidError("is damaged: there is something behind its last line");
  if (!parsed.ok()) return InvalidError("is damaged: a line" + PositionText() + " is " + parsed.error().message);
  if (const auto name = codec::FindString(*parsed, "kind")) {
    const auto kind = KindNamed(*name);
    const auto object = codec::FindMember(*parsed, "object");
    if (!kind || !object)
      return InvalidError("is damaged: an object" + PositionText() + " is of no kind that there is");
    builder_.Add(*kind, *object);
    return {};
  }
  if (const auto name = codec::FindString(*parsed, "anew")) {
    const auto kind = KindNamed(*name);
    if (kind) builder_.Forget(*kind);
    return {};
  }
  if (const auto end = codec::FindMember(*parsed, "end")) return TakeEnd(*end);
  return InvalidError("is damaged: a line" + PositionText() + " is neither an object nor the last");
}

Expected<void> SnapshotParser::TakeHeader(element line) {
  if (codec::StringOrEmpty(line, "format") != kFormat) return InvalidError("is no snapshot of berth");
  const std::int64_t version = codec::FindInt(line, "version").value_or(0);
  if (version != kSnapshotVersion) {
    return InvalidError("has format " + std::to_string(version) + ", written by berth " +
                        std::string(codec::StringOrEmpty(line, "berth")) + "; this berth, " + BerthVersion() +
                        ", reads format " + std::to_string(kSnapshotVersion));
  }
  has_header_ = true;
  return {};
}

Expected<void> SnapshotParser::TakeEnd(element end) {
  has_end_ = true;
  end_.kubernetes_version = codec::StringOrEmpty(end, "kubernetes");
  end_.source = codec::StringOrEmpty(end, "source");
  const auto read_at = ParseRfc3339(codec::StringOrEmpty(end, "readAt"));
  if (!read_at) return InvalidError("is damaged: its last line says no time");
  end_.read_at = *read_at;
  if (const auto lines = codec::FindArray(end, "leftOut")) {
    for (const element line : *lines) {
      std::string_view text;
      if (line.get(text) == simdjson::SUCCESS) end_.left_out.emplace_back(text);
    }
  }
  const auto counts = codec::FindMember(end, "counts");
  for (std::size_t kind = 0; kind < kKindCount; ++kind) {
    const std::string_view name = KindInfo(kind).name;
    const std::int64_t expected = counts ? codec::FindInt(*counts, name).value_or(0) : 0;
    const auto got = static_cast<std::int64_t>(builder_.count(kind) + builder_.unreadable(kind));
    if (expected != got) {
      return InvalidError("is damaged: of the kind " + std::string(name) + " it has " + std::to_string(got) +
                          " objects and should have " + std::to_string(expected));
    }
  }
  return {};
}

// " behind 7 pods and 2 nodes": where in the file.
std::string SnapshotParser::PositionText() const {
  return " behind " + std::to_string(builder_.count(kNodes)) + " nodes and " + std::to_string(builder_.count(kPods)) +
         " pods";
}

Expected<ClusterState> SnapshotParser::Finish(SnapshotContents* contents) && {
  if (!has_header_) return InvalidError("is no snapshot of berth: it is empty");
  if (!has_end_) return InvalidError("is cut off" + PositionText());
  if (contents != nullptr) {
    for (std::size_t kind = 0; kind < kKindCount; ++kind)
      contents->counts[kind] = builder_.count(kind) + builder_.unreadable(kind);
    contents->kubernetes_version = end_.kubernetes_version;
    contents->read_at = end_.read_at;
    contents->is_anonymous = end_.source.empty();
  }
  ClusterState state = std::move(builder_).Take();
  // What this berth cannot read of what another has written comes behind what was left out then.
  end_.left_out.insert(end_.left_out.end(), state.left_out.begin(), state.left_out.end());
  state.left_out = std::move(end_.left_out);
  state.kubernetes_version = std::move(end_.kubernetes_version);
  state.source = std::move(end_.source);
  state.read_at = end_.read_at;
  return state;
}

Expected<ClusterState> ReadSnapshotBytes(std::string_view bytes, const std::string& name,
                                         std::uint64_t text_bytes_max) {
  SnapshotParser parser({.pod_details = true});
  const auto read = [&bytes](char* buffer, std::size_t size) -> Expected<std::size_t> {
    const std::size_t count = bytes.copy(buffer, size);
    bytes.remove_prefix(count);
    return count;
  };
  const auto take = [&parser](std::string_view line) { return parser.Take(line); };
  const auto taken = ReadZstdLines(read, {kSnapshotLineBytesMax, text_bytes_max}, take);
  if (!taken.ok()) return Error{taken.error().code, name + ": " + taken.error().message};
  auto state = std::move(parser).Finish();
  if (!state.ok()) return Error{state.error().code, name + ": " + state.error().message};
  state->source = name;
  return state;
}

Expected<ClusterState> ReadSnapshot(const std::string& path, const SnapshotReadOptions& options) {
  SnapshotParser parser({.pod_details = options.keeps_pod_details});
  std::size_t lines = 0;
  const auto take = [&](std::string_view line) {
    if (options.progress && ++lines % kProgressObjects == 0) options.progress("objects", lines);
    return parser.Take(line);
  };
  BERTH_RETURN_IF_ERROR(ReadZstdFile(path, {kSnapshotLineBytesMax, kSnapshotBytesMax}, take));
  auto state = std::move(parser).Finish(options.contents);
  if (!state.ok()) return Error{state.error().code, path + ": " + state.error().message};
  state->source = path;
  if (options.contents != nullptr) {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(path, error);
    if (!error) options.contents->bytes = bytes;
  }
  return state;
}

}  // namespace berth::whatif
