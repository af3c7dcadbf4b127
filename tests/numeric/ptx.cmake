# Assembles the matrix kernels for NVIDIA's GPUs, with clang's OpenCL C and stubs of its functions: the inline PTX is what ptxas takes, all is
# unrolled, and registers suffice but for a little.
#   cmake -DCLANG=clang -DPTXAS=ptxas -DKERNELS=folder -DBUILTINS=header -DFOLDER=scratch -P ptx.cmake
set(MOST_SPILLED 512) # bytes stored and loaded a work-item; arrays that are indexed at run time would be many more

if(NOT CLANG OR NOT PTXAS)
  message("skipped: clang and ptxas are needed")
  return()
endif()
execute_process(COMMAND ${CLANG} --print-targets OUTPUT_VARIABLE targets ERROR_QUIET)
if(NOT targets MATCHES "nvptx64")
  message("skipped: this clang has no NVPTX target")
  return()
endif()

# assemble(file multiplications macros...): multiplications are the mma instructions that there must be.
function(assemble file multiplications)
  execute_process(COMMAND ${CLANG} -x cl -cl-std=CL1.2 --target=nvptx64-nvidia-nvcl -Xclang -target-cpu -Xclang sm_80 -Xclang -target-feature
    -Xclang +ptx70 -O3 -I ${KERNELS} -include ${BUILTINS} ${ARGN} -S -o ${FOLDER}/kernel.ptx ${KERNELS}/${file}
    RESULT_VARIABLE code ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${file} ${ARGN}: ${output}")
  endif()
  file(STRINGS ${FOLDER}/kernel.ptx found REGEX "mma\\.sync\\.aligned\\.m16n8k16\\.row\\.col\\.f32\\.")
  list(LENGTH found count)
  if(NOT count EQUAL multiplications)
    message(FATAL_ERROR "${file} ${ARGN}: ${count} mma instructions, not ${multiplications}")
  endif()
  foreach(arch sm_80 sm_90)
    execute_process(COMMAND ${PTXAS} -arch=${arch} -v ${FOLDER}/kernel.ptx -o ${FOLDER}/kernel.cubin RESULT_VARIABLE code ERROR_VARIABLE output
      OUTPUT_VARIABLE output)
    if(NOT code EQUAL 0)
      message(FATAL_ERROR "${file} ${ARGN}, ${arch}: ${output}")
    endif()
    string(REGEX MATCH "([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads" spills "${output}")
    math(EXPR spilled "${CMAKE_MATCH_1} + ${CMAKE_MATCH_2}")
    string(REGEX MATCH "Used ([0-9]+) registers" registers "${output}")
    message(STATUS "${file} ${ARGN}, ${arch}: ${CMAKE_MATCH_1} registers, ${spilled} bytes spilled")
    if(spills STREQUAL "" OR spilled GREATER MOST_SPILLED)
      message(FATAL_ERROR "${output}")
    endif()
  endforeach()
endfunction()

# Scores take DIM / 16 * KEYS / 8, values twice CHUNK / 8 * KEYS / 16.
assemble(matrix_probe.cl 6 -DDTYPE=2)
assemble(matrix_probe.cl 6 -DDTYPE=3)
assemble(fused_matrix.cl 96 -DDTYPE=2 -DDIM=64 -DCHUNK=64 -DKEYS=64)
assemble(fused_matrix.cl 192 -DDTYPE=3 -DDIM=128 -DCHUNK=128 -DKEYS=64 -DMASK=4)
assemble(fused_matrix.cl 128 -DDTYPE=2 -DDIM=256 -DCHUNK=128 -DKEYS=32)
