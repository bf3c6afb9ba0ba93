// A tool's definition in each format, how it differs from that of another tool, and how it fares with each
// provider.
import { html, useMemo } from "./html.js";
import { Long } from "./format.js";
import { Diff } from "./diff.js";
import { useRead } from "./hooks.js";

const mostText = 100_000; // characters of a definition that are shown at first

const pretty = (value) => (value === undefined ? "" : JSON.stringify(value, null, 2));

// definitionIn returns the definition of a tool in a format; "" is the one that clients of MCP get.
function definitionIn(format, item, read) {
	if (!format) return { text: pretty(item?.definition), notes: [] };
	const own = read.value?.formats.find((f) => f.format === format);
	return { text: pretty(own?.definition), notes: own?.notes ?? [] };
}

export function Definition({ item, items, url, go }) {
	const own = useRead("tool", { name: item.name });
	const other = items.find((i) => i.name === url.with && i.name !== item.name);
	const with_ = useRead("tool", { name: other?.name ?? item.name });
	const format = url.format ?? "", versus = url.versus ?? "";
	const formats = own.value?.formats.map((f) => f.format) ?? [];
	const left = definitionIn(format, item, own);
	const right = other ? definitionIn(format, other, with_) : versus ? definitionIn(versus === "listed" ? "" : versus, item, own) : null;
	const names = useMemo(() => items.filter((i) => i.name !== item.name).slice(0, 2000), [items, item]);
	return html`<div class="bar options">
			<label>Format <select value=${format} onChange=${(e) => go({ format: e.target.value })}><option value="">as listed</option>${formats.map((f) => html`<option key=${f} value=${f}>${f}</option>`)}</select></label>
			<label>Compare with <select value=${versus} disabled=${Boolean(other)} onChange=${(e) => go({ versus: e.target.value })}><option value="">no format</option><option value="listed">as listed</option>${formats.map((f) => html`<option key=${f} value=${f}>${f}</option>`)}</select></label>
			<label>or the tool <input type="search" list="other-tools" value=${url.with ?? ""} onInput=${(e) => go({ with: e.target.value })} /></label>
			<datalist id="other-tools">${names.map((i) => html`<option key=${i.name} value=${i.name}></option>`)}</datalist>
		</div>
		${own.error && html`<p class="failed" role="alert">${own.error}</p>`}
		${left.notes.length > 0 && html`<details class="note"><summary>${left.notes.length === 1 ? "1 thing is" : `${left.notes.length} things are`} other than as listed</summary><${Notes} notes=${left.notes} /></details>`}
		${format && own.value && !left.text ? html`<p class="note warned">This format cannot express the tool.</p>`
			: right ? html`<${Diff} before=${right.text} now=${left.text} label="The difference of the definitions" />`
				: html`<pre tabindex="0" aria-label="Definition"><${Long} text=${left.text || "…"} most=${mostText} /></pre>`}`;
}

export const Notes = ({ notes }) => (notes?.length ? html`<ul class="notes">${notes.map((n, i) => html`<li key=${i}>${n.path && html`<code>${n.path}</code> `}${n.text} <small>${n.rule}</small></li>`)}</ul>` : null);

const moods = { ok: "good", repaired: "warn", impossible: "bad" };

// Providers is what lint says of a tool, and its price.
export function Providers({ name }) {
	const { value, error } = useRead("tool", { name });
	if (error) return html`<p class="failed" role="alert">${error}</p>`;
	if (!value) return html`<p class="muted">…</p>`;
	return html`${value.hints.length > 0 && html`<h3>What the definition says</h3><${Notes} notes=${value.hints} />`}
		<div class="scroll" tabindex="0" role="region" aria-label="Providers"><table><thead><tr><th>Provider</th><th>Verdict</th><th class="num">Tokens</th><th>Name there</th></tr></thead>
			<tbody>${value.verdicts.flatMap((v) => v.providers.map((p, i) => html`<tr key=${p}><td>${p}</td><td><span class=${`tag ${moods[v.status]}`}>${v.status}</span></td><td class="num">${v.status === "impossible" ? "" : v.tokens[i]}</td><td>${v.name !== name && html`<code>${v.name}</code>`}</td></tr>`))}</tbody></table></div>
		${value.verdicts.filter((v) => v.notes.length).map((v) => html`<div key=${v.providers[0]}><h3>${v.providers.join(", ")}</h3><${Notes} notes=${v.notes} /></div>`)}
		<p class="muted">Tokens are estimated, for each request that has the tool: the bytes of the definition, divided by 4.</p>`;
}
