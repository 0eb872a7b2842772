// ONNX's generated messages. Only the model room includes ONNX or protobuf headers, through this file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "onnx/onnx_pb.h"
