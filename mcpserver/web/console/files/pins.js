// What servers with "pin" define otherwise than when it was accepted, and what they define anew.
import { html, useEffect, useState } from "./html.js";
import { Diff } from "./diff.js";
import { useActions, useRead } from "./hooks.js";

const idOf = (server, h) => `${server} ${h.kind} ${h.name}`;

export function Pins({ url, go }) {
	const { value, error, load } = useRead("pins", {}, 5000);
	const [run, told] = useActions(load);
	// What a person has looked at stays as it is, also when the server changes it once more.
	const [seen, setSeen] = useState({});
	useEffect(() => {
		for (const s of value ?? []) for (const h of s.held) if (!seen[idOf(s.server, h)]) setSeen((all) => ({ [idOf(s.server, h)]: h, ...all }));
	}, [value]);
	const accept = (s, held) => run("pins/accept", { server: s.server }, held.map(({ kind, name, digest }) => ({ kind, name, digest }))).then(() =>
		setSeen((all) => Object.fromEntries(Object.entries(all).filter(([id]) => !held.some((h) => id === idOf(s.server, h))))));
	if (error) return html`<p class="note failed" role="alert">${error}</p>`;
	if (!value) return html`<p class="empty">…</p>`;
	if (!value.length) return html`<p class="empty">No server has <code>"pin": true</code>. With it, a tool that a server changes is held back until somebody has looked at the difference and accepts it.</p>`;
	return html`<div class="flow">
		${told.text && html`<p class=${told.failed ? "note failed" : "note"} role=${told.failed ? "alert" : "status"}>${told.text}</p>`}
		${value.map((s) => {
			const held = s.held.map((h) => seen[idOf(s.server, h)] ?? h);
			const shown = held.filter((h) => !url.name || url.name === s.server);
			return html`<section key=${s.server} class="card" aria-label=${s.server}>
				<div class="top"><h2 class="name">${s.server}</h2><span class=${held.length || s.fault ? "tag warn" : "tag good"}>${s.fault ? "all held back" : held.length ? `${held.length} held back` : "as accepted"}</span></div>
				<p class="muted">${s.tools} ${s.tools === 1 ? "tool" : "tools"}${s.prompts ? ` and ${s.prompts} ${s.prompts === 1 ? "prompt" : "prompts"}` : ""} accepted</p>
				${s.fault && html`<p class="failed">What was accepted cannot be read: ${s.fault}. <code>mcpbridge pins accept ${s.server}</code> accepts what it lists next.</p>`}
				${held.length > 1 && shown.length > 1 && html`<p><button onClick=${() => accept(s, held)}>Accept all ${held.length} as shown</button></p>`}
				${shown.map((h, i) => html`<${Held} key=${idOf(s.server, h)} ...${{ held: h, changed: s.held[i]?.digest !== h.digest, accept: () => accept(s, [h]), look: () => setSeen((all) => ({ ...all, [idOf(s.server, h)]: s.held[i] })) }} />`)}
			</section>`;
		})}
		${url.name && html`<p><button onClick=${() => go({ view: "servers", part: "pins" })}>Show all servers</button></p>`}
	</div>`;
}

function Held({ held, changed, accept, look }) {
	return html`<article class="held" aria-label=${held.name}>
		<div class="top"><h3 class="name">${held.kind} <b>${held.name}</b></h3><span class="tag">${held.before ? "has changed" : "is new"}</span>
			${changed ? html`<button onClick=${look}>It has changed once more: show that</button>` : html`<button class="primary" onClick=${accept}>Accept</button>`}</div>
		<${Diff} before=${held.before} now=${held.now} label=${`What has changed in ${held.name}`} />
	</article>`;
}
