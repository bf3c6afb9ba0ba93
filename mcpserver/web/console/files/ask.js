// A question about a call: allow it, deny it with a reason, or allow it with other arguments.
import { html, useState } from "./html.js";

// Ask shows arguments, JSON as shown and as text, and calls decide with the answer: {approve, note, arguments}, where
// arguments is text and there only if it was edited. fixed means that it cannot be.
export function Ask({ label, shown, text, fixed, decide }) {
	const [editing, setEditing] = useState(null);
	const [wrong, setWrong] = useState("");
	const [note, setNote] = useState("");
	const edited = () => {
		try {
			const value = JSON.parse(editing);
			if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("expected an object");
		} catch (e) {
			setWrong(`These arguments cannot be sent: ${e.message}`);
			return;
		}
		decide({ approve: true, arguments: editing });
	};
	const back = () => { setEditing(null); setWrong(""); };
	return html`<div class="ask-call" role="group" aria-label=${label}>
		${editing === null ? shown : html`<textarea rows="5" spellcheck="false" aria-label="Arguments" value=${editing} onInput=${(e) => setEditing(e.target.value)}></textarea>`}
		${wrong && html`<p class="failed" role="alert">${wrong}</p>`}
		<div class="buttons">
			${editing === null ? html`<button class="primary" onClick=${() => decide({ approve: true })}>Allow</button>${!fixed && html`<button onClick=${() => setEditing(text)}>Edit</button>`}`
				: html`<button class="primary" onClick=${edited}>Allow with these</button><button onClick=${back}>Back</button>`}
			<input aria-label="Why not, for the model" placeholder="why not" value=${note} onInput=${(e) => setNote(e.target.value)} /><button onClick=${() => decide({ approve: false, note })}>Deny</button></div></div>`;
}
