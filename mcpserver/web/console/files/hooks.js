// What several views do in the same way: read a resource, and carry out actions.
import { useCallback, useEffect, useRef, useState } from "./html.js";
import { act, read } from "./api.js";

// useRead reads a resource, and again every so often (never for 0) while the page is seen.
export function useRead(name, values = {}, every = 0) {
	const [state, setState] = useState({ value: null, error: "" });
	const key = JSON.stringify([name, values]), wanted = useRef();
	wanted.current = key;
	const load = useCallback(() => {
		const put = (next) => { if (wanted.current === key) setState((s) => ({ value: s.at === key ? s.value : null, error: "", ...next, at: key })); };
		return read(name, values).then((value) => put({ value }), (e) => put({ error: e.message }));
	}, [key]);
	useEffect(() => {
		load();
		const timer = every && setInterval(() => document.hidden || load(), every);
		return () => clearInterval(timer);
	}, [load, every]);
	return { value: state.at === key ? state.value : null, error: state.at === key ? state.error : "", load };
}

// giveBack gives the focus to an element, or to the view, once the one that had it is no longer in the page. Only for
// the keyboard does what scrolls show that element: what a mouse points at stays where it is.
export const giveBack = (to) => setTimeout(() => {
	if (document.activeElement !== document.body) return;
	const next = to && to !== document.body && to.isConnected ? to : document.querySelector("main");
	next.focus({ preventScroll: true });
	if (next.matches(":focus-visible")) next.scrollIntoView({ block: "nearest" });
});

// useActions returns run, which carries out an action, and what the last one has said.
export function useActions(after) {
	const [told, setTold] = useState({ text: "", failed: false });
	const run = async (name, values, body) => {
		let answer = null;
		try {
			answer = await act(name, values, body);
			setTold({ text: answer.done ?? "", failed: false });
		} catch (e) {
			setTold({ text: e.message, failed: true });
		}
		await after?.();
		giveBack();
		return answer;
	};
	return [run, told];
}
