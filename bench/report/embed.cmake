# cmake -DFILES="page.html page.css" -DNAMES="kPageHtml kPageCss" -DFOLDER=... -DOUTPUT=assets.cc -P embed.cmake
# Writes a source file with the files' contents as strings (assets.h).
separate_arguments(files UNIX_COMMAND "${FILES}")
separate_arguments(names UNIX_COMMAND "${NAMES}")
set(source "#include \"bench/report/assets.h\"\n\nnamespace bench {\n")
foreach(file name IN ZIP_LISTS files names)
  file(READ "${FOLDER}/${file}" text)
  string(APPEND source "\nconst char ${name}[] = R\"trellis(${text})trellis\";\n")
endforeach()
string(APPEND source "\n}  // namespace bench\n")
file(WRITE "${OUTPUT}" "${source}")
