// Model: a hash of what a model computes.
//
// Values are numbered in the order of their first appearance (inputs, then nodes in topological order), so inner names,
// node names, doc strings and metadata have no part in it. Graph inputs and outputs are known by name.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/hash.h"
#include "model/model_state.h"

namespace hone::model {

namespace {

// Which of several functions of one name a node calls; the rest of what a node carries has no meaning.
std::string overload_of(const Node& node) {
  if (node.passthrough.empty()) return {};
  onnx::NodeProto rest;
  HONE_CHECK(rest.ParseFromString(node.passthrough), "{}", node.name);
  return rest.overload();
}

class Fingerprint {
 public:
  explicit Fingerprint(Sha256& hash) : hash_(hash) {}

  // Outer values of a subgraph have been numbered by the surrounding graph.
  void add_graph(const Graph& graph, const std::map<std::string, std::string>& outer) {
    std::map<std::string, std::string> names = outer;
    const auto known_as = [&](ValueId id) -> std::string {
      if (id == kNoValue) return "-";
      const Value& value = graph.value(id);
      if (const auto found = numbers_.find(&value); found != numbers_.end()) return found->second;
      std::string number;
      if (value.is_outer()) {
        const auto found = outer.find(value.name);
        number = found != outer.end() ? found->second : "outer:" + value.name;
      } else {
        number = fmt::format("%{}", next_++);
        if (value.initializer) {
          put("constant", number);
          add_tensor(*value.initializer);
        }
      }
      return numbers_[&value] = names[value.name] = number;
    };
    put("graph", fmt::format("{}", graph.inputs().size()));
    for (const ValueId id : graph.inputs()) put(known_as(id), graph.value(id).name, to_text(graph.value(id).type));
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      put("node", node.domain, node.op_type);
      for (const ValueId input : node.inputs) put("in", known_as(input));
      for (const ValueId captured : graph.captures(id)) known_as(captured);
      add_attributes(node, names);
      for (const ValueId output : node.outputs) put("out", known_as(output));
      put("overload", overload_of(node));
    }
    for (const ValueId id : graph.outputs()) put(known_as(id), graph.value(id).name, to_text(graph.value(id).type));
    put("end");
  }

 private:
  template <class... Text>
  void put(const Text&... text) {
    // Lengths before texts: no two sequences of texts look the same.
    ((hash_.add(fmt::format("{}:", std::string_view(text).size())), hash_.add(std::string_view(text))), ...);
  }

  void add_tensor(const Tensor& tensor) {
    put("tensor", dtype_name(tensor.dtype()), fmt::format("{}", fmt::join(tensor.dims(), ",")));
    if (tensor.dtype() == DType::kString) {
      for (const auto& text : tensor.strings()) put(text);
    } else {
      add_bytes(tensor);
    }
  }

  // Piece by piece: pages of a mapped file that have been hashed are given back, or the whole model would end up
  // resident.
  void add_bytes(const Tensor& tensor) {
    constexpr size_t kPiece = size_t{4} << 20;
    for (auto left = tensor.bytes(); !left.empty();) {
      const auto piece = left.first(std::min(kPiece, left.size()));
      hash_.add(piece);
      left = left.subspan(piece.size());
      if (tensor.file()) release_pages(piece);
    }
  }

  static void release_pages(std::span<const std::byte> bytes) {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
    const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
    // Only a hint, on a read-only mapping: what is read again comes from the page cache.
    if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }

  void add_attributes(const Node& node, const std::map<std::string, std::string>& names) {
    std::vector<const std::pair<std::string, Attribute>*> sorted;
    for (const auto& entry : node.attributes) sorted.push_back(&entry);
    std::ranges::sort(sorted, {}, [](const auto* entry) { return entry->first; });
    for (const auto* entry : sorted) {
      put("attribute", entry->first, fmt::format("{}", entry->second.index()));
      std::visit([&](const auto& value) { add_value(value, names); }, entry->second);
    }
  }

  using Names = std::map<std::string, std::string>;
  void add_value(int64_t value, const Names&) { put(fmt::format("{}", value)); }
  void add_value(float value, const Names&) { hash_.add(std::as_bytes(std::span(&value, 1))); }
  void add_value(const std::string& value, const Names&) { put(value); }
  void add_value(const std::vector<int64_t>& value, const Names&) { put(fmt::format("{}", fmt::join(value, ","))); }
  void add_value(const std::vector<float>& value, const Names&) {
    put(fmt::format("{}", value.size()));
    hash_.add(std::as_bytes(std::span(value)));
  }
  void add_value(const std::vector<std::string>& value, const Names&) {
    put(fmt::format("{}", value.size()));
    for (const auto& text : value) put(text);
  }
  void add_value(const Tensor& value, const Names&) { add_tensor(value); }
  void add_value(const std::shared_ptr<Graph>& value, const Names& names) { add_graph(*value, names); }
  void add_value(const OpaqueAttribute& value, const Names&) { put(value.proto); }

  Sha256& hash_;
  int64_t next_ = 0;
  std::map<const Value*, std::string> numbers_;
};

}  // namespace

std::string Model::fingerprint() const {
  Sha256 hash;
  hash.add("hone model 1\n");
  for (const auto& [domain, version] : state_->graph->imported_opsets())
    hash.add(fmt::format("{}={}\n", domain, version));
  Fingerprint(hash).add_graph(*state_->graph, {});
  for (onnx::FunctionProto function : state_->rest.functions()) {
    function.clear_doc_string();
    onnx::ModelProto holder;
    *holder.add_functions() = std::move(function);
    HONE_CHECK(visit_tensors(holder, [&](onnx::TensorProto& tensor) -> Status {
                 if (const auto payload = payload_of(tensor)) hash.add(state_->payloads.at(*payload).bytes);
                 forget_payload(tensor);
                 return {};
               }).has_value());
    hash.add(holder.SerializeAsString());
  }
  return hash.hex();
}

}  // namespace hone::model
