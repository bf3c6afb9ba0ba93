// A conversation over /chat (docs/browser.md): one WebSocket, which is made anew when it is lost.
import { exact } from "./format.js";

const protocol = "mcpbridge.chat";
const longest = 15_000; // ms between attempts to connect
const mostSent = 5; // connections on which a prompt is sent that are lost before the bridge has it

// A Talk has what is known of a conversation: turns, each a person's text and what came of it. changed is
// called after each change.
export class Talk {
	turns = [];
	conversation = "";
	model = "";
	busy = false;
	state = "connecting"; // connecting, open, closed
	refused = "";
	returned = ""; // the text of a prompt that was not carried out, or perhaps not
	conversations = null;

	#after = 0;
	#socket = null;
	#attempts = 0;
	#timer = 0;
	#changed;
	#named; // by who has made the Talk
	#unsent = null; // a prompt of which the bridge has not said that it has it
	#sent = 0; // how often it was sent

	constructor({ conversation = "", model = "" }, changed) {
		this.conversation = conversation;
		this.model = model;
		this.#named = conversation !== "";
		this.#changed = changed;
		this.#connect();
	}

	close() {
		this.state = "closed";
		clearTimeout(this.#timer);
		this.#socket?.close();
	}

	prompt(text) {
		this.#unsent = { type: "prompt", id: Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join(""), text };
		this.refused = "";
		this.#sent = 1;
		this.#send(this.#unsent);
	}

	decide(call, verdict, more = {}) { this.#send({ type: "decide", call, verdict, ...more }); }
	cancel() { this.#send({ type: "cancel" }); }
	list() { this.#send({ type: "list" }); }

	#send(message) {
		if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
	}

	#connect() {
		const url = new URL("chat", location);
		url.protocol = url.protocol.replace("http", "ws");
		url.search = url.hash = "";
		const socket = new WebSocket(url, [protocol]);
		this.#socket = socket;
		socket.onopen = () => this.#open();
		socket.onmessage = (e) => { this.#take(exact(e.data)); this.#changed(); };
		socket.onclose = (e) => {
			if (this.state === "closed") return;
			if (e.code === 1009) {
				this.#giveBack();
				this.refused = "This is longer than the bridge takes.";
			}
			this.state = "connecting";
			this.#timer = setTimeout(() => this.#connect(), Math.min(longest, 250 * 2 ** this.#attempts++));
			this.#changed();
		};
	}

	#open() { this.#send({ type: "open", conversation: this.conversation || undefined, after: this.#after || undefined, model: this.conversation ? undefined : this.model || undefined }); }

	#giveBack() {
		this.returned = this.#unsent?.text ?? "";
		this.#unsent = null;
	}

	// take takes a message of the bridge.
	#take(m) {
		if (m.seq !== undefined) this.#after = m.seq;
		const turn = this.turns.at(-1), parts = turn?.parts;
		switch (m.type) {
			case "opened": return this.#opened(m);
			case "conversations": this.conversations = m.conversations; return;
			case "refused":
				if (m.request === "open" && this.conversation && !this.#named && !this.turns.length) { // it has never had a prompt
					this.conversation = "";
					this.#after = 0;
					return this.#open();
				}
				if (m.request === "decide" && m.code === "not_found") return; // somebody else has decided
				if (m.request === "prompt") this.#giveBack();
				this.refused = m.message;
				return;
			case "prompt":
				if (this.#unsent?.id === m.id) this.#unsent = null;
				this.turns.push({ id: m.id, text: m.text, parts: [], end: null });
				this.busy = true;
				return;
		}
		if (!turn) return;
		[this.busy, turn.end] = [true, null]; // also after a decision about a call that waited without a prompt
		switch (m.type) {
			case "text_delta": case "thinking_delta": {
				const kind = m.type === "text_delta" ? "text" : "thinking";
				if (parts.at(-1)?.kind === kind) parts.at(-1).text += m.text;
				else parts.push({ kind, text: m.text });
				break;
			}
			case "arguments_delta": { const c = this.#call(parts, m); c.typed = (c.typed ?? "") + m.text; break; }
			case "tool_call": case "tool_start": Object.assign(this.#call(parts, m), { arguments: m.arguments ?? this.#call(parts, m).arguments, state: m.type === "tool_start" ? "running" : "called" }); break;
			case "ask": Object.assign(this.#call(parts, m), { arguments: m.arguments, about: m.description, annotations: m.annotations, why: m.reason, fixed: m.fixed, state: "asks" }); break;
			case "approval": { const c = this.#call(parts, m); if (c.state === "asks") c.state = m.decision === "deny" ? "denied" : "called"; break; }
			case "tool_progress": Object.assign(this.#call(parts, m), { progress: m }); break;
			case "tool_result": Object.assign(this.#call(parts, m), { state: m.is_error ? "failed" : "done", result: m.text, ms: m.ms }); break;
			case "note": case "retry": parts.push({ kind: "note", text: m.text ?? `again in ${m.after_ms} ms: ${m.reason}` }); break;
			case "usage": turn.usage = m; break;
			case "done": case "error":
				turn.end = m;
				this.busy = false;
		}
	}

	// call returns the call of an event, which it begins if it is not known.
	#call(parts, m) {
		let c = m.id ? parts.findLast((p) => p.kind === "call" && p.id === m.id) : parts.findLast((p) => p.kind === "call" && p.state === "typed");
		if (!c) parts.push(c = { kind: "call", id: m.id, name: m.name, state: "typed" });
		if (m.name) c.name = m.name;
		return c;
	}

	#opened(m) {
		this.state = "open";
		if (!this.#unsent) this.#attempts = 0;
		Object.assign(this, { conversation: m.conversation, model: m.model, busy: m.busy });
		this.#after = m.after;
		if (m.messages) this.turns = told(m.messages);
		if (m.waiting.length) {
			if (!this.turns.length) this.turns.push({ id: "", text: "", parts: [], end: null });
			for (const c of m.waiting) Object.assign(this.#call(this.turns.at(-1).parts, c), { arguments: c.arguments, about: c.description, annotations: c.annotations, state: "asks" });
		}
		if (this.#unsent && !m.busy && (m.messages || this.#sent >= mostSent)) { // it is not known to the bridge any more, and may have been
			this.#giveBack();
			this.refused = "The connection was lost as this was sent. What came of it is above, if the bridge has kept it.";
		}
		if (this.#unsent) {
			this.#sent++;
			this.#send(this.#unsent); // the same one is not carried out twice
		}
		this.list();
	}
}

// told returns the turns of a saved conversation.
function told(messages) {
	const turns = [];
	for (const m of messages) {
		if (m.role === "user" && m.text) turns.push({ id: "", text: m.text, parts: [], end: { type: "done" } });
		const parts = turns.at(-1)?.parts;
		if (!parts) continue;
		if (m.role === "assistant" && m.text) parts.push({ kind: "text", text: m.text });
		for (const c of m.calls ?? []) parts.push({ kind: "call", id: c.id, name: c.name, arguments: c.arguments, state: "called" });
		for (const r of m.results ?? []) {
			const c = parts.findLast((p) => p.kind === "call" && p.id === r.id);
			if (c) Object.assign(c, { state: r.is_error ? "failed" : "done", result: r.text });
		}
	}
	return turns;
}
