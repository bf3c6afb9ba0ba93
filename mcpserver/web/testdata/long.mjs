// Prompts and decisions that the bridge does not get: node long.mjs
import assert from "node:assert/strict";
import { Bridge } from "./mcpbridge.mjs";

// A connection to a bridge that closes it at each prompt.
let prompts = 0;
const closing = (code) => class {
  readyState = 1;
  url = "ws://bridge.example/chat";
  constructor() { queueMicrotask(() => this.onopen()); }
  send(text) {
    const { type } = JSON.parse(text);
    if (type === "open") queueMicrotask(() => this.onmessage({ data: JSON.stringify({ type: "opened", conversation: "c1", model: "p/m", messages: prompts ? null : [], after: 7, busy: false, missing: false, waiting: [] }) }));
    if (type === "prompt" && ++prompts < 10) queueMicrotask(() => { this.readyState = 3; this.onclose({ code }); });
  }
  close() { this.readyState = 3; }
};
const wait = globalThis.setTimeout;
globalThis.setTimeout = (f, ms) => (ms < 15_000 ? wait(f) : 0); // only attempts are waited for

// One that is too long is not sent again, nor without end one whose connections are lost for another reason.
for (const [code, times, error] of [[1009, 1, { code: "invalid", message: /longer than the bridge takes/ }], [1006, 5, { outcomeUnknown: true }]]) {
  prompts = 0;
  const bridge = new Bridge({ url: "http://bridge.example/ws", WebSocket: closing(code) });
  await assert.rejects(async () => {
    for await (const _ of bridge.chat("long")) assert.ok(prompts < 9, `${code}: it is sent again and again`);
  }, error);
  assert.equal(prompts, times);
}

// The prompt of a decision that is too long is canceled, on another connection.
const told = [];
class Deciding extends closing() {
  say(m) { queueMicrotask(() => this.onmessage({ data: JSON.stringify(m) })); }
  send(text) {
    const { type, id } = JSON.parse(text);
    told.push(type);
    if (type === "open") this.say({ type: "opened", conversation: "c1", model: "p/m", messages: null, after: 7, busy: told.includes("prompt"), missing: false, waiting: [] });
    if (type === "prompt") this.say({ type, seq: 8, id, text: "ask" }), this.say({ type: "ask", seq: 9, id: "1", name: "write", arguments: {} });
    if (type === "decide") queueMicrotask(() => { this.readyState = 3; this.onclose({ code: 1009 }); });
  }
}
await assert.rejects(async () => {
  for await (const _ of new Bridge({ url: "http://bridge.example/ws", WebSocket: Deciding }).chat("ask", { onAsk: () => "allow" }));
}, { code: "invalid", message: /longer than the bridge takes/ });
assert.deepEqual(told, ["open", "prompt", "decide", "open", "cancel"]);
