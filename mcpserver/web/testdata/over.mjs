// What is over before it begins: node over.mjs
import assert from "node:assert/strict";
import { Bridge } from "./mcpbridge.mjs";

// Neither adopt nor expose follows changes when there is nothing to do any more.
const followed = new Set();
class Following extends Bridge {
  addEventListener(type) { followed.add(`bridge ${type}`); }
}
const modelContext = { addEventListener: (type) => followed.add(`page ${type}`), removeEventListener() {}, getTools: async () => [] };
const bridge = new Following({});
const signal = AbortSignal.abort();
await bridge.adopt({ signal, modelContext });
await Promise.race([bridge.expose({ signal, modelContext }), new Promise((resolve) => setTimeout(resolve))]);
assert.deepEqual([...followed], []);
bridge.close();
await assert.rejects(bridge.adopt({ modelContext }), { message: "the connection is closed" });
await assert.rejects(bridge.expose({ modelContext }), { message: "the connection is closed" });
assert.deepEqual([...followed], []);
