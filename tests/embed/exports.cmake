# Checks which symbols a library exports.
#
#   cmake -DLIBRARY=plugin.so -P exports.cmake                  none of Trellis
#   cmake -DLIBRARY=libtrellis_lsm.so -DHEADERS=DIR -P ...      only what a header in DIR marks with TRELLIS_API
#   cmake -DLIBRARY=libtrellis_lsm.a -DHEADERS=DIR -P ...       all that a public header declares is marked: a shared
#                                                               library made of the same objects would export it
cmake_minimum_required(VERSION 3.25)

if(LIBRARY MATCHES "\\.a$")
  execute_process(COMMAND nm --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " [TDBR] _Z[^\n]*" symbols "${symbols}")
else()
  execute_process(COMMAND nm -D --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " [A-Za-z] [^ \n]+" symbols "${symbols}")
endif()
if(NOT symbols)
  message(FATAL_ERROR "${LIBRARY}: nm shows no symbols")
endif()

# in_namespace(SYMBOL VARIABLE): the class or function in lsm or bloom that a mangled name begins with; empty if none.
function(in_namespace symbol variable)
  set(${variable} "" PARENT_SCOPE)
  # _ZN3lsm4v0_12DB4Open...: names have their lengths before them.  _ZTVN3lsm... is a vtable, _ZThn16_N3lsm... a thunk.
  if(NOT symbol MATCHES "^ . _Z(T[VISTW]|GV|Thn?[0-9]+_|Tvn?[0-9]+_n?[0-9]+_)?N[KVRO]*(3lsm|5bloom)([0-9]+)(.*)$")
    return()
  endif()
  set(length ${CMAKE_MATCH_3})
  string(SUBSTRING "${CMAKE_MATCH_4}" ${length} -1 rest)  # without the inline namespace
  if(rest MATCHES "^([0-9]+)(.*)$")
    string(SUBSTRING "${CMAKE_MATCH_2}" 0 ${CMAKE_MATCH_1} name)
    set(${variable} ${name} PARENT_SCOPE)
  endif()
endfunction()

if(NOT HEADERS)
  list(FILTER symbols INCLUDE REGEX "3lsm|5bloom")
  if(symbols)
    list(JOIN symbols "\n" symbols)
    message(FATAL_ERROR "${LIBRARY} exports symbols of Trellis:\n${symbols}")
  endif()
  return()
endif()

# names_in(HEADERS REGEX VARIABLE): the last word of each match of the regular expression.
function(names_in headers regex variable)
  set(names "")
  foreach(header IN LISTS headers)
    file(READ ${header} text)
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REPLACE ";" "\\;" text "${text}")
    string(REGEX MATCHALL "${regex}" matches "${text}")
    list(TRANSFORM matches REPLACE "[ (:{]+$" "")
    list(TRANSFORM matches REPLACE "^.*[^A-Za-z0-9_]" "")
    list(APPEND names ${matches})
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${variable} ${names} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE headers ${HEADERS}/*.h)
names_in("${headers}" "(class|struct) TRELLIS_API [A-Za-z0-9_]+[ :{]" marked_classes)
names_in("${headers}" "TRELLIS_API [^][\;{(]*[ &*\n][A-Za-z0-9_]+\\(" marked_functions)
set(marked ${marked_classes} ${marked_functions})
if(NOT "DB" IN_LIST marked OR NOT "DigestOf" IN_LIST marked)
  message(FATAL_ERROR "${HEADERS}: no header marks DB or DigestOf")
endif()
# Classes with a body, and functions that begin a line.
file(GLOB public_headers ${HEADERS}/lsm/*.h ${HEADERS}/bloom/*.h)
names_in("${public_headers}" "\n(class|struct) [A-Za-z0-9_]+[ a-z]*[:{]" classes)
names_in("${public_headers}" "\n[A-Za-z][^][\;{(#=]*[ &*\n][A-Za-z0-9_]+\\(" functions)

set(wrong "")
foreach(symbol IN LISTS symbols)
  in_namespace("${symbol}" name)
  if(name IN_LIST marked)
    continue()
  elseif(LIBRARY MATCHES "\\.a$" AND NOT name IN_LIST classes AND NOT name IN_LIST functions)
    continue()  # private
  endif()
  list(APPEND wrong "${symbol}")
endforeach()
if(wrong)
  list(JOIN wrong "\n" wrong)
  message(FATAL_ERROR "${LIBRARY}: these are not marked TRELLIS_API in ${HEADERS}:\n${wrong}")
endif()
