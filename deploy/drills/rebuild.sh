#!/usr/bin/env bash
# A new group of Guardian members from what is left of an old one: docs/disaster.md says when, and what is lost.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: rebuild.sh --snapshot FILE [--salvage DIR] --config FILE --endpoint HOST:PORT
                  [--member NAME=HOST:PORT]... [--start COMMAND] [--wait SECONDS] [--dry-run]

Makes a new group of Guardian members: from the folder of the last member of the old group, or from a snapshot.
End every member of the old group first, and keep their folders: two groups would act on the same Kafka clusters.
Run it where the first member of the new group will run.

  --snapshot FILE           the snapshot to begin with; with --salvage, where it is written
  --salvage DIR             the data folder of the old group's last member, which is stopped
  --config FILE             guardian.toml of the first member: no [peers], and an empty data folder
  --endpoint HOST:PORT      the first member's gRPC port
  --member NAME=HOST:PORT   another member and its Raft port; again for each. Its guardian.toml has join = true, the
                            first member among its [peers], and an empty data folder
  --start COMMAND           starts the member $NAME; default: systemctl start guardian for the first one, and
                            ssh $NAME sudo systemctl start guardian for the others
  --wait SECONDS            for a member to serve, or to catch up; default: 600
  --dry-run                 says what would be done, and does nothing
TEXT
}

fail() {
    echo "rebuild.sh: $1; see rebuild.sh --help" >&2
    exit 2
}

snapshot='' salvage='' config='' endpoint='' wait_s=600 dry_run='' members=()
start='if [ "$NAME" = "$FIRST" ]; then systemctl start guardian; else ssh "$NAME" sudo systemctl start guardian; fi'
while [ $# -gt 0 ]; do
    case $1 in
        --help | -h) usage && exit 0 ;;
        --dry-run) dry_run=yes && shift && continue ;;
    esac
    [ $# -ge 2 ] || fail "$1 has no value"
    case $1 in
        --snapshot) snapshot=$2 ;;
        --salvage) salvage=$2 ;;
        --config) config=$2 ;;
        --endpoint) endpoint=$2 ;;
        --member) [[ $2 == ?*=?*:?* ]] || fail "--member is '$2': use NAME=HOST:PORT" && members+=("$2") ;;
        --start) start=$2 ;;
        --wait) wait_s=$2 ;;
        *) fail "$1 is no option" ;;
    esac
    shift 2
done
[ -n "$snapshot" ] && [ -n "$config" ] && [ -n "$endpoint" ] || fail "give --snapshot, --config and --endpoint"
[[ $wait_s =~ ^[0-9]+$ ]] || fail "--wait is '$wait_s': use a number of seconds"
[ -r "$config" ] || fail "--config is '$config', which can't be read"
FIRST=$(sed -n 's/^name *= *"\([^"]*\)".*/\1/p' "$config")
[ -n "$FIRST" ] || fail "$config has no name"
export FIRST GUARDIAN_ENDPOINTS=$endpoint
began=$(date +%s%N)

elapsed() {
    local ms=$((($(date +%s%N) - began) / 1000000))
    printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

run() {
    echo "[$(elapsed)] $*"
    [ -n "$dry_run" ] || "$@"
}

begin() {
    echo "[$(elapsed)] NAME=$1 FIRST=$FIRST sh -c '$start'"
    [ -n "$dry_run" ] || NAME=$1 sh -c "$start"
}

await_served() {
    local deadline=$((SECONDS + wait_s))
    echo "[$(elapsed)] until it succeeds: guardian cluster list"
    [ -z "$dry_run" ] || return 0
    until guardian cluster list >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || { echo "rebuild.sh: $FIRST does not serve after $wait_s s: see its log" >&2 && exit 1; }
        sleep 0.2
    done
}

[ -z "$salvage" ] || run guardian raft snapshot salvage "$salvage" "$snapshot"
run guardian raft snapshot verify "$snapshot"
run guardian raft snapshot restore "$snapshot" --config "$config"
begin "$FIRST"
await_served
served=$(elapsed)
for member in ${members[@]+"${members[@]}"}; do
    begin "${member%%=*}"
    run guardian raft add "${member%%=*}" --raft "${member#*=}"
    run guardian raft promote "${member%%=*}" --wait "${wait_s}s"
done
run guardian raft members
[ -n "$dry_run" ] || echo "[time] $served until $FIRST served, $(elapsed) until all $((${#members[@]} + 1)) were voters"
