import { html, render, useEffect, useState } from "./preact.js";
import { enter, read, Refused } from "./api.js";

function App() {
	const [state, setState] = useState(null);
	const [error, setError] = useState("");
	useEffect(async () => {
		const ticket = new URLSearchParams(location.search).get("ticket");
		history.replaceState(null, "", location.pathname);
		try {
			if (ticket) await enter({ ticket });
			setState(await read("state"));
		} catch (e) {
			setError(e.message);
		}
	}, []);
	if (!state) return html`<main><p>${error || "…"}</p></main>`;
	return html`<main><h1>mcpbridge</h1><ul>${state.servers.map((s) => html`<li>${s.name}: ${s.state} ${s.reason}</li>`)}</ul></main>`;
}

render(html`<${App} />`, document.body);
