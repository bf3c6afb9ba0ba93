"""OpenAI's Agents SDK with its default model, which is that of Responses."""
import asyncio

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from scenario import base, models, say

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=base + "/v1", api_key="none", max_retries=0)


@function_tool
def draw(what: str) -> str:
    """Draws."""
    return "drawn: " + what


async def main():
    for name in models:
        agent = Agent(name="artist", instructions="Be brief.", tools=[draw], model=OpenAIResponsesModel(model=name, openai_client=client))
        whole = await Runner.run(agent, "please draw")
        streamed = Runner.run_streamed(agent, "please draw two")
        async for _ in streamed.stream_events():
            pass
        say("agents", model=name, text=whole.final_output, streamed=streamed.final_output)


asyncio.run(main())
