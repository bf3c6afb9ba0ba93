// The content of results: text, Markdown, tables, pictures and sound as such, all else as JSON. Nothing that a
// server has sent becomes HTML.
import { html, useMemo, useState } from "./html.js";
import { clip, Long, plain, size, Tree, visible } from "./format.js";
import { giveBack } from "./hooks.js";
import { looksLike, Markdown } from "./markdown.js";
import { Tabs } from "./tabs.js";

// Content shows the result of a call, a prompt or a resource.
export function Content({ result }) {
	const parts = result?.content ?? result?.contents;
	if (Array.isArray(result?.messages)) return html`<div class="content">${result.messages.map((m, i) => html`<div key=${i}><h4>${named(m?.role)}</h4><${Part} part=${m?.content ?? m} /></div>`)}</div>`;
	if (!Array.isArray(parts)) return html`<${Value} value=${result} />`;
	const twice = result.structuredContent !== undefined && parts.length === 1 && same(parts[0]?.text, result.structuredContent);
	return html`<div class=${result.isError ? "content failed" : "content"}>
		${!twice && parts.map((c, i) => html`<${Part} key=${i} part=${c} />`)}
		${parts.length === 0 && result.structuredContent === undefined && html`<p class="muted">The result is empty.</p>`}
		${result.structuredContent !== undefined && html`<h4>Structured content</h4><${Value} value=${result.structuredContent} />`}
	</div>`;
}

// same reports whether a text is the JSON of a value, as the specification wants beside structured content.
function same(text, value) {
	try {
		return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
	} catch {
		return false;
	}
}

// named is what a server calls something.
const named = (v) => clip(visible(plain(v)), 300);

const pictures = /^image\/(png|jpeg|gif|webp|avif)$/, sounds = /^audio\/[\w.+-]+$/;

function Part({ part: c }) {
	const inner = c?.type === "resource" ? c.resource : c;
	const data = inner?.data ?? inner?.blob, kind = plain(inner?.mimeType);
	if (typeof inner?.text === "string") return html`${inner.uri && html`<h4>${named(inner.uri)} <span>${named(kind)}</span></h4>`}<${Text} text=${inner.text} kind=${kind} />`;
	if (typeof data === "string" && pictures.test(kind)) return html`<figure><img src=${`data:${kind};base64,${data}`} alt=${`An image of the result, ${kind}`} /><figcaption>${kind}, ${size(bytesOf(data))}</figcaption></figure>`;
	if (typeof data === "string" && sounds.test(kind)) return html`<figure><audio controls src=${`data:${kind};base64,${data}`}></audio><figcaption>${kind}, ${size(bytesOf(data))}</figcaption></figure>`;
	if (c?.type === "resource_link") return html`<p class="note"><b>${named(c.title ?? c.name)}</b> <code>${named(c.uri)}</code> <${Long} text=${c.description} /> <a href=${`?${new URLSearchParams({ view: "tools", kind: "resources", name: c.uri })}`}>Look at it</a></p>`;
	if (typeof data === "string") return html`<p class="muted">${named(kind) || "bytes"}, ${size(bytesOf(data))}</p>`;
	return html`<${Tree} value=${c} />`;
}

const bytesOf = (base64) => Math.floor((base64.length * 3) / 4) - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0);

// ways are those in which a text can be shown, the best one first.
function waysOf(text, kind) {
	if (/^\s*[[{]/.test(text)) {
		try {
			const value = JSON.parse(text);
			return { ...(rowsOf(value) && { table: value }), tree: value, text };
		} catch { /* it is only text */ }
	}
	return kind === "text/markdown" || looksLike(text) ? { markdown: text, text } : { text };
}

function Text({ text, kind }) {
	const ways = useMemo(() => waysOf(text, kind), [text, kind]);
	return html`<${Shown} ways=${ways} />`;
}

// Value shows a value of JSON.
function Value({ value }) {
	const ways = useMemo(() => ({ ...(rowsOf(value) && { table: value }), tree: value, text: JSON.stringify(value, null, 2) ?? "" }), [value]);
	return html`<${Shown} ways=${ways} />`;
}

const mostText = 100_000; // characters of a text that are shown at first: browsers need seconds for millions

const titles = { table: "Table", tree: "Tree", markdown: "Markdown", text: "Text" };

function Shown({ ways }) {
	const all = Object.keys(ways);
	const [picked, setPicked] = useState("");
	const way = all.includes(picked) ? picked : all[0], value = ways[way];
	return html`<div class="shown">
		${all.length > 1 && html`<${Tabs} label="How it is shown" all=${Object.fromEntries(all.map((w) => [w, titles[w]]))} chosen=${way} choose=${setPicked} />`}
		${way === "table" ? html`<${Table} rows=${rowsOf(value)} />` : way === "tree" ? html`<${Tree} value=${value} />` : way === "markdown" ? html`<${Markdown} text=${value} />` : html`<pre tabindex="0" aria-label="Text"><${Long} text=${value} most=${mostText} /></pre>`}</div>`;
}

// rowsOf returns the objects of which a value is a list, or its only list; null for anything else.
function rowsOf(value) {
	const isRows = (v) => Array.isArray(v) && v.length > 0 && v.every((r) => r !== null && typeof r === "object" && !Array.isArray(r));
	if (isRows(value)) return value;
	const inner = value !== null && typeof value === "object" && !Array.isArray(value) ? Object.values(value) : [];
	return inner.length === 1 && isRows(inner[0]) ? inner[0] : null;
}

const mostRows = 200, mostColumns = 30;

function Table({ rows }) {
	const [all, setAll] = useState(false);
	const [sort, setSort] = useState({ by: "", down: false });
	const columns = useMemo(() => [...new Set(rows.slice(0, 1000).flatMap(Object.keys))].slice(0, mostColumns), [rows]);
	const sorted = useMemo(() => (sort.by ? rows.toSorted((a, b) => (sort.down ? -1 : 1) * order(a[sort.by], b[sort.by])) : rows), [rows, sort]);
	const shown = all ? sorted.slice(0, 5000) : sorted.slice(0, mostRows);
	return html`<div class="scroll" tabindex="0" role="region" aria-label="Table of the result"><table>
		<thead><tr>${columns.map((c) => html`<th key=${c} class=${typeof rows[0][c] === "number" ? "num" : ""} aria-sort=${sort.by !== c ? "none" : sort.down ? "descending" : "ascending"}><button type="button" class="plain" onClick=${() => setSort({ by: c, down: sort.by === c && !sort.down })}>${named(c)}${sort.by === c ? (sort.down ? " ↓" : " ↑") : ""}</button></th>`)}</tr></thead>
		<tbody>${shown.map((r, i) => html`<tr key=${i}>${columns.map((c) => html`<td key=${c} class=${typeof r[c] === "number" ? "num" : ""}>${cell(r[c])}</td>`)}</tr>`)}</tbody></table></div>
		${shown.length < rows.length && html`<p class="muted">${shown.length} of ${rows.length} rows ${!all && html`<button type="button" onClick=${(e) => { giveBack(e.currentTarget.parentElement.previousElementSibling); setAll(true); }}>Show more</button>`}</p>`}`;
}

const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a ?? "").localeCompare(String(b ?? "")));
const cell = (v) => clip(plain(v), 2000);
