// The servers: what state they are in, and what they say.
import { html, useEffect, useState } from "./preact.js";
import { act, read } from "./api.js";
import { ago, clock } from "./format.js";

const mood = (s) => ({ ready: "good", idle: "good", failed: "bad" })[s.state] ?? "warn";

// each returns one entry a server, which may have several processes and connections: one that is in trouble if
// there is one.
function each(servers) {
	const all = new Map();
	for (const s of servers) {
		const known = all.get(s.name);
		const shown = known && (mood(known) !== "good" || mood(s) === "good") ? known : s;
		all.set(s.name, { ...shown, links: (known?.links ?? 0) + 1, callers: (known?.callers ?? 0) + s.callers });
	}
	return [...all.values()];
}

export const failedServers = (servers) => each(servers).filter((s) => s.state === "failed").length;

export function ServersView({ state, url, go, refresh }) {
	const [told, setTold] = useState("");
	const run = async (name, server) => {
		try {
			setTold((await act(name, { server })).done);
		} catch (e) {
			setTold(e.message);
		}
		refresh();
	};
	const servers = each(state.servers);
	const chosen = servers.find((s) => s.name === url.name);
	return html`
		<div class="bar"><h1>Servers</h1><span class="gap"></span><span class="count" role="status">${told}</span>
			${state.config && html`<button onClick=${() => run("reload")}>Reload config</button>`}</div>
		${state.problems.length > 0 && html`<details class="note"><summary>${state.problems.length} ${state.problems.length === 1 ? "tool is" : "tools are"} left out or changed</summary>
			<ul>${state.problems.map((p) => html`<li key=${p}>${p}</li>`)}</ul></details>`}
		<div class=${chosen ? "split open" : "split"}>
			<ul class="cards">${servers.map((s) => html`<li key=${s.name} class="card">
				<div class="top"><i class=${`dot ${mood(s)}`}></i>
					<button class="plain name" aria-expanded=${chosen === s} onClick=${() => go({ name: chosen === s ? "" : s.name })}>${s.name}</button>
					<span class=${`tag ${mood(s)}`}>${s.state}</span></div>
				<p class="muted">${[s.server, s.revision && `MCP ${s.revision}`, s.pid && `pid ${s.pid}`, s.memory && `${Math.round(s.memory / 1e6)} MB`, s.links > 1 && `one of ${s.links} connections`].filter(Boolean).join(" · ") || " "}</p>
				${s.reason && html`<p class="failed">${s.reason}</p>`}
				${!s.reason && s.line && html`<p class="line">${s.line}</p>`}
				${s.held > 0 && html`<p class="warned">${s.held} held back: mcpbridge pins ${s.name} shows why</p>`}
				<dl class="facts"><div><dt>Tools</dt><dd>${s.tools}</dd></div><div><dt>Calls</dt><dd>${s.calls}</dd></div><div><dt>Failed</dt><dd>${s.failed}</dd></div><div><dt>Clients</dt><dd>${s.callers}</dd></div></dl>
				<div class="buttons"><button onClick=${() => run("restart", s.name)}>Restart</button>${s.state !== "stopped" && html`<button onClick=${() => run("stop", s.name)}>Stop</button>`}
					<button onClick=${() => go({ view: "calls", server: s.name, name: "" })}>Calls</button></div>
			</li>`)}</ul>
			${chosen && html`<${Log} key=${chosen.name} name=${chosen.name} close=${() => go({ name: "" })} />`}
		</div>`;
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
	return html`<aside class="detail" aria-label=${`Log of ${name}`}>
		<header><h2>${name}: log and standard error</h2><button class="plain" onClick=${close} aria-label="Close">✕</button></header>
		${lines && lines.length === 0 && html`<p class="muted">It has said nothing.</p>`}
		<div class="log" tabindex="0">${lines?.toReversed().map((l, i) => html`<div key=${i} class=${l.level === "ERROR" || l.level === "WARN" ? "warned" : ""}><time>${clock(l.time)}</time> ${l.text}</div>`)}</div>
	</aside>`;
}

export const summary = (state) => `up ${ago(state.since)}, ${state.calls} calls`;
