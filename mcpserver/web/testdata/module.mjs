// The module as pages have it: Node takes a .js file for an ES module only beside a package.json that says so.
import { readFile } from "node:fs/promises";

const source = await readFile(new URL("../mcpbridge.js", import.meta.url), "utf8");
export const { connect, Bridge, BridgeError } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
