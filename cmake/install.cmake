# What `cmake --install` installs: the library, its headers, the command line, a CMake package and a pkg-config file. The
# result can be moved. oneDNN and OpenMP are not copied: programs find them where this build did.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tapconv)
set(generated_folder ${PROJECT_BINARY_DIR}/install)

install(TARGETS tapconv EXPORT tapconvTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tapconv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tapconvTargets NAMESPACE tapconv:: DESTINATION ${package_folder})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TAPCONV_TOOLS)
  install(TARGETS tapconv_cli)
endif()

file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(run_paths $ORIGIN $ORIGIN/${lib_from_bin})
if(TAPCONV_ONEDNN)
  get_filename_component(onednn_folder ${TAPCONV_ONEDNN_LIBRARY} DIRECTORY)
  list(APPEND run_paths ${onednn_folder})
endif()
set_target_properties(tapconv PROPERTIES INSTALL_RPATH "${run_paths}")
if(TAPCONV_TOOLS)
  set_target_properties(tapconv_cli PROPERTIES INSTALL_RPATH "${run_paths}")
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tapconvConfig.cmake.in ${generated_folder}/tapconvConfig.cmake
                              INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO
                              NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${generated_folder}/tapconvConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${generated_folder}/tapconvConfig.cmake ${generated_folder}/tapconvConfigVersion.cmake
        DESTINATION ${package_folder})

file(RELATIVE_PATH include_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(dependencies "-lstdc++ -lm -pthread")
foreach(library IN LISTS CMAKE_DL_LIBS)
  string(APPEND dependencies " -l${library}")
endforeach()
if(TAPCONV_ONEDNN)
  string(APPEND dependencies " \"${TAPCONV_ONEDNN_LIBRARY}\" \"${TAPCONV_OPENMP_LIBRARY}\" -Wl,-rpath,\"${onednn_folder}\"")
endif()
# (pkgconf itself escapes blanks in ${pcfiledir}, of which these folders are made.)
# A shared library brings what it needs; beside a static one the program links it.
get_target_property(library_type tapconv TYPE)
if(library_type STREQUAL "SHARED_LIBRARY")
  set(pc_dependencies "Requires.private: fmt\nLibs: -L\${libdir} -ltapconv\nLibs.private: ${dependencies}")
else()
  set(pc_dependencies "Requires: fmt\nLibs: -L\${libdir} -ltapconv ${dependencies}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/tapconv.pc.in ${generated_folder}/tapconv.pc @ONLY)
install(FILES ${generated_folder}/tapconv.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
