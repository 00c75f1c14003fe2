#!/usr/bin/env bash
# Installs what is missing, builds, and shows what Tapconv does on this machine's device (the first GPU, else the CPU): a
# convolution of tensors in files, proved; then two published problems planned, run, checked and timed.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
tapconv=build/release/tapconv
folder=build/first-run

# quoted WORD...: as they can be pasted into a shell.
quoted() {
  local word
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_./:=-]+$ ]]; then printf ' %s' "$word"; else printf " '%s'" "${word//\'/\'\\\'\'}"; fi
  done
}

# show COMMAND...: prints it, then runs it.
show() {
  printf '\n$%s\n' "$(quoted "$@")"
  "$@"
}

show python3 examples/gabor.py "$folder"
problem='Conv2d(1, 8, 11, padding=5) @ 1x1x240x320'
tensors=(--input $folder/input.npy --weight $folder/weight.npy --bias $folder/bias.npy)
show $tapconv run "$problem" "${tensors[@]}" --out $folder/output.npy
show $tapconv check "$problem" "${tensors[@]}"
show python3 examples/gabor.py "$folder" --show

case $($tapconv specs --json | grep -m1 '"device"') in
  *cuda*)
    against=cudnn
    problems=(kb56 kb76)
    ;;
  *)
    # oneDNN computes in fp32, so the reference and the engine are of one arithmetic.
    against=onednn
    problems=('kb56(math=fp32)' 'kb76(math=fp32)')
    ;;
esac
for problem in "${problems[@]}"; do
  show $tapconv plan "$problem" --batch 1
  show $tapconv run "$problem" --batch 1
  show $tapconv check "$problem" --batch 1
  # 9: the machine is too noisy for a ratio within 2 %; the times are shown all the same.
  show $tapconv bench "$problem" --batch 1 --against $against --rounds 7 || [[ $? == 9 ]]
done
printf '\nThe filtered picture is in %s/filters.pgm.\n' "$folder"
echo "What the checks mean: docs/numerics.md. What the times mean: docs/measuring.md. All commands: docs/command-line.md"
