// Tools, prompts and resources as the operator sees them, and a call of a tool.
import { html, useEffect, useMemo, useRef, useState } from "./preact.js";
import { read, request } from "./api.js";
import { Content, duration, Tree } from "./format.js";
import { List } from "./list.js";

const kinds = ["tools", "prompts", "resources", "templates"];

export function ToolsView({ url, go }) {
	const kind = kinds.includes(url.kind) ? url.kind : "tools";
	const [items, setItems] = useState(null);
	const [error, setError] = useState("");
	useEffect(() => {
		let over = false;
		setItems(null);
		read("items", { kind }).then((all) => { if (!over) { setItems(all); setError(""); } }, (e) => over || setError(e.message));
		return () => { over = true; };
	}, [kind]);
	const q = (url.q ?? "").toLowerCase();
	const shown = useMemo(() => (items ?? []).filter((i) => !q || `${i.name} ${i.server} ${i.definition.title ?? ""} ${i.definition.description ?? ""}`.toLowerCase().includes(q)), [items, q]);
	const chosen = shown.find((i) => i.name === url.name);
	return html`
		<div class="bar">
			<input type="search" placeholder=${`Search ${kind}`} aria-label=${`Search ${kind}`} value=${url.q ?? ""} onInput=${(e) => go({ q: e.target.value })} />
			<div class="tabs" role="tablist">${kinds.map((k) => html`<button key=${k} role="tab" aria-selected=${k === kind} onClick=${() => go({ kind: k, name: "" })}>${k}</button>`)}</div>
			<span class="gap"></span><span class="count">${items ? `${shown.length} ${kind}` : ""}</span>
		</div>
		${error && html`<p class="note failed">${error}</p>`}
		<div class=${chosen ? "split open" : "split"}>
			<div class="table items">
				<${List} items=${shown} height=${52} keyOf=${(i) => i.name} label=${kind} chosen=${url.name} choose=${(name) => go({ name: name ?? "" })}
					empty=${items ? "Nothing matches." : "…"}
					row=${(i) => html`<span class="what"><b>${i.name}</b> <small>${i.server}</small></span>
						<span class="about">${i.definition.description ?? i.definition.title ?? ""}</span>`} />
			</div>
			${chosen && html`<${Item} key=${kind + chosen.name} item=${chosen} kind=${kind} close=${() => go({ name: "" })} />`}
		</div>`;
}

const hints = { readOnlyHint: "reads only", destructiveHint: "may destroy", idempotentHint: "repeatable", openWorldHint: "open world" };

function Item({ item, kind, close }) {
	const d = item.definition;
	const said = Object.entries(hints).filter(([key]) => d.annotations?.[key]);
	return html`<aside class="detail" aria-label=${item.name}>
		<header><h2>${item.name}</h2><button class="plain" onClick=${close} aria-label="Close">✕</button></header>
		<p class="muted">${[item.server, d.title, d.mimeType].filter(Boolean).join(" · ")} ${said.map(([key, text]) => html`<span class="tag" key=${key}>${text}</span> `)}
			${item.untrusted && html`<span class="tag warn">not trusted</span>`}</p>
		<p class="description">${d.description ?? ""}</p>
		${kind === "tools" && html`<p><a href=${`?view=clients&part=why&tool=${encodeURIComponent(item.name)}`}>Which client sees it, and why?</a></p>`}
		${kind === "tools" && html`<${Run} name=${item.name} schema=${d.inputSchema ?? {}} />`}
		${kind === "resources" && html`<${Resource} uri=${item.name} />`}
		<h3>Definition</h3><${Tree} value=${d} open=${1} />
	</aside>`;
}

// useRun carries out one request at a time.
function useRun() {
	const [state, setState] = useState(null);
	const abort = useRef(null);
	const run = async (method, params, name) => {
		abort.current = new AbortController();
		const begun = performance.now();
		setState({ running: true });
		const progress = (p) => setState((s) => (s?.running ? { ...s, progress: p } : s));
		try {
			const result = await request(method, params, { name, signal: abort.current.signal, progress });
			setState({ result, ms: performance.now() - begun });
		} catch (e) {
			setState({ error: e.name === "AbortError" ? "canceled" : e.message, ms: performance.now() - begun });
		}
	};
	useEffect(() => () => abort.current?.abort(), []);
	return { state, run, cancel: () => abort.current?.abort() };
}

function Run({ name, schema }) {
	const [raw, setRaw] = useState(false);
	const [text, setText] = useState("{}");
	const [values, setValues] = useState({});
	const [wrong, setWrong] = useState("");
	const { state, run, cancel } = useRun();
	const call = (e) => {
		e.preventDefault();
		try {
			setWrong("");
			run("tools/call", { name, arguments: raw ? JSON.parse(text) : collect(schema, values) }, name);
		} catch (fault) {
			setWrong(fault.message);
		}
	};
	const swap = () => {
		if (!raw) try { setText(JSON.stringify(collect(schema, values), null, 2)); } catch { /* it begins with what is there */ }
		setRaw(!raw);
	};
	return html`<form class="run" onSubmit=${call}>
		<h3>Call it <button type="button" class="plain" onClick=${swap}>${raw ? "as a form" : "as JSON"}</button></h3>
		${raw ? html`<textarea rows="8" spellcheck="false" aria-label="Arguments" value=${text} onInput=${(e) => setText(e.target.value)}></textarea>`
			: html`<${Fields} schema=${schema} values=${values} set=${setValues} path=${name} />`}
		${wrong && html`<p class="failed" role="alert">${wrong}</p>`}
		<p><button class="primary" disabled=${state?.running}>Call</button> ${state?.running && html`<button type="button" onClick=${cancel}>Cancel</button>`}</p>
		<${Outcome} state=${state} />
	</form>`;
}

function Outcome({ state }) {
	if (!state) return null;
	if (state.running) {
		const p = state.progress;
		return html`<p role="status"><progress max=${p?.total} value=${p?.total ? p.progress : undefined}></progress> ${p?.message ?? ""}</p>`;
	}
	return html`<h3>Result <span class="muted">${duration(state.ms)}</span></h3>
		${state.error ? html`<p class="failed" role="alert">${state.error}</p>` : html`<${Content} result=${state.result} />`}`;
}

function Resource({ uri }) {
	const { state, run } = useRun();
	return html`<p><button class="primary" disabled=${state?.running} onClick=${() => run("resources/read", { uri }, uri)}>Read</button></p><${Outcome} state=${state} />`;
}

const kindOf = (s) => (Array.isArray(s?.type) ? s.type.find((t) => t !== "null") : s?.type);
const isPlain = (s) => s?.enum || ["string", "number", "integer", "boolean"].includes(kindOf(s)) || (kindOf(s) === "object" && s.properties);

// Fields are the inputs of an object's properties. What is no simple value is written as JSON.
function Fields({ schema, values, set, path }) {
	const properties = Object.entries(schema.properties ?? {});
	if (!properties.length) return html`<p class="muted">It takes no arguments.</p>`;
	return properties.map(([name, s]) => {
		const id = `${path}.${name}`, needed = schema.required?.includes(name);
		const put = (v) => set((all) => ({ ...all, [name]: v }));
		if (kindOf(s) === "object" && s.properties && !s.enum) {
			return html`<fieldset key=${name}><legend>${name}${needed ? " *" : ""}</legend>
				<${Fields} schema=${s} values=${values[name] ?? {}} path=${id} set=${(f) => put(f(values[name] ?? {}))} /></fieldset>`;
		}
		return html`<div class="field" key=${name}><label for=${id}>${name}${needed ? " *" : ""} <small>${isPlain(s) ? kindOf(s) ?? "" : "JSON"}</small></label>
			<${Input} id=${id} schema=${s} value=${values[name]} put=${put} needed=${needed} />
			${s?.description && html`<small class="hint">${s.description}</small>`}</div>`;
	});
}

function Input({ id, schema, value, put, needed }) {
	const shared = { id, required: needed, value: value ?? "", onInput: (e) => put(e.target.value) };
	if (schema?.enum) return html`<select ...${shared}><option value=""></option>${schema.enum.map((v) => html`<option key=${v} value=${JSON.stringify(v)}>${String(v)}</option>`)}</select>`;
	switch (kindOf(schema)) {
		case "boolean": return html`<select ...${shared}><option value=""></option><option value="true">true</option><option value="false">false</option></select>`;
		case "integer": return html`<input type="number" step="1" ...${shared} />`;
		case "number": return html`<input type="number" step="any" ...${shared} />`;
		case "string": return html`<textarea rows=${String(value ?? "").includes("\n") ? 4 : 1} ...${shared}></textarea>`;
	}
	return html`<textarea rows="2" spellcheck="false" placeholder=${kindOf(schema) === "array" ? "[…]" : "…"} ...${shared}></textarea>`;
}

// collect returns the arguments that the fields have, without those that are empty.
function collect(schema, values) {
	const all = {};
	for (const [name, s] of Object.entries(schema.properties ?? {})) {
		const v = values[name];
		if (v !== null && typeof v === "object") {
			const inner = collect(s, v);
			if (Object.keys(inner).length || schema.required?.includes(name)) all[name] = inner;
		} else if (v !== undefined && v !== "") {
			try {
				all[name] = kindOf(s) === "string" && !s.enum ? v : JSON.parse(v);
			} catch (e) {
				throw new Error(`${name}: ${e.message}`);
			}
		}
	}
	return all;
}
