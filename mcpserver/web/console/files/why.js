// Why a client has a tool or does not: its way through all that may change or hide it.
import { html, useEffect, useState } from "./html.js";
import { read } from "./api.js";

// whose returns what asks for a client, which the URL has as "client 3", "token ann", "profile few" or "nobody".
function whose(who) {
	const [kind, name] = [who.slice(0, who.indexOf(" ")), who.slice(who.indexOf(" ") + 1)];
	return { client: { client: name }, token: { principal: name }, profile: { profile: name, principal: "" } }[kind] ?? {};
}

export function Why({ callers, state, url, go }) {
	const clients = callers.filter((c) => !c.own);
	const who = url.who ?? (clients.length ? `client ${clients[0].session}` : "nobody");
	const [tools, setTools] = useState([]);
	const [answer, setAnswer] = useState(null);
	useEffect(() => { read("items", { kind: "tools" }).then(setTools, () => {}); }, []);
	useEffect(() => {
		if (!url.tool) return setAnswer(null);
		let over = false;
		const timer = setTimeout(() => read("why", { tool: url.tool, ...whose(who) }).then((a) => over || setAnswer(a), (e) => over || setAnswer({ error: e.message })), 200);
		return () => { over = true; clearTimeout(timer); };
	}, [url.tool, who]);
	const gone = who.startsWith("client ") && !callers.some((c) => who === `client ${c.session}`);
	return html`<form class="bar ask" onSubmit=${(e) => e.preventDefault()}>
			<label>Client <select value=${who} onChange=${(e) => go({ who: e.target.value })}>
				${gone && html`<option value=${who}>a session that has ended</option>`}
				<option value="nobody">one without a token</option>
				${callers.length > 0 && html`<optgroup label="Sessions">${callers.map((c) => html`<option key=${c.session} value=${`client ${c.session}`}>${[c.client || "unnamed", c.principal, `session ${c.session}`].filter(Boolean).join(", ")}</option>`)}</optgroup>`}
				${state.principals.length > 0 && html`<optgroup label="Tokens">${state.principals.map((p) => html`<option key=${p} value=${`token ${p}`}>one with the token of ${p}</option>`)}</optgroup>`}
				${state.profiles.length > 0 && html`<optgroup label="Profiles">${state.profiles.map((p) => html`<option key=${p} value=${`profile ${p}`}>one that asks for profile ${p}</option>`)}</optgroup>`}
			</select></label>
			<label>Tool <input type="search" list="tool-names" placeholder="its name here, or at its server" value=${url.tool ?? ""} onInput=${(e) => go({ tool: e.target.value })} /></label>
			<datalist id="tool-names">${tools.slice(0, 2000).map((t) => html`<option key=${t.name} value=${t.name}></option>`)}</datalist>
		</form>
		<div class="ways" role="status">${!url.tool ? html`<p class="empty">Choose a client and a tool: what follows is each thing on the way that changes the tool, or keeps it from the client.</p>` : html`<${Answer} ...${{ answer, go, tool: url.tool }} />`}</div>`;
}

function Answer({ answer, tool, go }) {
	if (!answer) return html`<p class="empty">…</p>`;
	if (answer.error) return html`<p class="note failed">${answer.error}</p>`;
	return html`
		${answer.ways.length === 0 && html`<p class="note">No server has a tool ${tool}.${answer.near && html` Did you mean <button class="chip" onClick=${(e) => { e.currentTarget.closest("[tabindex]").focus(); go({ tool: answer.near }); }}>${answer.near}</button>?`}</p>`}
		${answer.ways.map((w) => html`<${Way} key=${`${w.server} ${w.tool}`} way=${w} />`)}
		${answer.away.length > 0 && html`<details class="note" open=${answer.ways.length === 0}><summary>What these servers have is not known now</summary><ul>${answer.away.map((a) => html`<li key=${a}>${a}</li>`)}</ul></details>`}`;
}

const layers = {
	server: "Server", definition: "Native tools", "client functions": "Client functions", pin: "Pins", context: "Hidden values", credentials: "Logins",
	names: "Names", lending: "Lending", rates: "Rates", profile: "Profile", client: "Client",
};

function Way({ way }) {
	const last = way.steps.at(-1);
	return html`<section class="card way" aria-label=${`${way.tool} of ${way.server}`}>
		<div class="top"><h2>${way.tool} <small>of ${way.server}</small></h2><span class=${way.name ? "tag good" : "tag bad"}>${way.name ? "seen" : "not seen"}</span></div>
		<p><b>${way.name ? `The client sees it as ${way.name}.` : `${layers[last?.layer] ?? last?.layer}: ${last?.text}`}</b></p>
		<ol class="steps">${way.steps.map((s) => html`<li key=${s.layer} class=${s.ends ? "ends" : ""}><span class="sign" aria-label=${s.ends ? "stops" : "passes"}>${s.ends ? "✕" : "✓"}</span><b>${layers[s.layer] ?? s.layer}</b><span>${s.text}</span></li>`)}</ol>
	</section>`;
}
