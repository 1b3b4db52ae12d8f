#!/usr/bin/env bash
# Runs the tests of a package with node's own runner, two files at a time, each with its results as
# JUnit XML: node_tests.sh FOLDER RESULTS-PREFIX.
# Real sockets, real browsers, real time: what a busy machine broke passes when its file is run once
# more and alone, what is broken does not.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
recorded=$here/recorded.sh
prefix=$2
most_ms=420000  # Of a whole file: the drills of the alerts take 160 s on an idle machine.
[[ ${LONG_TESTS:-} != 1 ]] || most_ms=900000
cd "$1" || exit 1

run_file() {
    local file=$1 results
    results=$prefix-$(basename "${file%.*js}").xml
    rm -f "${results%.xml}"*.xml
    "$recorded" "$results" node --test --test-timeout=$most_ms \
        --test-reporter=spec --test-reporter-destination=stdout \
        --test-reporter=junit --test-reporter-destination="$results" "$file" </dev/null
}

# What two files say at once is not to mix: each speaks when it is done.
run_aside() {
    local said code
    said=$(mktemp)
    run_file "$1" >"$said" 2>&1
    code=$?
    cat "$said"
    rm -f "$said"
    ((code == 0)) || echo "$1" >>"$failures"
}

mapfile -t files < <(find . -path ./node_modules -prune -o -type f \
    \( -name '*.test.mjs' -o -name '*.test.js' -o -name '*_test.mjs' -o -name '*_test.js' \) -print | sort)
((${#files[@]})) || exit 0
printf '\n== node --test: %s, %s files\n' "$1" "${#files[@]}" >&2
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT
export -f run_aside run_file
export recorded prefix failures most_ms
printf '%s\0' "${files[@]}" | xargs -0 -r -n 1 -P 2 bash -c 'run_aside "$1"' run_aside

code=0
while read -r file; do
    printf '\n== again: %s\n' "$file"
    run_file "$file" || code=1
done < <(sort "$failures")
exit $code
