// The page of one approval, to which a link leads.
import { html, render, useEffect, useState } from "./html.js";
import { read } from "./api.js";
import { Approval } from "./approvals.js";
import { Visit } from "./entry.js";

const id = decodeURIComponent(location.pathname.split("/").pop());

function Page({ out }) {
	const [approval, setApproval] = useState(null);
	const [error, setError] = useState("");
	const load = () => read("approvals", { id }).then((a) => { setApproval(a); setError(""); }, (e) => (e.status === 401 ? out(e.message) : setError(e.message)));
	useEffect(() => {
		load();
		const timer = setInterval(() => document.hidden || load(), 2000);
		return () => clearInterval(timer);
	}, []);
	useEffect(() => { if (approval) document.title = `${approval.state === "pending" ? "May it run?" : approval.state} · mcpbridge`; }, [approval?.state]);
	if (!approval && !error) return html`<main class="one"><p role="status">…</p></main>`;
	const expired = error && approval?.state === "pending";
	return html`<main class="one">
		<h1>${approval?.state === "pending" && !expired ? "May this call run?" : "A call that had to be approved"}</h1>
		${error && !(approval && !expired) && html`<p class="note failed" role="alert">${error}</p>`}
		${approval && html`<${Approval} approval=${expired ? { ...approval, state: "expired" } : approval} after=${load} />`}
		${approval && approval.state !== "pending" && html`<p class="muted" role="status">You can close this page.</p>`}
		<p><a href="../?view=approvals">All approvals</a></p>
	</main>`;
}

render(html`<${Visit} reads="approvals">${(out) => html`<${Page} out=${out} />`}<//>`, document.body);
