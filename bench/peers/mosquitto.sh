#!/usr/bin/env bash
# Mosquitto with a password file and nothing on disk. Its listener takes a port that was free a moment ago; clients
# try again until it listens.
#   mosquitto.sh FOLDER
set -euo pipefail
folder=$1
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mosquitto_passwd -c -b "$folder/passwords" bench bench
chmod 0644 "$folder/passwords"
cat >"$folder/mosquitto.conf" <<EOF
listener $port 127.0.0.1
password_file $folder/passwords
allow_anonymous false
persistence false
max_queued_messages 10000
user root
log_type error
EOF
echo "ready http://127.0.0.1:$port"
exec mosquitto -c "$folder/mosquitto.conf"
