// Tools, prompts and resources as the operator sees them: the list, and what one of them is and does.
import { html, useEffect, useMemo, useState } from "./html.js";
import { read } from "./api.js";
import { Long, Tree, clip, plain, visible } from "./format.js";
import { List } from "./list.js";
import { Panel } from "./panel.js";
import { Outcome, Run, useRun } from "./run.js";
import { Tabs } from "./tabs.js";
import { App, pageOf } from "./apps.js";
import { Definition, Providers } from "./definition.js";

const kinds = { tools: "Tools", prompts: "Prompts", resources: "Resources", templates: "Templates" };

// textOf is what a search looks through, in small letters.
const textOf = (i) => `${i.name} ${i.server} ${i.definition.title ?? ""} ${i.definition.description ?? ""}`.toLowerCase();

export function ToolsView({ url, go }) {
	const kind = kinds[url.kind] ? url.kind : "tools";
	const [items, setItems] = useState(null);
	const [error, setError] = useState("");
	useEffect(() => {
		let over = false;
		setItems(null);
		read("items", { kind }).then((all) => { if (!over) { setItems(all.map((i) => ({ ...i, text: textOf(i) }))); setError(""); } }, (e) => over || setError(e.message));
		return () => { over = true; };
	}, [kind]);
	const q = (url.q ?? "").toLowerCase();
	const shown = useMemo(() => (items ?? []).filter((i) => (!q || i.text.includes(q)) && (!url.server || i.server === url.server)), [items, q, url.server]);
	const servers = useMemo(() => [...new Set((items ?? []).map((i) => i.server))].sort(), [items]);
	const chosen = useMemo(() => (items ?? []).find((i) => i.name === url.name), [items, url.name]);
	return html`
		<div class="bar">
			<h1 class="unseen">Tools, prompts and resources</h1>
			<input type="search" placeholder=${`Search ${kind}`} aria-label=${`Search ${kind}`} value=${url.q ?? ""} onInput=${(e) => go({ q: e.target.value })} />
			<${Tabs} label="Kinds" all=${kinds} chosen=${kind} choose=${(k) => go({ kind: k === "tools" ? "" : k, name: "", part: "", server: "" })} />
			${(servers.length > 1 || url.server) && html`<select aria-label="Server" value=${url.server ?? ""} onChange=${(e) => go({ server: e.target.value })}><option value="">all servers</option>${servers.map((s) => html`<option key=${s} value=${s}>${s || "lent by clients"}</option>`)}</select>`}
			<span class="gap"></span><span class="count" role="status">${items ? `${shown.length} ${shown.length === 1 ? kind.slice(0, -1) : kind}` : ""}</span>
		</div>
		${error && html`<p class="note failed" role="alert">${error}</p>`}
		<div class=${chosen ? "split open" : "split"}>
			<div class="table items">
				<${List} items=${shown} height=${52} keyOf=${(i) => i.name} label=${kinds[kind]} chosen=${url.name} choose=${(name) => go({ name: name ?? "", part: "" })}
					empty=${!items ? "…" : items.length ? "Nothing matches." : `There are no ${kind}.`}
					row=${(i) => html`<span class="what"><b>${clip(visible(i.name), 300)}</b> <small>${i.server || "lent"}</small></span>
						<span class="about">${clip(plain(i.definition.description ?? i.definition.title), 300)}</span>`} />
			</div>
			${chosen && html`<${Item} key=${kind + chosen.name} ...${{ item: chosen, items, kind, url, go }} close=${() => go({ name: "", part: "" })} />`}
		</div>`;
}

const hints = { readOnlyHint: "reads only", destructiveHint: "may destroy", idempotentHint: "repeatable", openWorldHint: "open world" };
const toolParts = { call: "Call", definition: "Definition", providers: "Providers" };

function Item({ item, items, kind, url, go, close }) {
	const d = item.definition, part = toolParts[url.part] ? url.part : "call";
	const said = Object.entries(hints).filter(([key]) => d.annotations?.[key]);
	return html`<${Panel} label=${item.name} title=${item.name} close=${close}>
		<p class="muted">${[item.server || "lent by a client", item.own && item.own !== item.name && `named ${item.own} there`, clip(plain(d.title), 300), clip(plain(d.mimeType), 300)].filter(Boolean).join(" · ")} ${said.map(([key, text]) => html`<span class="tag" key=${key}>${text}</span> `)}
			${item.untrusted && html`<span class="tag warn">not trusted</span>`}</p>
		<p class="description"><${Long} text=${d.description} /></p>
		${kind === "tools" ? html`
			<p><a href=${`?view=clients&part=why&tool=${encodeURIComponent(item.name)}`}>Which client sees it, and why?</a></p>
			<${Tabs} label="Of the tool" all=${toolParts} chosen=${part} choose=${(p) => go({ part: p === "call" ? "" : p })} />
			${part === "call" && html`<${Run} of=${item.name} title="Call" schema=${d.inputSchema ?? {}} method="tools/call" params=${(args) => ({ name: item.name, arguments: args })}
				shown=${pageOf(d) ? (params, result) => html`<${App} ...${{ item, items, args: params.arguments, result }} />` : undefined} />`}
			${part === "definition" && html`<${Definition} ...${{ item, items, url, go }} />`}
			${part === "providers" && html`<${Providers} name=${item.name} />`}`
		: html`
			${kind === "prompts" && html`<${Run} of=${item.name} title="Get" schema=${schemaOf(d.arguments)} method="prompts/get" params=${(args) => ({ name: item.name, arguments: args })} />`}
			${kind === "resources" && html`<${Resource} uri=${item.name} />`}
			${kind === "templates" && html`<${Template} uri=${item.name} />`}
			<h3>Definition</h3><${Tree} value=${d} open=${1} />`}
	<//>`;
}

// schemaOf is the JSON Schema of a prompt's arguments, as far as they are what they should be.
function schemaOf(given) {
	const all = (Array.isArray(given) ? given : []).filter((a) => typeof a?.name === "string");
	return {
		type: "object", required: all.filter((a) => a.required).map((a) => a.name),
		properties: Object.fromEntries(all.map((a) => [a.name, { type: "string", title: a.title, description: a.description }])),
	};
}

function Resource({ uri }) {
	const { state, run } = useRun(`resources/read ${uri}`);
	return html`<p class="buttons"><button class="primary" aria-disabled=${state?.running} onClick=${() => state?.running || run("resources/read", { uri }, uri)}>Read</button></p><${Outcome} state=${state} />`;
}

// Template reads a resource of a URI template, of which simple expressions are fields (RFC 6570, level 1).
function Template({ uri }) {
	const names = [...uri.matchAll(/\{([\w.]+)\}/g)].map((m) => m[1]), simple = !/\{[^\w]/.test(uri) && names.length > 0;
	const schema = { type: "object", required: simple ? names : ["uri"], properties: simple ? Object.fromEntries(names.map((n) => [n, { type: "string" }])) : { uri: { type: "string", default: uri } } };
	const expand = (args) => (simple ? uri.replace(/\{([\w.]+)\}/g, (_, n) => encodeURIComponent(args[n] ?? "")) : args.uri);
	return html`<${Run} of=${uri} title="Read" schema=${schema} method="resources/read" params=${(args) => ({ uri: expand(args) })} />`;
}
