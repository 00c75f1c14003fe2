#!/usr/bin/env bash
# Installs what is missing (scripts/setup.sh), builds everything with g++ and, under sanitizers, with clang, and runs all
# checks and tests. TAPCONV_FUZZ_SECONDS sets how long each fuzzer runs (30). One line a step; a failing step's log
# follows its line. Ends with ctest's own summary of the release build's tests, and with 1 if any step failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

fuzz_seconds=${TAPCONV_FUZZ_SECONDS:-30}
logs=build/logs
rm -rf "$logs"
mkdir -p "$logs"
failed=()

# step NAME COMMAND...: runs the command with its output in a log.
step() {
  local name=$1 start=$SECONDS
  shift
  if "$@" >"$logs/$name.log" 2>&1; then
    printf 'ok      %-16s %4d s\n' "$name" $((SECONDS - start))
  else
    printf 'FAILED  %-16s %4d s, the end of %s:\n' "$name" $((SECONDS - start)) "$logs/$name.log"
    tail -n 60 "$logs/$name.log"
    failed+=("$name")
    return 1
  fi
}

build() {
  local preset=$1
  shift
  cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -- --quiet
}

# tests_of PRESET [CTEST OPTION...]
tests_of() { ctest --preset "$@" --parallel "$(nproc)"; }

# What a sanitizer of the tests themselves adds nothing to: compilers' work, kernels that run under sanitizers of their own, and
# statistics over many draws, and long lists, of what other tests run once.
outside='KernelsCompile|Emulation|WarpgroupParts|WarpgroupSources|command_line.bench_suite|Honest\.|DiagnosisHonest\.|NamesEveryOneOfAHundred|NoiseAloneIsSeldom|NamesFaultsOfLongSums|NamesUndeclaredArithmeticFromTies|Prediction\.(Of|From)|CpuCheck|CpuLists|RankTest.Keeps|WrongArithmetic.*36864'

# The asan preset does not follow __tls_get_addr: LeakSanitizer guesses the extent of a loaded library's thread-local memory
# from the words before it, and where these are not what it expects (one address in 256), reads what is not there and dies.
# cuDNN's own leaks have no names to suppress, so leaks are not looked for in the tests that load it.
sanitized_tests() {
  tests_of asan --exclude-regex "^Cudnn|$outside" && ASAN_OPTIONS=detect_leaks=0 tests_of asan --tests-regex '^Cudnn'
}

# fuzz_all: each subject's fuzzer, two at a time.
fuzz_all() { printf '%s\n' npy problems safetensors spelling | xargs -P 2 -I{} bash -c 'fuzz {}'; }

# fuzz SUBJECT: from the seeds and what earlier runs found.
fuzz() {
  local corpus=build/fuzz/$1
  mkdir -p "$corpus"
  build/asan/tests/"$1"_fuzz -max_total_time=$fuzz_seconds -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$corpus-" \
    -dict=tests/fuzz/"$1".dict "$corpus" tests/fuzz/seeds/"$1"
}

export -f fuzz
export fuzz_seconds

step release-build scripts/setup.sh --tests
step format scripts/check_format.sh
step includes scripts/check_includes.py

if step asan-build build asan; then
  step asan-tests sanitized_tests
  step fuzzers fuzz_all
fi

# oneDNN's OpenMP runtime is not built for the thread sanitizer, so this build is without the CPU engine; no test of it runs
# the command line.
if step tsan-build build tsan; then
  step tsan-tests tests_of tsan --exclude-regex "$outside"
fi

step release-tests tests_of release

# Its own words, so that a log shows stale evidence.
scripts/evidence.py || failed+=(evidence)

if [[ ${#failed[@]} == 0 ]]; then
  echo "all steps passed; the tests of the release build:"
else
  echo "failed steps: ${failed[*]}; the tests of the release build:"
fi
sed -n '/tests passed/,$p' "$logs/release-tests.log"
[[ ${#failed[@]} == 0 ]]
