// Data: the Samples a Run measures and checks with. From the user's files, or synthetic (seeded) when there are none.
//
// Formats, told apart by content and layout, not only by name:
//   a folder of .npz (one sample each, keys = input names) or of .npy named after inputs (one sample; with
//   sub-folders: one sample per sub-folder); one .npz whose arrays have the input's rank (one sample) or one more
//   (leading sample axis); ONNX test_data_set_N/input_K.pb (output_K.pb ignored); JSON lines (ptq.md section 5).
// dtype comes from the model's input: values are converted when that is lossless, else an Error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "model/model.h"
#include "model/tensor.h"

namespace hone::protocol {

struct Dataset {
  std::vector<model::NamedTensors> samples;  // each in the model's input order
  bool synthetic = false;
  std::string source;              // what the report says: "samples/ (12 .npz files)" or "synthetic, seed 42"
  std::vector<std::string> notes;  // how synthetic ranges were chosen, extra arrays that were ignored, ...
  std::string sha256() const;      // over names, dtypes, dims and bytes of all samples
};

using Shapes = std::map<std::string, std::vector<int64_t>>;

// Reads samples for the model's inputs (initializers that are also inputs may be absent). `shapes` are checked against
// the data. At most `limit` samples (0 = all). Errors name file and input.
Result<Dataset> load_data(const fs::path& path, const model::Graph& graph, const Shapes& shapes, size_t limit = 0);

// Makes `count` samples. Unknown dims: from `shapes`, else 1 for the first (batch) dim and a stated default for others
// (a note tells). Ranges: integer inputs that reach the indices of a Gather are < its table's rows; inputs named or
// used as masks are ones; lengths are the sequence length; floats are normal(0,1); images (rank 4, 1 or 3 channels)
// uniform in [0,1].
Result<Dataset> synthesize(const model::Graph& graph, const Shapes& shapes, size_t count, uint64_t seed);

// The dims every input has in the first sample.
Shapes shapes_of(const Dataset& data);

// .npz I/O (zip of .npy, stored or deflated; any byte order, C or Fortran order). Written stored. NaN, float16 and
// unicode strings round-trip; so do dtypes numpy has no word for, as unsigned integers with the name suffix
// "@bfloat16" (npy.h). The bytes are untrusted: damaged, lying or pickled arrays are errors that name file and array.
Result<model::NamedTensors> read_npz(const fs::path& path);
Status write_npz(const fs::path& path, const model::NamedTensors& tensors);
Result<model::Tensor> read_npy(const fs::path& path);

// A folder of sample_0000.npz, sample_0001.npz, ...: how samples go to workers and outputs come back from them.
std::string sample_file_name(size_t index);
// write_samples() leaves nothing of a longer set that was there before.
Status write_samples(const fs::path& folder, const std::vector<model::NamedTensors>& samples);
// The sample files of a folder in order; an Error when a number is missing in between.
Result<std::vector<fs::path>> sample_files(const fs::path& folder);
Result<std::vector<model::NamedTensors>> read_samples(const fs::path& folder, size_t limit = 0);

}  // namespace hone::protocol
