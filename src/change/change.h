// Change: one reversible optimization with a hypothesis (product.md). One file per change, one line in changes.def.
//
// propose() looks at the current best, its Model and its Diagnosis, and answers with proposals (each with the finding
// it answers, the predicted gain and its cost), or with a sentence why there is none. apply() makes the new
// Configuration; it writes only below the folder it is given and never touches the original.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "base/json.h"
#include "base/result.h"
#include "diagnose/diagnosis.h"
#include "engine/engine.h"
#include "model/model.h"

namespace hone::change {

enum class Kind { kSetting, kEngine, kGraph, kQuantize };
std::string_view to_text(Kind kind);

struct ChangeInfo {
  std::string id;  // "fuse-attention": the --only/--skip word, the folder, the word in reports
  Kind kind = Kind::kSetting;
  accuracy::Class accuracy = accuracy::Class::kExact;
  std::string title;                  // "before -> after" or what the setting does, one line
  std::vector<std::string> findings;  // ids it answers
};

struct Proposal {
  std::string change;                         // ChangeInfo::id
  std::map<std::string, std::string> params;  // "threads" -> "1"
  std::string hypothesis;                     // "one thread avoids 30 % of synchronisation ..."
  std::string finding;                        // id that motivates it; may be empty
  double predicted = 1.0;                     // expected speed-up of the whole model
  double upper_bound = 1.0;                   // at most this (from the diagnosis)
  double chance = 0.5;                        // that it is kept, from experience; the loop updates it
  double cost_seconds = 10;                   // of trying it
  accuracy::Class accuracy = accuracy::Class::kExact;
  // "fuse-attention", or "threads[threads=1]": identifies the proposal in the journal.
  std::string key() const;
  Json to_json() const;
  static Result<Proposal> from_json(const Json& value);
};

struct Context {
  const engine::Configuration& best;
  const model::Model& model;  // of `best`, types inferred
  const diagnose::Diagnosis& diagnosis;
  bool real_data = false;
  std::vector<std::string> engines;                    // available ids the user allows
  std::map<std::string, std::vector<int64_t>> shapes;  // the Protocol's input shapes
  fs::path original;                                   // the Run's own model, before any Change
  int threads = 0;                                     // the Protocol's: CPUs of the workers; 0 = all cores
};

struct Applied {
  engine::Configuration configuration;
  std::string summary;     // "12 nodes fused into 2 MultiHeadAttention"
  std::string export_log;  // what was done, per site; refusals with their sentence
  std::string patch;       // text diff of settings or graph
  int64_t nodes_before = -1, nodes_after = -1;
};

class Change {
 public:
  virtual ~Change() = default;
  virtual const ChangeInfo& info() const = 0;
  // Proposals on top of context.best; when empty, `why_not` gets a sentence.
  virtual std::vector<Proposal> propose(const Context& context, std::string* why_not) const = 0;
  // Makes the changed Configuration; new files go into `folder` (exists).
  virtual Result<Applied> apply(const Proposal& proposal, const Context& context, const fs::path& folder) const = 0;
};

// All changes, in the order of changes.def.
const std::vector<const Change*>& all_changes();
Result<const Change*> find_change(std::string_view id);

}  // namespace hone::change
