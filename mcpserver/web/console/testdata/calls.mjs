// The calls that the console follows, over connections that are lost.
import assert from "node:assert/strict";
import { follow } from "./api.js";
import { Calls, mood } from "./calls.js";

// A call that was canceled has neither worked nor failed.
assert.deepEqual(["ok", "canceled", "input_required", "denied"].map(mood), ["good", "warn", "warn", "bad"]);

// Contents stay when the connection is made anew, unless it is to a bridge that has started again.
const calls = new Calls();
const call = (number, time) => ({ number, call: { time } });
const numbers = () => calls.all.map((c) => c.number);
calls.take("begin", []);
calls.take("calls", [call(1, "10:00"), call(2, "10:01")]);
calls.take("contents", [{ number: 2, arguments: { a: 1 } }]);
calls.take("begin", []);
calls.take("begin", []);
calls.take("calls", [call(1, "10:00"), call(2, "10:01"), call(3, "10:02")]);
assert.deepEqual([numbers(), calls.contents.get(2)?.arguments], [[3, 2, 1], { a: 1 }]);
const before = calls.contents;
calls.take("begin", []);
calls.take("calls", [call(1, "11:00"), call(2, "11:01")]);
assert.deepEqual([numbers(), calls.contents.size], [[2, 1], 0]);
assert.deepEqual(before.get(2)?.arguments, { a: 1 }); // a list that was paused has its own

// A stream that was answered with an error is asked for again, until it is not needed any more.
let again, cleared = 0;
const made = [];
globalThis.setTimeout = (f) => { again = f; return 5; };
globalThis.clearTimeout = (timer) => { if (timer === 5) cleared++; };
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
globalThis.EventSource = class {
  static CLOSED = 2;
  readyState = 1;
  constructor() { made.push(this); }
  addEventListener() {}
  close() { this.readyState = 2; }
};
const states = [];
const stop = follow(false, () => {}, (state) => states.push(state));
made[0].readyState = 0; // the browser connects again
made[0].onerror();
assert.deepEqual([made.length, again], [1, undefined]);
made[0].readyState = 2;
made[0].onerror();
again();
assert.equal(made.length, 2);
made[1].onopen();
assert.deepEqual(states, ["lost", "lost", "live"]);
made[1].readyState = 2;
made[1].onerror();
cleared = 0;
stop();
assert.equal(cleared, 1);
