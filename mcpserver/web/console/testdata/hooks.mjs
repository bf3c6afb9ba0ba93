// What a view has of a resource that it reads, while that fails.
import assert from "node:assert/strict";
import { html, render } from "./html.js";
import { useRead } from "./hooks.js";

globalThis.requestAnimationFrame = (f) => setTimeout(f); // an effect waits for it
globalThis.fetch = async (url) => {
  if (/tool=slow/.test(url)) return new Promise((resolve) => begun(() => resolve(Response.json({ name: "slow" }))));
  return /tool=echo/.test(url) && works ? Response.json({ name: "echo" }) : Response.json({ error: "no such tool" }, { status: 404 });
};
let works = true, last, seen, begun;
function View({ tool }) {
  last = useRead("tool", { tool });
  seen?.();
  return null;
}
const page = { childNodes: [], firstChild: null };
const show = (tool) => render(html`<${View} tool=${tool} />`, page);
const until = async (done) => { while (!done()) await new Promise((resolve) => { seen = resolve; }); };

show("echo");
await until(() => last.value);

// A value stays while it cannot be read again, and not for what it does not belong to.
works = false;
last.load();
await until(() => last.error);
assert.equal(last.value?.name, "echo");
show("other");
await until(() => last.error);
assert.deepEqual([last.value, last.error], [null, "no such tool"]);

// Nor is it replaced by what was wanted before and comes late.
works = true;
const asked = new Promise((resolve) => { begun = (answer) => resolve({ answer }); });
show("slow");
const { answer } = await asked;
show("echo");
await until(() => last.value);
answer();
for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setTimeout(resolve));
assert.equal(last.value?.name, "echo");
