# shellcheck shell=bash disable=SC2034
# What scripts/run, scripts/test and .ci/run share: install what is missing, configure and build, quietly.
# Sourced by bash, from any folder; leaves the shell in the project's root.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build

# Debian's packages, and what each stands for elsewhere.
packages_run=(build-essential cmake ninja-build pkg-config ocl-icd-opencl-dev opencl-headers libclblast-dev libjansson-dev
  libpopt-dev libcairo2-dev libpango1.0-dev fonts-nanum pocl-opencl-icd)
packages_test=(libcmocka-dev mesa-opencl-icd oclgrind python3)
packages_ci=(clang clang-format clang-tidy)

say() { printf 'clattn: %s\n' "$*" >&2; }
die() {
  say "$@"
  exit 1
}

# quietly LOG COMMAND...: its output goes to a file that is shown only when it fails.
quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 </dev/null && return
  local code=$?
  cat "$log" >&2
  say "this failed with exit code $code: $*"
  exit 1
}

# thing PACKAGE: what it is for, in words that hold on every system.
thing() {
  case $1 in
    build-essential) echo "a C11 and C++ compiler (cc, c++)" ;;
    cmake) echo "CMake 3.20 or newer (cmake)" ;;
    ninja-build) echo "Ninja (ninja)" ;;
    pkg-config) echo "pkg-config or pkgconf (pkg-config)" ;;
    ocl-icd-opencl-dev) echo "an OpenCL loader with its development files (libOpenCL, OpenCL.pc)" ;;
    opencl-headers) echo "the OpenCL C headers (CL/cl.h)" ;;
    libclblast-dev) echo "CLBlast with its headers (clblast_c.h)" ;;
    libjansson-dev) echo "jansson with its headers (jansson.pc)" ;;
    libpopt-dev) echo "popt with its headers (popt.pc)" ;;
    libcairo2-dev) echo "cairo with its headers (cairo.pc)" ;;
    libpango1.0-dev) echo "Pango with its headers (pangocairo.pc)" ;;
    libcmocka-dev) echo "cmocka with its headers (cmocka.pc)" ;;
    clang) echo "clang (clang)" ;;
    clang-format) echo "clang-format (clang-format)" ;;
    clang-tidy) echo "clang-tidy (clang-tidy)" ;;
    python3) echo "Python 3 (python3)" ;;
    python3-venv) echo "Python's virtual environments (python3 -m venv)" ;;
    libopenblas-dev) echo "OpenBLAS with its headers (openblas.pc)" ;;
  esac
}

# usable PACKAGE: whether the thing behind it is there, whoever installed it. OpenCL implementations only make a difference to
# what the tool and the tests can run on, and a font to whether Korean is readable in pictures, so their absence stops nothing here.
usable() {
  case $1 in
    build-essential) command -v cc && command -v c++ ;;
    ninja-build) command -v ninja ;;
    ocl-icd-opencl-dev) pkg-config --exists OpenCL || compiles '#include <stddef.h>' -lOpenCL ;;
    opencl-headers) compiles '#include <CL/cl.h>' ;;
    libclblast-dev) compiles '#include <clblast_c.h>' -lclblast ;;
    libjansson-dev) pkg-config --exists jansson ;;
    libpopt-dev) pkg-config --exists popt ;;
    libcairo2-dev) pkg-config --exists cairo ;;
    libpango1.0-dev) pkg-config --exists pangocairo ;;
    libcmocka-dev) pkg-config --exists cmocka ;;
    libopenblas-dev) pkg-config --exists openblas ;;
    python3-venv) python3 -c 'import venv, ensurepip' ;;
    pocl-opencl-icd | mesa-opencl-icd | oclgrind | fonts-nanum) true ;;
    *) command -v "$1" ;;
  esac >/dev/null 2>&1
}

# compiles LINE [FLAG...]: whether a C program that starts with LINE compiles and links.
compiles() {
  printf '#define CL_TARGET_OPENCL_VERSION 120\n%s\nint main(void) { return 0; }\n' "$1" |
    cc -x c - -o /dev/null "${@:2}"
}

# require PACKAGE...: installs those that are missing where apt-get and the right to use it are there. Elsewhere it names what
# cannot be found and stops.
require() {
  local missing=() absent=() package installed=''
  if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
    installed=$(dpkg-query -W -f='|${Package} ${db:Status-Status}|' "$@" 2>/dev/null || true)
    for package in "$@"; do
      [[ $installed == *"|$package installed|"* ]] || missing+=("$package")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    local as_root=()
    if [[ $(id -u) -ne 0 ]]; then
      as_root=(sudo)
    fi
    if [[ $(id -u) -eq 0 ]] || command -v sudo >/dev/null; then
      say "installing ${missing[*]} (log: build/install.log)"
      quietly build/install.log "${as_root[@]}" apt-get update
      quietly build/install.log "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "${missing[@]}"
      return 0
    fi
  else
    missing=("$@")
  fi
  for package in "${missing[@]}"; do
    usable "$package" || absent+=("$package")
  done
  [[ ${#absent[@]} -gt 0 ]] || return 0
  say "please install these first; nothing was changed:"
  for package in "${absent[@]}"; do
    say "  $(thing "$package"), Debian's package $package"
  done
  exit 1
}

# configured PRESET: whether build/PRESET holds a finished configuration of this very folder (a tree that was copied or moved
# takes its build folder along, which CMake then rejects).
configured() {
  [[ -f build/$1/build.ninja && $(<"build/$1/CMakeCache.txt") == *"CMAKE_HOME_DIRECTORY:INTERNAL=$PWD"$'\n'* ]]
}

# configure PRESET [-DNAME:TYPE=VALUE...]: into build/PRESET, unless that was done before with the same options.
configure() {
  local preset=$1 option stale=''
  shift
  if configured "$preset"; then
    for option in "$@"; do
      [[ $(<"build/$preset/CMakeCache.txt") == *$'\n'"${option#-D}"$'\n'* ]] || stale=yes
    done
    [[ -n $stale ]] || return 0
  else
    rm -rf "build/$preset"
  fi
  say "configuring build/$preset"
  quietly "build/$preset-configure.log" cmake --preset "$preset" "$@"
}

# build PRESET [TARGET...]: says so only when there is something to build. A failure shows the compiler's words.
build() {
  local preset=$1 log=build/$1-build.log line said='' code=0
  shift
  ninja -C "build/$preset" "$@" 2>&1 </dev/null | {
    : >"$log"
    while IFS= read -r line; do
      printf '%s\n' "$line" >>"$log"
      if [[ -z $said && $line == *Building* ]]; then
        said=yes
        say "building build/$preset (log: $log)"
      fi
    done
  } || code=$?
  if [[ $code -ne 0 ]]; then
    cat "$log" >&2
    die "the build failed"
  fi
}
