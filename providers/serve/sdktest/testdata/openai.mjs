// OpenAI's client for Node: Chat Completions and Responses, whole and streamed, with its runner of tools.
import OpenAI from "openai";
import { base, models, say, schema } from "./scenario.mjs";

const client = new OpenAI({ baseURL: base + "/v1", apiKey: "none", maxRetries: 0 });
const draw = { type: "function", function: { name: "draw", description: "Draws.", parameters: schema } };
const drawn = (call) => ({ role: "tool", tool_call_id: call.id, content: "drawn: " + JSON.parse(call.function.arguments).what });
const output = (call) => ({ type: "function_call_output", call_id: call.call_id, output: "drawn: " + JSON.parse(call.arguments).what });
const calls = (response) => response.output.filter((i) => i.type === "function_call");

say("models", { ids: (await client.models.list()).data.map((m) => m.id) });
say("model", { id: (await client.models.retrieve(models[0])).id });

for (const model of models) {
  {
    const ask = { model, messages: [{ role: "user", content: "please draw" }], tools: [draw] };
    const first = await client.chat.completions.create(ask);
    const message = first.choices[0].message;
    ask.messages.push(message, ...message.tool_calls.map(drawn));
    const second = await client.chat.completions.create(ask);
    say("chat", { model, calls: message.tool_calls.map((c) => c.function.name), finish: first.choices[0].finish_reason, text: second.choices[0].message.content, tokens: second.usage.total_tokens });
  }
  {
    const ask = { model, messages: [{ role: "user", content: "please draw two" }], tools: [draw] };
    const first = await client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } }).finalChatCompletion();
    const message = first.choices[0].message;
    ask.messages.push(message, ...message.tool_calls.map(drawn));
    let text = "";
    for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
      text += chunk.choices[0]?.delta?.content ?? "";
    }
    say("chat stream", { model, calls: message.tool_calls.map((c) => c.function.name), finish: first.choices[0].finish_reason, text, tokens: first.usage.total_tokens });
  }
  {
    const tools = [{ type: "function", function: { ...draw.function, parse: JSON.parse, function: ({ what }) => "drawn: " + what } }];
    const runner = client.chat.completions.runTools({ model, messages: [{ role: "user", content: "please draw" }], tools });
    say("chat runTools", { model, text: await runner.finalContent() });
  }
  const own = { type: "function", name: "draw", description: "Draws.", parameters: schema, strict: false };
  {
    const ask = { model, input: [{ role: "user", content: "please draw" }], tools: [own] };
    const first = await client.responses.create(ask);
    ask.input.push(...first.output, ...calls(first).map(output));
    const second = await client.responses.create(ask);
    say("responses", { model, calls: calls(first).map((c) => c.name), status: first.status, text: second.output_text, tokens: second.usage.total_tokens });
  }
  {
    const ask = { model, input: [{ role: "user", content: "please draw two" }], tools: [own] };
    const stream = client.responses.stream(ask);
    const kinds = new Set();
    for await (const event of stream) kinds.add(event.type);
    const first = await stream.finalResponse();
    ask.input.push(...first.output, ...calls(first).map(output));
    const second = await client.responses.stream(ask).finalResponse();
    say("responses stream", { model, calls: calls(first).map((c) => c.name), arguments: calls(first).map((c) => c.arguments), ends: kinds.has("response.completed"), text: second.output_text });
  }
  {
    const first = await client.responses.create({ model, input: "please draw", tools: [own], store: true });
    const second = await client.responses.create({ model, input: calls(first).map(output), previous_response_id: first.id, tools: [own], store: true });
    const third = await client.responses.create({ model, input: "and now?", previous_response_id: second.id });
    const same = (await client.responses.retrieve(second.id)).output_text === second.output_text;
    await client.responses.delete(second.id);
    const gone = await client.responses.retrieve(second.id).catch((e) => e.status);
    say("responses stored", { model, text: second.output_text, then: third.output_text, previous: third.previous_response_id === second.id, same, gone });
  }
  {
    const long = await client.responses.stream({ model, input: "please be long" }).finalResponse();
    const refused = await client.chat.completions.create({ model, messages: [{ role: "user", content: "please be long" }] });
    say("long", { model, status: long.status, reason: long.incomplete_details?.reason, text: long.output_text, finish: refused.choices[0].finish_reason });
  }
}
for (const ask of [
  () => client.chat.completions.create({ model: "nobody", messages: [{ role: "user", content: "hi" }] }),
  () => client.responses.create({ model: "nobody", input: "hi" }),
  () => client.responses.create({ model: models[0], input: "hi", previous_response_id: "resp_none" }),
  () => client.responses.stream({ model: models[0], input: "please be busy" }).finalResponse(),
  () => client.chat.completions.create({ model: models[0], messages: [{ role: "user", content: "hi" }], logprobs: true }),
]) {
  try {
    await ask();
  } catch (e) {
    say("error", { kind: e.constructor.name, status: e.status, code: e.code, param: e.param });
  }
}
