// Is told of changes, also of those at the worst moment: node listen.mjs URL ERA. GET /cut cuts all connections.
import assert from "node:assert/strict";
import { connect } from "./mcpbridge.mjs";

const [url, era] = process.argv.slice(2);
const subscribing = (text) => /"method":"(subscriptions\/listen|resources\/(un)?subscribe)"/.test(text);
const event = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
const tabs = "mcpbridge://tabs";

// A socket on which subscriptions wait for release. Others overtake them.
let held = [], holding = true, wake = () => {};
class Slow extends WebSocket {
  send(text) {
    if (!holding || !subscribing(text)) return super.send(text);
    held.push(() => super.send(text));
    wake();
  }
}
const isHeld = async () => { while (held.length === 0) await new Promise((resolve) => { wake = resolve; }); };
const release = () => {
  holding = false;
  for (const send of held.splice(0)) send();
};
const isPending = async (promise) => {
  await other.listTools(); // the bridge has had time for it
  return "pending" === await Promise.race([promise.then(() => "settled", () => "settled"), "pending"]);
};

// connect waits for the subscription: from then on each change is told.
const other = await connect({ url, era: "legacy" });
const connecting = connect({ url, era, WebSocket: Slow });
if (era === "modern") {
  await isHeld();
  assert.ok(await isPending(connecting));
  release();
}
const bridge = await connecting;
const changed = event(bridge, "toolschange");
await other.callTool("change", { name: "one" });
await changed;

// So do watchResource and unwatchResource.
holding = true;
const watching = bridge.watchResource(tabs);
await isHeld();
assert.ok(await isPending(watching));
release();
await watching;
const updated = event(bridge, "resourceupdated");
await other.registerTool({ name: "own", description: "x", execute() {} });
assert.equal((await updated).detail.uri, tabs);
await assert.rejects(bridge.watchResource("nothing://at/all"), { code: "unsupported" });
await bridge.watchResource(tabs); // once more does no harm

// What has changed while the connection was away is told when the subscription holds again.
holding = true;
const seen = [];
for (const type of ["toolschange", "promptschange", "resourceschange", "resourceupdated"]) bridge.addEventListener(type, () => seen.push(type));
const away = event(bridge, "statechange");
await fetch(new URL("/cut", url)).then((r) => r.text());
await away;
seen.splice(0); // until then it was told, perhaps of the other's loss
await isHeld();
await other.callTool("change", { name: "two" });
if (era === "modern") assert.deepEqual(seen, []);
const all = ["toolschange", "promptschange", "resourceschange", "resourceupdated"].map((type) => event(bridge, type));
release();
await Promise.all(all);
assert.ok((await bridge.listTools()).some((t) => t.name === "two"));

// A resource that is not watched any more is silent; the lists are not.
await bridge.unwatchResource(tabs);
await bridge.unwatchResource(tabs);
seen.splice(0);
const later = event(bridge, "toolschange");
await other.registerTool({ name: "another", description: "x", execute() {} });
await later;
await bridge.listTools();
assert.deepEqual([...new Set(seen)], ["toolschange"]);

// A watch waits for a connection, as requests do; an end while it waits ends it.
holding = true;
const lost = event(bridge, "statechange");
await fetch(new URL("/cut", url)).then((r) => r.text());
await lost;
const waiting = bridge.watchResource(tabs);
await isHeld();
release();
await waiting;
holding = true;
const ended = bridge.watchResource(tabs);
await isHeld();
bridge.close();
await assert.rejects(ended, { code: "unavailable" });
other.close();
