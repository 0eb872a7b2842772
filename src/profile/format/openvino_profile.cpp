// hone.openvino_profile/1: what the openvino engine writes (OpenVINO itself has no profile file): the nodes of the
// compiled model with their mean times, and the whole time of each inference the means are over.
//
//   {"schema": "hone.openvino_profile/1", "version": "2026.4.1",
//    "nodes": [{"name": "Multiply_8044", "type": "Convolution", "exec_type": "brgconv_avx512_f32", "mean_ns": 207150,
//               "original": ["conv2d.0", "batch_norm.0"],               names of the model's nodes it stands for
//               "inputs": [{"dtype": "float32", "dims": [1,3,224,224]}], "outputs": [...]}],
//    "iterations": [{"wall_ns": 4707000}, {"wall_ns": 4698000}]}
//
// Why means: OpenVINO's profiling info is the average over *all* inferences since the model was compiled, warm-up
// included (seen on 2026.4: the numbers of single inferences converge). The writer takes it after n1 warm-up and after
// n2 inferences: mean = (n2 * average2 - n1 * average1) / (n2 - n1). "mean_ns" 0 = did not run. "original", "inputs",
// "outputs", "dims" may be absent = not known.
//
// So the Profile has one step, the mean inference, its kernels laid one after the other in the order of the nodes (a
// stream of OpenVINO's CPU runs them so); it does not claim a timeline. Times are whole microseconds.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "profile/format.h"

namespace hone::profile {

namespace {

constexpr int64_t kLongestNs = 10'000'000'000'000;  // three hours: sums stay inside 64 bits
constexpr std::string_view kSchema = "hone.openvino_profile/1";

// [{"dtype": "float32", "dims": [1,3]}, ...] -> shapes "1x3,..." and dtypes "float32,...".
Status read_types(const Json& node, const char* key, std::string& shapes, std::string& dtypes) {
  shapes.clear();
  dtypes.clear();
  if (!node.contains(key)) return {};
  bool first = true;
  for (const Json& type : node.at(key)) {
    if (!first) shapes += ',', dtypes += ',';
    first = false;
    dtypes += HONE_TRY(json_field<std::string>(type, "dtype"));
    if (!type.contains("dims")) {
      shapes += '?';
      continue;
    }
    shapes += fmt::format("{}", fmt::join(HONE_TRY(json_field<std::vector<int64_t>>(type, "dims")), "x"));
  }
  return {};
}

// One node: the kernel of the mean inference.
Result<Kernel> read_node(const Json& node, Profile& profile) {
  Strings& strings = profile.strings;
  Kernel kernel;
  kernel.name = strings.intern(HONE_TRY(json_field<std::string>(node, "name")));
  kernel.type = strings.intern(HONE_TRY(json_field<std::string>(node, "type")));
  kernel.node = kernel.name;
  kernel.step = 0;
  kernel.duration_ns = HONE_TRY(json_field<int64_t>(node, "mean_ns"));
  if (kernel.duration_ns < 0 || kernel.duration_ns > kLongestNs)
    return fail(bad_input("a time is negative or over three hours"));
  if (node.contains("original")) {
    const auto names = HONE_TRY(json_field<std::vector<std::string>>(node, "original"));
    if (!names.empty()) kernel.node = strings.intern(fmt::format("{}", fmt::join(names, "\n")));
  }
  std::string shapes, dtypes;
  HONE_TRY(read_types(node, "inputs", shapes, dtypes));
  kernel.shapes = strings.intern(shapes);
  kernel.dtypes = strings.intern(dtypes);
  if (!dtypes.empty()) profile.add(Capability::kShapes);
  HONE_TRY(read_types(node, "outputs", shapes, dtypes));
  kernel.output_shapes = strings.intern(shapes);
  kernel.output_dtypes = strings.intern(dtypes);
  return kernel;
}

// The mean inference: at least as long as its nodes (rounding can make their sum a little longer).
Result<HostSpan> mean_step(const Json& iterations, int64_t nodes_ns, Profile& profile) {
  int64_t sum = 0, count = 0;
  for (const Json& iteration : iterations) {
    const auto wall = HONE_TRY(json_field<int64_t>(iteration, "wall_ns"));
    if (wall < 0 || wall > kLongestNs)
      return fail(bad_input(fmt::format("time of iteration {} is negative or over three hours", count)));
    sum += wall;
    ++count;
  }
  if (count == 0) return fail(bad_input("no iterations"));
  profile.notes.push_back(
      fmt::format("times are means over {} inferences: OpenVINO does not tell single ones apart", count));
  return HostSpan{0, std::max(sum / count, nodes_ns), profile.strings.intern("infer"), 0, 0};
}

Result<Profile> read_document(const Json& document) {
  for (const char* list : {"nodes", "iterations"})
    if (!document.contains(list) || !document[list].is_array())
      return fail(bad_input(fmt::format("no list \"{}\"", list)));
  Profile profile;
  int64_t at = 0;
  for (size_t i = 0; i < document["nodes"].size(); ++i) {
    auto kernel = read_node(document["nodes"][i], profile);
    if (!kernel) return fail(std::move(kernel).error().with(fmt::format("node {}", i)));
    if (kernel->duration_ns == 0) continue;
    kernel->start_ns = at;
    at += kernel->duration_ns;
    profile.kernels.push_back(*kernel);
  }
  if (profile.kernels.empty())
    return fail(bad_input("no kernel rows in the profile", {}, "profile at least one inference"));
  profile.steps.push_back(HONE_TRY(mean_step(document["iterations"], at, profile)));
  for (Capability c : {Capability::kSteps, Capability::kNodeNames}) profile.add(c);
  profile.resolution_ns = 1000;
  mark_nested(profile);
  return profile;
}

}  // namespace

Likelihood sniff_openvino_profile(const Input& input) {
  return input.head().find(fmt::format("\"{}\"", kSchema)) != std::string_view::npos ? Likelihood::kSure
                                                                                     : Likelihood::kNo;
}

Result<Profile> read_openvino_profile(const Input& input) {
  const std::string where = input.path.string();
  const Json document = HONE_TRY(parse_json(input.bytes, where));
  if (auto schema = json_field<std::string>(document, "schema"); !schema || *schema != kSchema)
    return fail(bad_input("not a document of schema " + std::string(kSchema), where));
  auto profile = read_document(document);
  if (profile) return profile;
  Error error = std::move(profile).error();
  error.where = where;
  return fail(std::move(error));
}

}  // namespace hone::profile
