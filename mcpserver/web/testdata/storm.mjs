// Many pages lend the same tool, and come and go while it is called: node storm.mjs URL PAGES CALLS
import assert from "node:assert/strict";
import { connect } from "./mcpbridge.mjs";

const [url, count, total] = process.argv.slice(2).map((arg, i) => (i === 0 ? arg : Number(arg)));
const runs = new Map();
const open = async (i) => {
  const page = await connect({ url, era: i % 2 ? "modern" : "legacy" });
  await page.registerTool({
    name: "work", description: "Gives its number back.", inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    execute: async ({ n }) => {
      runs.set(n, (runs.get(n) ?? 0) + 1);
      if (n % 3 === 0) await new Promise((resolve) => setTimeout(resolve, n % 5));
      return String(n);
    },
  });
  return page;
};
const pages = await Promise.all(Array.from({ length: count }, (_, i) => open(i)));
const tabs = JSON.parse((await pages[0].readResource("mcpbridge://tabs")).contents[0].text).map((t) => t.tab);
assert.equal(tabs.length, count);

const caller = await connect({ url });
let next = 0, answered = 0, unknown = 0;
const calls = Array.from({ length: 50 }, async () => {
  while (next < total) {
    const n = next++;
    try {
      const result = await caller.callTool("work", n % 2 ? { n } : { n, tab: tabs[n % tabs.length] });
      const [{ text }] = result.content;
      if (result.isError) assert.match(text, /no tab "\d+" has it/); // it has been closed
      else assert.equal(text, String(n));
    } catch (error) {
      assert.match(error.message, /client (that has it )?has gone/);
      unknown++;
    }
    answered++;
  }
});
let done = false;
const churn = (async () => {
  for (let i = 1; !done; i++) {
    pages[i % count].close();
    pages[i % count] = await open(i);
  }
})();
await Promise.all(calls);
done = true;
await churn;
assert.equal(answered, total);
assert.deepEqual([...runs].filter(([, times]) => times !== 1), []);
console.log(`${total} calls, ${unknown} of unknown outcome, ${runs.size} ran`);
for (const page of pages) page.close();
caller.close();
