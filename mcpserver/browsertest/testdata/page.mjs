// Connects to the bridge that the query names, lists its tools, calls count, and shows
// what comes. The query's token is brought as "by" says: ticket or subprotocol.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";

const query = new URLSearchParams(location.search);
const bridge = query.get("bridge");
const token = query.get("token");

function add(list, text) {
  const item = document.createElement("li");
  item.textContent = text;
  document.getElementById(list).append(item);
}

async function ticket() {
  const headers = { Authorization: `Bearer ${token}` };
  const response = await fetch(new URL("/ws/ticket", bridge), { method: "POST", headers });
  if (!response.ok) throw new Error(`ticket: HTTP ${response.status}`);
  return (await response.json()).ticket;
}

async function transport() {
  const url = new URL("/ws", bridge);
  url.protocol = "ws:";
  if (query.get("by") === "ticket") url.searchParams.set("ticket", await ticket());
  if (query.get("by") === "subprotocol") {
    // The SDK's transport offers "mcp" alone.
    globalThis.WebSocket = class extends WebSocket {
      constructor(url, protocol) { super(url, [protocol, `bearer.${token}`]); }
    };
  }
  return new WebSocketClientTransport(url);
}

async function show() {
  const client = new Client({ name: "page", version: "1" });
  await client.connect(await transport());
  document.getElementById("state").textContent = `connected to ${client.getServerVersion().name}`;
  for (const tool of (await client.listTools()).tools) add("tools", `${tool.name}: ${tool.description}`);
  const result = await client.callTool({ name: "count", arguments: { to: 5 } }, undefined, {
    onprogress: (p) => add("progress", `${p.progress} of ${p.total}: ${p.message}`),
  });
  document.getElementById("result").textContent = result.content[0].text;
  await client.close();
}

show().then(
  () => { document.body.className = "done"; },
  (e) => {
    document.getElementById("state").textContent = `refused: ${e.message}`;
    document.body.className = "refused";
  },
);
