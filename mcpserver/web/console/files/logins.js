// Who is logged in to which server, and until when.
import { html, useState } from "./html.js";
import { until } from "./format.js";
import { useActions, useRead } from "./hooks.js";

export function Logins() {
	const { value, error, load } = useRead("logins", {}, 5000);
	const [run, told] = useActions(load);
	if (error) return html`<p class="note failed" role="alert">${error}</p>`;
	if (!value) return html`<p class="empty">…</p>`;
	if (!value.length) return html`<p class="empty">No server has a login of OAuth. Servers with a <code>url</code> and without credentials in the config can have one.</p>`;
	return html`<div class="flow">
		${told.text && html`<p class=${told.failed ? "note failed" : "note"} role=${told.failed ? "alert" : "status"}>${told.text}</p>`}
		${value.map((l) => html`<${Login} key=${l.server} login=${l} run=${run} />`)}
	</div>`;
}

function Login({ login, run }) {
	const [link, setLink] = useState("");
	const begin = async () => setLink((await run("login", { server: login.server }))?.link ?? "");
	const finish = async (e) => {
		e.preventDefault();
		if (await run("login/finish", { server: login.server, code: new FormData(e.target).get("code") })) setLink("");
	};
	const own = login.login, accounts = Object.entries(login.accounts ?? {});
	const state = login.fault ? ["bad", "unknown"] : own ? ["good", "logged in"] : login.wanted ? ["bad", "login needed"] : ["", "no login"];
	return html`<section class="card" aria-label=${login.server}>
		<div class="top"><h2 class="name">${login.server}</h2><span class=${`tag ${state[0]}`}>${state[1]}</span></div>
		<p class="muted">${login.url}</p>
		${login.fault && html`<p class="failed">${login.fault}</p>`}
		${own && html`<${Status} of=${own} />`}
		<div class="buttons"><button class=${own ? "" : "primary"} onClick=${begin}>${own ? "Log in again" : "Log in"}</button>
			${own && html`<button onClick=${() => run("logout", { server: login.server })}>Log out</button>`}</div>
		${link && html`<form class="steps-in" onSubmit=${finish}>
			<p>1. <a href=${link} target="_blank" rel="noopener">Open the page of the login</a>, which shows a code at its end.</p>
			<p><label>2. The code: <input name="code" required autocomplete="off" spellcheck="false" /></label> <button class="primary">Finish</button></p></form>`}
		${login.accounts && html`<h3>Accounts of principals</h3>
			${accounts.length === 0 && html`<p class="muted">Each logs in with an account of its own, and nobody has so far.</p>`}
			${accounts.map(([name, of]) => html`<div key=${name} class="account"><b>${name}</b><${Status} of=${of} /><button onClick=${() => run("logout", { server: login.server, principal: name })}>Log out</button></div>`)}`}
	</section>`;
}

function Status({ of }) {
	return html`<dl><dt>At</dt><dd>${of.issuer}</dd>
		${of.subject && html`<dt>As</dt><dd>${of.subject}</dd>`}
		${of.scopes?.length > 0 && html`<dt>For</dt><dd>${of.scopes.join(" ")}</dd>`}
		<dt>Until</dt><dd>${of.renews ? "renews by itself" : of.expiry ? until(of.expiry) : "no end"}</dd></dl>`;
}
