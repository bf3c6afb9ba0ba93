// The frame of the console: the views, and the URL, which has all that is chosen.
import { html, render, useCallback, useEffect, useErrorBoundary, useState } from "./html.js";
import { leave, read } from "./api.js";
import { ApprovalsView } from "./approvals.js";
import { CallsView, useCalls } from "./calls.js";
import { ChatView } from "./chat.js";
import { ClientsView } from "./clients.js";
import { Visit } from "./entry.js";
import { giveBack } from "./hooks.js";
import { abandon } from "./run.js";
import { failedServers, ServersView, summary } from "./servers.js";
import { ToolsView } from "./tools.js";

const views = { calls: "Traffic", approvals: "Approvals", servers: "Servers", tools: "Tools", chat: "Chat", clients: "Clients" };

const chosen = () => Object.fromEntries(new URLSearchParams(location.search));

// useURL returns what the URL has chosen, and go, which changes it. Another view is a step of the history.
function useURL() {
	const [url, setURL] = useState(chosen);
	useEffect(() => {
		const back = () => setURL(chosen());
		addEventListener("popstate", back);
		return () => removeEventListener("popstate", back);
	}, []);
	const go = useCallback((change) => {
		const before = chosen();
		const next = Object.fromEntries(Object.entries(change.view ? change : { ...before, ...change }).filter(([, v]) => v));
		const method = change.view && change.view !== before.view ? "pushState" : "replaceState";
		history[method](null, "", `${location.pathname}?${new URLSearchParams(next)}`);
		setURL(next);
		if (change.view) giveBack(); // the button that has led there may be gone
	}, []);
	return [url, go];
}

// useEvery reads a resource, and again every so often while the page is seen.
function useEvery(name, ms, failed) {
	const [value, setValue] = useState(null);
	const load = useCallback(() => read(name).then(setValue, failed), []);
	useEffect(() => {
		load();
		const timer = setInterval(() => document.hidden || load(), ms);
		return () => clearInterval(timer);
	}, []);
	return [value, load];
}

// View shows one view. What fails in it, as on a result that is like no other, leaves the others usable.
function View({ children, url, go }) {
	const [error, reset] = useErrorBoundary();
	useEffect(() => { if (error) reset(); }, [JSON.stringify(url)]);
	if (!error) return children;
	return html`<p class="note failed" role="alert">This view cannot be shown: ${error.message}. <button onClick=${() => go({ view: url.view || "calls" })}>Begin anew</button></p>`;
}

function Console({ out }) {
	const [url, go] = useURL();
	const [contents, setContents] = useState(false);
	const calls = useCalls(contents);
	const [away, setAway] = useState("");
	const failed = (e) => (e.status === 401 ? out(e.message) : setAway("The bridge does not answer."));
	const [state, refresh] = useEvery("state", 2000, failed);
	const [callers] = useEvery("callers", 3000, () => {});
	const [approvals, look] = useEvery("approvals", 1500, () => {});
	const waiting = approvals?.waiting ?? 0;
	useEffect(() => setAway(""), [state]);
	useEffect(() => () => setTimeout(abandon), []); // when the views have left theirs
	useEffect(() => { if (calls.state === "ended") out("You have been signed out."); }, [calls.state]);
	const view = views[url.view] ? url.view : "calls";
	useEffect(() => { document.title = `${waiting ? `(${waiting}) ` : ""}${views[view]} · mcpbridge`; }, [view, waiting]);
	if (!state) return html`<main key="wait" class="wait"><p role="status">${away || "…"}</p></main>`;
	const down = failedServers(state.servers);
	const live = calls.state === "live" && !away;
	return html`
		<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.querySelector("main").focus(); }}>To the content</a>
		<nav aria-label="Views">
			<div class="brand"><svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="M2 18V9m20 9V9M2 12c6 0 6-5 10-5s4 5 10 5M2 16h20" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/></svg><b>mcpbridge</b></div>
			${Object.entries(views).map(([key, title]) => html`<button key=${key} aria-current=${key === view ? "page" : undefined} onClick=${() => go({ view: key })}>
				${title}${key === "servers" && down > 0 && html` <span class="badge" title=${`${down} failed`}>${down}</span>`}${key === "approvals" && waiting > 0 && html` <span class="badge" title=${`${waiting} wait`}>${waiting}</span>`}</button>`)}
			<span class="gap"></span>
			<div class="foot"><span class=${live ? "live on" : "live"} role="status">${live ? "live" : "not connected"}</span>
				<small title=${state.config}>${state.config ? state.config.split(/[\\/]/).pop() : state.listen}</small><small>${summary(state)}</small><small>version ${state.version}</small></div>
			<button class="leave" onClick=${async () => { await leave(); out("You are signed out."); }}>Sign out</button>
		</nav>
		<main key="main" id="main" tabindex="-1" aria-label=${views[view]} class=${view}>
			${away && html`<p class="note failed" role="alert">${away}</p>`}
			<${View} key=${view} ...${{ url, go }}>
			${view === "calls" && html`<${CallsView} ...${{ calls, servers: state.servers, callers: callers ?? [], url, go, contents, setContents }} />`}
			${view === "approvals" && html`<${ApprovalsView} ...${{ approvals, look }} />`}
			${view === "servers" && html`<${ServersView} ...${{ state, url, go, refresh }} />`}
			${view === "tools" && html`<${ToolsView} ...${{ url, go }} />`}
			${view === "chat" && html`<${ChatView} ...${{ url, go }} />`}
			${view === "clients" && html`<${ClientsView} ...${{ callers: callers ?? [], state, url, go }} />`}
			<//>
		</main>`;
}

render(html`<${Visit} reads="state">${(out) => html`<${Console} out=${out} />`}<//>`, document.body);
