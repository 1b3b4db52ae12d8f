#!/usr/bin/env bash
# Three nodes on a Redis Cluster (three masters, three replicas) and PostgreSQL, all on loopback, with the
# demo page on each node. Everything stands in a temporary folder and ends with this script: Ctrl-C.
#
#   tools/cluster.sh BINARY [serve's ARGUMENT...]
#
# Ports: nodes from FIRST_PORT (8080), Redis and PostgreSQL on free ones.
set -euo pipefail

readonly BINARY=$1
shift
readonly NODES=3
readonly FIRST_PORT=${FIRST_PORT:-8080}
FOLDER=$(mktemp -d "${TMPDIR:-/tmp}/presenced-cluster.XXXXXX")
readonly FOLDER
pids=()

say() { printf '== %s\n' "$*" >&2; }

# The nodes first, so that they take their leave while the stores still stand.
stop() {
    trap - EXIT INT TERM
    say "stopping"
    local pid
    for pid in "${node_pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in "${node_pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    if [[ -f $FOLDER/postgres/postmaster.pid ]]; then
        as_database_user "$pg_bin/pg_ctl" -D "$FOLDER/postgres" -m fast stop >/dev/null || true
    fi
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$FOLDER"
}
node_pids=()
trap stop EXIT
trap 'exit 130' INT TERM

# As many ports as asked for that nobody listens on now, one a line. Redis also takes each + 10000.
free_ports() {
    python3 - "$1" <<'PYTHON'
import socket, sys
held = []
while len(held) < int(sys.argv[1]):
    one = socket.socket()
    one.bind(("127.0.0.1", 0))
    if one.getsockname()[1] < 55000:
        held.append(one)
    else:
        one.close()
print("\n".join(str(one.getsockname()[1]) for one in held))
PYTHON
}

start_redis() {
    local -a ports
    local port
    mapfile -t ports < <(free_ports 6)
    for port in "${ports[@]}"; do
        mkdir "$FOLDER/redis-$port"
        redis-server --port "$port" --bind 127.0.0.1 --dir "$FOLDER/redis-$port" --save "" \
            --appendonly no --cluster-enabled yes --cluster-node-timeout 2000 \
            --logfile "$FOLDER/redis-$port/log" &
        pids+=($!)
    done
    for port in "${ports[@]}"; do
        until redis-cli -p "$port" ping >/dev/null 2>&1; do sleep 0.1; done
    done
    redis-cli --cluster create "${ports[@]/#/127.0.0.1:}" --cluster-replicas 1 --cluster-yes \
        >"$FOLDER/redis-create.log"
    until redis-cli -p "${ports[0]}" cluster info | grep -q cluster_state:ok; do sleep 0.1; done
    store_url="redis-cluster://127.0.0.1:${ports[0]},127.0.0.1:${ports[1]},127.0.0.1:${ports[2]}"
}

# PostgreSQL does not run as root.
as_database_user() {
    if [[ $(id -u) == 0 ]]; then
        runuser -u postgres -- "$@"
    else
        "$@"
    fi
}

start_postgres() {
    local port
    pg_bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
    port=$(free_ports 1)
    mkdir "$FOLDER/postgres"
    chmod 755 "$FOLDER"
    [[ $(id -u) != 0 ]] || chown postgres "$FOLDER/postgres"
    as_database_user "$pg_bin/initdb" -D "$FOLDER/postgres" -U presenced -A trust -E UTF8 \
        --locale=C >/dev/null
    as_database_user "$pg_bin/pg_ctl" -D "$FOLDER/postgres" -w -l "$FOLDER/postgres/log" \
        -o "-c listen_addresses=127.0.0.1 -p $port -k $FOLDER/postgres" start >/dev/null
    database_url="postgresql://presenced@127.0.0.1:$port/postgres"
}

start_nodes() {
    local index port
    for ((index = 0; index < NODES; ++index)); do
        port=$((FIRST_PORT + index))
        mkdir "$FOLDER/node-$index"
        "$BINARY" serve --dev --demo --set "listen=127.0.0.1:$port" --set "store.url=$store_url" \
            --set "database.url=$database_url" --set "data_dir=$FOLDER/node-$index" "$@" \
            >"$FOLDER/node-$index/out" &
        node_pids+=($!)
    done
    for ((index = 0; index < NODES; ++index)); do
        until grep -q '^ready' "$FOLDER/node-$index/out"; do
            kill -0 "${node_pids[index]}" 2>/dev/null || { say "node $index ended"; exit 1; }
            sleep 0.1
        done
    done
}

say "Redis Cluster, three masters and three replicas"
start_redis
say "PostgreSQL"
start_postgres
say "three nodes"
start_nodes "$@"
say "open http://127.0.0.1:$FIRST_PORT/, http://127.0.0.1:$((FIRST_PORT + 1))/ and http://127.0.0.1:$((FIRST_PORT + 2))/; Ctrl-C ends all"
echo "ready cluster"
wait "${node_pids[@]}"
