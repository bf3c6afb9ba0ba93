// What a conversation of the console makes of connections that are lost, and of refusals.
import assert from "node:assert/strict";
import { Talk } from "./talk.js";

let socket, again;
globalThis.location = "http://bridge.example/?view=chat";
globalThis.setTimeout = (f) => { again = f; };
globalThis.clearTimeout = () => {};
globalThis.WebSocket = class {
  static OPEN = 1;
  readyState = 1;
  sent = [];
  constructor() { socket = this; }
  send(text) { this.sent.push(JSON.parse(text)); }
};

const say = (m) => socket.onmessage({ data: JSON.stringify(m) });
const sent = (type) => socket.sent.filter((m) => m.type === type);
const opened = (more) => say({ type: "opened", conversation: "c1", model: "p/m", after: 7, busy: false, missing: false, messages: null, waiting: [], ...more });
const connect = () => socket.onopen();
const lose = (code = 1006) => { socket.readyState = 3; socket.onclose({ code }); again(); connect(); };
const begin = (given) => { const talk = new Talk(given, () => {}); connect(); return talk; };
const unknown = { type: "refused", request: "open", code: "not_found", message: "unknown conversation" };

// A conversation that has had no prompt is forgotten by the bridge: another one takes its place.
let talk = begin({});
opened({ messages: [] });
lose();
assert.equal(sent("open")[0].conversation, "c1");
say(unknown);
assert.deepEqual(sent("open")[1], { type: "open", model: "p/m" });
opened({ conversation: "c2", messages: [] });
assert.deepEqual([talk.state, talk.conversation, talk.refused], ["open", "c2", ""]);

// One that the address names is not replaced.
talk = begin({ conversation: "old" });
say(unknown);
assert.deepEqual([sent("open").length, talk.refused], [1, "unknown conversation"]);

// A prompt of which the bridge has said nothing is sent again, to a bridge that would know it.
talk = begin({});
opened({ messages: [] });
talk.prompt("pay");
lose();
opened();
assert.equal(sent("prompt").length, 1);
lose();
opened({ messages: [{ role: "user", text: "pay" }, { role: "assistant", text: "paid" }], after: 90 });
assert.deepEqual([sent("prompt").length, talk.returned, talk.turns.length], [0, "pay", 1]);
assert.match(talk.refused, /lost/);

// One that is too long is not sent again, nor without end one whose connections are lost for another reason.
for (const code of [1009, 1006]) {
  talk = begin({});
  opened({ messages: [] });
  talk.prompt("long");
  let times = 0;
  do {
    assert.ok(++times < 10, `${code}: it is sent again and again`);
    lose(code);
    opened();
  } while (sent("prompt").length > 0);
  assert.deepEqual([times, talk.returned], [code === 1009 ? 1 : 5, "long"]);
  assert.match(talk.refused, code === 1009 ? /longer than the bridge takes/ : /lost/);
}

// One that is refused can be sent again, and a decision that is refused says why, unless somebody else has decided.
talk = begin({});
opened({ messages: [] });
talk.prompt("more");
say({ type: "refused", request: "prompt", code: "unavailable", message: "too many" });
assert.deepEqual([talk.returned, talk.refused], ["more", "too many"]);
talk.refused = "";
say({ type: "refused", request: "decide", code: "not_found", message: "no such call waits" });
assert.equal(talk.refused, "");
say({ type: "refused", request: "decide", code: "unavailable", message: "shutting down" });
assert.equal(talk.refused, "shutting down");

// What goes on after a decision, without a prompt, is in progress until its end.
const call = { type: "ask", id: "1", name: "order", arguments: {} };
talk = begin({ conversation: "c1" });
opened({ messages: [{ role: "user", text: "order" }, { role: "assistant", calls: [call] }], waiting: [call] });
assert.equal(talk.busy, false);
say({ type: "approval", seq: 8, id: "1", decision: "allow" });
assert.deepEqual([talk.busy, talk.turns.at(-1).end], [true, null]);
say({ type: "done", seq: 9, text: "", turns: 1, usage: {} });
assert.deepEqual([talk.busy, talk.turns.at(-1).end.type], [false, "done"]);
