// load_save: what loading and saving one model costs: seconds of wall time and CPU for each step, and the peak of the
// process's resident memory beside the model's size.
//
//   load_save in.onnx out.onnx
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "model/model.h"

namespace {

using namespace hone;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Step>
auto timed(const char* name, Step step) {
  const int64_t start = steady_clock().now_ns();
  const double cpu = cpu_seconds();
  auto result = step();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{:<12} wall {:.3f} s  cpu {:.3f} s  peak {} MB\n", name,
             1e-9 * static_cast<double>(steady_clock().now_ns() - start), cpu_seconds() - cpu, usage.ru_maxrss / 1024);
  return result;
}

Status run(const fs::path& in, const fs::path& out) {
  auto model = HONE_TRY(timed("load", [&] { return model::Model::load(in); }));
  fmt::print("{} nodes, {} MB of weights\n", model.graph().node_count(), model.weight_bytes() >> 20);
  HONE_TRY(timed("infer", [&] { return model.infer_shapes(); }));
  HONE_TRY(timed("check", [&] { return model.check(); }));
  timed("clone", [&] { return model.clone().graph().node_count(); });
  HONE_TRY(timed("save", [&] { return model.save(out); }));
  timed("fingerprint", [&] { return model.fingerprint(); });
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: load_save in.onnx out.onnx\n");
    return 1;
  }
  const auto status = run(argv[1], argv[2]);
  if (!status) fmt::print(stderr, "{}\n", status.error().line());
  return status ? 0 : 1;
}
