// Model: an ONNX file in memory: its main Graph, opsets, functions, metadata. Load -> look or rewrite -> save.
//
// Weights are not copied: the file is memory-mapped, its protobuf is walked once, and every large raw_data field (and
// every external-data range) becomes a Tensor over the mapping. The rest, usually under 1 % of the bytes, is parsed by
// protobuf. Saving splices the weights back. So files over protobuf's 2 GB limit work, and peak memory is small.
//
// Safety: external-data paths must stay inside the model's folder (no absolute path, "..", or symlink out of it);
// offsets and lengths must lie in the file. The bytes of a model are untrusted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "model/graph.h"

namespace hone::model {

struct SaveOptions {
  enum class Weights {
    kAuto,  // like the file it came from; inline when new; external when the whole would pass 2 GB
    kInline,
    kExternal,  // one file `<name>.data` beside the model, tensors of >= 1 KiB, offsets aligned to 4096
  };
  Weights weights = Weights::kAuto;
  // When the source has external data that is unchanged and in the same folder as the target, refer to it instead of
  // writing it again.
  bool share_unchanged = true;
};

class Model {
 public:
  // Reads and validates the structure (not yet the ONNX checker): bad_input errors name file and node.
  static Result<Model> load(const fs::path& path);
  // The same from a file's bytes; external data is looked for beside `path`, which need not exist.
  static Result<Model> from_bytes(std::string bytes, const fs::path& path = {});
  // A model in ONNX's text syntax (onnx/defs/parser.h): for tests, and as the seed of generated graphs.
  static Result<Model> from_text(std::string_view onnx_text);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();
  // Shares tensors, copies the graph.
  Model clone() const;

  Graph& graph();
  const Graph& graph() const;
  const fs::path& path() const;  // where it was loaded from; empty for a new one
  int64_t ir_version() const;
  int64_t opset(std::string_view domain = "") const;
  std::string producer() const;  // "pytorch 2.1.0"
  std::map<std::string, std::string> metadata() const;
  std::vector<std::string> function_names() const;  // "domain:name"
  uint64_t weight_bytes() const;

  // ONNX checker (onnx::checker::check_model, weights' bytes excepted): an Error with its first complaint.
  Status check() const;
  // ONNX shape and type inference with data propagation; fills the Graph's types. Unknown ops are skipped. Never fails
  // a model that has no contradiction; a contradiction (also with a type the file declares) is an Error.
  Status infer_shapes();
  // Sets the dims of graph inputs ("--shape"); an unknown name, wrong rank or contradiction with a fixed dim is an
  // Error. Same symbol in several inputs must get the same number. Clears inferred types and infers again.
  Status freeze_shapes(const std::map<std::string, std::vector<int64_t>>& shapes);
  // Inlines FunctionProto calls.
  Status inline_functions();
  // Raises the ONNX opset by the version converter (weights stay where they are).
  Status convert_opset(int64_t version);

  // Writes to temporary names, syncs, renames. Returns the files written (model first).
  // When it fails, no new file is left and old files are as they were.
  Result<std::vector<fs::path>> save(const fs::path& path, const SaveOptions& options = {}) const;

  // The whole as one ONNX file's bytes, weights inline; unsupported over protobuf's 2 GB.
  Result<std::string> to_bytes() const;

  // SHA-256 over the canonical content: graph structure, attributes, types, weights; not doc strings, node names
  // or where weights are stored. Two models with the same fingerprint compute the same function.
  std::string fingerprint() const;
  // The graph in ONNX text form (weights elided above `limit` elements), for goldens and --verbose.
  std::string to_text(size_t weight_limit = 16) const;

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone::model
