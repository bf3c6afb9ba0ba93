// Hands on the requests of standard input, one a line: node relay.mjs URL ERA
import { createInterface } from "node:readline";
import { connect } from "./mcpbridge.mjs";

const [url, era] = process.argv.slice(2);
const bridge = await connect({ url, era });
const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
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

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.cancel) running.get(message.cancel)?.abort();
  else carryOut(message);
}
bridge.close();
