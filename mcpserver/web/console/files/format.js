// How things are written, and shown: durations, sizes, JSON.
import { html, json, useState } from "./html.js";
import { giveBack } from "./hooks.js";

export const duration = (ms) => (ms === 0 ? "< 1 ms" : ms < 1 ? `${ms.toFixed(2)} ms` : ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min`);
export const size = (n) => (n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1e3).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`);

const carriers = { stdio: "stdio", http: "HTTP", sse: "SSE", websocket: "WebSocket" };

// spoken says which revision of MCP a client speaks, and how it is connected.
export const spoken = ({ revision, carrier }) => [revision && `MCP ${revision}`, carriers[carrier]].filter(Boolean).join(" over ");

const times = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }); // made once, as that is slow
export const clock = (time) => times.format(new Date(time));

export function ago(time) {
	if (!time) return "";
	const s = Math.max(0, (Date.now() - new Date(time)) / 1000);
	if (s < 60) return `${Math.floor(s)} s`;
	if (s < 3600) return `${Math.floor(s / 60)} min`;
	return s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
}

// until is a time to come, and how far off it is.
export function until(time) {
	const s = (new Date(time) - Date.now()) / 1000, at = new Date(time).toLocaleString();
	if (s < 0) return `${at}, which has passed`;
	return `${at}, in ${s < 3600 ? `${Math.ceil(s / 60)} min` : s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`}`;
}

// visible is a text without characters that show nothing, or hide or turn what comes after them: each is an escape of
// JSON instead. That which makes an emoji of the one before is seen.
export const visible = (text) => text.replace(/(?<![^\x00-\x7f])\ufe0f|(?!\ufe0f)[\x7f-\x9f\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu, (c) => c.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));

// clip is the beginning of a text.
export const clip = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

// plain is what a server has for a text, as text.
export const plain = (v) => (v !== null && typeof v === "object" ? json(v) : String(v ?? ""));

// exact is JSON.parse that leaves integers which are too large for JavaScript as they are written, where the browser
// can. JSON.stringify writes them so, and Tree shows them.
export const exact = (text) => JSON.parse(text, (_, v, at) => (typeof v === "number" && JSON.rawJSON && /^-?\d+$/.test(at?.source) && String(v) !== at.source ? JSON.rawJSON(at.source) : v));

// Long shows the beginning of what may be a long text, and the rest to who asks for it.
export function Long({ text, most = 1000 }) {
	const [all, setAll] = useState(false), whole = plain(text);
	if (all || whole.length <= most) return html`${whole}`;
	return html`${clip(whole, most)} <button type="button" class="chip" onClick=${(e) => { giveBack(e.currentTarget.parentElement.closest("[tabindex]")); setAll(true); }}>all ${whole.length} characters</button>`;
}

// Tree shows a value of JSON, which can be folded: open is how many levels are not at first, and room how many members
// all of these may have together.
export function Tree({ value, name, open = 2, room = 500 }) {
	const leaf = value === null || typeof value !== "object" || JSON.isRawJSON?.(value), entries = leaf ? [] : Object.entries(value);
	const [shown, setShown] = useState(open > 0 && (name === undefined || entries.length <= room));
	const label = name === undefined ? null : html`<span class="key">${visible(name)}</span>: `;
	if (leaf) {
		return html`<div class="leaf">${label}<span class=${`value ${value !== null && typeof value === "object" ? "number" : typeof value}`}>${visible(JSON.stringify(value))}</span></div>`;
	}
	const about = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
	if (!entries.length) return html`<div class="leaf">${label}<span class="muted">${about}</span></div>`;
	return html`<div class="node">
		<button class="fold" aria-expanded=${shown} onClick=${() => setShown(!shown)}>${shown ? "▾" : "▸"} ${label}<span class="muted">${about}</span></button>
		${shown && html`<div class="inner">${entries.slice(0, 500).map(([k, v]) => html`<${Tree} key=${k} name=${k} value=${v} open=${open - 1} room=${Math.floor(room / entries.length)} />`)}
			${entries.length > 500 && html`<div class="muted">… ${entries.length - 500} more</div>`}</div>`}
	</div>`;
}
