// SPDX-License-Identifier: Apache-2.0
// A cluster's state in one file, compressed with zstd: what `berth snapshot` writes, and what all questions read in
// place of a cluster. Lines of JSON:
//
//   {"format":"berth-snapshot","version":1,"berth":"0.1.0"}
//   {"kind":"Node","object":{...}}        an object, reduced to what decoding reads (api/prune_json.h)
//   {"anew":"Pod"}                        what came of this kind so far is void: its list started over
//   {"end":{"kubernetes":"v1.36.3","source":"https://...","readAt":"...","leftOut":[...],"counts":{"Node":2,...}}}
//
// Bounded memory on both sides, beside the ClusterState that is read. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/prune_json.h"
#include "berth/base/expected.h"
#include "berth/codec/json_reader.h"
#include "berth/whatif/cluster_reader.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/state_builder.h"

namespace berth::whatif {

class Anonymizer;
class ZstdFileWriter;

inline constexpr int kSnapshotVersion = 1;
// Most bytes of one object; the API server stores none of this size.
inline constexpr std::size_t kSnapshotLineBytesMax = std::size_t{8} << 20;
// Most bytes of text in a file that is read: far beyond any cluster, so that a small file cannot fill a disk or memory.
inline constexpr std::uint64_t kSnapshotBytesMax = std::uint64_t{64} << 30;

// Keys of annotations that plugins read of any object; '*' as in api::PruneOptions.
std::vector<std::string> AnnotationsThatPluginsRead();

// What is in a file, the same for who has written it and who has read it.
struct SnapshotContents {
  std::array<std::size_t, kKindCount> counts{};  // by kind; finished pods too, and objects that this berth cannot read
  std::string kubernetes_version;                // empty: not known
  Time read_at{};
  std::uint64_t bytes = 0;  // of the file
  bool is_anonymous = false;
};
// "3 nodes, 2 pods, 14 other objects, Kubernetes v1.36.3, read 2026-03-01T10:00:00Z, 12 KiB", and ", anonymous".
std::string ToText(const SnapshotContents& contents);

struct SnapshotWriteOptions {
  std::string path;
  bool overwrites = false;               // else a file that is there stays, and Create() or Finish() fails
  std::vector<std::string> annotations;  // that are kept beside AnnotationsThatPluginsRead()
  const Anonymizer* anonymizer = nullptr;
};

class SnapshotWriter final : public ObjectSink {
 public:
  // The file gets its name in Finish(); until then it is PATH.tmp-PID, which goes away with the writer. Readable by its
  // owner alone. The anonymizer must outlive it.
  static Expected<std::unique_ptr<SnapshotWriter>> Create(SnapshotWriteOptions options);
  ~SnapshotWriter() override;

  Expected<void> Take(std::size_t kind, const simdjson::dom::element& object) override;
  Expected<void> RestartList(std::size_t kind) override;
  // Writes all of the state but its objects. Is called once; nothing may be taken afterwards.
  Expected<void> Finish(const ClusterState& state);

  // After Finish().
  const SnapshotContents& contents() const { return contents_; }

 private:
  SnapshotWriter(SnapshotWriteOptions options, std::unique_ptr<ZstdFileWriter> file);
  Expected<void> WriteLine();

  const SnapshotWriteOptions options_;
  std::unique_ptr<ZstdFileWriter> file_;
  std::vector<api::JsonPruner> pruners_;  // by kind
  SnapshotContents contents_;
  std::string line_;
};

// Makes a ClusterState of the lines of a snapshot.
class SnapshotParser {
 public:
  explicit SnapshotParser(StateKeeps keeps = {}) : builder_(keeps) {}

  // Takes one line, without its end.
  Expected<void> Take(std::string_view line);
  // Is called after the last line. `contents` gets all but `bytes`; null: nobody asks.
  Expected<ClusterState> Finish(SnapshotContents* contents = nullptr) &&;

 private:
  Expected<void> TakeHeader(simdjson::dom::element line);
  Expected<void> TakeEnd(simdjson::dom::element end);
  std::string PositionText() const;

  codec::JsonReader reader_;
  StateBuilder builder_;
  ClusterState end_;
  bool has_header_ = false;
  bool has_end_ = false;
};

// `progress` as in ClusterReadOptions, now and then.
struct SnapshotReadOptions {
  std::function<void(std::string_view what, std::size_t count)> progress;
  bool keeps_pod_details = false;        // see ClusterState::pod_details
  SnapshotContents* contents = nullptr;  // filled when all has been read; null: nobody asks
};
// The bytes of such a file, which errors call `name`; more text than `text_bytes_max` is one. With pod details.
Expected<ClusterState> ReadSnapshotBytes(std::string_view bytes, const std::string& name,
                                         std::uint64_t text_bytes_max);
// Each error is one line that names the file.
Expected<ClusterState> ReadSnapshot(const std::string& path, const SnapshotReadOptions& options = {});

}  // namespace berth::whatif
