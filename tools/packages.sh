#!/usr/bin/env bash
# Installs the packages of tools/packages.txt that are missing, with sudo when not root.
#
#   tools/packages.sh install GROUP...   installs what is missing of these groups
#   tools/packages.sh missing GROUP...   names it, installs nothing
#   tools/packages.sh list               all groups and names
set -euo pipefail
cd "$(dirname "$0")/.."

readonly LIST=tools/packages.txt

# The entries of the groups given, one `a|b` a line.
entries() {
    local group
    for group in "$@"; do
        awk -v group="$group" '$1 == group { print $2 }' "$LIST"
    done
}

is_installed() {
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Entries of which no alternative is installed. A program that was installed by other means than
# its package (a newer cmake, say) is the user's choice only for node; see tools/node.sh.
missing() {
    local entry name
    while read -r entry; do
        for name in ${entry//|/ }; do
            if is_installed "$name"; then
                continue 2
            fi
        done
        echo "$entry"
    done < <(entries "$@")
}

# The first alternative of an entry that the system offers.
offered() {
    local name
    for name in ${1//|/ }; do
        if apt-cache show "$name" >/dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
    echo "packages: this system offers none of: $1" >&2
    return 1
}

as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "packages: cannot install without root or sudo; run as root: $*" >&2
        return 1
    fi
}

install() {
    local -a wanted names=()
    mapfile -t wanted < <(missing "$@")
    if ((${#wanted[@]} == 0)); then
        return 0
    fi
    if ! command -v apt-get >/dev/null; then
        echo "packages: no apt-get here; install by hand what stands for: ${wanted[*]}" >&2
        return 1
    fi
    echo "packages: installing ${wanted[*]}" >&2
    as_root apt-get -qq update </dev/null
    local entry name
    for entry in "${wanted[@]}"; do
        name=$(offered "$entry")
        names+=("$name")
    done
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -y --no-install-recommends install "${names[@]}" </dev/null >&2
}

case "${1:-}" in
    install) shift; install "$@" ;;
    missing) shift; missing "$@" ;;
    list) awk 'NF && $1 !~ /^#/ { print $1, $2 }' "$LIST" ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
