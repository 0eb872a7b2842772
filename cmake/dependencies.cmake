# Everything hone links with. Debian packages by find_package; the rest from HONE_DEPS, where scripts/setup put it.
# Imported targets, so that an installed hone names them too: its package includes this file (hone-config.cmake.in).
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(LibArchive REQUIRED)
find_package(Protobuf REQUIRED)
find_package(simdjson REQUIRED)
find_package(SQLiteCpp REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
# Not its CMake package: that one asks for OpenCL's headers, which nothing here uses.
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${DNNL_LIBRARY})
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)

if(NOT EXISTS ${HONE_DEPS}/onnx/.done)
  message(FATAL_ERROR "Dependencies are missing in ${HONE_DEPS}: run scripts/setup first")
endif()
# ONNX's headers are included as system headers: their warnings are not ours.
find_package(ONNX REQUIRED CONFIG PATHS ${HONE_DEPS}/onnx NO_DEFAULT_PATH)
add_library(hone_onnx INTERFACE IMPORTED)
target_link_libraries(hone_onnx INTERFACE ONNX::onnx ONNX::onnx_proto protobuf::libprotobuf)
target_include_directories(hone_onnx SYSTEM INTERFACE ${HONE_DEPS}/onnx/include)
target_compile_definitions(hone_onnx INTERFACE ONNX_NAMESPACE=onnx ONNX_ML=1)

find_package(OnnxRuntime REQUIRED)
add_library(hone_onnxruntime INTERFACE IMPORTED)
target_link_libraries(hone_onnxruntime INTERFACE OnnxRuntime::OnnxRuntime)

find_package(OpenVINO REQUIRED COMPONENTS Runtime PATHS ${HONE_DEPS}/openvino/openvino/cmake NO_DEFAULT_PATH)
add_library(hone_openvino INTERFACE IMPORTED)
target_link_libraries(hone_openvino INTERFACE openvino::runtime)

add_library(hone_echarts INTERFACE IMPORTED)
target_compile_definitions(hone_echarts INTERFACE HONE_ECHARTS_JS="${HONE_DEPS}/echarts/dist/echarts.min.js")
if(HONE_TESTS)
  find_package(GTest REQUIRED)
endif()
