// Speaks to a server of chat completions with OpenAI's own client, as its users do: the
// tool "draw" is the client's, "double" the server's. Prints a line of JSON a scenario.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: process.argv[3], maxRetries: 0 });
const draw = {
  type: "function",
  function: { name: "draw", description: "Draws.", parameters: { type: "object", properties: { what: { type: "string" } }, required: ["what"] } },
};
const ask = (messages) => ({ model: "here/m", messages, tools: [draw] });
const say = (name, value) => console.log(JSON.stringify({ name, ...value }));
const drawn = (call) => ({ role: "tool", tool_call_id: call.id, content: "drawn: " + JSON.parse(call.function.arguments).what });

const models = await client.models.list();
say("models", { ids: models.data.map((m) => m.id) });

{
  const messages = [{ role: "user", content: "draw a cat twice as big as 4" }];
  const first = await client.chat.completions.create(ask(messages));
  const message = first.choices[0].message;
  messages.push(message, ...message.tool_calls.map(drawn));
  const second = await client.chat.completions.create(ask(messages));
  say("whole", { calls: message.tool_calls.map((c) => c.function.name), finish: first.choices[0].finish_reason, text: second.choices[0].message.content, tokens: second.usage.total_tokens });
}
{
  const messages = [{ role: "user", content: "draw a cat twice as big as 4" }];
  const first = await client.chat.completions.stream({ ...ask(messages), stream_options: { include_usage: true } }).finalChatCompletion();
  const message = first.choices[0].message;
  messages.push(message, ...message.tool_calls.map(drawn));
  let text = "";
  for await (const chunk of await client.chat.completions.create({ ...ask(messages), stream: true })) {
    text += chunk.choices[0]?.delta?.content ?? "";
  }
  say("stream", { calls: message.tool_calls.map((c) => c.function.name), finish: first.choices[0].finish_reason, text, tokens: first.usage.total_tokens });
}
{
  const runner = client.chat.completions.runTools({
    model: "here/m",
    messages: [{ role: "user", content: "draw a cat twice as big as 4" }],
    tools: [{ type: "function", function: { ...draw.function, parse: JSON.parse, function: ({ what }) => "drawn: " + what } }],
  });
  say("runTools", { text: await runner.finalContent() });
}
try {
  await client.chat.completions.create({ model: "nobody", messages: [{ role: "user", content: "hi" }] });
} catch (e) {
  say("error", { kind: e.constructor.name, status: e.status, code: e.code });
}
