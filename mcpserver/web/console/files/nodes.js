// The nodes of the cluster, with the servers of each as it has told them.
import { html } from "./html.js";
import { ago } from "./format.js";
import { useRead } from "./hooks.js";

export function Nodes({ mood }) {
	const { value, error } = useRead("nodes", {}, 5000);
	if (error) return html`<p class="note failed" role="alert">${error}</p>`;
	if (!value) return html`<p class="empty">…</p>`;
	return html`<ul class="cards">${value.map((n) => html`<li key=${n.node} class="card">
		<div class="top"><b class="name">${n.node}</b><span class=${`tag ${n.away ? "bad" : "good"}`}>${n.away ? "away" : "up"}</span>${n.other_config && html`<span class="tag bad">another config</span>`}</div>
		<p class="muted">${[n.listen, n.version, n.since && `up ${ago(n.since)}`].filter(Boolean).join(" · ")}</p>
		${n.away && html`<p class="failed">${n.away}</p>`}
		${n.servers.map((s, i) => html`<p key=${i}><i class=${`dot ${mood(s)}`}></i> ${s.name} <span class="muted">${s.state}, ${s.calls} calls${s.node && `, node ${s.node} has it`}</span></p>`)}
	</li>`)}</ul>`;
}
