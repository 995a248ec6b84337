# Which library may include whose headers: target_link_libraries says it (USES in the CMakeLists.txt of each folder), and nothing else
# does. Headers are included by their path from the root of the sources, which is in no include path. Instead each library has a folder
# of its own in the build tree, build/include/LIBRARY, with a file for each of its headers that includes the header. What links the
# library, directly or through others, has that folder in its include path. Behind all of them is a folder in which every header is an
# error that names its library.
set(SLICED_UNLINKED_HEADERS ${PROJECT_BINARY_DIR}/include/unlinked)
file(MAKE_DIRECTORY ${SLICED_UNLINKED_HEADERS})

# sliced_headers(TARGET PUBLIC|INTERFACE a.h folder/b.h): headers of a library, relative to the present folder or absolute.
function(sliced_headers target scope)
  foreach(header ${ARGN})
    get_filename_component(path ${header} ABSOLUTE)
    if(NOT EXISTS ${path})
      message(FATAL_ERROR "${target}: there is no header ${path}")
    endif()
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${path})
    get_property(owner GLOBAL PROPERTY "SLICED_OWNER_OF_${relative}")
    if(owner)
      message(FATAL_ERROR "${relative} is a header of both ${owner} and ${target}")
    endif()
    set_property(GLOBAL PROPERTY "SLICED_OWNER_OF_${relative}" ${target})
    set(linked ${PROJECT_BINARY_DIR}/include/${target}/${relative})
    set(unlinked ${SLICED_UNLINKED_HEADERS}/${relative})
    file(CONFIGURE OUTPUT ${linked} CONTENT "#include \"${path}\"\n" @ONLY)
    file(CONFIGURE OUTPUT ${unlinked} CONTENT
      "#error \"${relative} is a header of ${target}, which this target does not link (USES in its CMakeLists.txt)\"\n" @ONLY)
    set_property(GLOBAL APPEND PROPERTY SLICED_HEADER_FILES ${linked} ${unlinked})
  endforeach()
  target_include_directories(${target} ${scope} ${PROJECT_BINARY_DIR}/include/${target})
endfunction()

# sliced_check_headers(FOLDER...): each header of these folders belongs to a library; files of headers that are gone, or have
# another library now, are removed.
function(sliced_check_headers)
  set(orphans "")
  foreach(folder ${ARGN})
    file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${folder}/*.h)
    foreach(header ${headers})
      get_property(owner GLOBAL PROPERTY "SLICED_OWNER_OF_${header}")
      if(NOT owner)
        list(APPEND orphans ${header})
      endif()
    endforeach()
  endforeach()
  if(orphans)
    list(JOIN orphans ", " orphans)
    message(FATAL_ERROR "no library has these headers (HEADERS in the CMakeLists.txt of their folder): ${orphans}")
  endif()
  get_property(made GLOBAL PROPERTY SLICED_HEADER_FILES)
  file(GLOB_RECURSE there ${PROJECT_BINARY_DIR}/include/*.h)
  list(REMOVE_ITEM there ${made})
  if(there)
    file(REMOVE ${there})
  endif()
endfunction()

# sliced_never_links(LIBRARY OTHER): LIBRARY does not link OTHER, nor does a library that it links. OTHER is a target of ours or one that
# find_package or pkg_check_modules made.
function(sliced_never_links target forbidden)
  set(ways ${target})  # "a -> b -> c", for the message
  set(visited "")
  while(ways)
    list(POP_FRONT ways way)
    string(REGEX REPLACE "^.* -> " "" last ${way})
    if(last STREQUAL forbidden)
      message(FATAL_ERROR "${target} must not link ${forbidden}: ${way}")
    endif()
    if(last IN_LIST visited OR NOT TARGET ${last})
      continue()
    endif()
    list(APPEND visited ${last})
    get_target_property(nexts ${last} INTERFACE_LINK_LIBRARIES)
    if(NOT nexts)
      continue()
    endif()
    foreach(next ${nexts})
      list(APPEND ways "${way} -> ${next}")
    endforeach()
  endwhile()
endfunction()

# What tests share, whatever they link: all headers below t/.
add_library(sliced_t INTERFACE)
file(GLOB_RECURSE headers_of_t CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/t/*.h)
sliced_headers(sliced_t INTERFACE ${headers_of_t})
target_link_libraries(sliced_t INTERFACE sliced_flags)
