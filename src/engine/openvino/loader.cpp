// SPDX-License-Identifier: Apache-2.0
#include "engine/openvino/loader.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/file.h"
#include "engine/message.h"

namespace hone::engine::openvino {

namespace {

constexpr const char* kFileName = "hone-openvino.so";
constexpr const char* kHowTo = "scripts/setup brings OpenVINO, then build the target hone-openvino";

Result<fs::path> find_plugin() {
  if (const char* path = std::getenv("HONE_OPENVINO_PLUGIN"); path != nullptr && *path != '\0') return fs::path(path);
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {folder / kFileName, folder.parent_path() / "libexec" / "hone" / kFileName})
    if (fs::exists(path, error)) return path;
  return fail(tool_failed("the OpenVINO plugin is not there", (folder / kFileName).string(), kHowTo));
}

Result<Plugin*> load() {
  const fs::path path = HONE_TRY(find_plugin());
  // RTLD_LOCAL: OpenVINO's symbols stay out of the way of ONNX Runtime's. Never unloaded: its threads may still run.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(tool_failed("OpenVINO does not load: " + first_meaningful_line(dlerror()), path.string(), kHowTo));
#ifdef __SANITIZE_ADDRESS__
  // OpenVINO's TBB loads a library with RTLD_DEEPBIND, at which AddressSanitizer ends the process.
  return fail(tool_failed("OpenVINO does not run under AddressSanitizer", path.string(), "use a build without it"));
#endif
  const auto entry = reinterpret_cast<Plugin* (*)(int)>(dlsym(library, kPluginSymbol));
  try {
    Plugin* plugin = entry == nullptr ? nullptr : entry(kPluginInterface);
    if (plugin != nullptr) return plugin;
  } catch (const std::exception& e) {
    return fail(tool_failed("OpenVINO does not start: " + first_meaningful_line(e.what()), path.string()));
  }
  return fail(
      tool_failed("not an OpenVINO plugin of this version of hone", path.string(), "build hone-openvino again"));
}

}  // namespace

Result<Plugin*> load_plugin() {
  static const Result<Plugin*> plugin = load();
  return plugin;
}

}  // namespace hone::engine::openvino
