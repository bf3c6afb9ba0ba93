// What is open beside a list. Escape closes it, and gives the focus back.
import { html, useRef } from "./html.js";
import { Long, visible } from "./format.js";
import { giveBack } from "./hooks.js";

export function Panel({ label, title, close, children }) {
	const before = useRef(document.activeElement).current;
	const shut = () => { close(); giveBack(before); };
	const onKeyDown = (e) => { if (e.key === "Escape" && !e.defaultPrevented) shut(); };
	return html`<aside class="detail" tabindex="-1" aria-label=${label} onKeyDown=${onKeyDown}>
		<header><h2><${Long} text=${visible(title)} most=${300} /></h2><button type="button" class="plain" onClick=${shut} aria-label="Close">✕</button></header>${children}</aside>`;
}
