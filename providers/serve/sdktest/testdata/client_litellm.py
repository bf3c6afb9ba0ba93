"""LiteLLM with its models of OpenAI (chat, and Responses) and of Anthropic."""
import json

import litellm

from scenario import base, models, say, schema

draw = {"type": "function", "function": {"name": "draw", "description": "Draws.", "parameters": schema}}
litellm.suppress_debug_info = True

for name in models:
    for api, model, url in [("chat", "openai/" + name, base + "/v1"), ("messages", "anthropic/" + name, base)]:
        messages = [{"role": "user", "content": "please draw"}]
        first = litellm.completion(model=model, api_base=url, api_key="none", messages=messages, tools=[draw], num_retries=0).choices[0].message
        messages.append(first)
        for call in first.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "drawn: " + json.loads(call.function.arguments)["what"]})
        text = ""
        for chunk in litellm.completion(model=model, api_base=url, api_key="none", messages=messages, tools=[draw], stream=True, num_retries=0):
            text += chunk.choices[0].delta.content or ""
        say("litellm", api=api, model=name, text=text)
    response = litellm.responses(model="openai/" + name, api_base=base + "/v1", api_key="none", input="hello")
    text = "".join(p.text for i in response.output if i.type == "message" for p in i.content)
    say("litellm", api="responses", model=name, text=text)
