"""Anthropic's client for Python: whole and streamed, with its runner of tools, and the counting of tokens."""
import anthropic
from anthropic import beta_tool

from scenario import base, models, say, schema

client = anthropic.Anthropic(base_url=base, api_key="none", max_retries=0)
draw = {"name": "draw", "description": "Draws.", "input_schema": schema}


@beta_tool(name="draw")
def drawing(what: str) -> str:
    """Draws.

    Args:
        what: A thing.
    """
    return "drawn: " + what


def uses(message):
    return [b for b in message.content if b.type == "tool_use"]


def drawn(use):
    return {"type": "tool_result", "tool_use_id": use.id, "content": "drawn: " + use.input["what"]}


def text(message):
    return "|".join(b.text for b in message.content if b.type == "text")


say("models", ids=[m.id for m in client.models.list()], one=client.models.retrieve(models[0]).id)
for model in models:
    messages = [{"role": "user", "content": "please draw"}]
    first = client.messages.create(model=model, max_tokens=100, messages=messages, tools=[draw])
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [*map(drawn, uses(first))]}]
    second = client.messages.create(model=model, max_tokens=100, messages=messages, tools=[draw])
    say("messages", model=model, calls=[u.name for u in uses(first)], stop=first.stop_reason, text=text(second))

    messages = [{"role": "user", "content": "please draw two"}]
    with client.messages.stream(model=model, max_tokens=100, messages=messages, tools=[draw]) as stream:
        first = stream.get_final_message()
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [*map(drawn, uses(first))]}]
    with client.messages.stream(model=model, max_tokens=100, messages=messages, tools=[draw]) as stream:
        deltas = "".join(stream.text_stream)
    say("stream", model=model, inputs=[u.input["what"] for u in uses(first)], text=deltas)

    ask = dict(model=model, max_tokens=100, messages=[{"role": "user", "content": "please draw"}], tools=[drawing])
    whole = client.beta.messages.tool_runner(**ask).until_done()
    for stream in client.beta.messages.tool_runner(**ask, stream=True):
        streamed = stream.get_final_message()
    say("tool_runner", model=model, text=text(whole), streamed=text(streamed))
    count = client.messages.count_tokens(model=model, messages=messages[:1], tools=[draw])
    say("count", model=model, counted=count.input_tokens > 0)

for ask in [
    lambda: client.messages.create(model="nobody", max_tokens=9, messages=[{"role": "user", "content": "hi"}]),
    lambda: client.messages.create(model=models[0], max_tokens=9, messages=[{"role": "user", "content": "please be busy"}]),
]:
    try:
        ask()
    except anthropic.APIStatusError as e:
        say("error", kind=type(e).__name__, status=e.status_code, type=e.type)
