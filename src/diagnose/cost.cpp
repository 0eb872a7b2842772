// The cost rules, and the table of operators.def. SPDX-License-Identifier: Apache-2.0
#include "diagnose/cost.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace hone::diagnose {

double Operand::elements() const {
  double count = 1;
  for (int64_t dim : dims) count *= static_cast<double>(dim);
  return count;
}

double Operand::bytes() const { return elements() * model::dtype_bits(dtype) / 8; }

std::string_view to_text(OperatorClass c) {
  switch (c) {
    case OperatorClass::kMatMul:
      return "MatMul";
    case OperatorClass::kConv:
      return "Conv";
    case OperatorClass::kAttention:
      return "Attention";
    case OperatorClass::kRecurrent:
      return "Recurrent";
    case OperatorClass::kNorm:
      return "Norm";
    case OperatorClass::kElementwise:
      return "Elementwise";
    case OperatorClass::kReduction:
      return "Reduction";
    case OperatorClass::kDataMovement:
      return "DataMovement";
    case OperatorClass::kQuantize:
      return "Quantize";
    case OperatorClass::kOther:
      break;
  }
  return "Other";
}

namespace {

using Rule = double (*)(const Invocation&, double factor);  // FLOPs; -1 not known

constexpr double kUnknown = -1;

double unknown(const Invocation&, double) { return kUnknown; }
double none(const Invocation&, double) { return 0; }

double elementwise(const Invocation& op, double factor) {
  const Operand* out = op.output(0);
  if (out == nullptr) return kUnknown;
  return factor * out->elements();
}

double reduction(const Invocation& op, double factor) {
  const Operand* in = op.input(0);
  return in == nullptr ? kUnknown : factor * in->elements();
}

double pool(const Invocation& op, double factor) {
  const Operand* out = op.output(0);
  if (out == nullptr || op.node == nullptr) return kUnknown;
  const auto kernel = op.node->attribute_ints("kernel_shape");
  if (!kernel) return kUnknown;
  double window = 1;
  for (int64_t size : *kernel) window *= static_cast<double>(size);
  return factor * window * out->elements();
}

// Outputs x inner dimension, which is the left operand's last one (last but one when it is transposed).
double matmul(const Invocation& op, double factor) {
  const Operand *a = op.input(0), *out = op.output(0);
  if (a == nullptr || out == nullptr || a->rank() == 0) return kUnknown;
  const bool transposed = a->rank() >= 2 && op.node != nullptr && op.node->attribute_int("transA", 0) != 0;
  return factor * out->elements() * static_cast<double>(transposed ? a->dims[a->rank() - 2] : a->dims.back());
}

// Every output element takes one filter's worth of multiply-adds. Filters are [M, C/group, k...]; OpenVINO's grouped
// ones [G, M/G, C/G, k...], of one rank more than the data. Dilation and stride don't change the count.
double convolution(const Operand* weight, const Operand* out, double factor) {
  if (weight == nullptr || out == nullptr || weight->rank() < 3) return kUnknown;
  double filters = static_cast<double>(weight->dims[0]);
  if (weight->rank() == out->rank() + 1) filters *= static_cast<double>(weight->dims[1]);
  return filters > 0 ? factor * out->elements() * weight->elements() / filters : 0;
}

double conv(const Invocation& op, double factor) { return convolution(op.input(1), op.output(0), factor); }

double qlinear_conv(const Invocation& op, double factor) { return convolution(op.input(3), op.output(0), factor); }

// Every input element is spread over one filter's worth of outputs: filters are [C, M/group, k...].
double conv_transpose(const Invocation& op, double factor) { return convolution(op.input(1), op.input(0), factor); }

// X is [T, B, I], W [D, gates*H, I], R [D, gates*H, H]: both matrices are used for each step and batch entry.
double recurrent(const Invocation& op, double factor) {
  const Operand *x = op.input(0), *w = op.input(1), *r = op.input(2);
  if (x == nullptr || w == nullptr || r == nullptr || x->rank() != 3) return kUnknown;
  return factor * static_cast<double>(x->dims[0] * x->dims[1]) * (w->elements() + r->elements());
}

struct Sequence {
  double batch_heads_size = 0, length = 0;  // batch x hidden size, tokens
};

// [B, S, hidden] or [B, heads, S, head size].
Sequence sequence_of(const Operand& o) {
  if (o.rank() == 3) return {static_cast<double>(o.dims[0] * o.dims[2]), static_cast<double>(o.dims[1])};
  return {static_cast<double>(o.dims[0] * o.dims[1] * o.dims[3]), static_cast<double>(o.dims[2])};
}

// QK' and PV: 2 x 2 x S x T x hidden. The past makes T longer: com.microsoft::GroupQueryAttention has it as input 3.
// com.microsoft::Attention (second input a matrix of weights) also makes Q, K and V.
double attention(const Invocation& op, double factor) {
  const Operand *q = op.input(0), *k = op.input(1);
  if (q == nullptr || (q->rank() != 3 && q->rank() != 4)) return kUnknown;
  const Sequence query = sequence_of(*q);
  if (k != nullptr && k->rank() == 2 && q->rank() == 3) {
    const double projection =
        static_cast<double>(q->dims[0] * q->dims[1]) * static_cast<double>(k->dims[0] * k->dims[1]);
    const double hidden = static_cast<double>(q->dims[0]) * static_cast<double>(k->dims[1]) / 3;
    return factor * (projection + 2 * query.length * query.length * hidden);
  }
  if (k == nullptr || (k->rank() != 3 && k->rank() != 4)) return kUnknown;
  double keys = sequence_of(*k).length;
  if (op.type == "GroupQueryAttention" && op.input(3) != nullptr && op.input(3)->rank() == 4)
    keys += static_cast<double>(op.input(3)->dims[2]);
  return factor * 2 * query.length * keys * query.batch_heads_size;
}

// How many bytes move.
enum class Traffic { kAll, kPicked, kNone, kOutputs, kUnknown };

struct Row {
  OperatorClass klass;
  Rule rule;
  Traffic traffic;
  double factor;
  std::string_view onnx;
};

// Rules that share their FLOPs and differ in their traffic.
struct RuleRow {
  Rule rule;
  Traffic traffic;
};
namespace rules {
constexpr RuleRow unknown{diagnose::unknown, Traffic::kUnknown};
constexpr RuleRow elementwise{diagnose::elementwise, Traffic::kAll};
constexpr RuleRow fused_elementwise{diagnose::unknown, Traffic::kAll};
constexpr RuleRow reduction{diagnose::reduction, Traffic::kAll};
constexpr RuleRow pool{diagnose::pool, Traffic::kAll};
constexpr RuleRow matmul{diagnose::matmul, Traffic::kAll};
constexpr RuleRow conv{diagnose::conv, Traffic::kAll};
constexpr RuleRow qlinear_conv{diagnose::qlinear_conv, Traffic::kAll};
constexpr RuleRow conv_transpose{diagnose::conv_transpose, Traffic::kAll};
constexpr RuleRow attention{diagnose::attention, Traffic::kAll};
constexpr RuleRow recurrent{diagnose::recurrent, Traffic::kAll};
constexpr RuleRow copy{none, Traffic::kAll};
constexpr RuleRow pick{none, Traffic::kPicked};
constexpr RuleRow view{none, Traffic::kNone};
constexpr RuleRow fill{none, Traffic::kOutputs};
}  // namespace rules

const std::unordered_map<std::string_view, Row>& table() {
  static const std::unordered_map<std::string_view, Row> rows = {
#define HONE_OPERATOR(name, of_class, cost, times, stands_for) \
  {name, {OperatorClass::of_class, rules::cost.rule, rules::cost.traffic, times, stands_for}},
#include "diagnose/operators.def"
#undef HONE_OPERATOR
  };
  return rows;
}

const Row* row_of(std::string_view type) {
  const auto found = table().find(type);
  return found == table().end() ? nullptr : &found->second;
}

double sum_bytes(const std::vector<Operand>& operands) {
  double sum = 0;
  for (const Operand& operand : operands) {
    if (!operand.present) continue;
    if (!operand.known) return kUnknown;
    sum += operand.bytes();
  }
  return sum;
}

void add_bytes(const Invocation& op, Traffic traffic, Cost& cost) {
  if (op.outputs.empty()) return;  // nothing is known about this call
  const double in = sum_bytes(op.inputs), out = sum_bytes(op.outputs);
  if (traffic == Traffic::kNone) cost.bytes = 0;
  if (traffic == Traffic::kOutputs) cost.bytes = out;
  if (traffic == Traffic::kPicked && out >= 0) {
    cost.bytes = 2 * out;  // what is written was read; indices are small beside it
    if (!op.inputs.empty() && op.inputs[0].constant) cost.weight_bytes = out;
  }
  if (traffic != Traffic::kAll || in < 0 || out < 0) return;
  cost.bytes = in + out;
  for (const Operand& input : op.inputs)
    if (input.constant) cost.weight_bytes += input.bytes();
}

}  // namespace

OperatorClass class_of(std::string_view type) {
  const Row* row = row_of(type);
  return row == nullptr ? OperatorClass::kOther : row->klass;
}

std::string_view onnx_type(std::string_view type) {
  const Row* row = row_of(type);
  return row == nullptr || row->onnx.empty() ? type : row->onnx;
}

Cost cost_of(const Invocation& op) {
  Cost cost;
  const Row* row = row_of(op.type);
  if (row == nullptr) return cost;
  cost.flops = row->rule(op, row->factor);
  add_bytes(op, row->traffic, cost);
  return cost;
}

}  // namespace hone::diagnose
