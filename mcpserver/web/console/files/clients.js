// The clients: their sessions, the pages that lend tools, what they have used of quotas, and why one has a tool or does not.
import { html, useEffect, useState } from "./html.js";
import { read } from "./api.js";
import { ago, spoken } from "./format.js";
import { Tabs } from "./tabs.js";
import { Why } from "./why.js";

const parts = { sessions: "Sessions", pages: "Pages", quotas: "Quotas", why: "Why not?" };

export function ClientsView({ callers, state, url, go }) {
	const part = parts[url.part] ? url.part : "sessions";
	return html`<div class="bar"><h1>Clients</h1><${Tabs} label="Of clients" all=${parts} chosen=${part} choose=${(part) => go({ part: part === "sessions" ? "" : part })} />
			<span class="gap"></span>${part === "sessions" && html`<span class="count">${callers.length === 1 ? "1 session" : `${callers.length} sessions`}</span>`}</div>
		${part === "sessions" && html`<${Sessions} ...${{ callers, go }} />`}
		${part === "pages" && html`<${Pages} go=${go} />`}
		${part === "quotas" && html`<${Quotas} quotas=${state.quotas ?? []} />`}
		${part === "why" && html`<${Why} ...${{ callers, state, url, go }} />`}`;
}

export const nameOf = (c) => c.client || c.principal || `session ${c.session}`;

function Sessions({ callers, go }) {
	if (callers.length === 0) return html`<p class="empty">No client has a session. Clients that speak MCP 2026-07-28 have one for a while after each request.</p>`;
	return html`<ul class="cards">${callers.map((c) => html`<li key=${c.session} class="card">
		<div class="top"><b class="name">${nameOf(c)}</b>${c.own && html`<span class="tag">this program</span>`}</div>
		<p class="muted">${[c.version && `version ${c.version}`, spoken(c)].filter(Boolean).join(" · ")}</p>
		<dl><dt>Session</dt><dd>${c.session}, for ${ago(c.since)}</dd>
			${c.principal && html`<dt>Principal</dt><dd>${c.principal}</dd>`}
			${c.profile && html`<dt>Profile</dt><dd>${c.profile}</dd>`}
			<dt>Calls</dt><dd>${c.calls}</dd>
			${c.watched && html`<dt>Watches</dt><dd>${c.watched.slice(0, 5).join(", ")}${c.watched.length > 5 ? ` and ${c.watched.length - 5} more` : ""}</dd>`}</dl>
		<div class="buttons"><button onClick=${() => go({ view: "calls", client: nameOf(c) })}>Calls</button>
			<button onClick=${() => go({ view: "clients", part: "why", who: `client ${c.session}` })}>Why not?</button></div></li>`)}</ul>`;
}

function Pages({ go }) {
	const [pages, setPages] = useState(null);
	useEffect(() => {
		let over = false;
		const load = () => read("pages").then((all) => over || setPages(all), () => {});
		load();
		const timer = setInterval(load, 2000);
		return () => { over = true; clearInterval(timer); };
	}, []);
	if (!pages) return html`<p class="empty">…</p>`;
	if (pages.length === 0) return html`<p class="empty">No page lends tools. One that loads /mcpbridge.js can, where the config says <code>"lending": true</code>.</p>`;
	return html`<ul class="cards">${pages.map((p) => html`<li key=${`${p.principal} ${p.tab}`} class="card">
		<div class="top"><b class="name">${p.title || p.client || `tab ${p.tab}`}</b>${p.focused && html`<span class="tag good">looked at last</span>`}</div>
		<p class="muted">${[`tab ${p.tab}`, p.client, p.url].filter(Boolean).join(" · ")}</p>
		<dl><dt>For</dt><dd>${p.principal ? `callers with the token of ${p.principal}` : "callers without a name"}</dd></dl>
		<p>${p.tools.length === 0 && html`<span class="muted">It lends nothing now.</span>`}
			${p.tools.map((name) => html`<button key=${name} class="chip" title="Who sees it?" onClick=${() => go({ view: "clients", part: "why", tool: name })}>${name}</button> `)}</p></li>`)}</ul>`;
}

// Quotas has what was used today of the rates of a day, the fullest first.
function Quotas({ quotas }) {
	if (quotas.length === 0) return html`<p class="empty">No caller that was here has a quota. A rate such as <code>"5000/day"</code> is one.</p>`;
	return html`<div class="flow"><table><thead><tr><th scope="col">Calls today</th><th scope="col">Of</th><th scope="col">Tools</th><th scope="col">Principal</th><th scope="col">Profile</th></tr></thead>
		<tbody>${quotas.map((q) => html`<tr key=${JSON.stringify([q.match, q.principal, q.profile, q.shared])} class=${q.used >= q.calls ? "warned" : ""}>
			<td>${q.used}</td><td>${q.calls}</td><td><code>${q.match}</code></td>
			<td>${q.shared ? "all together" : q.principal || "without a name"}</td><td>${q.profile ?? ""}</td></tr>`)}</tbody></table>
		<p class="muted">The day ends at 00:00 UTC.</p></div>`;
}
