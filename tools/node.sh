#!/usr/bin/env bash
# The web parts: node itself, and the packages of each folder that has a package-lock.json.
#
#   tools/node.sh ready          exit 0 if node is new enough; else says what to do and exits 3
#   tools/node.sh install        makes node ready, then runs `npm ci` where the lock file is newer
#   tools/node.sh folders        the folders that have a lock file, but for bench/: servers to measure
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/build/node/node_modules/node/bin:$PATH

readonly LEAST=20

node_major() {
    local version
    version=$(node --version 2>/dev/null) || { echo 0; return; }
    version=${version#v}
    echo "${version%%.*}"
}

folders() {
    find . -name package-lock.json -not -path '*/node_modules/*' -not -path './build/*' -not -path './bench/*' \
        -printf '%h\n' | sed 's|^\./||' | sort
}

# Debian 12 brings node 18, too old for the web parts. A newer one comes as an npm package, into
# build/node, and the system's stays as it is.
get_newer_node() {
    echo "node: version $(node_major) is too old, getting $LEAST into build/node" >&2
    mkdir -p build/node
    npm install --prefix build/node --no-audit --no-fund --loglevel=error "node@$LEAST" \
        </dev/null >&2
}

ready() {
    if (($(node_major) >= LEAST)) && command -v npm >/dev/null; then
        return 0
    fi
    if ! command -v npm >/dev/null && command -v apt-get >/dev/null; then
        local -a root=()
        if [[ $(id -u) != 0 ]]; then
            root=(sudo)
        fi
        "${root[@]}" apt-get -qq update </dev/null >&2
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get -qq -y --no-install-recommends install nodejs npm </dev/null >&2
    fi
    if (($(node_major) < LEAST)); then
        get_newer_node
    fi
    if (($(node_major) < LEAST)); then
        echo "node: version $(node_major) is here, the web parts need $LEAST or later" >&2
        return 3
    fi
}

# What was installed is as the lock file says if npm's own note of it is newer.
is_fresh() {
    [[ $1/node_modules/.package-lock.json -nt $1/package-lock.json ]]
}

install() {
    ready
    local folder
    for folder in $(folders); do
        if ! is_fresh "$folder"; then
            echo "node: npm ci in $folder" >&2
            (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error </dev/null >&2)
            mkdir -p "$folder/node_modules"  # npm makes none where nothing is needed.
            touch "$folder/node_modules/.package-lock.json"
        fi
    done
}

case "${1:-}" in
    ready) ready ;;
    install) install ;;
    folders) folders ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
