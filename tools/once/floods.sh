#!/bin/bash
# floods.sh TREE SECONDS CONNECTIONS: a read key of a default-limited organization flooded with wrk; bytes, entries, neighbour's p99
tree=$1 seconds=$2 conns=$3
cd $tree; export RUN_DIR=/var/tmp/floods BIN_DIR=$tree/build/bin LOG_LEVEL=warning
rm -rf $RUN_DIR; deploy/local/stack up >/dev/null || exit 1
set -a; . $RUN_DIR/env; set +a
neighbour=$(build/bin/convctl org create --name Neighbour | jq -r .id)
nkey=$(build/bin/convctl key create --org $neighbour --name n --scope full | jq -r .secret)
[ "$nkey" = null ] && nkey=$(build/bin/convctl key create --org $neighbour --name n2 --scope full | jq -r '.key // .token')
build/bin/convctl org set $neighbour --rate-limit 1000000 >/dev/null
python3 /tmp/neighbour.py $nkey $((seconds + 12)) > /tmp/nb.$$ &
sleep 6
wal() { psql -qAtX $DATABASE_URL -c "select pg_wal_lsn_diff(pg_current_wal_lsn(),'0/0')::bigint, pg_database_size(current_database()), (select count(*) from audit.entries where organization_id='$ORG_ID')"; }
du0=$(du -sk $RUN_DIR/postgres | cut -f1); w0=$(wal)
cat > /tmp/fl.lua <<'L'
L
wrk -t2 -c$conns -d${seconds}s --latency -H "Authorization: Bearer $READ_KEY" $BASE_URL/ping > /tmp/wrk.$$ 2>&1 &
wpid=$!; sleep $seconds; wait $wpid
w1=$(wal); du1=$(du -sk $RUN_DIR/postgres | cut -f1)
IFS='|' read a b c <<<"$w0"; IFS='|' read d e f <<<"$w1"
echo "$tree conns $conns: wal MB/s $(echo "scale=3;($d-$a)/$seconds/1000000"|bc) db MB/s $(echo "scale=3;($e-$b)/$seconds/1000000"|bc) entries/s $(( (f-c)/seconds )) disk MB/s $(echo "scale=3;($du1-$du0)/1000/$seconds"|bc)"
grep -E "requests in|Requests/sec|Non-2xx|Socket" /tmp/wrk.$$
wait; cat /tmp/nb.$$
deploy/local/stack down
