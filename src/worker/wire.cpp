// SPDX-License-Identifier: Apache-2.0
#include "worker/wire.h"

namespace hone::worker {

namespace {

Json canary_json(const Canary& canary) {
  return {{"ping_ns", canary.ping_ns}, {"fma_ms", {canary.fma_ms[0], canary.fma_ms[1]}}};
}

Canary canary_from(const Json& value) {
  Canary canary;
  canary.ping_ns = value.at("ping_ns").get<double>();
  canary.fma_ms = {value.at("fma_ms").at(0).get<double>(), value.at("fma_ms").at(1).get<double>()};
  return canary;
}

}  // namespace

Json error_answer(const Error& error) {
  return {{"error",
           {{"kind", static_cast<int>(error.kind)},
            {"what", error.what},
            {"where", error.where},
            {"todo", error.todo},
            {"context", error.context}}}};
}

Result<Json> answer_or_error(Json answer) {
  if (!answer.contains("error")) return answer;
  const auto error = json_document<Error>("answer", [&](Error* out) {
    const Json& value = answer.at("error");
    out->kind = static_cast<ErrorKind>(value.at("kind").get<int>());
    value.at("what").get_to(out->what);
    value.at("where").get_to(out->where);
    value.at("todo").get_to(out->todo);
    value.at("context").get_to(out->context);
  });
  return fail(error ? *error : error.error());
}

Json to_json(const BlockRequest& r) {
  return {{"settle_ms", r.settle_ms}, {"min_settle_iterations", r.min_settle_iterations},
          {"timed_ms", r.timed_ms},   {"min_iterations", r.min_iterations},
          {"sample", r.sample},       {"keep_samples", r.keep_samples}};
}

Result<BlockRequest> block_request_from_json(const Json& value) {
  return json_document<BlockRequest>("block request", [&](BlockRequest* r) {
    value.at("settle_ms").get_to(r->settle_ms);
    value.at("min_settle_iterations").get_to(r->min_settle_iterations);
    value.at("timed_ms").get_to(r->timed_ms);
    value.at("min_iterations").get_to(r->min_iterations);
    value.at("sample").get_to(r->sample);
    value.at("keep_samples").get_to(r->keep_samples);
  });
}

Json to_json(const engine::TensorInfo& info) {
  return {{"name", info.name},
          {"dtype", static_cast<int>(info.dtype)},
          {"dims", info.dims},
          {"rank_known", info.rank_known},
          {"is_tensor", info.is_tensor}};
}

Result<engine::TensorInfo> tensor_info_from_json(const Json& value) {
  return json_document<engine::TensorInfo>("tensor description", [&](engine::TensorInfo* info) {
    value.at("name").get_to(info->name);
    info->dtype = static_cast<model::DType>(value.at("dtype").get<int>());
    value.at("dims").get_to(info->dims);
    value.at("rank_known").get_to(info->rank_known);
    value.at("is_tensor").get_to(info->is_tensor);
  });
}

Json BlockResult::to_json() const {
  Json out = {{"settle_iterations", settle_iterations},
              {"iterations", iterations},
              {"start_s", start_s},
              {"timed_s", timed_s},
              {"min", min},
              {"q10", q10},
              {"q25", q25},
              {"q50", q50},
              {"q75", q75},
              {"q90", q90},
              {"max", max},
              {"mean", mean},
              {"before", canary_json(before)},
              {"after", canary_json(after)},
              {"pressure", pressure},
              {"own_cpu_s", own_cpu_s},
              {"busy_cpu_s", busy_cpu_s},
              {"steal_s", steal_s},
              {"run_queue_wait_s", run_queue_wait_s},
              {"involuntary_switches", involuntary_switches},
              {"minor_faults", minor_faults}};
  if (!samples_ms.empty()) out["samples_ms"] = samples_ms;
  return out;
}

Result<BlockResult> BlockResult::from_json(const Json& value) {
  return json_document<BlockResult>("block", [&](BlockResult* b) {
    value.at("settle_iterations").get_to(b->settle_iterations);
    value.at("iterations").get_to(b->iterations);
    value.at("start_s").get_to(b->start_s);
    value.at("timed_s").get_to(b->timed_s);
    for (const auto& [name, into] : {std::pair{"min", &b->min},
                                     {"q10", &b->q10},
                                     {"q25", &b->q25},
                                     {"q50", &b->q50},
                                     {"q75", &b->q75},
                                     {"q90", &b->q90},
                                     {"max", &b->max},
                                     {"mean", &b->mean}})
      value.at(name).get_to(*into);
    b->before = canary_from(value.at("before"));
    b->after = canary_from(value.at("after"));
    value.at("pressure").get_to(b->pressure);
    value.at("own_cpu_s").get_to(b->own_cpu_s);
    value.at("busy_cpu_s").get_to(b->busy_cpu_s);
    value.at("steal_s").get_to(b->steal_s);
    value.at("run_queue_wait_s").get_to(b->run_queue_wait_s);
    value.at("involuntary_switches").get_to(b->involuntary_switches);
    value.at("minor_faults").get_to(b->minor_faults);
    if (value.contains("samples_ms")) value.at("samples_ms").get_to(b->samples_ms);
  });
}

}  // namespace hone::worker
