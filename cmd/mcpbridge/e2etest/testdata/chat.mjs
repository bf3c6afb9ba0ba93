// Prompts a model whose tool cuts the connections: node chat.mjs URL
import assert from "node:assert/strict";
import { connect, BridgeError } from "./mcpbridge.mjs";

const bridge = await connect({ url: process.argv[2] });

// A call that is asked about; the connection is lost while it runs.
const events = [];
for await (const event of bridge.chat("Write 1.", { onAsk: (call) => (call.name === "write" ? { verdict: "edit", arguments: { n: 2 } } : "deny") })) events.push(event);
const kinds = events.map((e) => e.type).filter((kind) => kind !== "usage");
assert.deepEqual(kinds.filter((kind) => kind !== "opened"), ["prompt", "turn_start", "tool_call", "ask", "approval", "tool_start", "tool_result", "turn_start", "text_delta", "done"]);
assert.ok(kinds.filter((kind) => kind === "opened").length > 1, "the connection was not cut");
assert.equal(events.find((e) => e.type === "tool_result").text, "wrote 2");
const numbers = events.map((e) => e.seq).filter((n) => n !== undefined);
assert.deepEqual(numbers, numbers.map((_, i) => numbers[0] + i));
assert.equal(events.at(-1).text, "Done.");

// The next prompt continues the conversation; without onAsk the event decides.
let before;
for await (const event of bridge.chat("Again.")) {
  if (event.type === "opened") before ??= event.messages;
  if (event.type === "ask") event.decide({ verdict: "deny", reason: "no more" });
  if (event.type === "done") assert.equal(event.text, "As you like.");
}
assert.equal(before.length, 4);
assert.equal(before[0].text, "Write 1.");

// To break off cancels the prompt, and so does a signal.
for await (const event of bridge.chat("Wait.", { conversation: "new", onAsk: () => "allow" })) if (event.type === "tool_start") break;
const stop = new AbortController();
const reason = new Error("enough");
await assert.rejects(async () => {
  for await (const event of bridge.chat("Wait.", { conversation: "new", onAsk: () => "allow", signal: stop.signal })) if (event.type === "tool_start") stop.abort(reason);
}, reason);

// A decision that is none ends the prompt, with the reason.
for (const answer of [true, "yes", undefined]) {
  await assert.rejects(async () => { for await (const _ of bridge.chat("Wait.", { conversation: "new", onAsk: () => answer })); }, { code: "invalid", message: /unknown verdict/ });
}

// A prompt that is refused begins no conversation that the next one could continue.
const fresh = await connect({ url: process.argv[2] });
const ask = async (text) => { for await (const event of fresh.chat(text)) if (event.type === "done") return event.text; };
await assert.rejects(ask(""), { code: "invalid" });
assert.equal(await ask("Hello."), "Done.");
fresh.close();

// A second prompt of the conversation is refused. It has nothing of the first one, decides about none of its calls, and
// does not end it.
const first = new AbortController();
const long = bridge.chat("Wait.", { conversation: "new", signal: first.signal });
let question;
while (question?.type !== "ask") question = (await long.next()).value;
const refused = { code: "unavailable", message: /a prompt is in progress/ };
const second = async () => {
  for await (const event of bridge.chat("Write 1.", { onAsk: () => "deny" })) assert.equal(event.type, "opened");
};
await assert.rejects(second, refused);
question.decide({ verdict: "allow" });
while (question.type !== "tool_start") question = (await long.next()).value;
await assert.rejects(second, refused);
await assert.rejects(second, refused); // the first one goes on
first.abort(reason);
await assert.rejects(async () => { for await (const event of long) assert.notEqual(event.type, "done"); }, reason);

await assert.rejects(bridge.chat("Hello.", { conversation: "new", model: "no/such" }).next().then(() => {}), (e) => e instanceof BridgeError && e.code === "not_found");
bridge.close();
await assert.rejects(bridge.chat("Hello.").next(), { code: "unavailable" });
