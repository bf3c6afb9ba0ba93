// Asks the person for a call, until that ends: node ask.mjs URL ERA. GET /cut cuts all connections.
import assert from "node:assert/strict";
import { connect } from "./mcpbridge.mjs";

const [url, era] = process.argv.slice(2);
let asked = () => {};
const onElicit = ({ message }, { signal }) => new Promise((answer, reject) => {
  signal.addEventListener("abort", () => reject(signal.reason));
  asked({ message, signal, answer });
});
const bridge = await connect({ url, era, onElicit });

// begin calls a tool that asks, and returns the question.
const begin = async (options) => {
  const question = new Promise((resolve) => { asked = resolve; });
  const call = bridge.callTool("log", {}, options);
  call.catch(() => {});
  return { call, ...(await question) };
};
const aborted = (signal) => signal.aborted || new Promise((resolve) => signal.addEventListener("abort", resolve));

const answered = await begin();
assert.equal(answered.message, "May it?");
answered.answer({ action: "accept", content: {} });
await answered.call;
assert.equal(answered.signal.aborted, false);

// The question ends with the call: canceled, lost, or at the end of all.
const cancel = new AbortController();
const canceled = await begin({ signal: cancel.signal });
cancel.abort();
await assert.rejects(canceled.call, { name: "AbortError" });
await aborted(canceled.signal);

const lost = await begin();
await fetch(new URL("/cut", url)).then((r) => r.text());
await aborted(lost.signal);
await assert.rejects(lost.call, { code: "unavailable" });

const left = await begin();
bridge.close();
await assert.rejects(left.call, { code: "unavailable" });
await aborted(left.signal);
