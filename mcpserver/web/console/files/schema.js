// What a JSON Schema says about the values that a form is for.

// A schema may contain itself, and more than once: work on it is bounded.
const mostReferences = 60; // that are followed for one schema
const mostInitial = 200, deepestInitial = 8; // schemas for one value to begin with, and levels of it

const mostChoices = 1000; // of an enum; one with more is entered as other values are

const list = (v) => (Array.isArray(v) ? v : []);

// requiredOf returns the names of the members that an object must have.
export const requiredOf = (s) => list(s.required);

const resolved = new WeakMap(); // by schema, as forms ask again at each stroke of a key

// resolve returns a schema without references and allOf at its top. root is what references point into.
export function resolve(schema, root) {
	if (schema === null || typeof schema !== "object") return {};
	let own = resolved.get(schema);
	if (!own) resolved.set(schema, own = followed(schema, root, { count: mostReferences }));
	return own;
}

function followed(schema, root, left) {
	if (schema === null || typeof schema !== "object" || left.count-- <= 0) return {};
	if (typeof schema.$ref === "string") {
		const { $ref, ...rest } = schema;
		return { ...followed(pointed(root, $ref), root, left), ...rest };
	}
	if (!Array.isArray(schema.allOf)) return schema;
	const { allOf, ...rest } = schema;
	return [...allOf.map((s) => followed(s, root, left)), rest].reduce((all, s) => ({
		...all, ...s,
		...(all.properties || s.properties ? { properties: { ...all.properties, ...s.properties } } : {}),
		...(all.required || s.required ? { required: [...new Set([...requiredOf(all), ...requiredOf(s)])] } : {}),
	}), {});
}

// pointed returns what a reference within a document points to.
function pointed(root, ref) {
	try {
		return ref.startsWith("#") ? decodeURIComponent(ref.slice(1)).split("/").slice(1).reduce((at, key) => at?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], root) : {};
	} catch {
		return {}; // it is not escaped as URIs are
	}
}

const types = (s) => (Array.isArray(s.type) ? s.type : s.type ? [s.type] : []);

// alternatives returns the schemas of which a value fits one: oneOf, anyOf, or one for each type. What is null
// alone is left out, as an empty field says the same.
export function alternatives(schema, root) {
	const of = Array.isArray(schema.oneOf) ? schema.oneOf : schema.anyOf;
	const { oneOf, anyOf, ...rest } = schema;
	const all = Array.isArray(of) ? of.map((s) => resolve({ allOf: [rest, resolve(s, root)] }, root))
		: types(schema).length > 1 ? types(schema).map((type) => ({ ...schema, type })) : [schema];
	const some = all.filter((s) => !(types(s).length === 1 && types(s)[0] === "null"));
	return some.length ? some : all;
}

// nullable reports whether null is a value of a schema.
export function nullable(schema, root) {
	if (types(schema).includes("null")) return true;
	return [...list(schema.oneOf), ...list(schema.anyOf)].some((s) => types(resolve(s, root)).includes("null"));
}

// kindOf returns how a value of one alternative is entered.
export function kindOf(s) {
	if (s.const !== undefined) return "const";
	if (Array.isArray(s.enum) && s.enum.length <= mostChoices) return "enum";
	const type = types(s).find((t) => t !== "null") ?? (s.properties ? "object" : s.items ? "array" : "");
	if (type === "object") return s.properties && Object.keys(s.properties).length ? "object" : "json";
	if (type === "array") return s.prefixItems || Array.isArray(s.items) ? "json" : "array";
	return ["string", "number", "integer", "boolean"].includes(type) ? type : "json";
}

// titleOf names an alternative.
export function titleOf(s) {
	const kind = kindOf(s);
	if (s.title) return s.title;
	if (kind === "const") return JSON.stringify(s.const);
	const fixed = Object.entries(s.properties ?? {}).find(([, p]) => p?.const !== undefined);
	if (fixed) return `${fixed[0]}: ${fixed[1].const}`;
	if (kind === "object") return [...new Set([...requiredOf(s), ...Object.keys(s.properties)])].slice(0, 3).join(", ");
	return { array: "list", json: types(s)[0] ?? "JSON", enum: "choice" }[kind] ?? kind;
}

// fits reports whether a value looks like one of an alternative.
export function fits(value, s, root) {
	switch (kindOf(s)) {
		case "const": return JSON.stringify(value) === JSON.stringify(s.const);
		case "enum": return s.enum.some((v) => JSON.stringify(v) === JSON.stringify(value));
		case "string": case "boolean": return typeof value === kindOf(s);
		case "number": return typeof value === "number";
		case "integer": return Number.isInteger(value);
		case "array": return Array.isArray(value);
		case "object":
			return value !== null && typeof value === "object" && !Array.isArray(value)
				&& Object.entries(s.properties).every(([k, p]) => resolve(p, root).const === undefined || Object.hasOwn(value, k) && value[k] === resolve(p, root).const)
				&& requiredOf(s).every((k) => Object.hasOwn(value, k) || resolve(s.properties[k], root).const === undefined);
	}
	return true;
}

// initial returns the value with which a form begins: what is fixed, the defaults, and objects that must be
// there. undefined is nothing.
export function initial(schema, root, required, left = { count: mostInitial }, depth = 0) {
	if (left.count-- <= 0 || depth > deepestInitial) return undefined;
	const s = resolve(schema, root);
	if (s.default !== undefined) return structuredClone(s.default);
	const first = alternatives(s, root)[0], kind = kindOf(first);
	if (!required) return undefined;
	if (kind === "const") return first.const;
	if (kind === "array") return Array.from({ length: Math.min(first.minItems ?? 0, 5) }, () => initial(first.items ?? {}, root, true, left, depth + 1) ?? null);
	if (kind !== "object") return undefined;
	return Object.fromEntries(Object.entries(first.properties).map(([k, p]) => [k, initial(p, root, requiredOf(first).includes(k), left, depth + 1)]).filter(([, v]) => v !== undefined));
}

// limits says in words what a schema wants beside the type.
export function limits(s) {
	const range = (least, most, what) => (least !== undefined && most !== undefined ? `${least} to ${most}${what}` : least !== undefined ? `at least ${least}${what}` : most !== undefined ? `at most ${most}${what}` : "");
	return [s.format, range(s.minimum, s.maximum, ""), s.exclusiveMinimum !== undefined && `more than ${s.exclusiveMinimum}`, s.exclusiveMaximum !== undefined && `less than ${s.exclusiveMaximum}`,
		s.multipleOf !== undefined && `a multiple of ${s.multipleOf}`, range(s.minLength, s.maxLength, " characters").replace(/ 1 characters$/, " 1 character"), range(s.minItems, s.maxItems, " items").replace(/ 1 items$/, " 1 item"),
		s.uniqueItems && "no item twice", s.pattern && `matches ${s.pattern}`].filter(Boolean).join(", ");
}
