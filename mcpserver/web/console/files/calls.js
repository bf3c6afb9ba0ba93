// Live traffic: the calls of all clients, as they end.
import { html, useEffect, useMemo, useReducer, useRef, useState } from "./html.js";
import { follow } from "./api.js";
import { Content } from "./content.js";
import { clock, duration, size, spoken, Tree, visible } from "./format.js";
import { useRead } from "./hooks.js";
import { List } from "./list.js";
import { Panel } from "./panel.js";
import { Outcome, useRun } from "./run.js";

const most = 10000;

// Calls are those that have been seen, the newest first, with what is known of their contents.
export class Calls {
	all = [];
	contents = new Map();
	state = "connecting";
	before = null; // the calls of the connection before, until the first ones of this one have come

	// take adds what the bridge sends. A bridge that has started again numbers its calls anew: contents stay if one of
	// the calls is known.
	take(kind, list) {
		if (kind === "begin") { this.before ??= this.all; this.all = []; }
		if (kind === "calls" && this.before) {
			const known = new Map(this.before.map((c) => [c.number, c.call.time]));
			if (!list.some((c) => known.get(c.number) === c.call.time)) this.contents = new Map();
			this.before = null;
		}
		if (kind === "calls") this.all = [...list.reverse(), ...this.all].slice(0, most);
		if (kind === "contents") for (const c of list) this.contents.set(c.number, c);
		while (this.contents.size > 2000) this.contents.delete(this.contents.keys().next().value);
	}
}

// useCalls follows the calls while the page is open.
export function useCalls(contents) {
	const calls = useRef(new Calls()).current;
	const [, redraw] = useReducer((n) => n + 1, 0);
	useEffect(() => follow(contents, (kind, list) => { calls.take(kind, list); redraw(); }, (state) => { calls.state = state; redraw(); }), [contents]);
	return calls;
}

const bad = (outcome) => outcome !== "ok" && outcome !== "input_required" && outcome !== "canceled";

// mood is the class of an outcome.
export const mood = (outcome) => (bad(outcome) ? "bad" : outcome === "ok" ? "good" : "warn");

const who = (c) => c.client || c.principal || `session ${c.session}`;

function matches(c, { q, server, client, failed }) {
	if (server && c.server !== server || client && who(c) !== client || failed && !bad(c.outcome)) return false;
	return !q || [c.method, c.target, c.server, c.principal, c.client, c.outcome, c.reason].some((t) => t?.toLowerCase().includes(q.toLowerCase()));
}

export function CallsView({ calls, servers, callers, url, go, contents, setContents }) {
	const [paused, setPaused] = useState(null);
	const { all, contents: known } = paused ?? calls;
	const filter = { q: url.q, server: url.server, client: url.client, failed: url.failed };
	const shown = useMemo(() => all.filter((c) => matches(c.call, filter)), [all, ...Object.values(filter)]);
	const longest = useMemo(() => Math.max(1, ...shown.slice(0, 500).map((c) => c.call.ms)), [shown]);
	const names = useMemo(() => ({ servers: namesOf(all, (c) => c.server), clients: namesOf(all, who) }), [all]);
	const chosen = url.call ? all.find((c) => String(c.number) === url.call) : null;
	return html`
		<div class="bar">
			<h1 class="unseen">Traffic</h1>
			<input type="search" placeholder="Search calls" aria-label="Search calls" value=${url.q ?? ""} onInput=${(e) => go({ q: e.target.value })} />
			<${Choice} label="Server" all="all servers" value=${url.server} options=${names.servers} set=${(server) => go({ server })} />
			<${Choice} label="Client" all="all clients" value=${url.client} options=${names.clients} set=${(client) => go({ client })} />
			<label class="check"><input type="checkbox" checked=${Boolean(url.failed)} onChange=${(e) => go({ failed: e.target.checked ? "1" : "" })} /> failed</label>
			<label class="check" title="Keep arguments and results of the calls that begin from now on, up to 64 KiB each"><input type="checkbox" checked=${contents} onChange=${(e) => setContents(e.target.checked)} /> contents</label>
			<span class="gap"></span>
			<span class="count">${shown.length === all.length ? "" : `${shown.length} of `}${all.length} ${all.length === 1 ? "call" : "calls"}</span>
			<button onClick=${() => setPaused(paused ? null : { all: calls.all, contents: calls.contents })} aria-pressed=${Boolean(paused)}>${paused ? `Resume (${Math.max(0, calls.all.length - all.length)} new)` : "Pause"}</button>
		</div>
		<div class=${chosen ? "split open" : "split"}>
			<div class="table calls">
				<div class="head" aria-hidden="true"><span>Time</span><span>Client</span><span>Call</span><span>Server</span><span class="num">Took</span><span class="num">In</span><span class="num">Out</span></div>
				<${List} items=${shown} height=${34} keyOf=${(c) => String(c.number)} label="Calls" chosen=${url.call} choose=${(call) => go({ call: call ?? "" })}
					empty=${all.length ? "No call matches." : html`No calls yet. What clients call appears here as it happens. <a href="?view=tools">Call a tool yourself</a>.`}
					row=${({ call }) => html`
						<span class="time">${clock(call.time)}</span><span class="who" title=${call.principal}>${visible(who(call))}</span>
						<span class="what"><i class=${`dot ${mood(call.outcome)}`}></i><b>${visible(call.target || call.method)}</b>${bad(call.outcome) && html` <em>${call.outcome.replaceAll("_", " ")}</em>`}</span>
						<span class="server">${call.server ?? ""}</span>
						<span class="num took"><i class="meter" style=${{ width: `${Math.max(2, 100 * Math.sqrt(call.ms / longest))}%` }}></i>${duration(call.ms)}</span>
						<span class="num size">${size(call.in)}</span><span class="num size">${size(call.out)}</span>`} />
			</div>
			${chosen && html`<${Detail} key=${`${chosen.number} ${chosen.call.time}`} number=${chosen.number} call=${chosen.call} server=${servers.find((s) => s.name === chosen.call.server)} caller=${callers.find((c) => c.session === chosen.call.session)} content=${known.get(chosen.number)} close=${() => go({ call: "" })} />`}
		</div>`;
}

const namesOf = (all, of) => [...new Set(all.map((c) => of(c.call)).filter(Boolean))].sort();

function Choice({ label, all, value, options, set }) {
	if (options.length < 2 && !value) return null;
	return html`<select aria-label=${label} value=${value ?? ""} onChange=${(e) => set(e.target.value)}>
		<option value="">${all}</option>${options.map((o) => html`<option key=${o} value=${o}>${o}</option>`)}</select>`;
}

// Detail is one call: who, what, how long, and what was said.
function Detail({ number, call, content, server, caller, close }) {
	const { state, run, cancel } = useRun(`again ${number} ${call.time}`);
	const item = useRead("items", { kind: "tools", name: call.target || "-" }).value?.[0];
	const again = () => state?.running || run(call.method, { name: call.target, arguments: content.arguments ?? {} }, call.target);
	return html`<${Panel} label="The call" title=${call.target || call.method} close=${close}>
		<p><span class=${`tag ${mood(call.outcome)}`}>${call.outcome.replaceAll("_", " ")}</span> ${/^cancell?ed$/.test(call.reason) ? "" : call.reason ?? ""}</p>
		<${Way} ...${{ call, server, caller, own: call.method === "tools/call" && (item?.own || item?.name) }} />
		<dl>
			<dt>Begun</dt><dd>${new Date(call.time).toLocaleString()}</dd>
			${call.principal && html`<dt>Principal</dt><dd>${call.principal}</dd>`}
			${call.profile && html`<dt>Profile</dt><dd>${call.profile}</dd>`}
			<dt>Session</dt><dd>${call.session}</dd>
			<dt>Bytes</dt><dd>${size(call.in)} in, ${size(call.out)} out</dd>
			${call.sent && html`<dt>At the server</dt><dd>${size(call.sent)} sent, ${size(call.received ?? 0)} received</dd>`}
		</dl>
		${content ? html`
			<h3>Arguments</h3><${Tree} value=${content.arguments ?? null} />
			<h3>Result</h3>${content.result ? html`<${Content} result=${content.result} />` : html`<p class="muted">none, or longer than 64 KiB</p>`}
			${call.method === "tools/call" && html`<p class="buttons"><button class="primary" onClick=${again} aria-disabled=${state?.running}>Call again</button>${state?.running && html`<button onClick=${(e) => { e.currentTarget.previousElementSibling.focus(); cancel(); }}>Cancel</button>`}</p>`}
			<${Outcome} state=${state} />`
		: html`<p class="note">Its arguments and result were not kept. Turn on <b>contents</b> to keep those of the calls that begin from then on.</p>`}
	<//>`;
}

// Way is the way of a call through the bridge: both sides, and what the time went by with.
function Way({ call, server, caller, own }) {
	const total = Math.max(call.ms, 0.001), queued = Math.min(total, call.queued_ms ?? 0);
	const waited = Math.min(total - queued, call.asked_ms ?? 0), work = total - queued - waited, first = call.progress_ms;
	const part = (ms) => `${(100 * ms) / total}%`;
	return html`<div class="both">
			<div><small>${call.model ? "Model" : "Client"}</small><b>${call.model || [call.client, call.version].filter(Boolean).join(" ") || "unnamed"}</b><span>${call.method} <code>${call.target ?? ""}</code></span>
				${caller && !call.model && html`<span>${spoken(caller)}</span>`}</div>
			<span class="arrow" aria-hidden="true">→</span>
			<div><small>Server</small><b>${call.server ?? (["ok", "tool_error"].includes(call.outcome) && call.method === "tools/call" ? "a client that lends it" : "none")}</b><span>${call.method} <code>${own || call.target || ""}</code></span>
				${server?.revision && html`<span>MCP ${server.revision}</span>`}</div>
		</div>
		<div class="timeline" role="img" aria-label=${`${duration(call.ms)}, of which ${duration(queued)} waiting for its turn and ${duration(waited)} for an answer of the client${first ? `; first progress after ${duration(first)}` : ""}`}>
			<i class="queued" style=${{ width: part(queued) }}></i><i style=${{ width: part(work) }}></i><i class="asked" style=${{ width: part(waited) }}></i>
			${first && html`<b style=${{ left: part(Math.min(first, total)) }}></b>`}</div>
		<p class="muted legend">${queued > 0 && html`<span class="queue">${duration(queued)} waiting for its turn</span>`}<span class="work">${duration(work)} in the bridge and the server</span>${waited > 0 && html`<span class="ask">${duration(waited)} for an answer of the client</span>`}${first && html`<span class="first">first progress after ${duration(first)}</span>`}<span>${duration(call.ms)} in all</span></p>`;
}
