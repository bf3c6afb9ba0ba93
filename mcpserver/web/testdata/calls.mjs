// Lists and calls tools of the fake source: node calls.mjs URL ERA
import assert from "node:assert/strict";
import { connect, BridgeError } from "./mcpbridge.mjs";

const [url, era] = process.argv.slice(2);
const bridge = await connect({ url, era });
assert.equal(bridge.state, "open");

const tools = await bridge.listTools();
assert.ok(tools.some((t) => t.name === "echo"));

const echo = await bridge.callTool("echo", { text: "é\u2028😀", n: 1 });
assert.deepEqual(echo.structuredContent, { text: "é\u2028😀", n: 1 });

assert.equal((await bridge.callTool("fail")).isError, true);
await assert.rejects(bridge.callTool("error"), (e) => e instanceof BridgeError && e.number === -32050 && e.data.k[0] === 1);
await assert.rejects(bridge.callTool("nothing"), { code: "not_found" });

const seen = [];
await bridge.callTool("progress", { n: 3 }, { onProgress: (p) => seen.push(p.progress) });
assert.deepEqual(seen, [1, 2, 3]);

// A call that is canceled ends at once, and where it runs.
const canceling = new AbortController();
const reason = new Error("no longer needed");
await assert.rejects(bridge.callTool("wait", {}, { signal: canceling.signal, onProgress: () => canceling.abort(reason) }), reason);
await bridge.callTool("cancelled", { n: 1 });
await assert.rejects(bridge.callTool("echo", {}, { signal: AbortSignal.abort(reason) }), reason);

// The list changes.
const changed = new Promise((resolve) => bridge.addEventListener("toolschange", resolve, { once: true }));
await bridge.callTool("change", { name: "later" });
await changed;
assert.ok((await bridge.listTools()).some((t) => t.name === "later"));

// Many at once.
const many = await Promise.all(Array.from({ length: 200 }, (_, n) => bridge.callTool("echo", { n })));
assert.ok(many.every((r, n) => r.structuredContent.n === n));

// Nothing is exposed any more after the end, also if that comes while tools are being registered.
const closing = await connect({ url, era });
for (const end of [(stop) => stop.abort(), () => closing.close()]) {
  const stop = new AbortController(), there = new Set();
  await closing.expose({ signal: stop.signal, modelContext: {
    async registerTool({ name }, { signal }) {
      there.add(name);
      signal.addEventListener("abort", () => there.delete(name));
      end(stop);
    },
  } });
  assert.deepEqual([...there], []);
}

const pending = bridge.callTool("wait");
bridge.close();
await assert.rejects(pending, { code: "unavailable" });
await assert.rejects(bridge.callTool("echo"), { code: "unavailable" });

// The bridge does not answer before its servers have started, or failed: connect waits for that.
const timers = [];
globalThis.setTimeout = (f, ms) => timers.push({ f, ms });
class Silent {
  readyState = 1;
  url = "ws://bridge.example/ws";
  constructor() { queueMicrotask(() => this.onopen()); }
  send() {}
  close() {}
}
const silent = connect({ url, era, WebSocket: Silent });
while (timers.length < 2) await null; // for the connection, and for the first answers
assert.ok(timers[1].ms > 31_000, `it waits for ${timers[1].ms} ms`);
timers[1].f();
await assert.rejects(silent, /the bridge does not answer/);
