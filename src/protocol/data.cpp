// SPDX-License-Identifier: Apache-2.0
#include "protocol/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/hash.h"
#include "protocol/inputs.h"
#include "protocol/reader.h"

namespace hone::protocol {

namespace {

Result<RawData> read_folder(const fs::path& folder, const std::vector<InputInfo>& inputs, size_t limit) {
  const auto npz = HONE_TRY(files_in(folder, ".npz"));
  const auto npy = HONE_TRY(files_in(folder, ".npy"));
  const auto pb = HONE_TRY(files_in(folder, ".pb"));
  const auto lines = HONE_TRY(files_in(folder, ".jsonl"));
  const int kinds = !npz.empty() + !npy.empty() + !pb.empty() + !lines.empty();
  if (kinds > 1)
    return fail(
        bad_input("folder mixes .npz, .npy, .pb or .jsonl files", folder.string(), "keep one kind of data in it"));
  if (!npz.empty()) return read_npz_files(npz, limit);
  if (!npy.empty()) return read_npy_folders({folder}, limit);
  if (!pb.empty()) return read_test_data_sets({folder}, inputs, limit);
  if (!lines.empty()) return read_json_lines(lines, inputs, limit);
  std::vector<fs::path> of_npy, of_pb;
  for (const auto& sub : HONE_TRY(folders_in(folder))) {
    if (!HONE_TRY(files_in(sub, ".npy")).empty()) of_npy.push_back(sub);
    if (!HONE_TRY(files_in(sub, ".pb")).empty()) of_pb.push_back(sub);
  }
  if (!of_npy.empty() && !of_pb.empty())
    return fail(bad_input("sub-folders mix .npy and .pb files", folder.string(), "keep one kind of data in it"));
  if (!of_npy.empty()) return read_npy_folders(of_npy, limit);
  if (!of_pb.empty()) return read_test_data_sets(of_pb, inputs, limit);
  return fail(bad_input("no samples in folder", folder.string(),
                        "put .npz, .npy, .jsonl or test_data_set_0/input_0.pb files into it"));
}

Result<RawData> read_one_file(const fs::path& file, const std::vector<InputInfo>& inputs, size_t limit) {
  std::string head;
  {
    const auto mapped = HONE_TRY(MappedFile::open(file));
    const auto bytes = mapped->bytes().first(std::min<size_t>(mapped->bytes().size(), 64));
    head.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  if (head.empty()) return fail(bad_input("data file is empty", file.string()));
  if (head.starts_with("PK")) return read_one_npz(file, inputs, limit);
  if (head.starts_with("\x93NUMPY")) return read_one_npy(file, inputs, limit);
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && head[first] == '{') return read_json_lines({file}, inputs, limit);
  return fail(bad_input("data file is neither .npz, .npy nor JSON lines", file.string(),
                        "pass a .npz, a .jsonl or a folder of samples"));
}

Dataset empty_sample(std::string source) {
  Dataset data;
  data.samples.emplace_back();
  data.source = std::move(source);
  data.notes = {"the model has no inputs: one empty sample"};
  return data;
}

void note_dims(Dataset& data) {
  const Shapes first = shapes_of(data);
  for (const auto& sample : data.samples)
    for (const auto& [name, tensor] : sample) {
      const auto it = first.find(name);
      if (it == first.end() || it->second == tensor.dims()) continue;
      add_note(data.notes, fmt::format("input '{}' has other dims in other samples", name));
    }
}

}  // namespace

std::string Dataset::sha256() const {
  Sha256 hash;
  for (const auto& sample : samples) {
    hash.add(fmt::format("sample {}\n", sample.size()));
    for (const auto& [name, tensor] : sample) {
      hash.add(fmt::format("{}:{} {} [{}]\n", name.size(), name, model::dtype_name(tensor.dtype()),
                           fmt::join(tensor.dims(), ",")));
      if (tensor.dtype() == model::DType::kString)
        for (const auto& text : tensor.strings()) hash.add(fmt::format("{}:", text.size())).add(text);
      else
        hash.add(tensor.bytes());
    }
  }
  return hash.hex();
}

Shapes shapes_of(const Dataset& data) {
  Shapes shapes;
  if (data.samples.empty()) return shapes;
  for (const auto& [name, tensor] : data.samples.front()) shapes[name] = tensor.dims();
  return shapes;
}

Result<Dataset> load_data(const fs::path& path, const model::Graph& graph, const Shapes& shapes, size_t limit) {
  const auto inputs = HONE_TRY(inputs_of(graph));
  HONE_TRY(check_shapes(inputs, shapes));
  if (inputs.empty()) return empty_sample(path.string());
  std::error_code code;
  const bool folder = fs::is_directory(path, code);
  if (!folder && !fs::exists(path, code)) return fail(bad_input("data does not exist", path.string()));
  RawData raw = folder ? HONE_TRY(read_folder(path, inputs, limit)) : HONE_TRY(read_one_file(path, inputs, limit));
  if (raw.samples.empty()) return fail(bad_input("no samples in data", path.string()));
  Dataset data;
  data.source = fmt::format("{} ({})", path.string(), raw.kind);
  data.notes = std::move(raw.notes);
  for (auto& sample : raw.samples) {
    data.samples.push_back(HONE_TRY(fit_sample(inputs, sample.arrays, shapes, sample.where, data.notes)));
    sample.arrays.clear();
  }
  note_dims(data);
  return data;
}

}  // namespace hone::protocol
