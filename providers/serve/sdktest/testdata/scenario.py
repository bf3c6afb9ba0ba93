"""What the clients for Python share: the URL of the bridge, the models that it serves, and the schema of the tool
draw, which is the client's; double is the bridge's. Each scenario prints a line of JSON."""
import json
import sys

base, *models = sys.argv[1:]
schema = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}


def say(name, **value):
    print(json.dumps({"name": name, **value}, separators=(",", ":")), flush=True)
