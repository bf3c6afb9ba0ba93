// MCP Apps (specification of 2026-01-26): the page with which a server shows the result of a tool. It runs in a frame
// within the frame of sandbox.html, whose origin is opaque or console.sandboxOrigin, and speaks JSON-RPC with the
// console by messages.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { read, request } from "./api.js";
import { visible } from "./format.js";

const revision = "2026-01-26";
const mostRunning = 8, mostLines = 50, mostText = 500, mostAsked = 5000, mostHeight = 800;
const endTime = 500; // ms that a page has for its end
const readTime = 600; // ms before a question can be allowed: a page must not have its Allow come under a click meant for it

// pageOf returns the URI of the page of a tool, "" without one.
export function pageOf(definition) {
	const uri = definition._meta?.ui?.resourceUri ?? definition._meta?.["ui/resourceUri"];
	return typeof uri === "string" && uri.startsWith("ui://") ? uri : "";
}

// loadPage returns what a resource has of a page: its HTML, and the policy that it declares, there or where it is
// listed; and the origin that its frame is loaded from, "" if it is to have none.
async function loadPage(uri) {
	const [{ contents }, all, { sandboxOrigin = "" }] = await Promise.all([request("resources/read", { uri }, { name: uri }), read("items", { kind: "resources" }).catch(() => null), read("state")]);
	const page = (contents ?? []).find((c) => /^text\/html;\s*profile="?mcp-app"?$/i.test(c.mimeType ?? ""));
	if (!page) throw new Error("the resource is not a page: its MIME type is not text/html;profile=mcp-app");
	const text = page.text ?? new TextDecoder().decode(Uint8Array.from(atob(page.blob ?? ""), (c) => c.charCodeAt(0)));
	const listed = all?.find((i) => i.name === uri)?.definition;
	return { text, csp: page._meta?.ui?.csp ?? listed?._meta?.ui?.csp ?? {}, origin: sandboxOrigin === location.origin ? "" : sandboxOrigin };
}

// frameOf returns the attributes of the frame of a page.
function frameOf({ csp, origin }) {
	const query = new URLSearchParams({ csp: JSON.stringify(csp), from: location.origin });
	return { src: `${origin && `${origin}/`}console/sandbox.html?${query}`, sandbox: `allow-scripts allow-forms${origin && " allow-same-origin"}` };
}

// App shows the result of a call of a tool, item, with the tool's page. items are all tools.
export function App({ item, items, args, result }) {
	const uri = pageOf(item.definition);
	const [page, setPage] = useState(null);
	useEffect(() => {
		let over = false;
		loadPage(uri).then((p) => over || setPage(p), (e) => over || setPage({ error: e.message }));
		return () => { over = true; };
	}, [uri]);
	if (!page) return html`<p class="muted" role="status">…</p>`;
	if (page.error) return html`<p class="failed">The page of ${item.server}: ${page.error}</p>`;
	return html`<${Frame} ...${{ item, items, args, result, page }} />`;
}

function Frame({ item, items, args, result, page }) {
	const frame = useRef(null), host = useRef(null);
	const [closed, setClosed] = useState(false);
	const [height, setHeight] = useState(240);
	const [lines, setLines] = useState([]);
	const [question, setQuestion] = useState(null);
	useLayoutEffect(() => {
		const say = (text) => setLines((all) => [...all, String(text).slice(0, mostText)].slice(-mostLines));
		let asked = 0;
		const ask = (text) => new Promise((resolve, reject) => setQuestion((other) => {
			if (other) reject(new Error("the person is being asked something already"));
			return other ?? { key: ++asked, text, decide: (yes) => { setQuestion(null); if (yes) resolve(); else reject(new Error("the person has refused it")); } };
		}));
		const own = host.current = new Host({ item, items, args, result, page, say, ask, setHeight, send: (m) => frame.current?.contentWindow?.postMessage({ jsonrpc: "2.0", ...m }, "*") });
		const take = ({ source, data }) => { if (frame.current && source === frame.current.contentWindow) own.take(data); };
		const theme = matchMedia("(prefers-color-scheme: dark)");
		const changed = () => own.tell("ui/notifications/host-context-changed", { theme: themeNow() });
		addEventListener("message", take);
		theme.addEventListener("change", changed);
		return () => {
			removeEventListener("message", take);
			theme.removeEventListener("change", changed);
			own.end();
		};
	}, []);
	return html`<section class="app" aria-label=${`Page of ${item.server}`}>
		<div class="label"><h4>Page of ${item.server}</h4>${!closed && html`<button type="button" class="plain" onClick=${() => host.current.end().then(() => setClosed(true))}>Close the page</button>`}</div>
		<p class="muted">All of it is the server's: enter nothing that the server must not know.</p>
		${question && !closed && html`<${Question} ...${question} />`}
		${!closed && html`<iframe ref=${frame} ...${frameOf(page)} title=${`Page of ${item.server}`} height=${height}></iframe>`}
		<ul class="said">${lines.map((line, i) => html`<li key=${i}>${line}</li>`)}</ul>
	</section>`;
}

// Question asks the person about what a page wants. It is above the page, which cannot move it.
function Question({ text, decide }) {
	const [ready, setReady] = useState(false);
	useEffect(() => {
		const timer = setTimeout(() => setReady(true), readTime);
		return () => clearTimeout(timer);
	}, []);
	return html`<p class="note" role="alert"><span class="asked-of">${text}</span> <button type="button" disabled=${!ready} onClick=${() => decide(true)}>Allow</button> <button type="button" onClick=${() => decide(false)}>Refuse</button></p>`;
}

const themeNow = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

// shown is the JSON of a value as a person has to see it: whole, up to a length that is said.
function shown(value) {
	const text = visible(JSON.stringify(value));
	return text.length > mostAsked ? `${text.slice(0, mostAsked)}… (${text.length} characters, of which these are the first ${mostAsked})` : text;
}

function failure(code, message) { return Object.assign(new Error(message), { code }); }

// Host answers a page, as the host of MCP Apps.
class Host {
	running = 0;
	initialized = false;
	abort = new AbortController();

	constructor(options) { Object.assign(this, options); }

	// end tells the page that it ends, and resolves when it has done what it does then.
	async end() {
		const torn = new Promise((resolve) => { this.torn = resolve; });
		if (this.initialized) {
			this.send({ id: "end", method: "ui/resource-teardown", params: { reason: "it is closed" } });
			await Promise.race([torn, new Promise((resolve) => setTimeout(resolve, endTime))]);
		}
		this.abort.abort();
	}

	// tell sends a notification. A page gets none before it has said that it is initialized.
	tell(method, params) { if (this.initialized) this.send({ method, params }); }

	async take(m) {
		if (m?.jsonrpc === "2.0" && m.method === undefined && m.id === "end") this.torn?.();
		if (m?.jsonrpc !== "2.0" || typeof m.method !== "string") return;
		const params = m.params ?? {};
		if (m.id === undefined) return this.heard(m.method, params);
		try {
			this.send({ id: m.id, result: await this.answer(m.method, params) });
		} catch (e) {
			this.send({ id: m.id, error: { code: e.code ?? -32000, message: e.message } });
		}
	}

	heard(method, params) {
		switch (method) {
			case "ui/notifications/sandbox-proxy-ready":
				this.send({ method: "ui/notifications/sandbox-resource-ready", params: { html: this.page.text } });
				break;
			case "ui/notifications/initialized":
				if (this.initialized) break;
				this.initialized = true;
				this.tell("ui/notifications/tool-input", { arguments: this.args });
				this.tell("ui/notifications/tool-result", this.result);
				break;
			case "ui/notifications/size-changed":
				if (params.height > 0) this.setHeight(Math.min(mostHeight, Math.ceil(params.height)));
				break;
			case "notifications/message":
				this.say(`It says: ${typeof params.data === "string" ? params.data : JSON.stringify(params.data)}`);
				break;
		}
	}

	async answer(method, params) {
		switch (method) {
			case "ping": return {};
			case "ui/initialize": return this.initialize();
			case "ui/request-display-mode": return { mode: "inline" };
			case "ui/open-link": return this.openLink(params.url);
			case "tools/call": return this.limited(() => this.callTool(params));
			case "resources/read": return this.limited(() => this.readResource(params));
		}
		throw failure(-32601, `this host has no ${method}`);
	}

	initialize() {
		const { name, inputSchema, ...more } = this.item.definition;
		return {
			protocolVersion: revision,
			hostInfo: { name: "mcpbridge console", version: "1" },
			hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, logging: {}, sandbox: { csp: this.page.csp } },
			hostContext: {
				toolInfo: { tool: { ...more, name: this.item.own || name, inputSchema: inputSchema ?? { type: "object" } } },
				theme: themeNow(), displayMode: "inline", availableDisplayModes: ["inline"], containerDimensions: { maxHeight: mostHeight },
				locale: navigator.language, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, userAgent: "mcpbridge console", platform: "web",
			},
		};
	}

	async limited(work) {
		if (this.running >= mostRunning) throw failure(-32000, `${mostRunning} requests are under way already`);
		this.running++;
		try {
			return await work();
		} finally {
			this.running--;
		}
	}

	// callTool calls a tool of the page's own server, by the server's name for it or the bridge's. The person is
	// asked, unless it only reads: what a server says of that counts if the server is trusted.
	async callTool({ name, arguments: args = {} }) {
		const own = this.items.filter((i) => i.server === this.item.server);
		const tool = own.find((i) => (i.own || i.name) === name) ?? own.find((i) => i.name === name);
		if (!tool) throw failure(-32602, `${this.item.server} has no tool ${name}`);
		const { visibility } = tool.definition._meta?.ui ?? {};
		if (visibility && !visibility.includes("app")) throw failure(-32602, `tool ${name} is not for pages`);
		if (tool.untrusted || tool.definition.annotations?.readOnlyHint !== true) await this.ask(`It wants to call ${tool.name} with ${shown(args)}.`);
		this.say(`It calls ${tool.name}.`);
		return request("tools/call", { name: tool.name, arguments: args }, { name: tool.name, signal: this.abort.signal });
	}

	// readResource reads a resource of the page's own server.
	async readResource({ uri }) {
		const all = await read("items", { kind: "resources" });
		const own = all.filter((i) => i.server === this.item.server);
		const it = own.find((i) => (i.own || i.name) === uri) ?? own.find((i) => i.name === uri);
		const known = it?.name ?? (uri === pageOf(this.item.definition) ? uri : null);
		if (!known) throw failure(-32602, `${this.item.server} lists no resource ${uri}`);
		this.say(`It reads ${known}.`);
		return request("resources/read", { uri: known }, { name: known, signal: this.abort.signal });
	}

	async openLink(url) {
		if (!/^https?:\/\//i.test(url ?? "") || !URL.canParse(url)) throw failure(-32602, "expected a URL of http or https");
		const { href, username, password } = new URL(url);
		if (username || password) throw failure(-32602, "expected a URL without a name of a user: it would hide where it leads");
		if (href.length > mostAsked) throw failure(-32602, `expected a URL of at most ${mostAsked} characters`);
		await this.ask(`It wants to open ${href} in a new tab.`);
		window.open(url, "_blank", "noopener,noreferrer");
		return {};
	}
}
