// A page of a server, which says what it shows, and what it can reach.
import { App } from "@modelcontextprotocol/ext-apps/app-with-deps";

const app = new App({ name: "a page", version: "1" });
const say = (text) => {
  document.body.append(document.createElement("br"), text);
  return app.sendLog({ level: "info", data: text });
};
const failed = (promise) => Promise.resolve(promise).then((value) => `reached ${value}`, (error) => `refused: ${error.message}`);
const text = (result) => result.content[0].text;

// What a page must not reach.
const reach = {
  host: () => parent.parent.document.title,
  frame: () => parent.document.title,
  storage: () => localStorage.length,
  cookie: () => document.cookie,
  bridge: () => fetch(`${bridge}/console/api/state`).then((r) => r.status),
  open: () => fetch(`${bridge}/mcp`, { method: "POST", mode: "no-cors", body: "{}" }).then((r) => r.type),
  socket: () => new Promise((resolve, reject) => {
    const socket = new WebSocket(`${bridge.replace("http", "ws")}/ws`, "mcp");
    socket.onopen = () => resolve("open");
    socket.onerror = () => reject(new Error("closed"));
  }),
  image: () => new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve("loaded");
    image.onerror = () => reject(new Error("blocked"));
    image.src = `${bridge}/console/style.css`;
  }),
  script: () => import(`${bridge}/mcpbridge.js`),
  evaluation: () => eval("1"),
  top: () => { top.location = "https://stranger.example/"; return "went"; },
  popup: () => { if (!open("https://stranger.example/")) throw new Error("no window"); return "a window"; },
};

app.addEventListener("toolinput", (params) => say(`input ${JSON.stringify(params.arguments)}`));
app.addEventListener("toolresult", async (result) => {
  say(`result ${text(result)}`);
  say(`fresh ${text(await app.callServerTool({ name: "refresh", arguments: {} }))}`);
  say(`model's ${await failed(app.callServerTool({ name: "think", arguments: {} }))}`);
  say(`other's ${await failed(app.callServerTool({ name: other, arguments: {} }))}`);
  for (const [name, attempt] of Object.entries(reach)) say(`${name} ${await failed((async () => attempt())())}`);
  say(`change ${await failed(app.callServerTool({ name: "change", arguments: { n: 1 } }).then(text))}`);
  say("done");
});
app.onteardown = async () => {
  await say("it ends");
  return {};
};
await app.connect();
