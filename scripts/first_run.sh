#!/usr/bin/env bash
# Installs what is missing, builds, and shows what Tapconv does on this machine's device (the first GPU, else the CPU): a
# convolution of tensors in files, proved; then two published problems planned, run, checked and timed.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
tapconv=build/release/tapconv
folder=build/first-run

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

show python3 examples/gabor.py "$folder"
problem='Conv2d(1, 8, 11, padding=5) @ 1x1x240x320'
tensors=(--input $folder/input.npy --weight $folder/weight.npy --bias $folder/bias.npy)
show $tapconv run "$problem" "${tensors[@]}" --out $folder/output.npy
show $tapconv check "$problem" "${tensors[@]}"
show python3 examples/gabor.py "$folder" --show

case $($tapconv specs --json | grep -m1 '"device"') in
  *cuda*) against=cudnn ;;
  *) against=onednn ;;
esac
for problem in kb56 kb76; do
  show $tapconv plan $problem --batch 1
  show $tapconv run $problem --batch 1
  show $tapconv check $problem --batch 1
  # 9: the machine is too noisy for a ratio within 2 %; the times are shown all the same.
  show $tapconv bench $problem --batch 1 --against $against --rounds 7 || [[ $? == 9 ]]
done
printf '\nThe filtered picture is in %s/filters.pgm. More: docs/command-line.md\n' "$folder"
