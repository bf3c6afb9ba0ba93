// The difference between two texts, line by line.
import { html, useMemo, useState } from "./html.js";
import { giveBack } from "./hooks.js";

const most = 4e6; // pairs of lines that are compared

// compare returns the lines of both texts, each with what it is: " " in both, "-" only before, "+" only now.
export function compare(before, now) {
	const [a, b] = [before, now].map((text) => (text ? text.split("\n") : []));
	let start = 0, end = 0;
	while (start < a.length && start < b.length && a[start] === b[start]) start++;
	while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
	const as = a.slice(start, a.length - end), bs = b.slice(start, b.length - end);
	const signed = (sign) => (text) => ({ sign, text });
	const middle = as.length * bs.length > most ? [...as.map(signed("-")), ...bs.map(signed("+"))] : shortest(as, bs);
	return [...a.slice(0, start).map(signed(" ")), ...middle, ...a.slice(a.length - end).map(signed(" "))];
}

// shortest keeps as many lines as both texts have in one order.
function shortest(a, b) {
	const width = b.length + 1, common = new Uint32Array((a.length + 1) * width);
	for (let i = a.length - 1; i >= 0; i--) {
		for (let j = b.length - 1; j >= 0; j--) {
			common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
		}
	}
	const lines = [];
	for (let i = 0, j = 0; i < a.length || j < b.length;) {
		if (i < a.length && j < b.length && a[i] === b[j]) lines.push({ sign: " ", text: a[i++] }), j++;
		else if (j === b.length || i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1]) lines.push({ sign: "-", text: a[i++] });
		else lines.push({ sign: "+", text: b[j++] });
	}
	return lines;
}

const context = 3; // lines that stay around a change

// Diff shows the difference between two texts. Long parts that are equal are folded.
export function Diff({ before, now, label }) {
	const [all, setAll] = useState(false);
	const lines = useMemo(() => compare(before.replace(/\n$/, ""), now.replace(/\n$/, "")), [before, now]);
	const near = useMemo(() => {
		const kept = new Set();
		lines.forEach((l, i) => { if (l.sign !== " ") for (let k = i - context; k <= i + context; k++) kept.add(k); });
		return kept;
	}, [lines]);
	if (!near.size) return html`<p class="note">There is no difference.</p>`;
	const rows = [];
	for (let i = 0; i < lines.length; i++) {
		if (all || near.has(i)) {
			rows.push(html`<div key=${i} class=${{ "-": "line-old", "+": "line-new" }[lines[i].sign] ?? ""}><span class="sign" aria-label=${{ "-": "before", "+": "now" }[lines[i].sign] ?? undefined}>${lines[i].sign}</span>${lines[i].text || " "}</div>`);
			continue;
		}
		let to = i;
		while (to < lines.length && !near.has(to)) to++;
		rows.push(html`<button key=${i} type="button" class="plain fold-lines" onClick=${(e) => { giveBack(e.currentTarget.parentElement); setAll(true); }}>… ${to - i} lines that are equal</button>`);
		i = to - 1;
	}
	return html`<div class="diff" role="region" aria-label=${label} tabindex="0">${rows}</div>`;
}
