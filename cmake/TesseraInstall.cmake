# Installs the front door: the headers of include/tessera, the libraries behind them and the CMake
# package, so that another project can find_package(tessera) and link tessera::tessera
# (tests/consumer is such a project). Headers of src/ stay here.
include(CMakePackageConfigHelpers)

# Commands and what they show are the program's.
get_property(libraries GLOBAL PROPERTY TESSERA_LIBRARIES)
list(REMOVE_ITEM libraries tessera_report tessera_serve tessera_cli)
add_library(tessera_door INTERFACE)
set_target_properties(tessera_door PROPERTIES EXPORT_NAME tessera)
target_link_libraries(tessera_door INTERFACE ${libraries})
add_library(tessera::tessera ALIAS tessera_door)

install(TARGETS tessera_door ${libraries} EXPORT tesseraTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET tessera)
  install(TARGETS tessera RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${TESSERA_VERSION_HEADER} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera)
install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/tesseraConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tesseraConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tesseraConfig.cmake ${PROJECT_BINARY_DIR}/tesseraConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

# For python/, a project of its own that links what is built here.
get_property(libraries GLOBAL PROPERTY TESSERA_LIBRARIES)
export(TARGETS ${libraries} NAMESPACE tessera:: FILE ${PROJECT_BINARY_DIR}/tesseraTree.cmake)
add_custom_target(tessera_libraries DEPENDS ${libraries})
