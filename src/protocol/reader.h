// Readers: one per data format, each a function from files to raw samples (named arrays as the files have them).
// Whether the arrays fit the model is decided once, in inputs.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "model/tensor.h"
#include "protocol/inputs.h"

namespace hone::protocol {

struct RawSample {
  std::string where;  // file, or file and line
  model::NamedTensors arrays;
};

struct RawData {
  std::vector<RawSample> samples;
  std::string kind;  // "12 .npz files"
  std::vector<std::string> notes;
};

// In all: `limit` 0 = no limit.

// One .npz: one sample, or many along a leading axis (told by the rank the model's inputs have).
Result<RawData> read_one_npz(const fs::path& file, const std::vector<InputInfo>& inputs, size_t limit);
// One .npy for a model with one input, read like a .npz with that array.
Result<RawData> read_one_npy(const fs::path& file, const std::vector<InputInfo>& inputs, size_t limit);
Result<RawData> read_npz_files(const std::vector<fs::path>& files, size_t limit);
// Each folder is one sample of .npy files named after inputs.
Result<RawData> read_npy_folders(const std::vector<fs::path>& folders, size_t limit);
// Each folder holds input_0.pb, input_1.pb, ... as the ONNX backend tests have them.
Result<RawData> read_test_data_sets(const std::vector<fs::path>& folders, const std::vector<InputInfo>& inputs,
                                    size_t limit);
// JSON lines (ptq.md section 5): {"input": {name: nested list | {"b64", "dtype", "shape"}}, ...} per line.
Result<RawData> read_json_lines(const std::vector<fs::path>& files, const std::vector<InputInfo>& inputs, size_t limit);

// The regular files of a folder that end in `extension`, and its sub-folders, in natural order (2 before 10).
Result<std::vector<fs::path>> files_in(const fs::path& folder, std::string_view extension);
Result<std::vector<fs::path>> folders_in(const fs::path& folder);

}  // namespace hone::protocol
