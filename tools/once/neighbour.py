import sys,os,time,socket,re
key,secs=sys.argv[1],float(sys.argv[2]); base=os.environ["BASE_URL"]; h,p=re.match(r"http://([\d.]+):(\d+)",base).groups()
s=None; out=[]; bad=0; t0=time.monotonic(); k=0
while time.monotonic()-t0<secs:
    due=t0+k*0.02; k+=1   # 50/s
    d=due-time.monotonic()
    if d>0: time.sleep(d)
    try:
        if s is None: s=socket.create_connection((h,int(p)))
        b='{"external_id":"n-%d-%d","from":{"external_id":"u"}}'%(os.getpid(),k)
        t=time.monotonic()
        s.sendall(("POST /api/v1/conversations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"%(key,len(b),b)).encode())
        data=b""
        while b"\r\n\r\n" not in data: data+=s.recv(65536)
        head,rest=data.split(b"\r\n\r\n",1); n=int(re.search(rb"content-length: (\d+)",head,re.I)[1])
        while len(rest)<n: rest+=s.recv(65536)
        at=time.monotonic()-t0
        if head.split()[1]!=b"201": bad+=1
        out.append((at,(time.monotonic()-t)*1000))
    except Exception as e: bad+=1; s=None
def q(v,p): v=sorted(v); return "%.1f"%v[int((len(v)-1)*p)] if v else None
calm=[x for a,x in out if a<5]; flood=[x for a,x in out if a>8]
print("neighbour creates: calm p50",q(calm,.5),"p99",q(calm,.99),"; flooded p50",q(flood,.5),"p99",q(flood,.99),"max",q(flood,1),"bad",bad,"of",len(out))
