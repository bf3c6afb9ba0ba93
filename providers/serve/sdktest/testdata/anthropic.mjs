// Anthropic's client for Node: whole and streamed, with its runner of tools, and the counting of tokens.
import Anthropic from "@anthropic-ai/sdk";
import { base, models, say, schema } from "./scenario.mjs";

const client = new Anthropic({ baseURL: base, apiKey: "none", maxRetries: 0 });
const draw = { name: "draw", description: "Draws.", input_schema: schema };
const uses = (message) => message.content.filter((b) => b.type === "tool_use");
const drawn = (use) => ({ type: "tool_result", tool_use_id: use.id, content: "drawn: " + use.input.what });
const text = (message) => message.content.filter((b) => b.type === "text").map((b) => b.text.trim()).join("|");

const ids = [];
for await (const model of client.models.list()) ids.push(model.id);
say("models", { ids });

for (const model of models) {
  {
    const ask = { model, max_tokens: 100, messages: [{ role: "user", content: "please draw" }], tools: [draw] };
    const first = await client.messages.create(ask);
    ask.messages.push({ role: "assistant", content: first.content }, { role: "user", content: uses(first).map(drawn) });
    const second = await client.messages.create(ask);
    say("messages", { model, calls: uses(first).map((u) => u.name), stop: first.stop_reason, said: text(first), text: text(second), end: second.stop_reason, tokens: first.usage.input_tokens + first.usage.cache_creation_input_tokens + first.usage.cache_read_input_tokens });
  }
  {
    const ask = { model, max_tokens: 100, messages: [{ role: "user", content: "please draw two" }], tools: [draw] };
    const stream = client.messages.stream(ask);
    let deltas = "";
    stream.on("text", (t) => (deltas += t)).on("inputJson", (t) => (deltas += t));
    const first = await stream.finalMessage();
    ask.messages.push({ role: "assistant", content: first.content }, { role: "user", content: uses(first).map(drawn) });
    const second = await client.messages.stream(ask).finalMessage();
    say("stream", { model, calls: uses(first).map((u) => u.name), inputs: uses(first).map((u) => u.input.what), deltas, stop: first.stop_reason, text: text(second) });
  }
  for (const stream of [false, true]) {
    const runner = client.beta.messages.toolRunner({
      model, max_tokens: 100, stream, messages: [{ role: "user", content: "please draw" }],
      tools: [{ ...draw, parse: (input) => input, run: async ({ what }) => "drawn: " + what }],
    });
    say("toolRunner", { model, stream, text: text(await runner.runUntilDone()) });
  }
  {
    const hello = await client.messages.stream({ model, max_tokens: 2000, messages: [{ role: "user", content: "hello" }] }).finalMessage();
    const thought = hello.content.find((b) => b.type === "thinking");
    const long = await client.messages.create({ model, max_tokens: 2, messages: [{ role: "user", content: "please be long" }] });
    const count = await client.messages.countTokens({ model, messages: [{ role: "user", content: "hello" }] });
    say("more", { model, thinking: thought?.thinking, signed: thought?.signature !== "" && thought?.signature !== undefined, text: text(hello), long: long.stop_reason, counted: count.input_tokens > 0 });
  }
}
for (const ask of [
  () => client.messages.create({ model: "nobody", max_tokens: 9, messages: [{ role: "user", content: "hi" }] }),
  () => client.messages.create({ model: models[0], max_tokens: 9, messages: [] }),
  () => client.messages.stream({ model: models[0], max_tokens: 9, messages: [{ role: "user", content: "please be busy" }] }).finalMessage(),
]) {
  try {
    await ask();
  } catch (e) {
    say("error", { kind: e.constructor.name, status: e.status, type: e.error?.error?.type });
  }
}
