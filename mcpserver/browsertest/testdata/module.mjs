// Does what the query says with the module of the bridge that it names, and shows what comes.
const query = new URLSearchParams(location.search);
const { connect } = await import(new URL("/mcpbridge.js", query.get("bridge")));
const options = { era: query.get("era") ?? "modern", ...(query.get("token") && { token: query.get("token") }) };

function show(id, text) { document.getElementById(id).textContent = text; }

function add(list, text) {
  const item = document.createElement("li");
  item.textContent = text;
  document.getElementById(list).append(item);
}

function check(holds, what) { if (!holds) throw new Error(`not as expected: ${what}`); }

const event = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));

const todo = {
  // The same that page.mjs does.
  async calls(bridge) {
    show("state", `connected to ${(bridge.server.serverInfo ?? bridge.server._meta["io.modelcontextprotocol/serverInfo"]).name}`);
    for (const tool of await bridge.listTools()) add("tools", `${tool.name}: ${tool.description}`);
    const result = await bridge.callTool("count", { to: 5 }, { onProgress: (p) => add("progress", `${p.progress} of ${p.total}: ${p.message}`) });
    show("result", result.content[0].text);
    bridge.close();
  },

  // What the page has registered is lent, and the bridge's tools are registered.
  async webmcp(bridge) {
    const native = document.modelContext.constructor.toString().includes("[native code]");
    check(native === (query.get("native") === "true"), `native is ${native}`);
    await document.modelContext.registerTool({ name: "before", description: "Was there.", execute: (input) => `before ${JSON.stringify(input)}` });
    await bridge.adopt();
    const later = new AbortController();
    let changed = event(bridge, "toolschange");
    await document.modelContext.registerTool({
      name: "later", description: "Came later.", annotations: { untrustedContentHint: true }, inputSchema: { type: "object", properties: { n: { type: "integer" } } },
      execute: ({ n }) => ({ n: n + 1 }),
    }, { signal: later.signal });
    await changed;
    const listed = async () => (await bridge.listTools()).map((t) => t.name).join();
    check(await listed() === "count,before,later", await listed());
    check((await bridge.callTool("before", { a: 1 })).content[0].text === 'before {"a":1}', "before");
    const result = await bridge.callTool("later", { n: 1 });
    check(result.content[0].text === '{"n":2}' && result._meta["mcpbridge/untrustedContent"], JSON.stringify(result));
    changed = event(bridge, "toolschange");
    later.abort();
    await changed;
    check(await listed() === "count,before", await listed());

    const exposed = new AbortController();
    await bridge.expose({ include: ["c*"], signal: exposed.signal });
    const here = async () => (await document.modelContext.getTools()).map((t) => t.name).sort().join();
    check(await here() === "before,count", await here());
    const count = (await document.modelContext.getTools()).find((t) => t.name === "count");
    const counted = await document.modelContext.executeTool(count, { to: 2 });
    check(counted.includes("counted to 2"), counted);
    check(await listed() === "count,before", await listed()); // it is not lent back
    exposed.abort();
    check(await here() === "before", await here());
    bridge.close();
  },

  // A ticket is good once.
  async ticket(bridge) {
    bridge.close();
    const response = await fetch(new URL("/ws/ticket", query.get("bridge")), { method: "POST", headers: { Authorization: `Bearer ${query.get("token")}` } });
    const { ticket } = await response.json();
    (await connect({ url: query.get("bridge"), ticket })).close();
    const used = await connect({ url: query.get("bridge"), ticket }).then(() => "taken", (error) => error.message);
    check(used.startsWith("cannot connect"), used);
  },

  // Carries out calls, and tells the server of the page which; reloads now and then.
  async work(bridge) {
    await bridge.registerTool({
      name: "work", description: "Gives its number back.", inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      execute: async ({ n }) => { await fetch(`/ran?n=${n}`, { method: "POST" }); return String(n); },
    });
    if (query.get("reload")) setTimeout(() => location.reload(), 300 + 700 * Math.random());
  },

  // Lends tools as long as the tab is open.
  async lend(bridge) {
    const list = async () => { globalThis.tools = (await bridge.listTools()).map((tool) => tool.name); };
    bridge.addEventListener("toolschange", list);
    globalThis.bridge = bridge;
    globalThis.titleTool = { name: "title", description: "The title of the tab.", execute: () => document.title };
    await bridge.registerTool(titleTool);
    await bridge.registerTool({ name: "stay", description: "Does not return.", execute: () => { show("result", "running"); return new Promise(() => {}); } });
  },
};

try {
  if (query.get("title")) document.title = query.get("title");
  await todo[query.get("do")](await connect({ url: query.get("bridge"), ...options }));
  document.body.className = "done";
} catch (error) {
  show("state", `refused: ${error.message}`);
  document.body.className = "refused";
}
