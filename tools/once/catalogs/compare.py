#!/usr/bin/env python3
"""compare.py URL_OLD URL_NEW: compares two catalogs; what is expected to differ is in OLD_NAMES, GONE and MORE."""
import re, subprocess, sys

SCHEMAS = "('access','audit','cell','conversation','search','webhook','migration','public')"
S = f"n.nspname IN {SCHEMAS}"
ACL = "coalesce({}, acldefault('{}', {}))"
QUERIES = {
"schema": f"SELECT format('%s owner=%s', nspname, pg_get_userbyid(nspowner)) FROM pg_namespace n WHERE {S}",
"schema-acl": f"SELECT format('%s: %s may %s grantable=%s', nspname, coalesce(nullif(a.grantee,0)::regrole::text,'PUBLIC'), a.privilege_type, a.is_grantable) FROM pg_namespace n, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) a WHERE {S}",
"relation": f"""SELECT format('%s.%s kind=%s owner=%s persistence=%s options=%s rls=%s/%s replident=%s partition=%s bound=%s partkey=%s am=%s tablespace=%s',
   n.nspname, c.relname, c.relkind, pg_get_userbyid(relowner), relpersistence,
   (SELECT string_agg(o, ',' ORDER BY o) FROM unnest(reloptions) o), relrowsecurity, relforcerowsecurity, relreplident, relispartition,
   pg_get_expr(relpartbound, c.oid), CASE WHEN relkind='p' THEN pg_get_partkeydef(c.oid) END, (SELECT amname FROM pg_am WHERE oid=relam), reltablespace)
   FROM pg_class c JOIN pg_namespace n ON n.oid=relnamespace WHERE {S}""",
"inherits": f"SELECT format('%s of %s seq=%s', inhrelid::regclass, inhparent::regclass, inhseqno) FROM pg_inherits",
"relation-acl": f"""SELECT format('%s.%s: %s may %s grantable=%s', n.nspname, relname, coalesce(nullif(a.grantee,0)::regrole::text,'PUBLIC'), a.privilege_type, a.is_grantable)
   FROM pg_class c JOIN pg_namespace n ON n.oid=relnamespace, aclexplode(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))) a WHERE {S} AND relkind IN ('r','p','v','S','m')""",
"column": f"""SELECT format('%s.%s.%s type=%s notnull=%s default=%s collation=%s storage=%s compression=%s identity=%s generated=%s stats=%s local=%s/%s',
   n.nspname, relname, attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid),
   (SELECT collname FROM pg_collation WHERE oid=attcollation), attstorage, attcompression, attidentity, attgenerated, attstattarget, attislocal, attinhcount)
   FROM pg_attribute a JOIN pg_class c ON c.oid=attrelid JOIN pg_namespace n ON n.oid=relnamespace LEFT JOIN pg_attrdef d ON adrelid=attrelid AND adnum=attnum
   WHERE {S} AND attnum>0 AND NOT attisdropped AND relkind IN ('r','p','v','m')""",
"column-order": f"""SELECT format('%s.%s: %s', n.nspname, relname, string_agg(attname, ' ' ORDER BY attnum)) FROM pg_attribute a JOIN pg_class c ON c.oid=attrelid JOIN pg_namespace n ON n.oid=relnamespace
   WHERE {S} AND attnum>0 AND NOT attisdropped AND relkind IN ('r','p','v','m') GROUP BY 1, n.nspname, relname HAVING true""".replace("GROUP BY 1, ", "GROUP BY "),
"column-acl": f"""SELECT format('%s.%s.%s: %s may %s grantable=%s', n.nspname, relname, attname, coalesce(nullif(x.grantee,0)::regrole::text,'PUBLIC'), x.privilege_type, x.is_grantable)
   FROM pg_attribute a JOIN pg_class c ON c.oid=attrelid JOIN pg_namespace n ON n.oid=relnamespace, aclexplode(attacl) x WHERE {S} AND NOT attisdropped""",
"constraint": f"""SELECT format('%s on %s: %s type=%s validated=%s deferrable=%s/%s noinherit=%s local=%s/%s', conname, conrelid::regclass, pg_get_constraintdef(k.oid), contype, convalidated, condeferrable, condeferred, connoinherit, conislocal, coninhcount)
   FROM pg_constraint k JOIN pg_namespace n ON n.oid=connamespace WHERE {S}""",
"index": f"""SELECT format('%s on %s: %s valid=%s ready=%s unique=%s primary=%s exclusion=%s clustered=%s replident=%s nullsnotdistinct=%s', indexrelid::regclass, indrelid::regclass, pg_get_indexdef(indexrelid), indisvalid, indisready, indisunique, indisprimary, indisexclusion, indisclustered, indisreplident, indnullsnotdistinct)
   FROM pg_index i JOIN pg_class c ON c.oid=indexrelid JOIN pg_namespace n ON n.oid=relnamespace WHERE {S}""",
"policy": f"""SELECT format('%s on %s cmd=%s permissive=%s roles=%s using=%s check=%s', polname, polrelid::regclass, polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) FROM pg_policy""",
"function": f"""SELECT format('%s.%s(%s) returns %s lang=%s kind=%s owner=%s volatile=%s definer=%s strict=%s leakproof=%s parallel=%s config=%s cost=%s rows=%s body=%s', n.nspname, proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), lanname, prokind, pg_get_userbyid(proowner), provolatile, prosecdef, proisstrict, proleakproof, proparallel,
   (SELECT string_agg(o, ',' ORDER BY o) FROM unnest(proconfig) o), procost, prorows, replace(coalesce(pg_get_function_sqlbody(p.oid), prosrc), E'\\n', '<NL>'))
   FROM pg_proc p JOIN pg_namespace n ON n.oid=pronamespace JOIN pg_language l ON l.oid=prolang WHERE {S}""",
"function-acl": f"""SELECT format('%s.%s(%s): %s may %s grantable=%s', n.nspname, proname, pg_get_function_identity_arguments(p.oid), coalesce(nullif(a.grantee,0)::regrole::text,'PUBLIC'), a.privilege_type, a.is_grantable)
   FROM pg_proc p JOIN pg_namespace n ON n.oid=pronamespace, aclexplode(coalesce(proacl, acldefault('f', proowner))) a WHERE {S}""",
"trigger": f"SELECT format('%s on %s: %s enabled=%s', tgname, tgrelid::regclass, pg_get_triggerdef(t.oid), tgenabled) FROM pg_trigger t WHERE NOT tgisinternal",
"trigger-internal": f"SELECT format('%s: %s', tgrelid::regclass, tgfoid::regproc) FROM pg_trigger t WHERE tgisinternal",
"view": f"SELECT format('%s.%s: %s', n.nspname, relname, replace(pg_get_viewdef(c.oid), E'\\n', ' ')) FROM pg_class c JOIN pg_namespace n ON n.oid=relnamespace WHERE {S} AND relkind IN ('v','m')",
"sequence": f"SELECT format('%s type=%s start=%s inc=%s max=%s min=%s cache=%s cycle=%s owned=%s', seqrelid::regclass, seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle, (SELECT refobjid::regclass FROM pg_depend WHERE objid=seqrelid AND deptype='a')) FROM pg_sequence",
"role-setting": "SELECT format('%s %s', coalesce(nullif(setrole,0)::regrole::text,'all'), c) FROM pg_db_role_setting, unnest(setconfig) c WHERE setdatabase=(SELECT oid FROM pg_database WHERE datname=current_database())",
"default-acl": "SELECT format('%s %s %s', defaclrole::regrole, defaclobjtype, defaclacl) FROM pg_default_acl",
"comment": "SELECT format('%s %s', classoid::regclass, description) FROM pg_description WHERE objoid >= 16384",
"type": f"SELECT format('%s.%s %s %s', n.nspname, typname, typtype, pg_get_userbyid(typowner)) FROM pg_type t JOIN pg_namespace n ON n.oid=typnamespace WHERE {S}",
"statistics": "SELECT stxname::text FROM pg_statistic_ext",
"rule": f"SELECT format('%s %s', ev_class::regclass, rulename) FROM pg_rewrite r JOIN pg_class c ON c.oid=ev_class JOIN pg_namespace n ON n.oid=relnamespace WHERE {S}",
"publication": "SELECT pubname::text FROM pg_publication",
"extension": "SELECT extname::text FROM pg_extension",
"rows": "SELECT format('audit.numbering %s %s', is_only, added) FROM audit.numbering",
}

# The schema cell, and its names.
OLD_NAMES = [(r"\baudit\.move_renumber\b", "audit.renumber"), (r"\baudit\.move_expire\b", "cell.expire"), (r"\baudit\.move_name\b", "cell.name_of"),
 (r"\baudit\.move_(publish|unpublish|subscribe|unsubscribe|disable|open)\b", r"cell.\1"), (r"\baudit\.move_sums\b", "cell.sum_rows"), (r"\baudit\.move_delete\b", "cell.delete_rows"),
 (r"\baudit\.moved_tables\b", "cell.moved_tables"), (r"\baudit\.make_partitions_of\b", "cell.make_partitions"), (r"\baudit\.partitions\b", "cell.partitions"),
 (r"\baudit\.moving_pkey\b", "cell.moves_pkey"), (r"\bmoving_pkey\b", "moves_pkey"), (r"\bmoving_state_check\b", "moves_state_check"), (r"\baudit\._moving\b", "cell._moves"),
 (r"\baudit\.moving\b", "cell.moves"), (r"\bmoving\.(organization_id|state|since)\b", r"moves.\1"), (r"\baudit\.(closed|paused|admit|_closed|_paused)\b", r"cell.\1"),
 (r"'audit\.move '", "'cell.move '"),
 # said in today's words
 (r"the trail is kept for three months at least", "the audit log is kept for at least three months"),
 # a name of its own instead of PostgreSQL's
 (r"\busage_quarters_minute_idx\b", "usage_quarters_by_minute"),
]
# Rights that were kept for replicas of an earlier version, and functions that only they call; none was released.
GONE = [r"^function: audit\.drop_oldest\(", r"^function-acl: audit\.drop_oldest\(", r"^schema-acl: audit: conv_access may USAGE",
 r"^column-acl: audit\.changes\.(organization_id|id|who|user_id|change|target|detail|address): conv_access may INSERT",
 r"^schema-acl: access: conv_(audit|conversation|webhook) may USAGE", r"^column-acl: access\.organizations\.organization_id: conv_(audit|conversation|webhook) may SELECT"]
MORE = [r"^schema: cell ", r"^schema-acl: cell: (\w+) may (USAGE|CREATE)"]

def normal_body(line):
    head, sep, body = line.partition(" body=")
    if not sep: return line
    body = re.sub(r"--[^<]*?(<NL>|$)", " ", body)
    return head + sep + re.sub(r"\s+", " ", body.replace("<NL>", " ")).strip()

def lines(url):
    found = []
    for kind, query in QUERIES.items():
        out = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", "SET search_path = ''", "-c", query], capture_output=True, text=True)
        if out.returncode: sys.exit(f"{kind}: {out.stderr}")
        found += [normal_body(f"{kind}: {line}") for line in out.stdout.splitlines() if line]
    return found

def main():
    old, new = lines(sys.argv[1]), lines(sys.argv[2])
    total = len(old), len(new)
    for pattern, name in OLD_NAMES:
        old = [re.sub(pattern, name, line) for line in old]
    used = {}
    def expected(line, patterns):
        for p in patterns:
            if re.search(p, line): used[p] = used.get(p, 0) + 1; return True
        return False
    from collections import Counter
    o, n = Counter(old), Counter(new)
    lost = sorted(l for l in (o - n).elements() if not expected(l, GONE))
    more = sorted(l for l in (n - o).elements() if not expected(l, MORE))
    for l in lost: print("-", l)
    for l in more: print("+", l)
    for p in GONE + MORE:
        print(f"expected {used.get(p, 0):3}  {'-' if p in GONE else '+'} {p}")
        if p not in used: print("NOT USED", p)
    print(f"{total[0]} and {total[1]} lines:", "same" if not lost and not more else f"{len(lost)} lost, {len(more)} more")
    return bool(lost or more)

sys.exit(main())
