// Loses connections: node resume.mjs URL ERA. GET /cut cuts all of them.
import assert from "node:assert/strict";
import { connect } from "./mcpbridge.mjs";

const [url, era] = process.argv.slice(2);
const cut = () => fetch(new URL("/cut", url)).then((r) => r.text(), () => {}); // one may cut off another
const state = (bridge, wanted) => new Promise((resolve) => {
  const look = () => { if (bridge.state === wanted) { bridge.removeEventListener("statechange", look); resolve(); } };
  bridge.addEventListener("statechange", look);
  look();
});
const bridge = await connect({ url, era });
const other = await connect({ url, era });

// A call that may have run is not carried out again; one that is read-only is.
const wait = bridge.callTool("wait", {}, { onProgress: cut });
await assert.rejects(wait, (e) => e.outcomeUnknown && e.code === "unavailable" && /it is unknown whether it ran/.test(e.message));
await state(bridge, "open");

// What is called while the connection is away waits for the next one, and the lists are read again.
const changed = new Promise((resolve) => bridge.addEventListener("toolschange", resolve, { once: true }));
const away = state(bridge, "waiting");
await cut();
await away;
const echo = bridge.callTool("echo", { n: 1 });
const gone = new AbortController();
const canceled = bridge.callTool("echo", { n: 2 }, { signal: gone.signal });
gone.abort();
await assert.rejects(canceled, { name: "AbortError" });
assert.deepEqual((await echo).structuredContent, { n: 1 });
await changed;

// What is called as soon as the connection is open again is sent once.
const early = new AbortController();
let waits;
bridge.addEventListener("statechange", () => {
  if (bridge.state === "open") waits ??= assert.rejects(bridge.callTool("wait", {}, { signal: early.signal }), { name: "AbortError" });
});
const lostAgain = state(bridge, "waiting");
await cut();
await lostAgain;
await state(bridge, "open");
await bridge.callTool("echo"); // by then a second one would have been answered
early.abort();
await waits;

// What the page lends is lent again.
await bridge.registerTool({ name: "own", description: "x", execute: () => "again" });
const lost = state(bridge, "waiting");
await cut();
await lost;
await bridge.registerTool({ name: "meanwhile", description: "x", execute: () => "later" });
await Promise.all([state(bridge, "open"), state(other, "open")]);
const names = async () => (await other.listTools()).map((t) => t.name);
const listed = async (name) => {
  for (;;) { // a change that is told while the list is on its way counts
    const changes = new Promise((resolve) => other.addEventListener("toolschange", resolve, { once: true }));
    if ((await names()).includes(name)) return;
    await changes;
  }
};
await listed("meanwhile");
assert.equal((await other.callTool("own")).content[0].text, "again");

// A call on a new connection is canceled, although one of the lost connection, with the same id, ends meanwhile.
const runs = [];
let begun = () => {};
await bridge.registerTool({ name: "long", description: "x", execute: (_, { signal }) => new Promise((end) => { runs.push({ signal, end }); begun(); }) });
const begin = async (options) => {
  const both = [state(bridge, "waiting"), state(other, "waiting")];
  await cut();
  await Promise.all(both);
  await Promise.all([state(bridge, "open"), state(other, "open")]);
  await listed("long");
  const running = new Promise((resolve) => { begun = resolve; });
  other.callTool("long", {}, options).catch(() => {});
  await running;
};
await begin();
const cancel = new AbortController();
await begin({ signal: cancel.signal });
runs[0].end();
await new Promise((resolve) => setTimeout(resolve));
cancel.abort();
if (!runs[1].signal.aborted) await new Promise((resolve) => runs[1].signal.addEventListener("abort", resolve));

// Many calls while connections are lost: each settles once, with its own result or none.
let settled = 0, unknown = 0;
const calls = Array.from({ length: 1000 }, async (_, n) => {
  if (n % 250 === 249) await cut();
  const tool = n % 2 ? "echo" : "progress"; // the second one is not read-only
  try {
    const result = await bridge.callTool(tool, { n: 1, own: n });
    if (tool === "echo") assert.equal(result.structuredContent.own, n);
  } catch (error) {
    assert.ok(error.outcomeUnknown && tool === "progress", `${tool}: ${error}`);
    unknown++;
  }
  settled++;
});
await Promise.all(calls);
assert.equal(settled, 1000);
bridge.close();
other.close();
