// Chat: a model of the config uses the tools, and a person sees and allows what it does.
import { html, useEffect, useLayoutEffect, useReducer, useRef, useState } from "./html.js";
import { Ask } from "./ask.js";
import { Content } from "./content.js";
import { ago, duration, exact, Tree, visible } from "./format.js";
import { useRead } from "./hooks.js";
import { Markdown } from "./markdown.js";
import { Talk } from "./talk.js";

export function ChatView({ url, go }) {
	const { value: models, error } = useRead("models");
	if (error) return html`<p class="note failed" role="alert">${error}</p>`;
	if (!models) return html`<p class="empty">…</p>`;
	if (models.fault && models.models.length === 0) return html`<${NoModel} models=${models} />`;
	return html`<${Chat} ...${{ models, url, go }} />`;
}

function NoModel({ models }) {
	const faults = Object.entries(models.faults);
	return html`<h1>Chat</h1><div class="card"><h2>No language model is configured</h2>
		<p>Add one to <code>providers</code> in the config, or start <code>mcpbridge serve</code> with the key of one in its environment, such as <code>ANTHROPIC_API_KEY</code>:</p>
		<pre tabindex="0">${`"providers": { "ollama": { "model": "qwen3" } }`}</pre>
		<p class="muted">A config that has changed is taken over at once.</p>
		${faults.length > 0 && html`<h3>Providers that cannot be used</h3><ul>${faults.map(([name, why]) => html`<li key=${name}><b>${name}</b>: ${why}</li>`)}</ul>`}
		${faults.length === 0 && html`<p class="muted">${models.fault}</p>`}</div>`;
}

// useTalk holds the conversation that the URL names, and one that begins without a name.
function useTalk(url, go) {
	const [, redraw] = useReducer((n) => n + 1, 0);
	const talk = useRef(null);
	const wanted = url.conversation ?? "";
	useEffect(() => {
		if (wanted && talk.current?.conversation === wanted) return;
		talk.current?.close();
		let frame = 0;
		talk.current = new Talk({ conversation: wanted, model: url.model }, () => { frame ||= requestAnimationFrame(() => { frame = 0; redraw(); }); });
		redraw();
	}, [wanted, url.model]);
	useEffect(() => () => { talk.current?.close(); talk.current = null; }, []);
	useEffect(() => { // once it has something in it, the conversation is in the URL
		const own = talk.current;
		if (own?.conversation && own.turns.length && own.conversation !== wanted) go({ conversation: own.conversation });
	});
	return talk.current;
}

function Chat({ models, url, go }) {
	const talk = useTalk(url, go);
	const bottom = useRef(null), near = useRef(true);
	useLayoutEffect(() => { if (near.current) bottom.current?.scrollIntoView({ block: "end" }); });
	if (!talk) return html`<p class="empty">…</p>`;
	const another = (change) => go({ view: "chat", ...change });
	const isNew = !talk.turns.length && !url.conversation;
	const old = (talk.conversations ?? []).filter((c) => c.id !== talk.conversation);
	return html`<div class="bar"><h1>Chat</h1>
			<label class="inline">Model <select value=${talk.turns.length ? talk.model : url.model || models.default || talk.model} onChange=${(e) => another({ model: e.target.value })}>
				${[...new Set([talk.model, models.default, ...models.models].filter(Boolean))].map((m) => html`<option key=${m} value=${m}>${m}</option>`)}</select></label>
			<span class="gap"></span>
			${old.length > 0 && html`<select aria-label="Earlier conversations" value="" onChange=${(e) => another({ conversation: e.target.value })}><option value="">Earlier conversations</option>
				${old.map((c) => html`<option key=${c.id} value=${c.id}>${(c.title || "untitled").slice(0, 60)}, ${ago(c.updated)} ago</option>`)}</select>`}
			<button onClick=${() => isNew || another({ model: url.model })} aria-disabled=${isNew}>New</button></div>
		${talk.state !== "open" && talk.turns.length > 0 && html`<p class="note" role="status">The connection is lost, and made anew. The prompt goes on meanwhile.</p>`}
		${Object.keys(models.faults).length > 0 && html`<details class="note"><summary>Some providers cannot be used</summary><ul>${Object.entries(models.faults).map(([name, why]) => html`<li key=${name}><b>${name}</b>: ${why}</li>`)}</ul></details>`}
		<div class="talk" role="log" aria-label="Conversation" tabindex="0" onScroll=${(e) => { const b = e.currentTarget; near.current = b.scrollHeight - b.scrollTop - b.clientHeight < 60; }}>
			${talk.turns.length === 0 && html`<p class="empty">The model has the tools of all servers. It asks here before it calls one that is not known to be read-only.</p>`}
			${talk.turns.map((t, i) => html`<${Turn} key=${i} turn=${t} talk=${talk} last=${i === talk.turns.length - 1} />`)}
			<div ref=${bottom}></div></div>
		${talk.refused && html`<p class="failed" role="alert">${talk.refused}</p>`}
		<${Prompt} talk=${talk} sent=${() => { near.current = true; }} />`;
}

// sends reports whether a key sends what is written. The event of its character is another one, which may come
// although that of the key was prevented.
const sends = (e) => e.key === "Enter" && !e.shiftKey && !e.isComposing;

function Prompt({ talk, sent }) {
	const [text, setText] = useState("");
	useEffect(() => {
		const back = talk.returned;
		if (back) setText((now) => now || back);
		talk.returned = "";
	});
	const send = (e) => {
		e?.preventDefault();
		if (!text.trim() || talk.busy || talk.state !== "open") return;
		sent();
		talk.prompt(text);
		setText("");
	};
	return html`<form class="prompt" onSubmit=${send}>
		<textarea rows="1" aria-label="Message" placeholder="Ask for something that the tools can do" value=${text} onInput=${(e) => setText(e.target.value)}
			onKeyDown=${(e) => { if (sends(e)) { e.preventDefault(); send(); } }} onKeyPress=${(e) => sends(e) && e.preventDefault()}></textarea>
		${talk.busy ? html`<button type="button" onClick=${() => talk.cancel()}>Cancel</button>` : html`<button class="primary" aria-disabled=${!text.trim() || talk.state !== "open"}>Send</button>`}</form>`;
}

function Turn({ turn, talk, last }) {
	const end = turn.end, running = !end && last && talk.busy;
	const waits = turn.parts.some((p) => p.kind === "call" && ["asks", "running"].includes(p.state));
	return html`<section class="turn">
		${turn.text && html`<div class="asked-text">${turn.text}</div>`}
		${turn.parts.map((p, i) => (p.kind === "text" ? html`<${Markdown} key=${i} text=${p.text} />`
			: p.kind === "thinking" ? html`<details key=${i} class="thinking"><summary>Thinking</summary><p>${p.text}</p></details>`
				: p.kind === "note" ? html`<p key=${i} class="muted">${p.text}</p>`
					: html`<${Call} key=${p.id ?? i} call=${p} talk=${talk} />`))}
		${running && !waits && html`<p class="muted working" role="status">…</p>`}
		${end?.type === "error" && html`<p class="failed" role="alert">${end.code === "canceled" ? "Canceled." : end.message}</p>`}
		${end?.type === "done" && end.usage && html`<p class="muted usage">${[turn.usage && `${end.usage.input ?? 0} tokens in, ${end.usage.output ?? 0} out`, end.turns > 1 && `${end.turns} turns`].filter(Boolean).join(" · ")}</p>`}
	</section>`;
}

const states = { typed: ["", "…"], called: ["", "called"], running: ["warn", "running"], asks: ["warn", "asks"], denied: ["bad", "denied"], failed: ["bad", "failed"], done: ["good", "done"] };

function Call({ call, talk }) {
	const [open, setOpen] = useState(false);
	const asks = call.state === "asks", [mood, title] = states[call.state];
	return html`<article class="tool-call" aria-label=${`Call of ${call.name}`}>
		<button class="plain fold-call" aria-expanded=${open || asks} onClick=${() => setOpen(!open)}>${open || asks ? "▾" : "▸"} <b>${call.name ?? "…"}</b> <span class="brief">${brief(call)}</span>
			<span class=${`tag ${mood}`}>${title}</span> ${call.ms !== undefined && html`<small>${duration(call.ms)}</small>`}</button>
		${call.state === "running" && call.progress && html`<p role="status"><progress aria-label="Progress" max=${call.progress.total} value=${call.progress.total ? call.progress.progress : undefined}></progress> ${call.progress.message ?? ""}</p>`}
		${asks && html`<${Question} call=${call} talk=${talk} />`}
		${open && !asks && html`<h3>Arguments</h3>${call.arguments === undefined ? html`<pre>${call.typed ?? ""}</pre>` : html`<${Tree} value=${call.arguments} />`}`}
		${open && call.result !== undefined && html`<h3>Result</h3><${Content} result=${{ content: [{ type: "text", text: call.result }], isError: call.state === "failed" }} />`}
	</article>`;
}

function brief(call) {
	const text = visible(call.arguments === undefined ? call.typed ?? "" : JSON.stringify(call.arguments));
	return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

// Question is what the model's call needs an answer to.
function Question({ call, talk }) {
	const own = useRef(null);
	const decide = ({ approve, note, arguments: edited }) => {
		own.current.closest("article").querySelector("button").focus(); // those of the question go
		if (approve) talk.decide(call.id, edited === undefined ? "allow" : "edit", edited === undefined ? {} : { arguments: exact(edited) });
		else talk.decide(call.id, "deny", { reason: note || undefined });
	};
	return html`<div ref=${own}>
		${call.about && html`<p class="muted">${call.about}</p>`}
		${call.why && html`<p>${call.why}</p>`}
		<${Ask} label=${`May ${call.name} be called?`} shown=${html`<${Tree} value=${call.arguments ?? {}} open=${Infinity} room=${5000} />`} text=${JSON.stringify(call.arguments ?? {}, null, 2)} fixed=${call.fixed} decide=${decide} /></div>`;
}
