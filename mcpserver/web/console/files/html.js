// Preact, as the console uses it. All files import it from here.
import { h, html as make } from "./preact.js";
export { render, useCallback, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./preact.js";

const children = new WeakMap(); // by the strings of a template: which of its values are children of an element

// html makes elements of a template. Preact takes any object among the children for an element, also one that a
// server has sent in place of a text: it becomes text here.
export function html(strings, ...values) {
	let own = children.get(strings);
	if (!own) children.set(strings, own = values.map((_, i) => !/(=|\.\.\.|<\/?)$/.test(strings[i])));
	return make(strings, ...values.map((v, i) => (own[i] ? child(v) : v)));
}

// json is a value as JSON. Browsers read values that are nested more deeply than they can write.
export function json(v) {
	try {
		return JSON.stringify(v);
	} catch {
		return "…";
	}
}

const longest = 1000; // characters of a word

function child(v) {
	if (typeof v === "string") return v.length > longest && /\S{1001}/.test(v) ? broken(v) : v;
	if (v === null || typeof v !== "object") return v;
	if (Array.isArray(v)) return v.map(child);
	return v.constructor === undefined ? v : child(json(v)); // JSON has no object without a constructor
}

// broken is a text that may be broken within its long words. To find where, browsers take the square of a word's
// length: minutes for one of 100 kB.
const broken = (text) => text.replace(/\S{200}(?=\S)/g, "$&\0").split("\0").flatMap((part) => [part, h("wbr")]);
