// Hands on the requests that come over a WebSocket, control, to the bridge at url, in Node and in a page:
// node relay.mjs URL ERA CONTROL, or relay.html?url=URL&era=ERA&control=CONTROL
import { connect } from "./mcpbridge.mjs";

const [url, era, control] = globalThis.process?.argv.slice(2) ?? ["url", "era", "control"].map((name) => new URLSearchParams(location.search).get(name));
const bridge = await connect({ url, era });
const socket = new WebSocket(control);
const write = (message) => socket.send(JSON.stringify(message));
const running = new Map();

bridge.addEventListener("toolschange", () => write({ changed: true }));
bridge.addEventListener("log", (event) => write({ log: event.detail }));

async function carryOut({ id, method, params, progress }) {
  const controller = new AbortController();
  running.set(id, controller);
  const options = { signal: controller.signal, ...(progress && { onProgress: (p) => write({ id, progress: p }) }) };
  const { progressToken, ...meta } = params?._meta ?? {};
  if (era === "modern") meta["io.modelcontextprotocol/logLevel"] = "debug";
  try {
    const result = method === "tools/list" ? { tools: await bridge.listTools(options) } : await bridge.request(method, { ...params, _meta: meta }, options);
    write({ id, result });
  } catch (error) {
    write({ id, error: { code: String(error.code), message: error.message } });
  }
  running.delete(id);
}

socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.cancel) running.get(message.cancel)?.abort();
  else carryOut(message);
};
socket.onclose = () => bridge.close();
