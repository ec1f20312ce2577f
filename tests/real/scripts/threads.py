# Threads, exceptions over C frames, generators, subprocesses, signals, a queue: what python3 does for a living.
import ctypes
import functools
import hashlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import zlib

results = queue.Queue()


def worker(number):
    total = 0
    for i in range(300):
        try:
            total += json.loads(json.dumps({"n": i}))["n"]
            if i % 10 == number:
                raise ValueError(i)
        except ValueError as error:
            total += error.args[0]
    results.put((number, total))


threads = [threading.Thread(target=worker, args=(n,)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.queue))


def dive(depth):
    if depth == 0:
        raise KeyError("deep")
    return sorted([depth], key=lambda _: dive(depth - 1))


try:
    dive(100)
except KeyError as error:
    print("caught", error)
print(hashlib.sha256(zlib.compress(b"x" * 100000)).hexdigest())
print(re.sub(r"(\w+) (\w+)", r"\2 \1", "hello world"), functools.reduce(lambda a, b: a * b, range(1, 30)))
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))(lambda a, b: a[0] - b[0])
values = (ctypes.c_int * 5)(3, 1, 4, 1, 5)
ctypes.CDLL(None).qsort(values, 5, 4, compare)
print(list(values))
print(subprocess.run(["sort", "-r"], input="a\nb\nc\n", capture_output=True, text=True).stdout.split())
signal.signal(signal.SIGUSR1, lambda *_: print("signal"))
os.kill(os.getpid(), signal.SIGUSR1)
if not os.fork():
    os._exit(3)
print("child", os.waitstatus_to_exitcode(os.wait()[1]))
sys.stdout.flush()
raise SystemExit(5)
