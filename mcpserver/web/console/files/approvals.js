// The calls that wait for a person, and what was decided about the last ones.
import { html, useEffect, useRef, useState } from "./html.js";
import { act, read } from "./api.js";
import { Ask } from "./ask.js";
import { ago, size, until, visible } from "./format.js";

const moods = { pending: ["warn", "waits"], approved: ["good", "allowed"], used: ["good", "allowed"], denied: ["bad", "denied"], expired: ["", "expired"] };

// ApprovalsView shows all of them. One that was seen to wait stays in its place with what became of it: no other call
// moves to where somebody is about to press a button.
export function ApprovalsView({ approvals, look }) {
	const seen = useRef(new Map()).current; // those that were seen to wait, in their order
	const now = new Map((approvals?.all ?? []).map((a) => [a.id, a]));
	for (const a of now.values()) if (a.state === "pending" || seen.has(a.id)) seen.set(a.id, a);
	for (const [id, a] of seen) if (approvals && !now.has(id) && a.state === "pending") seen.set(id, { ...a, state: "expired" });
	const others = [...now.values()].filter((a) => !seen.has(a.id)).toReversed();
	const more = (approvals?.waiting ?? 0) - [...now.values()].filter((a) => a.state === "pending").length;
	return html`<div class="bar"><h1>Approvals</h1><span class="gap"></span><span class="count" role="status">${approvals ? approvals.waiting === 1 ? "1 call waits" : `${approvals.waiting} calls wait` : ""}</span></div>
		${approvals?.stopped && html`<p class="note failed" role="alert">${approvals.held ? html`No call runs yet: ${approvals.stopped}.` : html`All calls are stopped: ${approvals.stopped}. <code>mcpbridge stop --lift</code> ends that.`}</p>`}
		<div class="flow">
			${approvals && seen.size === 0 && html`<p class="empty">No call waits for a person. Calls do for which a rule of the <code>policy</code> in the config has <code>"decision": "ask"</code>.</p>`}
			${[...seen.values()].map((a) => html`<${Approval} key=${a.id} approval=${a} after=${look} />`)}
			${more > 0 && html`<p class="muted">${more} more wait: <code>mcpbridge approvals</code> lists all.</p>`}
			${others.length > 0 && html`<h2>Decided lately</h2>`}
			${others.map((a) => html`<${Approval} key=${a.id} approval=${a} />`)}
		</div>`;
}

// Approval shows a call with all that a person needs to decide about it, and what was decided. One that may wait, which
// has after, is below the heading of the page.
export function Approval({ approval: a, after }) {
	const [whole, setWhole] = useState(null);
	const [told, setTold] = useState("");
	const own = useRef(null);
	const [Name, Part] = after ? ["h2", "h3"] : ["h3", "h4"];
	const waits = a.state === "pending", [mood, title] = moods[a.state] ?? ["", a.state];
	useEffect(() => { if (a.long) read("approvals", { id: a.id }).then(setWhole, (e) => setTold(e.message)); }, [a.id, a.state]);
	const text = visible(a.arguments ?? whole?.arguments ?? ""), changed = visible(a.changed ?? whole?.changed ?? "");
	const decide = async (answer) => {
		own.current.focus(); // the buttons go
		try {
			await act("approvals/decide", { id: a.id }, answer);
			setTold("");
		} catch (e) {
			setTold(e.message);
		}
		await after?.();
	};
	const shown = a.long && !whole ? html`<p class="muted">${size(a.long)} of arguments</p>` : text && html`<pre tabindex="0" aria-label="Arguments">${text}</pre>`;
	const row = (name, value) => value && html`<dt>${name}</dt><dd>${visible(value)}</dd>`;
	return html`<article class="card approval" tabindex="-1" ref=${own} aria-label=${`${visible(a.target)}, ${title}`}>
		<div class="top"><${Name} class="name">${visible(a.target)}<//><span class=${`tag ${mood}`} role="status">${title}</span></div>
		<dl>${row("Server", a.server)}${row("Principal", a.principal)}${row("Client", a.client)}${row("Model", a.model)}
			${row("Rule", a.reason ? `${a.rule}: ${a.reason}` : a.rule)}
			<dt>Asked</dt><dd>${ago(a.asked)} ago</dd>${row("Until", waits && until(a.expires))}
			${row("Decided by", a.by)}${row("Note", a.note)}</dl>
		${told && html`<p class="failed" role="alert">${told}</p>`}
		${waits && (!a.long || whole) ? html`<${Ask} label=${`May ${visible(a.target)} be called?`} shown=${shown} text=${text} fixed=${!a.edit} decide=${decide} />` : shown}
		${changed && html`<${Part} class="part">Allowed with<//><pre tabindex="0" aria-label="Changed arguments">${changed}</pre>`}
	</article>`;
}
