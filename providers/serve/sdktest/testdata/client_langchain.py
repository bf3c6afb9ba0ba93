"""LangChain with its models of OpenAI (chat and Responses) and of Anthropic."""
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

from scenario import base, models, say


def draw(what: str) -> str:
    """Draws."""
    return "drawn: " + what


def text(message):
    return message.text if isinstance(message.text, str) else message.text()


for name in models:
    for api, model in [
        ("chat", ChatOpenAI(model=name, base_url=base + "/v1", api_key="none", max_retries=0)),
        ("responses", ChatOpenAI(model=name, base_url=base + "/v1", api_key="none", max_retries=0, use_responses_api=True)),
        ("messages", ChatAnthropic(model=name, base_url=base, api_key="none", max_retries=0)),
    ]:
        agent = create_agent(model, tools=[draw])
        whole = agent.invoke({"messages": [("user", "please draw")]})["messages"]
        streamed = ""
        for chunk, _ in agent.stream({"messages": [("user", "please draw two")]}, stream_mode="messages"):
            if chunk.type == "AIMessageChunk":
                streamed += text(chunk)
        say("langchain", api=api, model=name, text=text(whole[-1]), streamed=streamed)
