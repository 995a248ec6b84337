# Registers stages with CTest (README.md).

set(sliced_stages_dir ${CMAKE_CURRENT_LIST_DIR})

# One test of a stage:
#   sliced_stage(NAME TIER test|all|soak COUNT how run_stage.py counts its cases COMMAND ...
#     [STAGE label, else NAME] [COST CPU seconds] [HOURS limit] [PROCESSORS n] [AGAIN text] [ENV A=b ...]
#     [NEEDS fixtures] [MAKES fixture] [LOCKS resources])
# The limit ends a stage that hangs, and nothing else. It is many times what the stage takes; an hour if it is not named.
function(sliced_stage name)
  cmake_parse_arguments(STAGE "" "TIER;STAGE;COUNT;COST;HOURS;PROCESSORS;AGAIN;MAKES" "COMMAND;NEEDS;LOCKS;ENV" ${ARGN})
  foreach(default STAGE=${name} COST=20 HOURS=1 PROCESSORS=1)
    string(REPLACE "=" ";" default ${default})
    list(GET default 0 key)
    list(GET default 1 value)
    if(NOT DEFINED STAGE_${key})
      set(STAGE_${key} ${value})
    endif()
  endforeach()
  math(EXPR limit "${STAGE_HOURS} * 3600")
  math(EXPR timeout "${limit} + 120")
  set(again)
  if(STAGE_AGAIN)
    set(again --again ${STAGE_AGAIN})
  endif()
  add_test(NAME ${name}
    COMMAND ${SLICED_PYTHON} ${sliced_stages_dir}/run_stage.py --name ${name} --logs ${PROJECT_BINARY_DIR}/logs --count ${STAGE_COUNT} --limit ${limit}
      ${again} -- ${STAGE_COMMAND}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${STAGE_STAGE};${STAGE_TIER}" COST ${STAGE_COST} TIMEOUT ${timeout}
    PROCESSORS ${STAGE_PROCESSORS} FIXTURES_REQUIRED "${STAGE_NEEDS}" FIXTURES_SETUP "${STAGE_MAKES}"
    RESOURCE_LOCK "${STAGE_LOCKS}" ENVIRONMENT "${STAGE_ENV}")
endfunction()

# Tests of a Go package: sliced_go_stage(NAME DIRECTORY [ARGS of go test ...] and what sliced_stage takes)
function(sliced_go_stage name directory)
  cmake_parse_arguments(GO "" "HOURS" "ARGS" ${ARGN})
  if(NOT GO_HOURS)
    set(GO_HOURS 1)
  endif()
  # Before the stage's own limit, so that what waits can say what it waits for.
  math(EXPR timeout "${GO_HOURS} * 60 - 5")
  sliced_stage(${name} COUNT go HOURS ${GO_HOURS} ${GO_UNPARSED_ARGUMENTS}
    COMMAND ${sliced_stages_dir}/go ${directory} test -json -count=1 -timeout ${timeout}m . ${GO_ARGS})
endfunction()
