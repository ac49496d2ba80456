# Renames audit's names of moves to those of the schema cell in all tracked files (not docs, not migrations).
import re,subprocess,os
files=subprocess.run("git ls-files -m -o -c --exclude-standard | sort -u",shell=True,capture_output=True,text=True).stdout.split('\n')
M=[('audit.move_renumber','audit.renumber'),('audit.move_expire','cell.expire'),('audit.move_name','cell.name_of'),('audit.move_publish','cell.publish'),('audit.move_unpublish','cell.unpublish'),('audit.move_subscribe','cell.subscribe'),('audit.move_unsubscribe','cell.unsubscribe'),('audit.move_disable','cell.disable'),('audit.move_sums','cell.sum_rows'),('audit.move_delete','cell.delete_rows'),('audit.move_open','cell.open'),('audit.moved_tables','cell.moved_tables'),('audit.make_partitions_of','cell.make_partitions'),('audit.partitions','cell.partitions'),('audit.moving','cell.moves'),('audit.closed','cell.closed'),('audit.paused','cell.paused'),('audit.admit','cell.admit')]
rx=re.compile(r'\b('+'|'.join(re.escape(a) for a,_ in sorted(M,key=lambda x:-len(x[0])))+r')\b')
d=dict(M)
for f in files:
    if not os.path.isfile(f) or '/migrations/' in f: continue
    try: t=open(f).read()
    except UnicodeDecodeError: continue
    n=rx.sub(lambda m:d[m.group(1)],t)
    n=n.replace("'audit.move '","'cell.move '").replace("'audit.move \"","'cell.move \"").replace('migrations/0016_progress.sql','migrations/0001_webhook.sql')
    if n!=t:
        open(f,'w').write(n); print(f)
