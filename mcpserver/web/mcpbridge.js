// mcpbridge.js connects a page to mcpbridge, and lends the page's tools to it.
//
//   import { connect } from "/mcpbridge.js";
//   const bridge = await connect();
//   await bridge.callTool("orders", { limit: 5 });
//
// One module without dependencies and without a build step, for browsers, bundlers and Node.
// It speaks MCP over WebSocket, in both eras: up to revision 2025-11-25 a connection begins with an
// initialize, since 2026-07-28 each request says in its _meta what that said.

const legacyRevision = "2025-11-25";
const modernRevision = "2026-07-28";
const metaPrefix = "io.modelcontextprotocol/";
const clientInfo = { name: "mcpbridge.js", version: "1" };

/** How long a lost connection may be away before what waits for it fails, in ms. */
const patience = 30_000;
/** The first and the longest wait between two attempts to connect, in ms. */
const firstWait = 250, longestWait = 30_000;
/** How long an attempt to connect may take, in ms. */
const connectTime = 15_000;
/** How long the bridge's first answers may take, in ms: it waits for its servers, by default for up to 31 s. */
const greetTime = 60_000;
/** How often one call may be asked something (2026-07-28, input_required). */
const mostRounds = 100;
/** On how many connections a prompt is sent that are lost before the bridge has it. */
const mostSent = 5;

/**
 * @typedef {Record<string, any>} JSONObject
 *
 * @typedef {object} Progress What a call says of its progress.
 * @property {number} progress
 * @property {number} [total]
 * @property {string} [message]
 *
 * @typedef {object} RequestOptions
 * @property {AbortSignal} [signal] Cancels the request where it runs.
 * @property {(progress: Progress) => void} [onProgress]
 *
 * @typedef {{name: string, description?: string, inputSchema: JSONObject} & JSONObject} BridgeTool A tool as tools/list has it.
 * @typedef {{content: JSONObject[], structuredContent?: JSONObject, isError?: boolean} & JSONObject} ToolResult
 *
 * @typedef {object} ExecuteOptions What a tool's function gets beside its input.
 * @property {AbortSignal} signal Aborted when the caller cancels the call.
 * @property {(progress: number, total?: number, message?: string) => void} progress Tells the caller how far the call is.
 *
 * @typedef {object} ToolAnnotations WebMCP's annotations.
 * @property {boolean} [readOnlyHint] Calls change nothing.
 * @property {boolean} [untrustedContentHint] Results have words of others.
 * @property {boolean} [consequentialHint] Calls have effects that cannot be taken back.
 * @property {boolean} [debugging] The tool is for developers, and not shown to models.
 *
 * @typedef {object} ModelContextTool A tool of the page, as WebMCP defines it.
 * @property {string} name
 * @property {string} [title]
 * @property {string} description
 * @property {JSONObject} [inputSchema]
 * @property {ToolAnnotations} [annotations]
 * @property {(input: any, options: ExecuteOptions) => any} execute Returns a text, a value, an MCP result, or a promise of one.
 *
 * @typedef {{uri: string, name?: string}} Root
 *
 * @typedef {object} ConnectOptions
 * @property {string | URL} [url] Of the bridge's /ws, or of that of a profile; default: that of the server that this module was loaded from.
 * @property {string | (() => string | Promise<string>)} [token] A bearer token, or what gets one for each connection.
 * @property {string | (() => string | Promise<string>)} [ticket] A ticket of /ws/ticket, which is good for one connection, or what gets one for each.
 * @property {"modern" | "legacy"} [era] Which MCP to speak; default: "modern", revision 2026-07-28.
 * @property {(params: JSONObject, options: {signal: AbortSignal}) => any} [onElicit] Asks the person: returns {action, content}.
 * @property {(params: JSONObject, options: {signal: AbortSignal}) => any} [onSample] Asks a model: returns an MCP sampling result.
 * @property {Root[] | (() => Root[] | Promise<Root[]>)} [roots]
 * @property {{name: string, version: string}} [clientInfo] What the page is called; default: "mcpbridge.js".
 * @property {JSONObject} [experimental] Capabilities beyond MCP's.
 * @property {boolean} [polyfill] Whether document.modelContext is defined where the browser has none; default: true.
 * @property {AbortSignal} [signal] Ends the connection.
 * @property {typeof WebSocket} [WebSocket] In place of the global one.
 *
 * @typedef {{verdict: "allow" | "deny" | "edit", reason?: string, arguments?: JSONObject}} Decision
 * @typedef {{type: string, seq?: number} & JSONObject} ChatEvent What docs/browser.md lists; "ask" also has decide(Decision).
 *
 * @typedef {object} ChatOptions
 * @property {string} [conversation] The id of one to continue, or "new"; default: that of the last prompt of this Bridge.
 * @property {string} [model] PROVIDER/MODEL
 * @property {(call: ChatEvent) => Decision | Decision["verdict"] | Promise<Decision | Decision["verdict"]>} [onAsk] Decides about a call; without it, decide of the event does.
 * @property {AbortSignal} [signal] Cancels the prompt.
 */

/** An error of the bridge, or of the connection to it. */
export class BridgeError extends Error {
  /**
   * @param {string} message
   * @param {string} code
   * @param {{number?: number, data?: any, outcomeUnknown?: boolean}} [more]
   */
  constructor(message, code, more = {}) {
    super(message);
    this.name = "BridgeError";
    /** "not_found", "denied", "unavailable", "timeout", "invalid", "unsupported" or "internal". */
    this.code = code;
    /** The code of JSON-RPC, if the bridge has answered. @type {number | undefined} */
    this.number = more.number;
    this.data = more.data;
    /** The connection was lost while the call was under way: it may have run, or not. */
    this.outcomeUnknown = more.outcomeUnknown ?? false;
  }
}

/** Connects to a bridge. @param {ConnectOptions} [options] @returns {Promise<Bridge>} */
export async function connect(options = {}) {
  if (options.polyfill !== false) installModelContext();
  const bridge = new Bridge(options);
  await bridge._begin();
  return bridge;
}

/**
 * @typedef {object} Call A request to the bridge that has no answer yet.
 * @property {number} id
 * @property {string} method
 * @property {JSONObject} params
 * @property {((progress: Progress) => void) | undefined} onProgress
 * @property {(result: any) => void} resolve
 * @property {(error: any) => void} reject
 * @property {boolean} sent On the present connection, or on one that was lost.
 * @property {number} rounds How often it was asked something.
 * @property {boolean} [repeated] It was sent before, on a connection that was lost.
 * @property {boolean} [internal] It belongs to the present connection.
 * @property {() => void} [ended] Called when it is settled.
 * @property {AbortController} [asking] Of the questions that it waits for.
 *
 * @typedef {object} Lent A tool of the page.
 * @property {ModelContextTool} tool
 * @property {JSONObject} definition As it goes to the bridge.
 * @property {(() => void) | undefined} taken Called when the bridge has it.
 * @property {((error: any) => void) | undefined} refused
 */

/**
 * A connection to a bridge, which is made anew when it is lost. Events: "toolschange", "promptschange",
 * "resourceschange", "resourceupdated" (detail: {uri}), "log" (detail: MCP's message) and "statechange".
 */
export class Bridge extends EventTarget {
  /** "connecting", "open", "waiting" (for the next attempt) or "closed". */
  state = "connecting";
  /** What the bridge says of itself: serverInfo, capabilities, instructions. @type {JSONObject} */
  server = {};

  /** @type {ConnectOptions} */ #options;
  /** @type {WebSocket | undefined} */ #socket;
  /** @type {Map<number, Call>} */ #calls = new Map();
  /** @type {Map<string, Lent>} */ #lent = new Map();
  /** @type {Map<any, AbortController>} */ #running = new Map(); // requests of the bridge by their ids
  /** @type {Set<string>} */ #exposed = new Set(); // the bridge's tools that are in document.modelContext
  /** @type {Set<string>} */ #watched = new Set(); // resources
  #lastId = 0;
  #subscription = 0; // the id of the subscriptions/listen in force
  #attempts = 0;
  #away = false; // for longer than patience
  #lending = false; // the tools are being sent
  #lendAgain = false;
  #tab = randomId(); // of this page as long as it is loaded
  /** @type {string | undefined} */ #conversation; // of the last prompt
  /** @type {any} */ #timer;
  /** @type {any} */ #patience;
  /** @type {(() => void)[]} */ #atEnd = [];

  /** @param {ConnectOptions} options */
  constructor(options) {
    super();
    this.#options = options;
  }

  /** Whether the connection is of the modern era. */
  get #modern() { return this.#options.era !== "legacy"; }

  // Connecting

  /** Connects for the first time. A failure is not tried again. */
  async _begin() {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    const stop = () => this.close();
    signal?.addEventListener("abort", stop, { once: true });
    this.#atEnd.push(() => signal?.removeEventListener("abort", stop));
    try {
      await this.#open();
    } catch (error) {
      this.close();
      throw error;
    }
    if (this.state === "closed") throw closedError();
    if (typeof window !== "undefined") this.#watchPage();
  }

  /** Tells the bridge which tab is looked at, and connects as soon as the network is back. */
  #watchPage() {
    const focused = () => { if (this.#lent.size > 0 && document.hasFocus()) this.#notify("notifications/mcpbridge/focused"); };
    const online = () => { if (this.state === "waiting") this.#reconnect(); };
    window.addEventListener("focus", focused);
    window.addEventListener("online", online);
    this.#atEnd.push(() => {
      window.removeEventListener("focus", focused);
      window.removeEventListener("online", online);
    });
  }

  /** Opens a connection and begins MCP on it. */
  async #open() {
    const { url, protocols } = await address(this.#options);
    if (this.state === "closed") throw closedError();
    const Socket = this.#options.WebSocket ?? globalThis.WebSocket;
    if (!Socket) throw new TypeError("there is no WebSocket here: give connect one as the option WebSocket");
    const socket = new Socket(url, protocols);
    this.#socket = socket;
    await opened(socket);
    socket.onmessage = (event) => { if (this.#socket === socket) this.#receive(event.data); };
    socket.onclose = (event) => this.#drop(socket, new BridgeError(`the bridge closed the connection${event.reason ? `: ${event.reason}` : ""}`, "unavailable"));
    const late = setTimeout(() => this.#drop(socket, new BridgeError("the bridge does not answer", "unavailable")), greetTime);
    try {
      await this.#greet();
    } catch (error) {
      this.#drop(socket, error);
      throw error;
    } finally {
      clearTimeout(late);
    }
    if (this.#socket !== socket) throw closedError();
    this.#becomeOpen();
  }

  /** Says who is there, in the words of the era, and asks to be told of changes. */
  async #greet() {
    if (this.#modern) {
      [this.server] = await Promise.all([this.#direct("server/discover", {}), this.#listen(true)]);
      return;
    }
    this.server = await this.#direct("initialize", {
      protocolVersion: legacyRevision, capabilities: this.#capabilities(), clientInfo: this.#options.clientInfo ?? clientInfo,
    });
    this.#write({ method: "notifications/initialized" });
    await Promise.all([...this.#watched].map((uri) => this.#direct("resources/subscribe", { uri }).catch(() => {})));
  }

  /** What waits is sent, and what may have got lost is asked for again. */
  #becomeOpen() {
    const again = this.#attempts > 0;
    this.#attempts = 0;
    this.#away = false;
    clearTimeout(this.#patience);
    for (const call of [...this.#calls.values()]) {
      if (!call.internal) this.#sendCall(call);
    }
    this.#setState("open"); // what its listeners call is sent at once, and not above a second time
    if (this.#lent.size > 0) this.#lend();
    if (!again) return;
    for (const kind of ["tools", "prompts", "resources"]) this.#emit(`${kind}change`);
    for (const uri of this.#watched) this.#emit("resourceupdated", { uri });
  }

  /** Ends a connection and what belongs to it. Another one follows if it was open. @param {WebSocket} socket @param {any} reason */
  #drop(socket, reason) {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#subscription = 0;
    socket.close();
    for (const controller of this.#running.values()) controller.abort(reason);
    this.#running.clear();
    for (const call of [...this.#calls.values()]) {
      if (call.internal) this.#settle(call, undefined, reason);
      else if (call.sent && call.rounds > 0) this.#settle(call, undefined, unknownOutcome(call)); // what it was asked for is forgotten
      else call.repeated = call.sent;
    }
    if (this.state !== "open") return;
    this.#patience = setTimeout(() => this.#giveUpWaiting(), patience);
    this.#wait();
  }

  /** Waits for the next attempt. */
  #wait() {
    this.#setState("waiting");
    this.#timer = setTimeout(() => this.#reconnect(), waitTime(this.#attempts++));
  }

  async #reconnect() {
    clearTimeout(this.#timer);
    if (this.state !== "waiting") return;
    this.#setState("connecting");
    try {
      await this.#open();
    } catch {
      if (/** @type {string} */ (this.state) !== "closed") this.#wait();
    }
  }

  /** What waits for the connection has waited long enough. */
  #giveUpWaiting() {
    if (this.state === "open" || this.state === "closed") return;
    this.#away = true;
    for (const call of [...this.#calls.values()]) if (!call.internal) this.#settle(call, undefined, call.sent ? unknownOutcome(call) : awayError());
  }

  /** Ends the connection, and all that waits for it. */
  close() {
    if (this.state === "closed") return;
    this.#setState("closed");
    clearTimeout(this.#timer);
    clearTimeout(this.#patience);
    for (const end of this.#atEnd.splice(0)) end();
    for (const controller of this.#running.values()) controller.abort(closedError());
    this.#running.clear();
    const socket = this.#socket;
    this.#socket = undefined;
    for (const call of [...this.#calls.values()]) this.#settle(call, undefined, closedError());
    for (const lent of this.#lent.values()) lent.refused?.(closedError());
    this.#lent.clear();
    socket?.close(1000);
  }

  // Calls

  /**
   * Calls a tool. The result may have isError; an error of the bridge is thrown.
   * @param {string} name @param {JSONObject} [args] @param {RequestOptions} [options] @returns {Promise<ToolResult>}
   */
  callTool(name, args = {}, options) { return this.request("tools/call", { name, arguments: args }, options); }

  /** @param {RequestOptions} [options] @returns {Promise<BridgeTool[]>} */
  listTools(options) { return this.#list("tools/list", "tools", options); }

  /** @param {RequestOptions} [options] @returns {Promise<JSONObject[]>} */
  listPrompts(options) { return this.#list("prompts/list", "prompts", options); }

  /** @param {RequestOptions} [options] @returns {Promise<JSONObject[]>} */
  listResources(options) { return this.#list("resources/list", "resources", options); }

  /** @param {RequestOptions} [options] @returns {Promise<JSONObject[]>} */
  listResourceTemplates(options) { return this.#list("resources/templates/list", "resourceTemplates", options); }

  /** @param {string} name @param {Record<string, string>} [args] @param {RequestOptions} [options] @returns {Promise<JSONObject>} */
  getPrompt(name, args = {}, options) { return this.request("prompts/get", { name, arguments: args }, options); }

  /** @param {string} uri @param {RequestOptions} [options] @returns {Promise<JSONObject>} */
  readResource(uri, options) { return this.request("resources/read", { uri }, options); }

  /** Makes changes of a resource "resourceupdated" events from when the promise resolves. @param {string} uri */
  async watchResource(uri) {
    this.#watched.add(uri);
    try {
      if (!this.#modern) await this.request("resources/subscribe", { uri });
      else if (!(await this.#listen()).includes(uri)) throw new BridgeError(`no server tells of changes of resource ${uri}`, "unsupported");
    } catch (error) {
      this.#watched.delete(uri);
      throw error;
    }
  }

  /** @param {string} uri */
  async unwatchResource(uri) {
    if (!this.#watched.delete(uri)) return;
    if (this.#modern) await this.#listen();
    else await this.request("resources/unsubscribe", { uri });
  }

  /**
   * Sends any request of MCP and returns its result. While the connection is lost it waits for the next one.
   * @param {string} method @param {JSONObject} [params] @param {RequestOptions} [options] @returns {Promise<any>}
   */
  request(method, params = {}, { signal, onProgress } = {}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.state === "closed") return reject(closedError());
      if (this.#away) return reject(awayError());
      const call = this.#newCall(method, params, resolve, reject);
      call.onProgress = onProgress;
      if (signal) {
        const abort = () => this.#cancel(call, signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        call.ended = () => signal.removeEventListener("abort", abort);
      }
      if (this.state === "open") this.#sendCall(call);
    });
  }

  /** @param {string} method @param {string} member @param {RequestOptions} [options] */
  async #list(method, member, options) {
    const all = [];
    for (let cursor; ;) {
      const page = await this.request(method, cursor === undefined ? {} : { cursor }, options);
      all.push(...page[member]);
      if (page.nextCursor === undefined) return all;
      cursor = page.nextCursor;
    }
  }

  /** A request that belongs to the present connection and ends with it. @param {string} method @param {JSONObject} params @returns {Promise<any>} */
  #direct(method, params) {
    return new Promise((resolve, reject) => {
      const call = this.#newCall(method, params, resolve, reject);
      call.internal = true;
      this.#sendCall(call);
    });
  }

  /** @param {string} method @param {JSONObject} params @param {(v: any) => void} resolve @param {(e: any) => void} reject @returns {Call} */
  #newCall(method, params, resolve, reject) {
    /** @type {Call} */ const call = { id: ++this.#lastId, method, params, resolve, reject, onProgress: undefined, sent: false, rounds: 0 };
    this.#calls.set(call.id, call);
    return call;
  }

  /** @param {Call} call */
  #sendCall(call) {
    const meta = { ...call.params._meta };
    if (call.onProgress) meta.progressToken = call.id;
    if (call.repeated) meta["mcpbridge/repeated"] = true; // the bridge decides whether it runs again
    call.sent = true;
    this.#write({ id: call.id, method: call.method, params: { ...call.params, _meta: meta } });
  }

  /** @param {Call} call @param {any} reason */
  #cancel(call, reason) {
    if (!this.#calls.has(call.id)) return;
    if (call.sent) this.#notify("notifications/cancelled", { requestId: call.id });
    this.#settle(call, undefined, reason);
  }

  /** @param {Call} call @param {any} result @param {any} [error] */
  #settle(call, result, error) {
    if (!this.#calls.delete(call.id)) return;
    call.ended?.();
    call.asking?.abort(error);
    if (error === undefined) call.resolve(result);
    else call.reject(error);
  }

  /**
   * Subscribes to what changes, in the modern era, in place of an earlier subscription, and returns the resources
   * that it has. A change before it is acknowledged is not told.
   * @param {boolean} [greeting] For the present connection alone. @returns {Promise<string[]>}
   */
  async #listen(greeting) {
    const params = { notifications: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [...this.#watched] } };
    const { resourceSubscriptions = [] } = await (greeting ? this.#direct("subscriptions/listen", params) : this.request("subscriptions/listen", params));
    return resourceSubscriptions;
  }

  /**
   * A subscriptions/listen holds, which is all the answer that it has until it ends.
   * @param {number} id @param {JSONObject} granted
   */
  #subscribed(id, granted) {
    const call = this.#calls.get(id);
    if (!call) return;
    const replaced = Math.min(id, this.#subscription); // of several at once the newest has what is wanted now
    if (replaced > 0) this.#notify("notifications/cancelled", { requestId: replaced });
    this.#subscription = Math.max(id, this.#subscription);
    this.#settle(call, granted);
  }

  // Messages

  /** @param {JSONObject} message */
  #write(message) {
    const socket = this.#socket;
    if (socket?.readyState !== 1) return;
    if (this.#modern && message.id !== undefined && message.method !== undefined) {
      const meta = message.params._meta;
      meta[`${metaPrefix}protocolVersion`] = modernRevision;
      meta[`${metaPrefix}clientInfo`] = this.#options.clientInfo ?? clientInfo;
      meta[`${metaPrefix}clientCapabilities`] = this.#capabilities();
    }
    socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  /** @param {string} method @param {JSONObject} [params] */
  #notify(method, params) { this.#write(params ? { method, params } : { method }); }

  #capabilities() {
    const { onElicit, onSample, roots, experimental } = this.#options;
    return {
      ...(onElicit && { elicitation: {} }), ...(onSample && { sampling: {} }), ...(roots && { roots: {} }), ...(experimental && { experimental }),
    };
  }

  /** @param {string} text */
  #receive(text) {
    const message = JSON.parse(text);
    for (const m of Array.isArray(message) ? message : [message]) {
      if (m.method === undefined) this.#answered(m);
      else if (m.id === undefined) this.#notified(m.method, m.params ?? {});
      else this.#asked(m);
    }
  }

  /** @param {JSONObject} m */
  async #answered(m) {
    const call = this.#calls.get(m.id);
    if (!call) return; // it has been canceled
    if (m.error) return this.#settle(call, undefined, remoteError(m.error, call));
    if (m.result.resultType === "complete") delete m.result.resultType; // which the legacy era does not have
    if (m.result.resultType !== "input_required") return this.#settle(call, m.result);
    if (++call.rounds > mostRounds) return this.#settle(call, undefined, new BridgeError(`${call.method} asks without end`, "internal"));
    const { inputRequests = {}, requestState } = m.result;
    const { signal } = call.asking = new AbortController();
    const socket = this.#socket;
    try {
      /** @type {JSONObject} */ const inputResponses = {};
      await Promise.all(Object.entries(inputRequests).map(async ([key, question]) => {
        inputResponses[key] = await this.#answer(question.method, question.params ?? {}, signal);
      }));
      call.asking = undefined;
      if (!this.#calls.has(call.id) || this.#socket !== socket) return;
      // A retry is a request of its own.
      this.#calls.delete(call.id);
      call.id = ++this.#lastId;
      this.#calls.set(call.id, call);
      call.params = { ...call.params, inputResponses, ...(requestState !== undefined && { requestState }) };
      this.#sendCall(call);
    } catch (error) {
      this.#settle(call, undefined, error);
    }
  }

  /** @param {string} method @param {JSONObject} params */
  #notified(method, params) {
    const subscription = params._meta?.[`${metaPrefix}subscriptionId`];
    switch (method) {
      case "notifications/subscriptions/acknowledged": return this.#subscribed(subscription, params.notifications);
      case "notifications/progress":
        try { this.#calls.get(params.progressToken)?.onProgress?.(/** @type {Progress} */ (params)); } catch (error) { reportError(error); }
        return;
      case "notifications/cancelled":
        this.#running.get(params.requestId)?.abort(new DOMException("the caller has canceled the call", "AbortError"));
        return;
    }
    if (subscription < this.#subscription) return; // another one has it as well
    switch (method) {
      case "notifications/tools/list_changed": return this.#emit("toolschange");
      case "notifications/prompts/list_changed": return this.#emit("promptschange");
      case "notifications/resources/list_changed": return this.#emit("resourceschange");
      case "notifications/resources/updated": return this.#emit("resourceupdated", { uri: params.uri });
      case "notifications/message": return this.#emit("log", params);
    }
  }

  /** Answers a request of the bridge. @param {JSONObject} m */
  async #asked(m) {
    const controller = new AbortController();
    const socket = this.#socket;
    this.#running.set(m.id, controller);
    let answer;
    try {
      answer = { result: m.method === "tools/call" ? await this.#execute(m, controller.signal) : await this.#answer(m.method, m.params ?? {}, controller.signal) };
    } catch (error) {
      answer = { error: { code: error instanceof BridgeError ? error.number ?? -32603 : -32603, message: String(/** @type {any} */ (error)?.message ?? error) } };
    }
    if (this.#running.get(m.id) === controller) this.#running.delete(m.id); // another connection has the same ids
    if (!controller.signal.aborted && this.#socket === socket) this.#write({ id: m.id, ...answer });
  }

  /** Answers a question of a server. @param {string} method @param {JSONObject} params @param {AbortSignal} signal @returns {Promise<any>} */
  async #answer(method, params, signal) {
    const { onElicit, onSample, roots } = this.#options;
    if (method === "elicitation/create" && onElicit) return onElicit(params, { signal });
    if (method === "sampling/createMessage" && onSample) return onSample(params, { signal });
    if (method === "roots/list" && roots) return { roots: typeof roots === "function" ? await roots() : roots };
    if (method === "ping") return {};
    throw new BridgeError(`method not found: ${method}`, "unsupported", { number: -32601 });
  }

  /** @param {string} type @param {any} [detail] */
  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  /** @param {string} state */
  #setState(state) {
    this.state = state;
    this.#emit("statechange", { state });
  }

  // Tools of the page

  // Conversations

  /**
   * Prompts the bridge's model, and yields what happens until the last event, "done". An "error" is thrown. To
   * break off cancels the prompt. A lost connection is made anew, and the prompt goes on meanwhile.
   * @param {string} text @param {ChatOptions} [options] @returns {AsyncGenerator<ChatEvent, void, void>}
   */
  async *chat(text, { conversation = this.#conversation, model, onAsk, signal } = {}) {
    signal?.throwIfAborted();
    if (this.state === "closed") throw closedError();
    if (conversation === "new") conversation = undefined;
    const prompt = { type: "prompt", id: randomId(), text };
    const /** @type {Map<string, JSONObject>} */ decisions = new Map(); // that the bridge may not have
    let /** @type {WebSocket | undefined} */ socket, /** @type {BridgeError | undefined} */ failed, after = 0, sent = 0, begun = false, over = false, lost = 0, attempts = 0;
    const send = (/** @type {JSONObject} */ m) => { if (socket?.readyState === 1) socket.send(JSON.stringify(m)); };
    const cancel = () => send({ type: "cancel" });
    const close = () => socket?.close(1000);
    signal?.addEventListener("abort", cancel);
    this.#atEnd.push(close);
    try {
      for (; ; attempts++) {
        if (attempts > 0) await new Promise((resolve) => setTimeout(resolve, waitTime(attempts - 1)));
        if (/** @type {string} */ (this.state) === "closed") throw closedError();
        try {
          const { url, protocols } = await address(this.#options, "chat", "mcpbridge.chat");
          socket = new (this.#options.WebSocket ?? globalThis.WebSocket)(url, protocols);
          await opened(socket);
        } catch (error) {
          if (!sent || Date.now() - lost > patience) throw sent ? unknownPrompt() : error;
          continue;
        }
        send({ type: "open", conversation, after, model });
        let asked = false; // the prompt was sent on this connection
        for await (const m of messages(socket)) {
          if (m.seq !== undefined) after = m.seq;
          if (m.type === "prompt" && m.id === prompt.id) [begun, attempts, this.#conversation] = [true, 0, conversation]; // which is kept from now on
          else if (m.type === "prompt" && (begun || !asked)) { // the own one has ended meanwhile
            over = true;
            throw unknownPrompt();
          }
          if (m.seq !== undefined && asked && !begun) continue; // it belongs to the prompt of another page
          switch (m.type) {
            case "opened":
              if (failed) throw failed;
              if (!m.busy && (sent && m.messages || sent >= mostSent && !begun)) throw unknownPrompt(); // the bridge has forgotten it, or does not get it
              conversation = m.conversation;
              after = m.after;
              asked = !sent || !m.messages;
              if (asked) send(prompt); // the same one is not carried out twice
              if (begun) attempts = 0;
              else sent++;
              for (const decision of decisions.values()) send(decision);
              if (signal?.aborted) cancel();
              break;
            case "ask": {
              m.decide = (/** @type {Decision} */ decision) => {
                const message = { type: "decide", call: m.id, ...decision };
                decisions.set(m.id, message);
                send(message);
              };
              if (onAsk) Promise.resolve(m).then(onAsk).then((d) => m.decide(typeof d === "string" ? { verdict: d } : d), (e) => m.decide({ verdict: "deny", reason: String(e?.message ?? e) }));
              break;
            }
            case "approval":
              decisions.delete(m.id);
              break;
            case "refused":
              if (m.request === "decide" && m.code === "not_found") continue; // another page of the conversation has decided
              over = m.request === "prompt"; // that in progress, if any, is another page's
              failed = new BridgeError(m.message, m.code);
              if (begun && !over && socket?.readyState !== 1) continue; // the prompt is canceled on the next connection
              throw failed;
            case "error":
              over = true;
              signal?.throwIfAborted();
              throw new BridgeError(m.message, m.code);
            case "done":
              over = true;
          }
          yield m;
          if (over) return;
        }
        if (lost === 0 || attempts === 0) lost = Date.now();
      }
    } finally {
      if (!over) cancel();
      close();
      signal?.removeEventListener("abort", cancel);
      this.#atEnd.splice(this.#atEnd.indexOf(close), 1);
    }
  }

  // Tools of the page

  /**
   * Lends a tool of the page to the bridge, as document.modelContext.registerTool registers one with the
   * browser: the promise rejects when the tool cannot be had, and an abort of the signal takes it back.
   * @param {ModelContextTool} tool @param {{signal?: AbortSignal}} [options] @returns {Promise<void>}
   */
  async registerTool(tool, { signal } = {}) {
    const definition = define(tool);
    signal?.throwIfAborted();
    if (this.state === "closed") throw closedError();
    if (this.#lent.has(tool.name)) throw new DOMException(`there is a tool ${tool.name} already`, "InvalidStateError");
    /** @type {Lent} */ const lent = { tool, definition, taken: undefined, refused: undefined };
    this.#lent.set(tool.name, lent);
    const takeBack = () => {
      if (this.#lent.get(tool.name) !== lent) return;
      this.#lent.delete(tool.name);
      lent.refused?.(signal?.reason);
      this.#lend();
    };
    signal?.addEventListener("abort", takeBack, { once: true });
    const settled = new Promise((resolve, reject) => {
      lent.taken = () => resolve(undefined);
      lent.refused = (error) => {
        if (this.#lent.get(tool.name) === lent) this.#lent.delete(tool.name);
        signal?.removeEventListener("abort", takeBack);
        reject(error);
      };
    });
    this.#lend();
    await settled;
    lent.taken = lent.refused = undefined;
  }

  /** Tells the bridge which tools the page lends now. Changes at once are one message. */
  async #lend() {
    this.#lendAgain = true;
    if (this.#lending || this.state !== "open") return;
    this.#lending = true;
    try {
      await null;
      while (this.#lendAgain && this.state === "open") {
        this.#lendAgain = false;
        const offered = [...this.#lent.values()];
        await this.#lendNow(offered);
      }
    } finally {
      this.#lending = false;
    }
  }

  /** @param {Lent[]} offered */
  async #lendNow(offered) {
    const page = typeof document === "undefined" ? {} : { title: document.title, url: location.origin + location.pathname, focused: document.hasFocus() };
    try {
      const { refused = [] } = await this.#direct("mcpbridge/lend", { page: { id: this.#tab, ...page }, tools: offered.map((lent) => lent.definition) });
      const reasons = new Map(refused.map((/** @type {JSONObject} */ r) => [r.name, r.reason]));
      for (const lent of offered) {
        const reason = reasons.get(lent.tool.name);
        if (reason === undefined) lent.taken?.();
        else lent.refused?.(new DOMException(`the bridge does not take tool ${lent.tool.name}: ${reason}`, "InvalidStateError"));
      }
    } catch (error) {
      if (error instanceof BridgeError && error.number === undefined) return; // the connection was lost: the next one has them again
      for (const lent of offered) lent.refused?.(error);
    }
  }

  /** Carries out a call of a tool of the page. @param {JSONObject} m @param {AbortSignal} signal */
  async #execute(m, signal) {
    const { name, arguments: input = {}, _meta } = m.params ?? {};
    const lent = this.#lent.get(name);
    if (!lent) throw new BridgeError(`the page has no tool ${name} any more`, "not_found", { number: -32602 });
    const token = _meta?.progressToken;
    const progress = (/** @type {number} */ progress, /** @type {number=} */ total, /** @type {string=} */ message) => {
      if (token !== undefined && !signal.aborted) this.#notify("notifications/progress", { progressToken: token, progress, total, message });
    };
    try {
      return toResult(await lent.tool.execute(input, { signal, progress }));
    } catch (error) {
      return { content: [{ type: "text", text: String(/** @type {any} */ (error)?.message ?? error) }], isError: true };
    }
  }

  /**
   * Lends the tools that the page has registered in document.modelContext, also those to come, until the
   * signal is aborted. A tool that the bridge does not take is reported to the console.
   * @param {{signal?: AbortSignal, modelContext?: any}} [options]
   */
  async adopt({ signal, modelContext = ownContext() } = {}) {
    if (!modelContext) throw new DOMException("there is no document.modelContext", "NotSupportedError");
    if (signal?.aborted) return;
    if (this.state === "closed") throw closedError();
    /** @type {Map<string, {text: string, controller: AbortController}>} */ const adopted = new Map();
    const follow = async () => {
      const there = new Map((await modelContext.getTools()).map((/** @type {any} */ t) => [t.name, t]));
      if (signal?.aborted) return;
      const texts = new Map([...there].map(([name, t]) => [name, JSON.stringify([t.title, t.description, t.inputSchema, plain(t.annotations)])]));
      for (const [name, { text, controller }] of adopted) {
        if (texts.get(name) === text) continue;
        adopted.delete(name);
        controller.abort();
      }
      await Promise.all([...there].map(async ([name, t]) => {
        if (adopted.has(name) || this.#exposed.has(name) || this.#lent.has(name)) return;
        const controller = new AbortController();
        adopted.set(name, { text: texts.get(name) ?? "", controller });
        const tool = {
          name, title: t.title, description: t.description, annotations: plain(t.annotations),
          inputSchema: typeof t.inputSchema === "string" && t.inputSchema ? JSON.parse(t.inputSchema) : t.inputSchema || undefined,
          execute: (/** @type {any} */ input, /** @type {ExecuteOptions} */ { signal }) => modelContext.executeTool(t, input, { signal }),
        };
        try {
          await this.registerTool(tool, { signal: controller.signal });
        } catch (error) {
          if (!controller.signal.aborted) console.warn(error);
        }
      }));
    };
    const changed = () => follow().catch((error) => console.warn(error));
    modelContext.addEventListener("toolchange", changed);
    const stop = () => {
      modelContext.removeEventListener("toolchange", changed);
      for (const { controller } of adopted.values()) controller.abort();
    };
    signal?.addEventListener("abort", stop, { once: true });
    this.#atEnd.push(stop);
    await follow();
  }

  /**
   * Registers the bridge's tools in document.modelContext, for the browser's own agent, until the signal
   * is aborted: those whose names match a pattern of include, in which * stands for any characters.
   * @param {{include?: string[], signal?: AbortSignal, modelContext?: any}} [options]
   */
  async expose({ include = ["*"], signal, modelContext = ownContext() } = {}) {
    if (!modelContext) throw new DOMException("there is no document.modelContext", "NotSupportedError");
    if (signal?.aborted) return;
    if (this.state === "closed") throw closedError();
    const patterns = include.map((p) => new RegExp(`^${p.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`, "s"));
    /** @type {Map<string, {text: string, controller: AbortController}>} */ const there = new Map();
    const over = () => signal?.aborted || this.state === "closed";
    const takeBack = (/** @type {string} */ name) => {
      there.get(name)?.controller.abort();
      there.delete(name);
      this.#exposed.delete(name);
    };
    const follow = async () => {
      const tools = (await this.listTools()).filter((t) => namePattern.test(t.name) && !this.#lent.has(t.name) && patterns.some((p) => p.test(t.name)));
      if (over()) return;
      const texts = new Map(tools.map((t) => [t.name, JSON.stringify(t)]));
      for (const [name, { text }] of there) if (texts.get(name) !== text) takeBack(name);
      for (const t of tools) {
        if (over()) return;
        if (there.has(t.name) || this.#exposed.has(t.name)) continue;
        const controller = new AbortController();
        there.set(t.name, { text: texts.get(t.name) ?? "", controller });
        this.#exposed.add(t.name);
        try {
          await modelContext.registerTool({
            name: t.name, ...(t.title && { title: t.title }), description: t.description || t.name, inputSchema: t.inputSchema,
            annotations: { readOnlyHint: t.annotations?.readOnlyHint === true, consequentialHint: t.annotations?.destructiveHint === true, untrustedContentHint: t.annotations?.openWorldHint !== false },
            execute: (/** @type {JSONObject} */ input, /** @type {{signal?: AbortSignal}} */ { signal } = {}) => this.callTool(t.name, input, { signal }),
          }, { signal: controller.signal });
        } catch (error) { // the page has a tool of this name
          takeBack(t.name);
          console.warn(error);
        }
      }
    };
    const changed = () => follow().catch((error) => { if (this.state !== "closed") console.warn(error); });
    this.addEventListener("toolschange", changed);
    const stop = () => {
      this.removeEventListener("toolschange", changed);
      for (const name of [...there.keys()]) takeBack(name);
    };
    signal?.addEventListener("abort", stop, { once: true });
    this.#atEnd.push(stop);
    await follow();
  }
}

// Addresses

/**
 * Returns where to connect, and with which subprotocols.
 * @param {ConnectOptions} options @param {string} [endpoint] @param {string} [protocol]
 */
async function address({ url, token, ticket }, endpoint = "ws", protocol = "mcp") {
  const to = new URL(url ?? "ws", import.meta.url);
  if (!/^(http|ws)s?:$/.test(to.protocol)) throw new TypeError("connect: give the bridge's URL as the option url, such as http://127.0.0.1:7332/ws");
  if (!/\/ws(\/p\/[^/]+)?$/.test(to.pathname)) to.pathname = `${to.pathname.replace(/\/$/, "")}/ws`;
  to.protocol = to.protocol.replace("http", "ws");
  const protocols = [protocol];
  const secret = typeof token === "function" ? await token() : token;
  let pass = typeof ticket === "function" ? await ticket() : ticket;
  if (secret && !pass) {
    if (/^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/.test(secret)) protocols.push(`bearer.${secret}`);
    else pass = await newTicket(to, secret); // it has characters that a subprotocol cannot have
  }
  if (pass) to.searchParams.set("ticket", pass);
  to.pathname = to.pathname.replace(/\/ws(\/p\/[^/]+)?$/, `/${endpoint}$1`);
  return { url: to.href, protocols };
}

/** Gets a ticket for a token. @param {URL} to @param {string} token @returns {Promise<string>} */
async function newTicket(to, token) {
  const at = new URL(to);
  at.protocol = at.protocol.replace("ws", "http");
  at.pathname = at.pathname.replace(/\/ws(\/p\/[^/]+)?$/, "/ws/ticket");
  at.search = "";
  const response = await fetch(at, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  if (!response.ok) throw new BridgeError(`${at.href}: HTTP ${response.status}: ${(await response.text()).slice(0, 200)}`, response.status === 401 ? "denied" : "unavailable");
  return (await response.json()).ticket;
}

/** Waits until a socket is open. @param {WebSocket} socket @returns {Promise<void>} */
function opened(socket) {
  return new Promise((resolve, reject) => {
    const fail = (/** @type {string} */ why) => {
      clearTimeout(late);
      socket.onopen = socket.onerror = socket.onclose = null;
      socket.close();
      reject(new BridgeError(`cannot connect to ${socket.url.split("?")[0]}: ${why}`, "unavailable"));
    };
    const late = setTimeout(() => fail("no answer"), connectTime);
    socket.onopen = () => {
      clearTimeout(late);
      socket.onerror = null;
      resolve();
    };
    const why = "is the bridge running, is this page's origin in its allowedOrigins, and does the token hold? (its log says more)";
    socket.onerror = () => fail(why);
    socket.onclose = () => fail(why);
  });
}

/** Yields the messages of a socket until it ends. @param {WebSocket} socket @returns {AsyncGenerator<any, void, void>} */
async function* messages(socket) {
  const /** @type {any[]} */ queue = [];
  let wake = () => {}, ended = false;
  socket.onmessage = (event) => { queue.push(JSON.parse(event.data)); wake(); };
  socket.onclose = (event) => {
    if (event.code === 1009) queue.push({ type: "refused", code: "invalid", message: "the message is longer than the bridge takes" });
    ended = true;
    wake();
  };
  for (;;) {
    while (queue.length > 0) yield queue.shift();
    if (ended) return;
    await new Promise((/** @type {(v?: any) => void} */ resolve) => { wake = resolve; });
  }
}

/**
 * Returns how long to wait before another attempt to connect, in ms: each time twice as long, and not as long as
 * others that were lost with it.
 * @param {number} attempt The first one is 0.
 */
function waitTime(attempt) { return Math.min(longestWait, firstWait * 2 ** attempt) * (0.5 + Math.random() / 2); }

function randomId() { return Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-"); }

// Errors

function unknownPrompt() { return new BridgeError("the connection was lost during the prompt: what came of it is in the conversation, if the bridge has kept it", "unavailable", { outcomeUnknown: true }); }

function closedError() { return new BridgeError("the connection is closed", "unavailable"); }

function awayError() { return new BridgeError("the bridge cannot be reached; trying again", "unavailable"); }

/** @param {Call} call */
function unknownOutcome(call) {
  const what = call.method === "tools/call" ? `${call.method} ${call.params.name}` : call.method;
  return new BridgeError(`the connection was lost while ${what} was under way: it is unknown whether it ran`, "unavailable", { outcomeUnknown: true });
}

/** @param {JSONObject} error @param {Call} call */
function remoteError({ code, message, data }, call) {
  const words = /** @type {Record<number, string>} */ ({ [-32602]: "invalid", [-32601]: "unsupported", [-32003]: "denied", [-32001]: "timeout", [-32000]: "unavailable" });
  const word = data?.code ?? words[code] ?? "internal";
  return new BridgeError(message, word, { number: code, data, outcomeUnknown: call.repeated && word === "unavailable" });
}

// WebMCP

const namePattern = /^[A-Za-z0-9_.-]{1,128}$/;

/** Checks a tool as WebMCP does and returns its definition as MCP has it. @param {ModelContextTool} tool @returns {JSONObject} */
function define(tool) {
  if (typeof tool?.execute !== "function") throw new TypeError("registerTool: execute is not a function");
  for (const key of ["name", "description"]) {
    if (typeof /** @type {any} */ (tool)[key] !== "string") throw new TypeError(`registerTool: ${key} is not a string`);
  }
  if (!namePattern.test(tool.name)) throw new DOMException(`registerTool: the name ${JSON.stringify(tool.name)} is not 1 to 128 of A-Z a-z 0-9 _ . -`, "InvalidStateError");
  if (tool.description === "") throw new DOMException(`registerTool: tool ${tool.name} has no description`, "InvalidStateError");
  const { name, title, description, inputSchema = { type: "object" }, annotations } = tool;
  if (typeof inputSchema !== "object" || inputSchema === null) throw new TypeError(`registerTool: the inputSchema of tool ${name} is not an object`);
  const text = JSON.stringify({ name, title, description, inputSchema, annotations: plain(annotations) }); // throws TypeError for a cycle
  return JSON.parse(text);
}

/** The annotations that are set. @param {any} annotations */
function plain(annotations) {
  if (!annotations) return undefined;
  const hints = ["readOnlyHint", "untrustedContentHint", "consequentialHint", "debugging"].filter((hint) => annotations[hint] === true);
  return hints.length > 0 ? Object.fromEntries(hints.map((hint) => [hint, true])) : undefined;
}

/** Returns MCP's result for what a tool's function returned. @param {any} value @returns {ToolResult} */
function toResult(value) {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  if (Array.isArray(value.content)) return value;
  const text = JSON.stringify(value);
  if (typeof value !== "object" || Array.isArray(value)) return { content: [{ type: "text", text }] };
  return { content: [{ type: "text", text }], structuredContent: JSON.parse(text) };
}

function ownContext() { return typeof document === "undefined" ? undefined : /** @type {any} */ (document).modelContext; }

/** Defines document.modelContext where the browser has none. */
function installModelContext() {
  if (typeof document === "undefined" || "modelContext" in document) return;
  Object.defineProperty(document, "modelContext", { value: new ModelContext(), configurable: true, enumerable: true });
}

/** The part of WebMCP's ModelContext that pages use: the tools that the page has registered. */
class ModelContext extends EventTarget {
  /** @type {Map<string, ModelContextTool>} */ #tools = new Map();

  /** @param {ModelContextTool} tool @param {{signal?: AbortSignal}} [options] */
  async registerTool(tool, { signal } = {}) {
    define(tool);
    signal?.throwIfAborted();
    if (this.#tools.has(tool.name)) throw new DOMException(`there is a tool ${tool.name} already`, "InvalidStateError");
    this.#tools.set(tool.name, tool);
    signal?.addEventListener("abort", () => {
      this.#tools.delete(tool.name);
      this.#changed();
    }, { once: true });
    this.#changed();
  }

  async getTools() {
    return [...this.#tools.values()].map((tool) => ({ ...define(tool), window: globalThis, origin: globalThis.location?.origin }));
  }

  /** @param {{name: string}} registered @param {any} [input] @param {{signal?: AbortSignal}} [options] @returns {Promise<string>} */
  async executeTool(registered, input = {}, { signal = new AbortController().signal } = {}) {
    const tool = this.#tools.get(registered.name);
    if (!tool) throw new DOMException(`there is no tool ${registered.name}`, "NotFoundError");
    const value = await tool.execute(input, { signal, progress() {} });
    return typeof value === "string" ? value : JSON.stringify(value) ?? "";
  }

  #changed() { queueMicrotask(() => this.dispatchEvent(new Event("toolchange"))); }
}
