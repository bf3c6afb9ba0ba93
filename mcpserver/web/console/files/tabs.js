// Parts of a view, of which the URL has the chosen one.
import { html } from "./html.js";

export function Tabs({ all, chosen, choose, label }) {
	const keys = Object.keys(all);
	const move = (e) => { // the arrows move, as the pattern of tabs has it
		const at = keys.indexOf(chosen), to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[e.key];
		if (to === undefined) return;
		e.preventDefault();
		const next = (to + keys.length) % keys.length;
		choose(keys[next]);
		e.currentTarget.children[next].focus();
	};
	return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
		${keys.map((key) => html`<button key=${key} type="button" role="tab" aria-selected=${key === chosen} tabindex=${key === chosen ? 0 : -1} onClick=${() => choose(key)}>${all[key]}</button>`)}</div>`;
}
