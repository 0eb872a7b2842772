// SPDX-License-Identifier: Apache-2.0
#include "engine/fake/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

#include "engine/fake/rules.h"
#include "engine/setting_value.h"

namespace hone::engine::fake {

namespace {

// Does what fake.crash and fake.hang ask for at this moment ("open" or "run").
void trouble(const Settings& settings, std::string_view moment) {
  if (setting_text(settings, "fake.crash") == moment) {
    fmt::print(stderr, "fake engine: crash in {}, as asked\n", moment);
    std::fflush(stderr);
    raise(SIGSEGV);
  }
  if (setting_text(settings, "fake.hang") != moment) return;
  fmt::print(stderr, "fake engine: hang in {}, as asked\n", moment);
  std::fflush(stderr);
  while (true) pause();
}

Result<std::unique_ptr<Session>> open_values(const fs::path& model) {
  const Configuration reference = accuracy_reference(model);
  const Engine* engine = HONE_TRY(find_engine(reference.engine));
  Settings settings = reference.settings;
  settings["intra_op_threads"] = "1";  // no pool: opening is what such a session costs
  return engine->open(model, settings, {});
}

Result<std::vector<NodeCost>> read_nodes(const fs::path& path) {
  model::Model model = HONE_TRY(model::Model::load(path));
  HONE_TRY(model.infer_shapes());
  return node_costs(model.graph());
}

// Every other element a little larger, the others a little smaller.
model::Tensor disturbed(const model::Tensor& tensor, double error) {
  if (tensor.dtype() != model::DType::kFloat) return tensor;
  std::vector<float> values = tensor.values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(1 + (i % 2 == 0 ? error : -error));
  return model::Tensor::of<float>(tensor.dims(), values);
}

}  // namespace

Result<std::unique_ptr<Session>> FakeSession::open(const fs::path& model, const Settings& settings,
                                                   const OpenOptions& options) {
  const Rules rules = HONE_TRY(read_rules(model));
  std::unique_ptr<FakeSession> out(new FakeSession);
  out->where_ = model.string();
  out->settings_ = rules.applied_to(settings);
  trouble(out->settings_, "open");
  if (setting_bool(out->settings_, "fake.refuse", false))
    return fail(tool_failed("fake: the model is refused, as asked", out->where_));
  out->values_ = HONE_TRY(open_values(model));
  out->nodes_ = HONE_TRY(read_nodes(model));
  out->noise_ = setting_float(out->settings_, "fake.noise", 0.01);
  out->error_ = relative_error(out->settings_);
  out->random_ = Noise(options.instance_seed);
  const double instance = setting_float(out->settings_, "fake.instance_noise", 0.01) * out->random_.normal();
  out->latency_us_ =
      rules.latency_us.value_or(total_us(out->nodes_)) * time_factor(out->settings_) * std::exp(instance);
  out->profile_dir_ = options.profile_dir;
  out->ballast_.assign(static_cast<size_t>(setting_int(out->settings_, "fake.memory_mb", 0)) << 20, 1);
  return out;
}

Status FakeSession::bind(const model::NamedTensors& sample) {
  bound_ = ran_ = false;
  HONE_TRY(values_->bind(sample));
  bound_ = true;
  return {};
}

Status FakeSession::run() {
  if (!bound_) return fail(internal_error("run() before bind()", where_));
  trouble(settings_, "run");
  if (!ran_) HONE_TRY(values_->run());  // the same inputs give the same values: once is enough
  const double us = latency_us_ * std::exp(noise_ * random_.normal());
  const RunTime time{clock_.now_ns(), std::max<int64_t>(1, std::llround(us * 1000))};
  clock_.advance_ns(time.duration_ns);
  if (!profile_dir_.empty()) runs_.push_back(time);
  ran_ = true;
  return {};
}

Result<model::NamedTensors> FakeSession::fetch() {
  if (!ran_) return fail(internal_error("fetch() before bind() and run()", where_));
  model::NamedTensors out = HONE_TRY(values_->fetch());
  if (error_ > 0)
    for (auto& [name, tensor] : out) tensor = disturbed(tensor, error_);
  return out;
}

Result<RawProfile> FakeSession::end_profile() {
  if (profile_dir_.empty()) return fail(internal_error("end_profile() of a session without profile_dir", where_));
  const fs::path path = profile_dir_ / fmt::format("fake_profile_{}.json", getpid());
  profile_dir_.clear();
  HONE_TRY(write_trace(path, nodes_, runs_));
  return RawProfile{{path}, static_cast<int>(runs_.size())};
}

}  // namespace hone::engine::fake
