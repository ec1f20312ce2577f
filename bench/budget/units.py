"""Objects, text, numbers: units.py AMOUNT, a line a unit."""
import json
import re
import sys


class Node:
    def __init__(self, value):
        self.value = value
        self.children = []

    def total(self):
        return self.value + sum(child.total() for child in self.children)


for i in range(int(sys.argv[1])):
    for _ in range(30):
        root = Node(i)
        root.children = [Node(k) for k in range(40)]
        text = json.dumps({"values": list(range(60)), "name": "x" * (i % 9)})
        assert root.total() + len(json.loads(text)["values"]) + len(re.findall(r"\d+[,\]]", text)) > 0
    print(flush=True)
