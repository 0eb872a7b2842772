// Names that engines give, and the nodes they mean. SPDX-License-Identifier: Apache-2.0
#include "diagnose/mapping.h"

#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

const std::string kConv =
    "agraph (float[1,1,4,4] x) => (float[1,1,4,4] y) <" + weight("w", {1, 1, 1, 1}) + ", " + weight("s", {1}) + R"(> {
  [conv_0] c = Conv(x, w)
  [bn_0] b = BatchNormalization(c, s, s, s, s)
  [relu_0] r = Relu(b)
  y = Add(r, x)
})";

struct Expected {
  std::string name, type, root;  // root "" = none
  size_t nodes;
};

TEST(Mapping, NamesOfOnnxRuntimeAndOpenVino) {
  const model::Model model = text_model(kConv);
  const NodeIndex index(model.graph());
  for (const Expected& e : {
           Expected{"conv_0", "Conv", "conv_0", 1},                       // unchanged
           Expected{"conv_0_nchwc", "Conv", "conv_0", 1},                 // blocked layout
           Expected{"bn_0_nchwc", "Conv", "conv_0", 2},                   // fused, named after the last
           Expected{"relu_0/ReluFusion/", "FusedConv", "conv_0", 2},      // fused, renamed
           Expected{"conv_0_token_17", "Conv", "conv_0", 1},              // made unique
           Expected{"Add_3", "Add", "Add -> y", 1},                       // no name: position in the file
           Expected{"y", "Add", "Add -> y", 1},                           // no name: output
           Expected{"conv_0\nbn_0\nrelu_0", "Convolution", "conv_0", 3},  // OpenVINO's fused node
           Expected{"relu_0", "QuickGelu", "", 1},                        // fused into what the model has not
           Expected{"ReorderInput", "ReorderInput", "", 0},               // the engine's own
           Expected{"", "", "", 0},
       }) {
    const Mapped mapped = index.find(e.name, e.type);
    EXPECT_EQ(mapped.root ? mapped.root.label() : "", e.root) << e.name;
    EXPECT_EQ(mapped.nodes.size(), e.nodes) << e.name;
  }
}

TEST(Mapping, OfNodesWithOneNameTheOneOfTheKernelsTypeIsMeant) {
  const model::Model model = text_model(R"(agraph (float[4] x) => (float[4] z) {
    [n] y = Relu(x)
    [n] z = Tanh(y)
  })");
  EXPECT_EQ(NodeIndex(model.graph()).find("n", "Tanh").root.node().op_type, "Tanh");
}

TEST(Mapping, NodesInsideBranchesAreFound) {
  const model::Model model = text_model(R"(agraph (bool c, float[4] x) => (float[4] y) {
    [if_0] y = If(c) <then_branch = g1 () => (float[4] t) { [inner_0] t = Relu(x) },
                      else_branch = g2 () => (float[4] e) { [inner_1] e = Tanh(x) }>
  })");
  const NodeIndex index(model.graph());
  EXPECT_EQ(index.nodes().size(), 3u);
  const Mapped mapped = index.find("inner_1", "Tanh");
  ASSERT_TRUE(mapped.root);
  EXPECT_NE(mapped.root.graph, &model.graph());
}

}  // namespace
}  // namespace hone::diagnose
