// The page of one approval, to which a link leads.
import { html, render, useEffect, useState } from "./html.js";
import { read } from "./api.js";
import { Approval } from "./approvals.js";
import { Visit } from "./entry.js";

const id = decodeURIComponent(location.pathname.split("/").pop());

function Page({ out }) {
	const [approval, setApproval] = useState(null);
	const [error, setError] = useState(null);
	const load = () => read("approvals", { id }).then((a) => { setApproval(a); setError(null); }, (e) => (e.status === 401 ? out(e.message) : setError(e)));
	useEffect(() => {
		load();
		const timer = setInterval(() => document.hidden || load(), 2000);
		return () => clearInterval(timer);
	}, []);
	useEffect(() => { if (approval) document.title = `${approval.state === "pending" ? "May it run?" : approval.state} · mcpbridge`; }, [approval?.state]);
	if (!approval && !error) return html`<main class="one"><p role="status">…</p></main>`;
	const pending = approval?.state === "pending";
	const expired = pending && error?.status === 400; // else the bridge has not answered, and the call may wait still
	return html`<main class="one">
		<h1>${pending && !expired ? "May this call run?" : "A call that had to be approved"}</h1>
		${error && (pending || !approval) && html`<p class="note failed" role="alert">${error.message}</p>`}
		${approval && html`<${Approval} approval=${expired ? { ...approval, state: "expired" } : approval} after=${load} />`}
		${approval && !pending && html`<p class="muted" role="status">You can close this page.</p>`}
		<p><a href="../?view=approvals">All approvals</a></p>
	</main>`;
}

render(html`<${Visit} reads="approvals">${(out) => html`<${Page} out=${out} />`}<//>`, document.body);
