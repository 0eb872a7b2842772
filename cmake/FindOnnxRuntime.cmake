# Finds ONNX Runtime: ONNXRUNTIME_ROOT (variable or environment), a system installation, or HONE_DEPS/onnxruntime.
set(hints ${ONNXRUNTIME_ROOT} $ENV{ONNXRUNTIME_ROOT})
find_path(OnnxRuntime_INCLUDE_DIR onnxruntime_c_api.h HINTS ${hints} PATHS ${HONE_DEPS}/onnxruntime PATH_SUFFIXES include include/onnxruntime)
find_library(OnnxRuntime_LIBRARY onnxruntime HINTS ${hints} PATHS ${HONE_DEPS}/onnxruntime PATH_SUFFIXES lib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxRuntime REQUIRED_VARS OnnxRuntime_LIBRARY OnnxRuntime_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run scripts/setup, or set ONNXRUNTIME_ROOT to a folder with include/ and lib/")
if(OnnxRuntime_FOUND AND NOT TARGET OnnxRuntime::OnnxRuntime)
  add_library(OnnxRuntime::OnnxRuntime UNKNOWN IMPORTED)
  set_target_properties(OnnxRuntime::OnnxRuntime PROPERTIES IMPORTED_LOCATION ${OnnxRuntime_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OnnxRuntime_INCLUDE_DIR})
endif()
