// Code that loads best/ and runs it: complete programs that really run, in Python and C++, for the engine that won.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "run/record.h"

namespace hone::report {

// python load.py INPUTS.npz [OUTPUTS.npz]
std::string python_snippet(const run::Record& record);
// load INPUT.bin... : one file of raw values per input, in the model's order; writes output_0.bin, output_1.bin, ...
std::string cpp_snippet(const run::Record& record);

// A string literal that means the same in Python and C++.
std::string literal(const std::string& text);

// How a setting of ONNX Runtime is written in both languages; nullopt for one that needs no code ("process.*").
struct SettingCode {
  std::string python, cpp;
};
std::optional<SettingCode> onnxruntime_setting_code(const std::string& id, const std::string& value);
std::optional<SettingCode> openvino_setting_code(const std::string& id, const std::string& value);
// "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 " when the settings ask for it; goes before the command. Safe in a shell line
// and in a comment.
std::string environment_prefix(const engine::Settings& settings);

}  // namespace hone::report
