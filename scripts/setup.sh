#!/usr/bin/env bash
# Installs what the build needs and builds the command line and the library in build/release.
#
#   setup.sh              what is needed to build and use Tapconv
#   setup.sh --tests      also what scripts/test.sh needs, and builds the tests
#
# Made for Debian 12, as root or with sudo; elsewhere the missing packages are named and left to you. Touches the network
# only if something is missing. A build folder that builds the tests goes on doing so.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(build-essential cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev python3 python3-venv)
test_packages=(libgtest-dev clang clang-format libclang-rt-14-dev python3-numpy pkgconf python3-jsonschema)

tests=()
[[ -e build/release/CMakeCache.txt ]] || tests=(-DTAPCONV_TESTS=OFF)
case "${1:-}" in
  "") ;;
  --tests)
    tests=(-DTAPCONV_TESTS=ON)
    packages+=("${test_packages[@]}")
    ;;
  *)
    echo "usage: setup.sh [--tests]" >&2
    exit 2
    ;;
esac

# Runs a command silently; if it fails, prints what it said.
quietly() {
  local output
  output=$("$@" 2>&1) || {
    local status=$?
    printf '%s\n' "$output" >&2
    echo "failed: $*" >&2
    return "$status"
  }
}

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

# install_packages NAME...: installs those that are missing.
install_packages() {
  local missing=() package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  [[ ${#missing[@]} == 0 ]] && return
  echo "setup: installing ${missing[*]}"
  quietly as_root apt-get update -q
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# The CPU engine's library, in a folder of the repository: Debian 12 has only version 2.
install_onednn() {
  [[ -e .deps/onednn/lib/libdnnl.so ]] && return
  echo "setup: installing oneDNN into .deps/onednn"
  quietly python3 -m venv .deps/onednn
  quietly .deps/onednn/bin/pip install -q onednn-devel-cpu-gomp==2023.2.0
}

if command -v apt-get >/dev/null; then
  install_packages "${packages[@]}"
else
  echo "setup: this system has no apt-get; if the build fails, install the counterparts of: ${packages[*]}" >&2
fi
install_onednn
quietly cmake --preset release "${tests[@]}"
echo "setup: building build/release; from nothing that takes some minutes"
quietly cmake --build --preset release -- --quiet
echo "setup: build/release is up to date"
