#!/usr/bin/env python3
"""Makes the models of bad_input.sh and odd_models.sh. usage: make.py (needs the onnx package; writes beside itself)"""
import pathlib

import onnx
from onnx import TensorProto as T
from onnx import helper as h

here = pathlib.Path(__file__).resolve().parent


def save(name, nodes, inputs, outputs, domains=()):
    opsets = [h.make_opsetid("", 17)] + [h.make_opsetid(d, 1) for d in domains]
    model = h.make_model(h.make_graph(nodes, name, inputs, outputs), opset_imports=opsets, ir_version=8)
    (here / f"{name}.onnx").write_bytes(model.SerializeToString())


def tensor(name, dims, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, dims)


def value(name, type_proto):
    return h.make_value_info(name, type_proto)


floats = h.make_tensor_type_proto(T.FLOAT, [2])
constant = h.make_node("Constant", [], ["y"], value=h.make_tensor("v", T.FLOAT, [2], [1, 2]))
save("no_inputs", [constant], [], [tensor("y", [2])])
save("no_nodes", [], [tensor("x", [1, 4])], [tensor("x", [1, 4])])
save("refused", [h.make_node("Nothing", ["x"], ["y"], domain="com.nobody")], [tensor("x", [1, 4])],
     [tensor("y", [1, 4])], ["com.nobody"])
save("strings", [h.make_node("Identity", ["x"], ["y"])], [tensor("x", [2], T.STRING)], [tensor("y", [2], T.STRING)])
save("sequence", [h.make_node("SequenceLength", ["s"], ["n"])], [value("s", h.make_sequence_type_proto(floats))],
     [tensor("n", [], T.INT64)])
save("optional", [h.make_node("OptionalHasElement", ["o"], ["b"])], [value("o", h.make_optional_type_proto(floats))],
     [tensor("b", [], T.BOOL)])
save("zero_size", [h.make_node("Relu", ["x"], ["y"])], [tensor("x", [0, 4])], [tensor("y", [0, 4])])
save("dynamic_batch", [h.make_node("Relu", ["x"], ["y"])], [tensor("x", ["batch", 4])], [tensor("y", ["batch", 4])])
save("nan", [h.make_node("Log", ["x"], ["y"])], [tensor("x", [1, 4])], [tensor("y", [1, 4])])
save("two_inputs", [h.make_node("Add", ["a", "b"], ["y"])], [tensor("a", [1, 4]), tensor("b", [1, 4])],
     [tensor("y", [1, 4])])
