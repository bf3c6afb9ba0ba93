// A request whose view is left goes on, and the view finds it again.
import assert from "node:assert/strict";
import { html, render, useEffect } from "./html.js";
import { abandon, useRun } from "./run.js";

const sent = new Map(); // by their names
globalThis.fetch = async (url, { body, signal }) => {
  const { id, params } = JSON.parse(body);
  return new Promise((resolve, reject) => {
    sent.set(params.name, { signal, answer: (result) => resolve(Response.json({ jsonrpc: "2.0", id, result })) });
    signal.onabort = () => reject(signal.reason);
  });
};
let last, mounted, now;
function View({ of }) {
  last = useRun(of);
  useEffect(() => mounted(), []);
  return null;
}
const page = { childNodes: [], firstChild: null };
const turns = async () => { for (let n = 0; n < 10; n++) await new Promise((resolve) => setTimeout(resolve)); };
const show = async (of) => {
  const effects = of && new Promise((resolve) => { mounted = resolve; });
  now = of;
  render(of ? html`<${View} key=${of} of=${of} />` : null, page);
  await effects;
  await turns();
};
const call = async (of) => { if (now !== of) await show(of); last.run("tools/call", { name: of }, of, { text: of }); await turns(); };

await call("pay");
await show("other");
assert.equal(last.state, null);
sent.get("pay").answer({ content: [] });
await turns();
await show("pay");
assert.deepEqual([last.state.running, last.state.result, last.state.params], [undefined, { content: [] }, { name: "pay" }]);
assert.deepEqual(last.form, { text: "pay" });
await show("other");
await show("pay");
assert.equal(last.state, null); // it was seen

// One that still runs is canceled where it is found.
await call("pay");
await show("other");
await show("pay");
assert.equal(last.state.running, true);
last.cancel();
await turns();
assert.equal(last.state.error, "canceled");

// Those that are left do not take all connections, and end with the visit.
for (const name of ["a", "b", "c", "d"]) await call(name);
await show();
assert.deepEqual([..."abcd"].map((name) => sent.get(name).signal.aborted), [true, false, false, false]);
await show("a");
assert.equal(last.state.error, "canceled");
abandon();
assert.ok([..."abcd"].every((name) => sent.get(name).signal.aborted));

// One that has been answered takes no connection: it ends none that still runs. Not all results are kept.
await call("waits");
for (const name of "efghijklmn") {
  await call(name);
  await show("other");
  sent.get(name).answer({ content: [] });
  await turns();
}
assert.equal(sent.get("waits").signal.aborted, false);
await show("waits");
assert.equal(last.state.running, true);
await show("e");
assert.equal(last.state, null);
await show("f");
assert.deepEqual(last.state.result, { content: [] });
