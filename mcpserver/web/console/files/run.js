// Requests that a person sends from the page: with progress, canceled, and what comes of them.
import { html, useEffect, useReducer, useState } from "./html.js";
import { request } from "./api.js";
import { Content } from "./content.js";
import { Fields } from "./form.js";
import { duration, exact } from "./format.js";
import { initial } from "./schema.js";

const mostSteps = 200; // of a request's timeline

const mostLeft = 3; // that run, of the six connections that browsers have to a host for all their pages
const mostKept = 10; // with those that have ended
const left = new Map(); // the requests whose views were left while they ran, by what they are of

// abandon cancels the requests whose views were left.
export function abandon() {
	for (const run of left.values()) run.abort.abort();
	left.clear();
}

// useRun carries out one request at a time. It goes on while another view is shown, such as the one where a person
// approves it: the view of the same thing finds it again, or what has come of it, and the form that it was sent from.
export function useRun(of) {
	const [own] = useState(() => left.get(of) ?? { state: null });
	const [, redraw] = useReducer((n) => n + 1, 0);
	const put = (state) => { own.state = state; own.shown?.(); };
	useEffect(() => {
		own.shown = redraw;
		if (left.delete(of)) redraw();
		return () => {
			own.shown = null;
			if (!own.state?.running) return;
			left.set(of, own);
			const running = [...left.values()].filter((run) => run.state.running);
			if (running.length > mostLeft) running[0].abort.abort();
			if (left.size > mostKept) left.delete([...left].find(([, run]) => !run.state.running)[0]);
		};
	}, []);
	const run = async (method, params, name, form) => {
		own.form = form;
		own.abort = new AbortController();
		const begun = performance.now(), steps = [{ at: 0, text: "sent" }];
		const step = (text) => { if (steps.length < mostSteps) steps.push({ at: performance.now() - begun, text }); };
		const end = (more, text) => { step(text); put({ ...more, params, steps, ms: performance.now() - begun }); };
		put({ running: true, params, steps });
		const progress = (p) => {
			step(["progress", p.total ? `${p.progress} of ${p.total}` : p.progress, p.message].filter((t) => t !== undefined).join(" "));
			put({ ...own.state, progress: p });
		};
		try {
			const result = await request(method, params, { name, signal: own.abort.signal, progress });
			end({ result }, result?.isError ? "answered: the tool has failed" : "answered");
		} catch (e) {
			const text = e.name === "AbortError" ? "canceled" : e.message;
			end({ error: text }, text);
		}
	};
	return { state: own.state, form: own.form, run, cancel: () => own.abort?.abort() };
}

// Run is a form for the arguments of a request about an item, of, and its outcome. params makes the params of the
// arguments. shown returns more of a result, with the params of its request.
export function Run({ of, title, schema, method, params, shown }) {
	const { state, form, run, cancel } = useRun(`${method} ${of}`);
	const [raw, setRaw] = useState(form?.raw ?? false);
	const [text, setText] = useState(form?.text ?? "{}");
	const [value, setValue] = useState(() => form?.value ?? initial(schema, schema, true) ?? {});
	const [wrong, setWrong] = useState("");
	const some = Object.keys(schema.properties ?? {}).length > 0;
	const call = (e) => {
		e.preventDefault();
		if (state?.running) return;
		try {
			setWrong("");
			const all = params(raw ? exact(text) : value);
			run(method, all, all.uri ?? all.name, { raw, text, value });
		} catch (fault) {
			setWrong(`The arguments are not JSON: ${fault.message}`);
		}
	};
	const swap = () => {
		try {
			if (raw) setValue(JSON.parse(text));
			else setText(JSON.stringify(value, null, 2));
			setWrong("");
			setRaw(!raw);
		} catch (fault) {
			setWrong(`The arguments are not JSON: ${fault.message}`);
		}
	};
	return html`<form class="run" onSubmit=${call}>
		<div class="label"><h3>${title}</h3><button type="button" class="chip" onClick=${swap}>${raw ? "as a form" : "as JSON"}</button></div>
		${raw ? html`<textarea rows="8" spellcheck="false" aria-label="Arguments" value=${text} onInput=${(e) => setText(e.target.value)}></textarea>`
			: some ? html`<${Fields} schema=${schema} root=${schema} value=${value} put=${setValue} path="arguments" />` : html`<p class="muted">It takes no arguments.</p>`}
		${wrong && html`<p class="failed" role="alert">${wrong}</p>`}
		<p class="buttons"><button class="primary" aria-disabled=${state?.running}>${title}</button>${state?.running && html`<button type="button" onClick=${(e) => { e.currentTarget.previousElementSibling.focus(); cancel(); }}>Cancel</button>`}</p>
		<${Outcome} state=${state} />
		${state?.result && shown && shown(state.params, state.result)}
	</form>`;
}

// Outcome is what has come of a request so far.
export function Outcome({ state }) {
	if (!state) return null;
	if (state.running) {
		const p = state.progress;
		return html`<p role="status"><progress aria-label="Progress" max=${p?.total} value=${p?.total ? p.progress : undefined}></progress> ${p?.message ?? ""}</p>`;
	}
	return html`<div class="outcome" role="status"><h3>Result <span class="muted">${duration(state.ms)}</span></h3>
		${state.error ? html`<p class="failed" role="alert">${state.error}</p>` : html`<${Content} result=${state.result} />`}
		<${Steps} steps=${state.steps} ms=${state.ms} /></div>`;
}

// Steps is the way of a request in time.
export function Steps({ steps, ms }) {
	return html`<details class="way-in-time"><summary>Timeline</summary><ol>${steps.map((s, i) => html`<li key=${i}>
		<time>${duration(s.at)}</time><svg class="at" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="2" y="2" /><circle cx=${Math.min(98, 2 + (96 * s.at) / Math.max(ms, 0.001))} cy="3" r="2.4" /></svg><span>${s.text}</span></li>`)}</ol></details>`;
}
