#!/bin/sh
# Makes linux-tcp.pcap anew: what three Linux TCP connections (one of them over IPv6), two with ECN, and a UDP flow with
# fragments sent over a veth pair at 10 Mbit/s, captured at the sender, the first 96 bytes of each packet.
# Needs root, iproute2, tcpdump and python3. Everything happens in network namespaces that end with it.
set -eu
out=${1:-linux-tcp.pcap}
exec unshare -n sh -eu -c '
out=$1
ip link set lo up
unshare -n sleep 60 & far=$!
sleep 0.5
ip link add veth0 gso_max_segs 1 type veth peer name veth1
ip link set veth1 netns "$far"
there() { nsenter -t "$far" -n "$@"; }
ip addr add 10.9.0.1/24 dev veth0; ip addr add fd09::1/64 dev veth0 nodad
there ip addr add 10.9.0.2/24 dev veth1; there ip addr add fd09::2/64 dev veth1 nodad
ip link set veth0 up; there ip link set veth1 up; there ip link set lo up
echo 1 > /proc/sys/net/ipv4/tcp_ecn; there sh -c "echo 1 > /proc/sys/net/ipv4/tcp_ecn"
tc qdisc add dev veth0 root tbf rate 10mbit burst 3k limit 60k
there python3 -c "
import socket, threading
def sink(family, port):
    server = socket.create_server((\"\", port), family=family)
    connection, _ = server.accept()
    while connection.recv(65536): pass
for family, port in ((socket.AF_INET, 5001), (socket.AF_INET, 5002), (socket.AF_INET6, 5003)):
    threading.Thread(target=sink, args=(family, port)).start()
" &
sleep 1
tcpdump -i veth0 -Q out -s 96 --time-stamp-precision=nano -w "$out" "ip or ip6" &
dump=$!
sleep 1
python3 -c "
import socket, threading, time
def send(family, address, port, count):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        if port == 5002:  # this one without ECN
            open(\"/proc/sys/net/ipv4/tcp_ecn\", \"w\").write(\"0\")
        s.connect((address, port))
        s.sendall(bytes(count))
def flood(seconds):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end, number = time.time() + seconds, 0
    while time.time() < end:
        s.sendto(bytes(3000 if number % 16 == 0 else 1000), (\"10.9.0.2\", 9))
        number += 1
        time.sleep(0.004)
threads = [threading.Thread(target=flood, args=(1.2,))]
for family, address, port in ((socket.AF_INET, \"10.9.0.2\", 5001), (socket.AF_INET6, \"fd09::2\", 5003), (socket.AF_INET, \"10.9.0.2\", 5002)):
    threads.append(threading.Thread(target=send, args=(family, address, port, 350000)))
for thread in threads:
    thread.start(); time.sleep(0.1)
for thread in threads: thread.join()
"
sleep 1
kill -INT "$dump"; wait "$dump" || true
kill "$far" || true
' sh "$out"
