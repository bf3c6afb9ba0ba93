// How a page speaks to the bridge: its own API (console/api/…), and MCP (mcp), which are beside this file, wherever the
// page is.
import { exact } from "./format.js";

const at = (path) => new URL(path, import.meta.url).href;

// Refused is an answer of the bridge that is not the one asked for.
export class Refused extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

async function answered(response) {
	if (response.ok) return response.status === 204 ? null : response.json();
	let reason = response.statusText;
	try {
		const { error } = await response.json();
		reason = error.message ?? error;
	} catch { /* the status says enough */ }
	throw new Refused(response.status, reason);
}

const query = (values) => new URLSearchParams(Object.entries(values).filter(([, v]) => v !== undefined && v !== "")).toString();

export const read = async (name, values = {}) => answered(await fetch(at(`api/${name}?${query(values)}`)));
export const act = async (name, values = {}, body) => answered(await fetch(at(`api/${name}?${query(values)}`), { method: "POST", body: body && JSON.stringify(body) }));

// enter begins a visit, with a ticket or the operator's token.
export async function enter({ ticket, token }) {
	const headers = token ? { Authorization: `Bearer ${token}` } : {};
	await answered(await fetch(at("visit"), { method: "POST", headers, body: ticket ? JSON.stringify({ ticket }) : undefined }));
}

export async function leave() {
	await fetch(at("visit"), { method: "DELETE" });
}

const retryTime = 3000; // ms until calls are asked for again

// follow gives the calls that end to take, until the function that it returns is called. A page that is not seen
// takes none, as browsers have six connections to a host for all their pages; later it gets the latest ones. Their
// contents are not kept, so that one with contents goes on.
export function follow(contents, take, state) {
	let source = null, again = 0;
	const begin = () => {
		clearTimeout(again);
		source = new EventSource(at(`api/calls${contents ? "?contents=1" : ""}`));
		source.onopen = () => state("live");
		source.onerror = () => {
			state("lost");
			if (source?.readyState !== EventSource.CLOSED) return; // it tries again by itself
			end(); // it does not after an answer of HTTP, such as that of a proxy whose bridge starts again
			again = setTimeout(turn, retryTime);
		};
		source.addEventListener("begin", () => take("begin", []));
		source.addEventListener("calls", (e) => take("calls", JSON.parse(e.data)));
		source.addEventListener("contents", (e) => {
			const args = exact(e.data).map((c) => c.arguments);
			take("contents", JSON.parse(e.data).map((c, i) => ({ ...c, arguments: args[i] })));
		});
		source.addEventListener("end", () => { end(); state("ended"); });
	};
	const end = () => { source?.close(); source = null; };
	const turn = () => { if (!document.hidden) source ?? begin(); else if (!contents) end(); };
	document.addEventListener("visibilitychange", turn);
	begin();
	return () => { document.removeEventListener("visibilitychange", turn); clearTimeout(again); end(); };
}

const revision = "2026-07-28";
let last = 0;

// request sends an MCP request of the operator's, and returns its result. progress gets the params of its
// notifications; signal cancels it.
export async function request(method, params, { name, signal, progress } = {}) {
	const id = ++last;
	const _meta = {
		"io.modelcontextprotocol/protocolVersion": revision,
		"io.modelcontextprotocol/clientInfo": { name: "mcpbridge console", version: "1" },
		"io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } },
		progressToken: id,
	};
	const headers = {
		"Content-Type": "application/json", Accept: "application/json, text/event-stream",
		"MCP-Protocol-Version": revision, "Mcp-Method": method,
	};
	if (name !== undefined) headers["Mcp-Name"] = headerText(name);
	const response = await fetch(at("../mcp"), { method: "POST", headers, signal, body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }) });
	for await (const message of messages(response)) {
		if (message.method === "notifications/progress") progress?.(message.params);
		if (message.id !== id && message.id !== null) continue;
		if (message.error) throw new Refused(response.status, message.error.message);
		return message.result;
	}
	throw new Refused(response.status, "the connection ended before the answer");
}

// headerText is a text as a header may have it (SEP-2243).
function headerText(text) {
	if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?")) return text;
	return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}?=`;
}

// messages yields the JSON-RPC messages of an answer, which is JSON or a stream of events.
async function* messages(response) {
	if (!(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) {
		yield await response.json();
		return;
	}
	let rest = "";
	for await (const part of parts(response.body.pipeThrough(new TextDecoderStream()))) {
		const events = (rest + part).split(/\r?\n\r?\n/);
		rest = events.pop();
		for (const event of events) {
			const data = event.split(/\r?\n/).filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trimStart()).join("\n");
			if (data) yield JSON.parse(data);
		}
	}
}

async function* parts(stream) {
	const reader = stream.getReader();
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return;
			yield value;
		}
	} finally {
		reader.cancel().catch(() => {}); // of a request that was given up
	}
}
