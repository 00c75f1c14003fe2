# Defines tapconv::onednn: oneDNN 3.x for the CPU with OpenMP. Looks where scripts/setup.sh puts it, then in the system;
# -DTAPCONV_ONEDNN_ROOT=... names another place.
set(TAPCONV_ONEDNN_ROOT ${PROJECT_SOURCE_DIR}/.deps/onednn CACHE PATH "Where oneDNN is installed, tried before the system")

find_path(TAPCONV_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp HINTS ${TAPCONV_ONEDNN_ROOT} PATH_SUFFIXES include)
find_library(TAPCONV_ONEDNN_LIBRARY dnnl HINTS ${TAPCONV_ONEDNN_ROOT} PATH_SUFFIXES lib)
# OpenMP's runtime by its file name, so that clang takes the one that oneDNN runs on and not its own.
find_library(TAPCONV_OPENMP_LIBRARY NAMES libgomp.so.1 libgomp.so)
foreach(part TAPCONV_ONEDNN_INCLUDE TAPCONV_ONEDNN_LIBRARY TAPCONV_OPENMP_LIBRARY)
  if(NOT ${part})
    message(FATAL_ERROR "${part} is not found: run scripts/setup.sh, set TAPCONV_ONEDNN_ROOT to where oneDNN 3.x is "
                        "installed, or build without the CPU engine (-DTAPCONV_ONEDNN=OFF)")
  endif()
endforeach()

file(STRINGS ${TAPCONV_ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h onednn_major REGEX "define DNNL_VERSION_MAJOR 3$")
file(STRINGS ${TAPCONV_ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_config.h onednn_openmp
     REGEX "define DNNL_CPU_THREADING_RUNTIME DNNL_RUNTIME_OMP$")
if(NOT onednn_major OR NOT onednn_openmp)
  message(FATAL_ERROR "oneDNN in ${TAPCONV_ONEDNN_INCLUDE} is not a 3.x build on OpenMP: run scripts/setup.sh, or set "
                      "TAPCONV_ONEDNN_ROOT to one that is")
endif()

# Imported, as it is to those who use an installed Tapconv (tapconvConfig.cmake.in), where its headers are not needed.
add_library(tapconv::onednn INTERFACE IMPORTED GLOBAL)
target_include_directories(tapconv::onednn INTERFACE ${TAPCONV_ONEDNN_INCLUDE})
target_link_libraries(tapconv::onednn INTERFACE ${TAPCONV_ONEDNN_LIBRARY} ${TAPCONV_OPENMP_LIBRARY})
