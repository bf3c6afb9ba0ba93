// The servers: what state they are in, and what they say.
import { html, useEffect, useState } from "./html.js";
import { read } from "./api.js";
import { ago, clock } from "./format.js";
import { useActions } from "./hooks.js";
import { Logins } from "./logins.js";
import { Nodes } from "./nodes.js";
import { Panel } from "./panel.js";
import { Pins } from "./pins.js";
import { Tabs } from "./tabs.js";

const mood = (s) => ({ ready: "good", idle: "good", waiting: "good", failed: "bad" })[s.state] ?? "warn";

// each returns one entry a server, which may have several processes and connections: one that is in trouble if
// there is one, and one that waits for a caller only if all do.
function each(servers) {
	const all = new Map();
	for (const s of servers) {
		const known = all.get(s.name);
		const shown = known && known.state !== "waiting" && (mood(known) !== "good" || mood(s) === "good") ? known : s;
		all.set(s.name, { ...shown, links: (known?.links ?? 0) + 1, callers: (known?.callers ?? 0) + s.callers });
	}
	return [...all.values()];
}

export const failedServers = (servers) => each(servers).filter((s) => s.state === "failed").length;

const parts = { servers: "Servers", pins: "Pins", logins: "Logins", names: "Left out", nodes: "Nodes" };

export function ServersView({ state, url, go, refresh }) {
	const part = parts[url.part] ? url.part : "servers";
	const held = each(state.servers).reduce((n, s) => n + (s.held ?? 0), 0);
	const titles = { ...parts, pins: held ? `Pins (${held})` : "Pins", names: state.problems.length ? `Left out (${state.problems.length})` : "Left out" };
	if (!state.cluster) delete titles.nodes;
	const [run, told] = useActions(refresh);
	return html`
		<div class="bar"><h1>Servers</h1><${Tabs} label="Of servers" all=${titles} chosen=${part} choose=${(part) => go({ part: part === "servers" ? "" : part, name: "" })} />
			<span class="gap"></span><span class=${told.failed ? "failed" : "count"} role="status">${told.text}</span>
			${state.config && html`<button onClick=${() => run("reload")}>Reload config</button>`}</div>
		${part === "servers" && html`<${Servers} ...${{ state, url, go, run }} />`}
		${part === "pins" && html`<${Pins} ...${{ url, go }} />`}
		${part === "logins" && html`<${Logins} />`}
		${part === "nodes" && html`<${Nodes} mood=${mood} />`}
		${part === "names" && html`<${LeftOut} ...${{ state, go, refresh }} />`}`;
}

function Servers({ state, url, go, run }) {
	const servers = each(state.servers);
	const chosen = servers.find((s) => s.name === url.name);
	if (!servers.length) return html`<p class="empty">The config has no servers. <code>mcpbridge add</code> adds one, and it appears here.</p>`;
	return html`<div class=${chosen ? "split open" : "split"}>
		<ul class="cards">${servers.map((s) => html`<li key=${s.name} class="card">
			<div class="top"><i class=${`dot ${mood(s)}`}></i>
				<button class="plain name" aria-expanded=${chosen === s} onClick=${() => go({ name: chosen === s ? "" : s.name })}>${s.name}</button>
				<span class=${`tag ${mood(s)}`}>${s.state}</span></div>
			<p class="muted">${[s.server, s.revision && `MCP ${s.revision}`, s.node && `node ${s.node} has it`, s.pid && `pid ${s.pid}`, s.memory && `${Math.round(s.memory / 1e6)} MB`, s.links > 1 && `one of ${s.links} connections`].filter(Boolean).join(" · ") || " "}</p>
			${s.reason && html`<p class=${s.state === "waiting" ? "muted" : "failed"}>${s.reason}</p>`}
			${!s.reason && s.line && html`<p class="line">${s.line}</p>`}
			${s.held > 0 && html`<p><button class="chip warned" onClick=${() => go({ view: "servers", part: "pins", name: s.name })}>${s.held} held back: look at the difference</button></p>`}
			<dl class="facts"><div><dt>Tools</dt><dd>${s.tools}</dd></div><div><dt>Calls</dt><dd>${s.calls}</dd></div><div><dt>Failed</dt><dd>${s.failed}</dd></div><div><dt>Clients</dt><dd>${s.callers}</dd></div></dl>
			<div class="buttons"><button onClick=${() => run("restart", { server: s.name })}>Restart</button>${s.state !== "stopped" && html`<button onClick=${() => run("stop", { server: s.name })}>Stop</button>`}
				<button onClick=${() => go({ view: "calls", server: s.name })}>Calls</button><button onClick=${() => go({ view: "tools", server: s.name })}>Tools</button></div>
		</li>`)}</ul>
		${chosen && html`<${Log} key=${chosen.name} name=${chosen.name} close=${() => go({ name: "" })} />`}
	</div>`;
}

// LeftOut has the tools that are not shown as their servers have them: conflicts of names, bad schemas, pins.
function LeftOut({ state, go, refresh }) {
	useEffect(() => { read("items", { kind: "tools" }).then(refresh, () => {}); }, []); // they show when somebody lists the tools
	if (!state.problems.length) return html`<p class="empty">All that the servers have is shown, under its own name.</p>`;
	return html`<ul class="flow plain-list">${state.problems.map((p) => html`<li key=${p.text} class="card problem">
		<span class=${p.leftOut ? "tag bad" : "tag warn"}>${p.leftOut ? "left out" : "changed"}</span><span class="text">${p.text}</span>
		${p.name && html`<button class="chip" onClick=${() => go({ view: "clients", part: "why", tool: p.name })}>Its way to a client</button>`}</li>`)}</ul>`;
}

function Log({ name, close }) {
	const [lines, setLines] = useState(null);
	useEffect(() => {
		let over = false;
		const load = () => read("logs", { server: name }).then((l) => over || setLines(l), () => {});
		load();
		const timer = setInterval(load, 2000);
		return () => { over = true; clearInterval(timer); };
	}, [name]);
	return html`<${Panel} label=${`Log of ${name}`} title=${`${name}: log and standard error`} close=${close}>
		${lines && lines.length === 0 && html`<p class="muted">It has said nothing.</p>`}
		<div class="log" tabindex="0" role="region" aria-label="Lines of the log">${lines?.toReversed().map((l, i) => html`<div key=${i} class=${l.level === "ERROR" || l.level === "WARN" ? "warned" : ""}><time>${clock(l.time)}</time> ${l.text}</div>`)}</div>
	<//>`;
}

export const summary = (state) => `up ${ago(state.since)}, ${state.calls} ${state.calls === 1 ? "call" : "calls"}`;
