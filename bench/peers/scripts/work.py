"""Objects, text, numbers: work.py AMOUNT"""
import json
import re
import sys

amount = int(sys.argv[1])


class Node:
    def __init__(self, value):
        self.value = value
        self.children = []

    def total(self):
        return self.value + sum(child.total() for child in self.children)


total = 0
for i in range(amount):
    root = Node(i)
    root.children = [Node(k) for k in range(40)]
    text = json.dumps({"values": list(range(60)), "name": "x" * (i % 9)})
    total += root.total() + len(json.loads(text)["values"]) + len(re.findall(r"\d+[,\]]", text))
print(total)
