// A form for a JSON Schema. It holds a value of JSON, of which undefined members are not there.
import { html, useRef, useState } from "./html.js";
import { Long, clip, visible } from "./format.js";
import { giveBack } from "./hooks.js";
import { alternatives, fits, initial, kindOf, limits, nullable, requiredOf, resolve, titleOf } from "./schema.js";

const mostFields = 100; // of an object that are shown at first, as each costs time at each stroke of a key

// Fields are the inputs of an object's properties, but for those whose only value is there already. Of many, those
// that are needed come first, and the others are found by name.
export function Fields({ schema, root, value, put, path }) {
	const [shown, setShown] = useState(mostFields);
	const [sought, setSought] = useState("");
	const s = resolve(schema, root), required = new Set(requiredOf(s));
	const object = value ?? {}, own = (name) => (Object.hasOwn(object, name) ? object[name] : undefined);
	const fixed = ([name, p]) => required.has(name) && own(name) !== undefined && resolve(p, root).const !== undefined;
	let fields = Object.entries(s.properties ?? {}).filter((f) => !fixed(f));
	const many = fields.length > mostFields, all = fields.length;
	if (many) fields = [true, false].flatMap((needed) => fields.filter(([name]) => required.has(name) === needed)).filter(([name]) => name.toLowerCase().includes(sought.toLowerCase()));
	return html`${many && html`<input type="search" aria-label="Find a field" placeholder=${`Find one of ${all} fields`} value=${sought} onInput=${(e) => setSought(e.target.value)} />`}
		${fields.slice(0, shown).map(([name, p]) => html`<${Field} key=${name} schema=${p} root=${root} name=${name} needed=${required.has(name)} value=${own(name)} path=${`${path}.${name}`}
			put=${(v) => put(v === undefined ? without(object, name) : { ...object, [name]: v })} />`)}
		${fields.length > shown && html`<button type="button" class="add" onClick=${() => setShown(shown + mostFields)}>${Math.min(mostFields, fields.length - shown)} more of ${fields.length - shown}</button>`}`;
}

function without(object, name) {
	const { [name]: _, ...rest } = object;
	return rest;
}

// Field is one value with its label: simple, or a group of others.
function Field({ schema, root, name, needed, value, put, path, remove }) {
	const s = resolve(schema, root), all = alternatives(s, root);
	const guess = Math.max(0, all.findIndex((a) => value !== undefined && fits(value, a, root)));
	const [picked, setPicked] = useState(guess);
	const at = value !== undefined && !fits(value, all[Math.min(picked, all.length - 1)], root) ? guess : Math.min(picked, all.length - 1);
	const own = all[at], kind = kindOf(own);
	const pick = (i) => { setPicked(i); put(initial(all[i], root, true)); };
	const group = kind === "object" || kind === "array";
	const about = own.description ?? s.description;
	const label = clip(visible(name), 200);
	const more = [limits(own), nullable(s, root) && "may be null"].filter(Boolean).join(", ");
	const choice = all.length > 1 && html`<select class="which" aria-label=${`Which kind of ${name}`} value=${String(at)} onChange=${(e) => pick(Number(e.target.value))}>
		${all.map((a, i) => html`<option key=${i} value=${String(i)}>${titleOf(a)}</option>`)}</select>`;
	const hint = (about || more) && html`<small class="hint" id=${`${path}-hint`}>${about && html`<${Long} text=${about} />`}${about && more && html`<br />`}${more}</small>`;
	const off = remove && html`<button type="button" class="plain" aria-label=${`Remove ${name}`} onClick=${remove}>✕</button>`;
	if (group) {
		const there = value !== undefined;
		return html`<fieldset><legend>${label}${needed ? " *" : ""} ${choice} ${off}
				${(!needed || !there) && !remove && html`<button type="button" class="chip" aria-expanded=${there} onClick=${() => put(there ? undefined : initial(own, root, true) ?? {})}>${there ? "leave out" : "add"}</button>`}</legend>${hint}
			${there && (kind === "object" ? html`<${Fields} key=${at} schema=${own} root=${root} value=${value} put=${put} path=${path} />` : html`<${Items} key=${at} ...${{ schema: own, root, name, value, put, path }} />`)}</fieldset>`;
	}
	return html`<div class="field"><div class="label"><label for=${path}>${label}${needed ? " *" : ""} <small>${kind === "json" ? "JSON" : kind === "const" || kind === "enum" ? "" : kind}</small></label>${choice}${off}</div>
		<${Input} key=${at} id=${path} ...${{ kind, schema: own, value, put, needed }} described=${hint ? `${path}-hint` : undefined} />${hint}</div>`;
}

// Items are the elements of an array: choices as boxes, all else as fields that are added one by one.
function Items({ schema, root, name, value, put, path }) {
	const all = Array.isArray(value) ? value : [], of = resolve(schema.items ?? {}, root);
	const add = useRef(null), keys = useRef([]).current, last = useRef(0); // of the elements: what a field shows goes with its own
	while (keys.length < all.length) keys.push(++last.current);
	keys.length = all.length;
	if (Array.isArray(of.enum) && of.enum.length <= 20 && schema.uniqueItems) {
		const has = (v) => all.some((x) => JSON.stringify(x) === JSON.stringify(v));
		return html`<div class="boxes">${of.enum.map((v) => html`<label key=${v} class="check"><input type="checkbox" checked=${has(v)} onChange=${(e) => put(of.enum.filter((x) => (x === v ? e.target.checked : has(x))))} /> ${String(v)}</label>`)}</div>`;
	}
	const full = schema.maxItems !== undefined && all.length >= schema.maxItems;
	const remove = (i) => { keys.splice(i, 1); put(all.filter((_, k) => k !== i)); giveBack(add.current); };
	return html`${all.map((v, i) => html`<${Field} key=${keys[i]} schema=${of} root=${root} name=${`${name} ${i + 1}`} needed=${true} value=${v === null ? undefined : v} path=${`${path}.${i}`}
			put=${(next) => put(all.map((x, k) => (k === i ? next ?? null : x)))} remove=${() => remove(i)} />`)}
		<button ref=${add} type="button" class="add" aria-disabled=${full} onClick=${() => full || put([...all, initial(of, root, true) ?? empty(of)])}>+ ${name}</button>`;
}

// empty is a new element of an array, which null stands for while nothing is entered.
const empty = (s) => (kindOf(s) === "string" ? "" : kindOf(s) === "boolean" ? false : null);

function Input({ id, kind, schema, value, put, needed, described }) {
	const shared = { id, required: needed, "aria-describedby": described };
	switch (kind) {
		case "const":
			return html`<select ...${shared} value=${value === undefined ? "" : "1"} onChange=${(e) => put(e.target.value ? schema.const : undefined)}>${!needed && html`<option value=""></option>`}<option value="1">${String(schema.const)}</option></select>`;
		case "enum": {
			const at = schema.enum.findIndex((v) => JSON.stringify(v) === JSON.stringify(value));
			return html`<select ...${shared} value=${at < 0 ? "" : String(at)} onChange=${(e) => put(e.target.value === "" ? undefined : schema.enum[e.target.value])}>
				<option value=""></option>${schema.enum.map((v, i) => html`<option key=${i} value=${String(i)}>${typeof v === "string" ? v : JSON.stringify(v)}</option>`)}</select>`;
		}
		case "boolean":
			return html`<select ...${shared} value=${value === undefined ? "" : String(value)} onChange=${(e) => put({ true: true, false: false }[e.target.value])}><option value=""></option><option value="true">true</option><option value="false">false</option></select>`;
		case "integer": case "number":
			return html`<input type="number" ...${shared} step=${kind === "integer" ? schema.multipleOf ?? 1 : "any"} min=${schema.minimum} max=${schema.maximum} value=${value ?? ""} onInput=${(e) => put(e.target.value === "" ? undefined : Number(e.target.value))} />`;
		case "string":
			if (schema.format === "date") return html`<input type="date" ...${shared} value=${value ?? ""} onInput=${(e) => put(e.target.value || undefined)} />`;
			return html`<textarea rows="1" ...${shared} minlength=${schema.minLength} maxlength=${schema.maxLength} value=${value ?? ""} onInput=${(e) => put(e.target.value === "" && !needed ? undefined : e.target.value)}></textarea>`;
	}
	return html`<${Raw} ...${{ shared, value, put }} />`;
}

// Raw is a value as JSON. While the text is not JSON, it is marked, and the form is not sent.
function Raw({ shared, value, put }) {
	const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
	const take = (e) => {
		setText(e.target.value);
		try {
			put(e.target.value.trim() === "" ? undefined : JSON.parse(e.target.value));
			e.target.setCustomValidity("");
		} catch (fault) {
			e.target.setCustomValidity(`This is not JSON: ${fault.message}`);
		}
	};
	return html`<textarea rows="2" class="json" spellcheck="false" placeholder="JSON" ...${shared} value=${text} onInput=${take}></textarea>`;
}
