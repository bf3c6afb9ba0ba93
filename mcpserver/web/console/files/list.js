// Lists of any length: only the rows that are seen are in the document.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";

// List shows items as rows of one height. chosen is the key of the item that is open; choose is called with
// another one. stay keeps the view where it is when items come at the top.
export function List({ items, height, keyOf, row, chosen, choose, label, empty }) {
	const box = useRef(null);
	const [view, setView] = useState({ top: 0, size: 600 });
	const before = useRef({ first: null, count: 0 });

	useEffect(() => {
		const watch = new ResizeObserver(([e]) => setView((v) => ({ ...v, size: e.contentRect.height })));
		watch.observe(box.current);
		return () => watch.disconnect();
	}, []);

	useLayoutEffect(() => {
		const { first } = before.current;
		if (first !== null && box.current.scrollTop > 0) {
			const moved = items.findIndex((i) => keyOf(i) === first);
			if (moved > 0) box.current.scrollTop += moved * height;
		}
		before.current = { first: items.length ? keyOf(items[0]) : null };
	}, [items]);

	const onKeyDown = (e) => {
		const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[e.key];
		if (e.key === "Escape") choose(null);
		if (step === undefined || !items.length) return;
		e.preventDefault();
		const at = items.findIndex((i) => keyOf(i) === chosen);
		const next = Math.min(items.length - 1, Math.max(0, at + step));
		choose(keyOf(items[next]));
		const top = next * height;
		if (top < box.current.scrollTop) box.current.scrollTop = top;
		if (top + height > box.current.scrollTop + view.size) box.current.scrollTop = top + height - view.size;
	};

	const first = Math.max(0, Math.floor(view.top / height) - 8);
	const last = Math.min(items.length, Math.ceil((view.top + view.size) / height) + 8);
	return html`
		<div class="list" ref=${box} role="listbox" tabindex="0" aria-label=${label} onKeyDown=${onKeyDown}
			aria-activedescendant=${chosen == null ? undefined : `row-${chosen}`}
			onScroll=${(e) => setView({ ...view, top: e.currentTarget.scrollTop })}>
			${items.length === 0 && html`<div class="empty">${empty}</div>`}
			<div class="rows" style=${{ height: `${items.length * height}px` }}>
				${items.slice(first, last).map((item, i) => {
					const key = keyOf(item);
					return html`<div key=${key} id=${`row-${key}`} role="option" aria-selected=${key === chosen} class="row"
						aria-posinset=${first + i + 1} aria-setsize=${items.length}
						style=${{ top: `${(first + i) * height}px`, height: `${height}px` }} onClick=${() => choose(key)}>${row(item)}</div>`;
				})}
			</div>
		</div>`;
}
