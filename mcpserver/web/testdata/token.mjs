// Connects with a token, and without: node token.mjs URL TOKEN
import assert from "node:assert/strict";
import { connect } from "./mcpbridge.mjs";

const [url, token] = process.argv.slice(2);
for (const given of [token, async () => token]) {
  const bridge = await connect({ url, token: given });
  assert.ok((await bridge.listTools()).length > 0);
  bridge.close();
}
await assert.rejects(connect({ url }), /cannot connect .* token/);
await assert.rejects(connect({ url, token: `not-${token}` }), (e) => !e.message.includes(token));

const response = await fetch(new URL("/ws/ticket", url), { method: "POST", headers: { Authorization: `Bearer ${token}` } });
const { ticket } = await response.json();
(await connect({ url, ticket })).close();
await assert.rejects(connect({ url, ticket }), /cannot connect/); // it was good once
