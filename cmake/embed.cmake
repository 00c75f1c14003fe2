# tapconv_embed(OUTPUT file.cpp FUNCTION name FILES a b ...): writes a C++ source whose function
# `std::span<const EmbeddedFile> name()` returns the files' paths (below BASE) and texts. It and the type are declared in
# HEADER (problem/embedded.hpp), in NAMESPACE (tapconv).
function(tapconv_embed)
  cmake_parse_arguments(EMBED "" "OUTPUT;FUNCTION;BASE;NAMESPACE;HEADER" "FILES" NAMESPACE tapconv HEADER problem/embedded.hpp
                        ${ARGN})
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake)
  list(JOIN EMBED_FILES "|" files)
  add_custom_command(
    OUTPUT ${EMBED_OUTPUT}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${EMBED_OUTPUT} -DFUNCTION=${EMBED_FUNCTION} -DBASE=${EMBED_BASE}
            -DNAMESPACE=${EMBED_NAMESPACE} -DHEADER=${EMBED_HEADER} "-DFILES=${files}" -P ${script}
    DEPENDS ${EMBED_FILES} ${script}
    VERBATIM)
endfunction()

# tapconv_hash(OUTPUT file.cpp BASE folder FILES a b ...): writes a C++ source that defines device_code_sha256()
# (tapconv/workbench.hpp), as scripts/evidence.py computes it.
function(tapconv_hash)
  cmake_parse_arguments(HASH "" "OUTPUT;BASE" "FILES" ${ARGN})
  set(script ${PROJECT_SOURCE_DIR}/cmake/hash_files.cmake)
  list(JOIN HASH_FILES "|" files)
  add_custom_command(
    OUTPUT ${HASH_OUTPUT}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${HASH_OUTPUT} -DBASE=${HASH_BASE} "-DFILES=${files}" -P ${script}
    DEPENDS ${HASH_FILES} ${script}
    VERBATIM)
endfunction()
