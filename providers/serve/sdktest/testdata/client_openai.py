"""OpenAI's client for Python: Chat Completions and Responses, whole and streamed."""
import json

import openai

from scenario import base, models, say, schema

client = openai.OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
draw = {"type": "function", "function": {"name": "draw", "description": "Draws.", "parameters": schema}}
own = {"type": "function", "name": "draw", "description": "Draws.", "parameters": schema, "strict": False}


def drawn(call):
    return {"role": "tool", "tool_call_id": call.id, "content": "drawn: " + json.loads(call.function.arguments)["what"]}


def output(call):
    return {"type": "function_call_output", "call_id": call.call_id, "output": "drawn: " + json.loads(call.arguments)["what"]}


def calls(response):
    return [i for i in response.output if i.type == "function_call"]


for model in models:
    messages = [{"role": "user", "content": "please draw"}]
    first = client.chat.completions.create(model=model, messages=messages, tools=[draw])
    message = first.choices[0].message
    messages += [message, *map(drawn, message.tool_calls)]
    second = client.chat.completions.create(model=model, messages=messages, tools=[draw])
    say("chat", model=model, calls=[c.function.name for c in message.tool_calls], text=second.choices[0].message.content, tokens=second.usage.total_tokens)

    messages = [{"role": "user", "content": "please draw two"}]
    with client.chat.completions.stream(model=model, messages=messages, tools=[draw], stream_options={"include_usage": True}) as stream:
        first = stream.until_done().get_final_completion()
    message = first.choices[0].message
    messages += [message.model_dump(exclude={"parsed"}, exclude_none=True), *map(drawn, message.tool_calls)]
    text = ""
    for chunk in client.chat.completions.create(model=model, messages=messages, tools=[draw], stream=True):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
    say("chat stream", model=model, calls=[c.function.name for c in message.tool_calls], text=text, tokens=first.usage.total_tokens)

    items = [{"role": "user", "content": "please draw"}]
    first = client.responses.create(model=model, input=items, tools=[own])
    items += [*first.output, *map(output, calls(first))]
    second = client.responses.create(model=model, input=items, tools=[own])
    say("responses", model=model, calls=[c.name for c in calls(first)], text=second.output_text, tokens=second.usage.total_tokens)

    items = [{"role": "user", "content": "please draw two"}]
    with client.responses.stream(model=model, input=items, tools=[own]) as stream:
        first = stream.until_done().get_final_response()
    items += [*first.output, *map(output, calls(first))]
    with client.responses.stream(model=model, input=items, tools=[own]) as stream:
        second = stream.get_final_response()
    say("responses stream", model=model, calls=[c.name for c in calls(first)], text=second.output_text)

    first = client.responses.create(model=model, input="please draw", tools=[own], store=True)
    second = client.responses.create(model=model, input=[*map(output, calls(first))], previous_response_id=first.id, tools=[own], store=True)
    say("responses stored", model=model, text=second.output_text)

for ask in [
    lambda: client.chat.completions.create(model="nobody", messages=[{"role": "user", "content": "hi"}]),
    lambda: client.responses.create(model=models[0], input="hi", previous_response_id="resp_none"),
    lambda: client.responses.create(model=models[0], input="please be busy"),
]:
    try:
        ask()
    except openai.APIStatusError as e:
        say("error", kind=type(e).__name__, status=e.status_code, code=e.code, param=e.param)
