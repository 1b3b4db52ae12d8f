#!/usr/bin/env bash
# Makes the secrets of compose.yml, once: make-secrets.sh [FOLDER], by default beside this script.
# Containers read them as another user than yours, so the files are open and the folder is not.
set -euo pipefail
folder=${1:-$(dirname "$0")/secrets}
if [[ -e $folder ]]; then
    echo "$folder is there already" >&2
    exit 0
fi
mkdir -m 0700 "$folder"
random() { head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'; }
random >"$folder/jwt-secret"
random >"$folder/api-key"
random >"$folder/database-password"
printf 'postgresql://presenced:%s@postgres/presenced' "$(cat "$folder/database-password")" >"$folder/database-url"
chmod 0644 "$folder"/*
