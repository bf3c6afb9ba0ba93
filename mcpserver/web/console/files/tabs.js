// Parts of a view, of which the URL has the chosen one.
import { html } from "./preact.js";

export const Tabs = ({ all, chosen, choose, label }) => html`<div class="tabs" role="tablist" aria-label=${label}>
	${Object.entries(all).map(([key, title]) => html`<button key=${key} role="tab" aria-selected=${key === chosen} onClick=${() => choose(key)}>${title}</button>`)}</div>`;
