// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/records.h"

#include <array>
#include <cstdio>
#include <type_traits>
#include <utility>
#include <variant>

#include "berth/codec/json_reader.h"
#include "berth/shell/recording/outside_bodies.h"

namespace berth::recording {
namespace {

using scheduler::ExtenderDone;
using scheduler::Input;
using scheduler::OutsideDone;

// The kinds of objects whose answers are recorded.
constexpr std::array<std::string_view, 3> kKindsRead = {"PersistentVolume", "PersistentVolumeClaim", "ResourceClaim"};

enum class OutsideAnswer : std::uint8_t { kError, kNoData, kBody };

void PutOutside(ByteWriter& out, ValueWriter<ByteWriter>& values, const OutsideDone& input) {
  out.Number(input.source);
  if (!input.data.ok()) {
    out.Byte(static_cast<std::uint8_t>(OutsideAnswer::kError));
    values.Put(input.data.error());
  } else if (*input.data == nullptr) {
    out.Byte(static_cast<std::uint8_t>(OutsideAnswer::kNoData));
  } else {
    out.Byte(static_cast<std::uint8_t>(OutsideAnswer::kBody));
    out.Text(TakeBody(*input.data));
  }
}

OutsideDone GetOutside(ByteReader& in, const ParseOutside& parse) {
  const auto source = static_cast<std::size_t>(in.Number());
  switch (static_cast<OutsideAnswer>(in.Byte())) {
    case OutsideAnswer::kError: return {source, ValueReader(in).Get<Error>()};
    case OutsideAnswer::kNoData: return {source, std::shared_ptr<const framework::OutsideData>()};
    case OutsideAnswer::kBody: {
      const std::string body = in.Text();
      if (in.is_good()) return {source, parse(source, body)};
    }
  }
  in.Fail();
  return {source, std::shared_ptr<const framework::OutsideData>()};
}

// The alternatives of Input that are written field by field.
template <typename T>
inline constexpr bool kIsPlain = !std::is_same_v<T, OutsideDone> && !std::is_same_v<T, ExtenderDone>;

ExtenderDone GetExtenderDone(ByteReader& in) {
  const std::uint64_t operation = in.Number();
  if (in.Byte() == 0) return {operation, ValueReader(in).Get<Error>()};
  return {operation, ValueReader(in).Get<scheduler::ExtenderAnswer>()};
}

// A pod whose delta is longer than this becomes the base of the next pods: the workload may have a new template.
constexpr std::size_t kRebaseBytes = 256;

const api::Pod* BaseAt(const ObjectBases& bases, std::size_t slot, const api::Pod*) { return bases.PodAt(slot); }
const api::Node* BaseAt(const ObjectBases& bases, std::size_t slot, const api::Node*) { return bases.NodeAt(slot); }

// Writes the slot, the delta to the base in it or to an empty object, and whether the object becomes the base.
template <typename T>
void PutObject(ByteWriter& out, const AnnotationFilter& annotations, ObjectBases& bases,
               const std::shared_ptr<const T>& object) {
  static const T kEmpty;
  const std::size_t slot = ObjectBases::SlotOf(*object);
  out.Number(slot);
  const std::size_t begin = out.bytes().size();
  const T* const base = BaseAt(bases, slot, object.get());
  ValueWriter(out, annotations).PutDelta(*object, base != nullptr ? *base : kEmpty);
  const bool is_base = std::is_same_v<T, api::Node> || base == nullptr || out.bytes().size() - begin > kRebaseBytes;
  out.Byte(is_base ? 1 : 0);
  if (is_base) bases.Set(slot, object);
}

template <typename T>
std::shared_ptr<const T> GetObject(ByteReader& in, ObjectBases& bases) {
  const auto slot = static_cast<std::size_t>(in.Number());
  const T* const base = BaseAt(bases, slot, static_cast<const T*>(nullptr));
  auto object = base != nullptr ? std::make_shared<T>(*base) : std::make_shared<T>();
  ValueReader(in).GetDelta(*object);
  const bool is_base = in.Byte() != 0;
  if (slot != ObjectBases::SlotOf(*object)) in.Fail();
  if (in.is_good() && is_base) bases.Set(slot, object);
  return object;
}

// False for an ObjectSet without an object, which no informer sends.
bool HasObject(const Input& input) {
  if (const auto* object = std::get_if<scheduler::ObjectSet>(&input))
    return std::visit([](const auto& each) { return each != nullptr; }, object->object);
  return true;
}

const AnnotationFilter& All() {
  static const AnnotationFilter kAll;
  return kAll;
}

}  // namespace

AnswerFilter::AnswerFilter(const AnnotationFilter& annotations) : keeps_all_(annotations.keeps_all()) {
  api::PruneOptions options;
  for (std::string key : annotations.keys()) {
    if (key.ends_with('/')) key += '*';
    options.annotations.push_back(std::move(key));
  }
  for (const std::string_view kind : kKindsRead) pruners_.emplace(kind, api::JsonPruner(kind, options));
}

std::string AnswerFilter::Of(const std::string& body) const {
  if (keeps_all_ || body.empty()) return body;
  codec::JsonReader reader;
  const auto parsed = reader.Parse(body);
  if (!parsed.ok()) return body;
  std::string kept;
  if (const auto at = pruners_.find(codec::StringOrEmpty(*parsed, "kind")); at != pruners_.end())
    at->second.Append(*parsed, kept);
  return kept;
}

InputWriter::InputWriter(AnnotationFilters annotations)
    : annotations_(std::move(annotations)), answers_(annotations_.of_others) {}

void InputWriter::Put(ByteWriter& out, const Input& input) {
  ValueWriter values(out, annotations_.of_others);
  out.Byte(static_cast<std::uint8_t>(input.index()));
  std::visit(
      [&](const auto& each) {
        using T = std::remove_cvref_t<decltype(each)>;
        if constexpr (std::is_same_v<T, scheduler::PodSet>) {
          PutObject(out, annotations_.of_others, bases_, each.pod);
        } else if constexpr (std::is_same_v<T, scheduler::NodeSet>) {
          PutObject(out, annotations_.of_nodes, bases_, each.node);
        } else if constexpr (std::is_same_v<T, OutsideDone>) {
          PutOutside(out, values, each);
        } else if constexpr (std::is_same_v<T, ExtenderDone>) {
          out.Number(each.operation);
          out.Byte(each.answer.ok() ? 1 : 0);
          each.answer.ok() ? values.Put(*each.answer) : values.Put(each.answer.error());
        } else if constexpr (std::is_same_v<T, scheduler::WriteDone>) {
          values.Put(T{each.operation, each.error, answers_.Of(each.body)});
        } else {
          values.Put(each);
        }
      },
      input);
}

template <std::size_t kIndex>
Input InputReader::GetAlternative(std::size_t index, ByteReader& in, const ParseOutside& parse) {
  if constexpr (kIndex < std::variant_size_v<Input>) {
    if (index != kIndex) return GetAlternative<kIndex + 1>(index, in, parse);
    using T = std::variant_alternative_t<kIndex, Input>;
    if constexpr (std::is_same_v<T, scheduler::PodSet>) {
      return scheduler::PodSet{GetObject<api::Pod>(in, bases_)};
    } else if constexpr (std::is_same_v<T, scheduler::NodeSet>) {
      return scheduler::NodeSet{GetObject<api::Node>(in, bases_)};
    } else if constexpr (std::is_same_v<T, OutsideDone>) {
      return GetOutside(in, parse);
    } else if constexpr (std::is_same_v<T, ExtenderDone>) {
      return GetExtenderDone(in);
    } else {
      return ValueReader(in).Get<T>();
    }
  } else {
    in.Fail();
    return scheduler::NodeGone{};
  }
}

Input InputReader::Get(ByteReader& in, const ParseOutside& parse) {
  Input input = GetAlternative(in.Byte(), in, parse);
  if (in.is_good() && !HasObject(input)) in.Fail();
  return input;
}

std::uint32_t DigestOf(const scheduler::Decision& decision) {
  ByteHasher hash;
  hash.Number(decision.cycle);
  hash.Number(decision.seed);
  hash.Signed(decision.time.time_since_epoch().count());
  hash.Signed(decision.attempt);
  hash.Text(decision.pod_uid);
  hash.Text(decision.node_name);
  hash.Signed(decision.total);
  hash.Number(decision.node_count);
  hash.Number(decision.feasible_count);
  for (const auto& [status, count] : decision.refusals) hash.Number(count);
  hash.Text(decision.message);
  return hash.Short();
}

std::uint32_t DigestOf(const std::vector<scheduler::Output>& outputs) {
  ByteHasher hash;
  ValueWriter values(hash, All());
  for (const scheduler::Output& output : outputs) {
    hash.Byte(static_cast<std::uint8_t>(output.index()));
    std::visit(
        [&](const auto& each) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(each)>, scheduler::Work>) {
            hash.Number(each.operation);  // the function itself cannot be hashed
          } else {
            values.Put(each);
          }
        },
        output);
  }
  return hash.Short();
}

std::string Layout() {
  std::string layout = "1";
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    const auto add = [&layout]<typename T>(std::type_identity<T>) {
      if constexpr (kIsPlain<T>) AddLayout<T>(layout);
    };
    (add(std::type_identity<std::variant_alternative_t<kIndex, Input>>()), ...);
  }(std::make_index_sequence<std::variant_size_v<Input>>());
  AddLayout<scheduler::ExtenderAnswer>(layout);
  AddLayout<Error>(layout);
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(HashBytes(layout)));
  return text.data();
}

}  // namespace berth::recording
