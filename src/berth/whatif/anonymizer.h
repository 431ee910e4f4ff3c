// SPDX-License-Identifier: Apache-2.0
// Anonymizer: other words for the names, labels and images of a cluster, chosen so that decisions stay equal. A text is
// taken apart into words, which are runs of letters and digits, and what is between them. Each word becomes another of
// the same length and of the same characters (digits, lower case, with upper case): a permutation under a secret key,
// so that two words never become one, the same word becomes the same everywhere, what is made of two names still is
// (the claim POD-VOLUME), and what was short enough for a label still is. Without the key there is no way back.
//
// These stay as they are: keys of the domains of Kubernetes and of clouds, resources, drivers, attributes of devices
// and the expressions that read them, whole numbers in labels of nodes (Gt and Lt compare them), numbers, times and the
// words of the API. The order of names does not stay. Immutable; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/prune_json.h"

namespace berth::whatif {

struct AnonymizerKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

class Anonymizer {
 public:
  explicit Anonymizer(AnonymizerKey key);

  // A name, a label's value, an image ...
  std::string Text(std::string_view text) const;
  // The value of a node's label. Whole numbers stay as they are; everything else is rewritten as by Text().
  std::string NodeLabelValue(std::string_view text) const;
  // The key of a label, taint or annotation.
  std::string Key(std::string_view key) const;
  // The name of a resource: as it is, but for the name of a device class in it.
  std::string Resource(std::string_view name) const;
  // A line of ClusterState::left_out, without what it tells of objects and of who asked.
  std::string LeftOut(std::string_view line) const;

  // How the field of a kind at a path is rewritten (api::PruneOptions::rewrite_of).
  api::PruneOptions::Rewrite RewriteOf(std::string_view kind, std::string_view path) const;

  // Whether a rule says how the field is rewritten. A field without a rule is rewritten as a name.
  static bool IsDescribed(std::string_view kind, std::string_view path);

 private:
  // Characters of a word: "0123456789", those and lower case, all.
  struct Alphabet {
    std::string_view characters;
    std::array<std::uint8_t, 256> digit_of{};    // index of a character
    std::array<std::uint8_t, 64> permutation{};  // for words of one character
  };

  std::string Word(std::string_view word) const;
  void Permute(std::uint8_t* digits, std::size_t size, std::size_t alphabet) const;
  std::uint64_t Hash(std::string_view bytes) const;

  AnonymizerKey key_;
  std::array<Alphabet, 3> alphabets_;
};

}  // namespace berth::whatif
