"""Speaks to a server of chat completions with OpenAI's own client, as its users do: the
tool "draw" is the client's, "double" the server's. Prints a line of JSON a scenario."""
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key=sys.argv[2], max_retries=0)
draw = {
    "type": "function",
    "function": {"name": "draw", "description": "Draws.", "parameters": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}},
}


def say(name, **value):
    print(json.dumps({"name": name, **value}))


def drawn(call):
    return {"role": "tool", "tool_call_id": call.id, "content": "drawn: " + json.loads(call.function.arguments)["what"]}


say("models", ids=[m.id for m in client.models.list().data])

messages = [{"role": "user", "content": "draw a cat twice as big as 4"}]
first = client.chat.completions.create(model="here/m", messages=messages, tools=[draw])
message = first.choices[0].message
messages += [message, *map(drawn, message.tool_calls)]
second = client.chat.completions.create(model="here/m", messages=messages, tools=[draw])
say("whole", calls=[c.function.name for c in message.tool_calls], finish=first.choices[0].finish_reason,
    text=second.choices[0].message.content, tokens=second.usage.total_tokens)

messages = [{"role": "user", "content": "draw a cat twice as big as 4"}]
with client.chat.completions.stream(model="here/m", messages=messages, tools=[draw], stream_options={"include_usage": True}) as stream:
    for _ in stream:
        pass
    first = stream.get_final_completion()
message = first.choices[0].message
messages += [message.model_dump(exclude={"parsed"}, exclude_none=True), *map(drawn, message.tool_calls)]
text = ""
for chunk in client.chat.completions.create(model="here/m", messages=messages, tools=[draw], stream=True):
    if chunk.choices:
        text += chunk.choices[0].delta.content or ""
say("stream", calls=[c.function.name for c in message.tool_calls], finish=first.choices[0].finish_reason, text=text, tokens=first.usage.total_tokens)

try:
    client.chat.completions.create(model="nobody", messages=[{"role": "user", "content": "hi"}])
except openai.APIStatusError as e:
    say("error", kind=type(e).__name__, status=e.status_code, code=e.code)
