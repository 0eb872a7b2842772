#!/usr/bin/env bash
# An installed hone runs, and a project of its own finds it and links with it.
set -euo pipefail
"$HONE_CMAKE" --install "$HONE_BUILD_DIR" --prefix "$PWD/installed" >install.log
export HONE_FAKE_ENGINE=1
unset HONE_WORKER
./installed/bin/hone bench "$HONE_TEST_DATA/e2e/mlp.onnx" --data "$HONE_TEST_DATA/e2e/mlp_samples" --engine fake --quiet
./installed/bin/hone bench "$HONE_TEST_DATA/e2e/mlp.onnx" --data "$HONE_TEST_DATA/e2e/mlp_samples" --engine openvino --instances 1 --time 100ms --quiet
mkdir consumer
cat >consumer/CMakeLists.txt <<'P'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(hone REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE hone::model)
P
cat >consumer/main.cpp <<'P'
#include <cstdio>

#include "model/model.h"

int main(int, char** argv) {
  auto model = hone::model::Model::load(argv[1]);
  if (!model) return 1;
  std::printf("%zu nodes\n", model->graph().node_count());
}
P
"$HONE_CMAKE" -S consumer -B built -DCMAKE_PREFIX_PATH="$PWD/installed" -DCMAKE_BUILD_TYPE=Debug >configure.log
"$HONE_CMAKE" --build built >build.log
./built/consumer "$HONE_TEST_DATA/e2e/mlp.onnx" | grep -x '[1-9][0-9]* nodes'
