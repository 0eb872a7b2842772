// Roles: what an input is for, found by following it through the graph, so that synthetic values make sense to it.
//
// Example: input_ids -> Cast -> Gather(table [30522, 384], .) : token ids, integers below 30,522.
// Values are followed through operators that pass them on unchanged (Cast, Reshape, Slice, ...) or shifted by a
// constant, and into subgraphs. Evidence of the graph comes before the input's name, where both speak.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/graph.h"

namespace hone::protocol {

struct Role {
  enum class Kind {
    kFree,      // nothing is known: floats normal(0,1), integers 0 or 1
    kIndex,     // lowest .. limit-1: rows of a table
    kPosition,  // 0, 1, 2, ... along the last axis, below limit when that is known (> 0)
    kMask,      // `value` everywhere: nothing is masked out
    kLength,    // the length of the sequence
    kChoice,    // `value`: what the graph compares it with
    kTimestep,  // 0 .. 999: a diffusion step
    kImage,     // uniform in [0, 1]; bytes 0 .. 255
  };
  Kind kind = Kind::kFree;
  int64_t lowest = 0, limit = 0, value = 1;
  std::string why;  // a clause for the note: "rows of 'embeddings.weight'"
};

// Where an input of rank 4 has its sides, when it looks like an image: 1 or 3 channels, sides of at least 8 or open,
// and not named like a key/value cache.
struct ImageLayout {
  size_t height = 2, width = 3;
};
std::optional<ImageLayout> image_layout(const std::string& name, const model::Type& type);

Role role_of(const model::Graph& graph, model::ValueId input);

}  // namespace hone::protocol
