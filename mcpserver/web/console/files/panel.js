// What is open beside a list. Escape closes it.
import { html } from "./preact.js";

export function Panel({ label, title, close, children }) {
	const onKeyDown = (e) => { if (e.key === "Escape" && !e.defaultPrevented) close(); };
	return html`<aside class="detail" aria-label=${label} onKeyDown=${onKeyDown}>
		<header><h2>${title}</h2><button type="button" class="plain" onClick=${close} aria-label="Close">✕</button></header>${children}</aside>`;
}
