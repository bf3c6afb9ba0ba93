// Markdown as elements of the page. Nothing in it becomes HTML: what is not Markdown is text. Images are not
// loaded, but named.
import { html, useMemo } from "./html.js";
import { Long } from "./format.js";

// Bounds, as some expressions below take the square of a length: more is shown as text.
const most = 100_000; // characters of a text
const longest = 2000; // characters of a line
const paragraph = 4000; // characters of what stands in a block
const widest = 100; // cells of a row; others are not shown

// looksLike reports whether a text has marks of Markdown.
export const looksLike = (text) => text.length <= most && /^(#{1,6} |[-*+] \S|\d+[.)] \S|> |```|\|.*\|\s*$)|\*\*[^*\n]+\*\*|\[[^\]\n]+\]\(https?:/m.test(text.slice(0, paragraph));

export function Markdown({ text }) {
	const shown = useMemo(() => (text.length > most ? html`<pre><${Long} text=${text} most=${most} /></pre>` : blocks(text.split(/\r?\n/), 0)), [text]);
	return html`<div class="markdown">${shown}</div>`;
}

const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const special = /^(#{1,6}\s|```|~~~|>|\s*([-*+]|\d{1,9}[.)])\s+\S|\s*(-{3,}|\*{3,}|_{3,})\s*$)/;

// blocks returns the elements of lines.
function blocks(lines, depth) {
	const all = [];
	for (let i = 0; i < lines.length;) {
		const line = lines[i];
		if (line.length > longest) {
			all.push(html`<p>${line}</p>`);
			i++;
			continue;
		}
		const fence = /^\s*(```+|~~~+)/.exec(line);
		const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
		if (!line.trim()) { i++; continue; }
		if (fence) {
			let end = i + 1;
			while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end++;
			all.push(html`<pre>${lines.slice(i + 1, end).join("\n")}</pre>`);
			i = end + 1;
		} else if (heading) {
			all.push(html`<p class=${`heading h${heading[1].length}`} role="heading" aria-level=${Math.min(6, heading[1].length + 3)}>${inline(heading[2])}</p>`);
			i++;
		} else if (/^\s*(-{3,}|\*{3,}|_{3,})\s*$/.test(line)) {
			all.push(html`<hr />`);
			i++;
		} else if (line.startsWith(">") && depth < 6) {
			let end = i;
			while (end < lines.length && lines[end].startsWith(">")) end++;
			all.push(html`<blockquote>${blocks(lines.slice(i, end).map((l) => l.replace(/^> ?/, "")), depth + 1)}</blockquote>`);
			i = end;
		} else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test((lines[i + 1] ?? "").slice(0, longest))) {
			let end = i + 2;
			while (end < lines.length && lines[end].includes("|")) end++;
			all.push(table(lines[i], lines.slice(i + 2, end)));
			i = end;
		} else if (item.test(line) && depth < 6) {
			const end = endOfList(lines, i);
			all.push(list(lines.slice(i, end), depth));
			i = end;
		} else {
			let end = i + 1;
			while (end < lines.length && lines[end].trim() && lines[end].length <= longest && !special.test(lines[end])) end++;
			all.push(html`<p>${inline(lines.slice(i, end).join("\n"))}</p>`);
			i = end;
		}
	}
	return all;
}

// endOfList returns where a list ends: at a line that is neither an item nor indented.
function endOfList(lines, from) {
	let end = from + 1;
	while (end < lines.length && (item.test(lines[end]) || /^\s+\S/.test(lines[end]) || !lines[end].trim() && item.test(lines[end + 1] ?? ""))) end++;
	return end;
}

function list(lines, depth) {
	const indent = item.exec(lines[0])[1].length, items = [];
	for (const line of lines) {
		const m = item.exec(line);
		if (m && m[1].length <= indent) items.push([m[3]]);
		else items.at(-1).push(line.slice(Math.min(line.search(/\S|$/), indent + 2)));
	}
	const rows = items.map((own) => html`<li>${own.length === 1 ? inline(own[0]) : blocks(own, depth + 1)}</li>`);
	return /\d/.test(item.exec(lines[0])[2]) ? html`<ol start=${parseInt(item.exec(lines[0])[2], 10)}>${rows}</ol>` : html`<ul>${rows}</ul>`;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/, widest).map((c) => inline(c.trim().replaceAll("\\|", "|")));

function table(head, rows) {
	return html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><thead><tr>${cells(head).map((c) => html`<th>${c}</th>`)}</tr></thead>
		<tbody>${rows.map((r) => html`<tr>${cells(r).map((c) => html`<td>${c}</td>`)}</tr>`)}</tbody></table></div>`;
}

const marks = /(`+)([^`]+?)\1|!\[([^\]\n]*)\]\(([^)\s]*)[^)\n]*\)|\[([^\]\n]+)\]\(([^)\s]+)[^)\n]*\)|\*\*([^*\n]+)\*\*|__([^_\n]+)__|(?<![\w*])[*_]([^*_\n]+)[*_](?![\w*])|~~([^~\n]+)~~|(https?:\/\/[^\s<>()"']+[^\s<>()"'.,;:!?])/;

// inline returns the elements of a text within a block.
function inline(text, depth = 0) {
	const all = [];
	if (text.length > paragraph) return [text];
	for (let m; depth < 4 && (m = marks.exec(text)); text = text.slice(m.index + m[0].length)) {
		all.push(text.slice(0, m.index));
		const [, , code, alt, image, label, href, strong, strong2, soft, struck, bare] = m;
		if (code !== undefined) all.push(html`<code>${code}</code>`);
		else if (image !== undefined) all.push(html`<span class="muted">[image: ${alt || image}]</span>`);
		else if (href !== undefined) all.push(link(href, inline(label, depth + 1), m[0]));
		else if (strong ?? strong2) all.push(html`<b>${inline(strong ?? strong2, depth + 1)}</b>`);
		else if (soft) all.push(html`<i>${inline(soft, depth + 1)}</i>`);
		else if (struck) all.push(html`<s>${struck}</s>`);
		else all.push(link(bare, bare, bare));
	}
	return [...all, text];
}

// link leads to another site only, and says where to.
function link(href, shown, text) {
	let url;
	try { url = new URL(href); } catch { return text; }
	if (!["http:", "https:", "mailto:"].includes(url.protocol)) return text;
	return html`<a href=${url.href} title=${url.href} target="_blank" rel="noopener noreferrer nofollow">${shown}</a>`;
}
