"""Pydantic AI with its models of OpenAI (Responses and chat) and of Anthropic."""
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from scenario import base, models, say

openai = OpenAIProvider(base_url=base + "/v1", api_key="none")
anthropic = AnthropicProvider(base_url=base, api_key="none")


def draw(what: str) -> str:
    """Draws."""
    return "drawn: " + what


for name in models:
    for api, model in [
        ("responses", OpenAIResponsesModel(name, provider=openai)),
        ("chat", OpenAIChatModel(name, provider=openai)),
        ("messages", AnthropicModel(name, provider=anthropic)),
    ]:
        agent = Agent(model, tools=[draw])
        whole = agent.run_sync("please draw")
        streamed = agent.run_stream_sync("please draw two")
        text = "".join(streamed.stream_text(delta=True))
        say("pydantic-ai", api=api, model=name, text=whole.output, streamed=text)
