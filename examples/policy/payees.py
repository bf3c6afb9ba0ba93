#!/usr/bin/env python3
"""Is asked before each payment: strangers get none, and what ann gets is rounded."""
import json, sys

call = json.load(sys.stdin)
pay = call["arguments"]
if pay.get("to") not in ("ann", "bob"):
    print(json.dumps({"decision": "deny", "reason": f"{pay.get('to')} is not a known payee"}))
elif pay["to"] == "ann":
    print(json.dumps({"arguments": pay | {"amount": round(pay["amount"])}}))
