// What a form makes of a schema.
import assert from "node:assert/strict";
import { alternatives, kindOf, requiredOf, titleOf } from "./schema.js";

// Alternatives that only say which properties must be there have those of the whole.
const user = { type: "object", properties: { team: { type: "string" }, id: { type: "integer" }, mail: { type: "string" } }, required: ["team"], anyOf: [{ required: ["id"] }, { required: ["mail"] }] };
const all = alternatives(user, user);
assert.deepEqual(all.map((s) => [kindOf(s), Object.keys(s.properties), requiredOf(s), titleOf(s)]), [
  ["object", ["team", "id", "mail"], ["team", "id"], "team, id, mail"],
  ["object", ["team", "id", "mail"], ["team", "mail"], "team, mail, id"],
]);
