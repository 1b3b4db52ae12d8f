#!/usr/bin/env bash
# Runs a test program that should leave its results as JUnit XML: recorded.sh FILE COMMAND...
# One that fails without saying so in FILE (it crashed, or could not start) gets a record there, so
# that the sum counts it.
set -uo pipefail

file=$1
shift
mkdir -p "$(dirname "$file")"
"$@"
code=$?
if [[ ! -s $file ]] || { ((code != 0)) && ! grep -qE '<(failure|error)' "$file"; }; then
    name=$(basename "$file" .xml)
    if ((code == 0)); then
        echo "<testsuite name=\"$name\"><testcase name=\"$name\"/></testsuite>" >"$file"
    else
        echo "<testsuite name=\"$name\"><testcase name=\"$name ended with $code\"><failure message=\"exit $code\"/></testcase></testsuite>" >"${file%.xml}.ended.xml"
    fi
fi
exit $code
