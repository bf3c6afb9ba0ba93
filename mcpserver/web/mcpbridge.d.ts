export type JSONObject = Record<string, any>;
export type Progress = {
    progress: number;
    total?: number;
    message?: string;
};
export type RequestOptions = {
    /**
     * Cancels the request where it runs.
     */
    signal?: AbortSignal;
    onProgress?: (progress: Progress) => void;
};
export type BridgeTool = {
    name: string;
    description?: string;
    inputSchema: JSONObject;
} & JSONObject;
export type ToolResult = {
    content: JSONObject[];
    structuredContent?: JSONObject;
    isError?: boolean;
} & JSONObject;
export type ExecuteOptions = {
    /**
     * Aborted when the caller cancels the call.
     */
    signal: AbortSignal;
    /**
     * Tells the caller how far the call is.
     */
    progress: (progress: number, total?: number, message?: string) => void;
};
export type ToolAnnotations = {
    /**
     * Calls change nothing.
     */
    readOnlyHint?: boolean;
    /**
     * Results have words of others.
     */
    untrustedContentHint?: boolean;
    /**
     * Calls have effects that cannot be taken back.
     */
    consequentialHint?: boolean;
    /**
     * The tool is for developers, and not shown to models.
     */
    debugging?: boolean;
};
export type ModelContextTool = {
    name: string;
    title?: string;
    description: string;
    inputSchema?: JSONObject;
    annotations?: ToolAnnotations;
    /**
     * Returns a text, a value, an MCP result, or a promise of one.
     */
    execute: (input: any, options: ExecuteOptions) => any;
};
export type Root = {
    uri: string;
    name?: string;
};
export type ConnectOptions = {
    /**
     * Of the bridge's /ws, or of that of a profile; default: that of the server that this module was loaded from.
     */
    url?: string | URL;
    /**
     * A bearer token, or what gets one for each connection.
     */
    token?: string | (() => string | Promise<string>);
    /**
     * A ticket of /ws/ticket, which is good for one connection, or what gets one for each.
     */
    ticket?: string | (() => string | Promise<string>);
    /**
     * Which MCP to speak; default: "modern", revision 2026-07-28.
     */
    era?: "modern" | "legacy";
    /**
     * Asks the person: returns {action, content}.
     */
    onElicit?: (params: JSONObject, options: {
        signal: AbortSignal;
    }) => any;
    /**
     * Asks a model: returns an MCP sampling result.
     */
    onSample?: (params: JSONObject, options: {
        signal: AbortSignal;
    }) => any;
    roots?: Root[] | (() => Root[] | Promise<Root[]>);
    /**
     * What the page is called; default: "mcpbridge.js".
     */
    clientInfo?: {
        name: string;
        version: string;
    };
    /**
     * Capabilities beyond MCP's.
     */
    experimental?: JSONObject;
    /**
     * Whether document.modelContext is defined where the browser has none; default: true.
     */
    polyfill?: boolean;
    /**
     * Ends the connection.
     */
    signal?: AbortSignal;
    /**
     * In place of the global one.
     */
    WebSocket?: typeof WebSocket;
};
export type Decision = {
    verdict: "allow" | "deny" | "edit";
    reason?: string;
    arguments?: JSONObject;
};
export type ChatEvent = {
    type: string;
    seq?: number;
} & JSONObject;
export type ChatOptions = {
    /**
     * The id of one to continue, or "new"; default: that of the last prompt of this Bridge.
     */
    conversation?: string;
    /**
     * PROVIDER/MODEL
     */
    model?: string;
    /**
     * Decides about a call; without it, decide of the event does.
     */
    onAsk?: (call: ChatEvent) => Decision | Decision["verdict"] | Promise<Decision | Decision["verdict"]>;
    /**
     * Cancels the prompt.
     */
    signal?: AbortSignal;
};
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
export declare class BridgeError extends Error {
    /** "not_found", "denied", "unavailable", "timeout", "invalid", "unsupported" or "internal". */
    code: string;
    /** The code of JSON-RPC, if the bridge has answered. @type {number | undefined} */
    number: number | undefined;
    data: any;
    /** The connection was lost while the call was under way: it may have run, or not. */
    outcomeUnknown: boolean;
    /**
     * @param {string} message
     * @param {string} code
     * @param {{number?: number, data?: any, outcomeUnknown?: boolean}} [more]
     */
    constructor(message: string, code: string, more?: {
        number?: number;
        data?: any;
        outcomeUnknown?: boolean;
    });
}
/** Connects to a bridge. @param {ConnectOptions} [options] @returns {Promise<Bridge>} */
export declare function connect(options?: ConnectOptions): Promise<Bridge>;
export type Call = {
    id: number;
    method: string;
    params: JSONObject;
    onProgress: ((progress: Progress) => void) | undefined;
    resolve: (result: any) => void;
    reject: (error: any) => void;
    /**
     * On the present connection, or on one that was lost.
     */
    sent: boolean;
    /**
     * How often it was asked something.
     */
    rounds: number;
    /**
     * It was sent before, on a connection that was lost.
     */
    repeated?: boolean;
    /**
     * It belongs to the present connection.
     */
    internal?: boolean;
    /**
     * Called when it is settled.
     */
    ended?: () => void;
    /**
     * Of the questions that it waits for.
     */
    asking?: AbortController;
};
export type Lent = {
    tool: ModelContextTool;
    /**
     * As it goes to the bridge.
     */
    definition: JSONObject;
    /**
     * Called when the bridge has it.
     */
    taken: (() => void) | undefined;
    refused: ((error: any) => void) | undefined;
};
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
export declare class Bridge extends EventTarget {
    #private;
    /** "connecting", "open", "waiting" (for the next attempt) or "closed". */
    state: string;
    /** What the bridge says of itself: serverInfo, capabilities, instructions. @type {JSONObject} */
    server: JSONObject;
    /** @param {ConnectOptions} options */
    constructor(options: ConnectOptions);
    /** Connects for the first time. A failure is not tried again. */
    _begin(): Promise<void>;
    /** Ends the connection, and all that waits for it. */
    close(): void;
    /**
     * Calls a tool. The result may have isError; an error of the bridge is thrown.
     * @param {string} name @param {JSONObject} [args] @param {RequestOptions} [options] @returns {Promise<ToolResult>}
     */
    callTool(name: string, args?: JSONObject, options?: RequestOptions): Promise<ToolResult>;
    /** @param {RequestOptions} [options] @returns {Promise<BridgeTool[]>} */
    listTools(options?: RequestOptions): Promise<BridgeTool[]>;
    /** @param {RequestOptions} [options] @returns {Promise<JSONObject[]>} */
    listPrompts(options?: RequestOptions): Promise<JSONObject[]>;
    /** @param {RequestOptions} [options] @returns {Promise<JSONObject[]>} */
    listResources(options?: RequestOptions): Promise<JSONObject[]>;
    /** @param {RequestOptions} [options] @returns {Promise<JSONObject[]>} */
    listResourceTemplates(options?: RequestOptions): Promise<JSONObject[]>;
    /** @param {string} name @param {Record<string, string>} [args] @param {RequestOptions} [options] @returns {Promise<JSONObject>} */
    getPrompt(name: string, args?: Record<string, string>, options?: RequestOptions): Promise<JSONObject>;
    /** @param {string} uri @param {RequestOptions} [options] @returns {Promise<JSONObject>} */
    readResource(uri: string, options?: RequestOptions): Promise<JSONObject>;
    /** Makes changes of a resource "resourceupdated" events from when the promise resolves. @param {string} uri */
    watchResource(uri: string): Promise<void>;
    /** @param {string} uri */
    unwatchResource(uri: string): Promise<void>;
    /**
     * Sends any request of MCP and returns its result. While the connection is lost it waits for the next one.
     * @param {string} method @param {JSONObject} [params] @param {RequestOptions} [options] @returns {Promise<any>}
     */
    request(method: string, params?: JSONObject, { signal, onProgress }?: RequestOptions): Promise<any>;
    /**
     * Prompts the bridge's model, and yields what happens until the last event, "done". An "error" is thrown. To
     * break off cancels the prompt. A lost connection is made anew, and the prompt goes on meanwhile.
     * @param {string} text @param {ChatOptions} [options] @returns {AsyncGenerator<ChatEvent, void, void>}
     */
    chat(text: string, { conversation, model, onAsk, signal }?: ChatOptions): AsyncGenerator<ChatEvent, void, void>;
    /**
     * Lends a tool of the page to the bridge, as document.modelContext.registerTool registers one with the
     * browser: the promise rejects when the tool cannot be had, and an abort of the signal takes it back.
     * @param {ModelContextTool} tool @param {{signal?: AbortSignal}} [options] @returns {Promise<void>}
     */
    registerTool(tool: ModelContextTool, { signal }?: {
        signal?: AbortSignal;
    }): Promise<void>;
    /**
     * Lends the tools that the page has registered in document.modelContext, also those to come, until the
     * signal is aborted. A tool that the bridge does not take is reported to the console.
     * @param {{signal?: AbortSignal, modelContext?: any}} [options]
     */
    adopt({ signal, modelContext }?: {
        signal?: AbortSignal;
        modelContext?: any;
    }): Promise<void>;
    /**
     * Registers the bridge's tools in document.modelContext, for the browser's own agent, until the signal
     * is aborted: those whose names match a pattern of include, in which * stands for any characters.
     * @param {{include?: string[], signal?: AbortSignal, modelContext?: any}} [options]
     */
    expose({ include, signal, modelContext }?: {
        include?: string[];
        signal?: AbortSignal;
        modelContext?: any;
    }): Promise<void>;
}
