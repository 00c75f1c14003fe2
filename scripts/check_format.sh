#!/usr/bin/env bash
# Checks that every C++ file is formatted as .clang-format says; with --fix, formats them.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  "") mode=(--dry-run -Werror) ;;
  --fix) mode=(-i) ;;
  *) echo "usage: check_format.sh [--fix]" >&2; exit 2 ;;
esac

# The style of one version is not quite that of another: version 14 is the one that counts.
format=$(command -v clang-format-14 || command -v clang-format)
folders=()
for folder in include src kernels tools python examples tests bench; do
  [[ -d $folder ]] && folders+=("$folder")
done
find "${folders[@]}" -type d -name build -prune -o -type f \( -name '*.[ch]pp' -o -name '*.[ch]' -o -name '*.cuh' \) -print0 |
  xargs -0 --no-run-if-empty "$format" --style=file "${mode[@]}"
