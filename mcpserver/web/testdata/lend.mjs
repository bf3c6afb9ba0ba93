// Lends tools, and calls them as another client: node lend.mjs URL ERA
import assert from "node:assert/strict";
import { connect } from "./mcpbridge.mjs";

const [url, era] = process.argv.slice(2);
const page = await connect({ url, era });
const other = await connect({ url, era: era === "modern" ? "legacy" : "modern" });
const change = (bridge, type = "toolschange") => new Promise((resolve) => bridge.addEventListener(type, resolve, { once: true }));
const names = async (bridge) => (await bridge.listTools()).map((t) => t.name);
await names(other);

// A tool is listed to the other client as soon as the promise resolves.
let changed = change(other);
const lent = new AbortController();
await page.registerTool({
  name: "add", title: "Add", description: "Adds.",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  annotations: { readOnlyHint: true, untrustedContentHint: true },
  execute: ({ a, b }) => a + b,
}, { signal: lent.signal });
await changed;
const tool = (await other.listTools()).find((t) => t.name === "add");
assert.deepEqual(tool.annotations, { readOnlyHint: true, openWorldHint: true });
assert.equal(tool.inputSchema.properties.tab, undefined);
const sum = await other.callTool("add", { a: 1, b: 2 });
assert.deepEqual(sum, { ...sum, content: [{ type: "text", text: "3" }], _meta: { "mcpbridge/untrustedContent": true } });
assert.match((await other.callTool("add", { a: "x" })).content[0].text, /^invalid arguments for tool add/);

// What WebMCP refuses, and what the bridge does.
await assert.rejects(page.registerTool({ name: "add", description: "x", execute() {} }), { name: "InvalidStateError" });
await assert.rejects(page.registerTool({ name: "a b", description: "x", execute() {} }), { name: "InvalidStateError" });
await assert.rejects(page.registerTool({ name: "x", description: "", execute() {} }), { name: "InvalidStateError" });
await assert.rejects(page.registerTool({ name: "x", description: "x" }), TypeError);
await assert.rejects(page.registerTool({ name: "x", description: "x", inputSchema: [], execute() {} }), /input schema/);
await assert.rejects(page.registerTool({ name: "x", description: "x".repeat(40_000), execute() {} }), /32768 bytes/);

await assert.rejects(page.registerTool({ name: "echo", description: "x", execute() {} }), /does not take tool echo: the bridge has a tool of this name/);

// Results, failures, progress and cancellation.
const results = { text: () => "ok", object: () => ({ n: 1 }), mcp: () => ({ content: [{ type: "text", text: "mcp" }], isError: true }), nothing: () => {}, failure: async () => { throw new Error("it failed"); } };
await Promise.all(Object.entries(results).map(([name, execute]) => page.registerTool({ name, description: name, execute })));
assert.deepEqual((await other.callTool("text")).content, [{ type: "text", text: "ok" }]);
assert.deepEqual((await other.callTool("object")).structuredContent, { n: 1 });
assert.equal((await other.callTool("mcp")).isError, true);
assert.deepEqual((await other.callTool("nothing")).content, []);
assert.deepEqual(await other.callTool("failure"), { ...(await other.callTool("failure")), content: [{ type: "text", text: "it failed" }], isError: true });

const seen = [];
let aborted;
await page.registerTool({ name: "slow", description: "Waits.", execute: (_, { signal, progress }) => new Promise((_, reject) => {
  progress(1, 2, "half");
  signal.addEventListener("abort", () => { aborted = signal.reason; reject(signal.reason); });
}) });
const canceling = new AbortController();
await assert.rejects(other.callTool("slow", {}, { signal: canceling.signal, onProgress: (p) => { seen.push(p); canceling.abort(); } }), { name: "AbortError" });
assert.deepEqual([seen[0].progress, seen[0].total, seen[0].message], [1, 2, "half"]);
while (!aborted) await new Promise((resolve) => setTimeout(resolve, 1));

// A debugging tool is not shown; one that is taken back is gone.
await page.registerTool({ name: "inspect", description: "x", annotations: { debugging: true }, execute() {} });
changed = change(other);
lent.abort();
await changed;
const now = await names(other);
assert.ok(!now.includes("add") && !now.includes("inspect") && now.includes("slow"));
await assert.rejects(other.callTool("add", { a: 1, b: 2 }), { code: "not_found" });

// Two tabs: an argument chooses, the one looked at last is the default, and a resource lists them.
const second = await connect({ url, era });
await second.registerTool({ name: "text", description: "text", execute: () => "second" });
const both = (await other.listTools()).find((t) => t.name === "text");
assert.equal(both.inputSchema.properties.tab.type, "string");
const text = async (args) => (await other.callTool("text", args)).content[0].text;
assert.equal(await text({}), "second");
const tabs = JSON.parse((await other.readResource("mcpbridge://tabs")).contents[0].text);
assert.ok((await other.listResources()).some((r) => r.uri === "mcpbridge://tabs"));
assert.equal(tabs.length, 2);
const first = tabs.find((t) => t.tools.includes("slow"));
assert.equal(await text({ tab: first.tab }), "ok");
assert.match(await text({ tab: "99" }), /no tab "99" has it/);

// A client that ends takes its tools along, and its calls fail.
const running = other.callTool("slow", {}, { onProgress: () => page.close() });
await assert.rejects(running, (e) => e.code === "unavailable" && /it is unknown whether the call ran/.test(e.message));
assert.deepEqual((await names(other)).filter((n) => ["text", "slow"].includes(n)), ["text"]);
assert.equal((await other.listTools()).find((t) => t.name === "text").inputSchema.properties?.tab, undefined);
second.close();
other.close();
