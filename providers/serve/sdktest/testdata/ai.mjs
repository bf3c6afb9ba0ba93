// Vercel's AI SDK with its providers of OpenAI (Responses, its default, and chat) and of Anthropic.
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { base, models, say, schema } from "./scenario.mjs";

const openai = createOpenAI({ baseURL: base + "/v1", apiKey: "none" });
const anthropic = createAnthropic({ baseURL: base + "/v1", apiKey: "none" });
const tools = { draw: tool({ description: "Draws.", inputSchema: jsonSchema(schema), execute: async ({ what }) => "drawn: " + what }) };

for (const name of models) {
  for (const [api, model] of [["responses", openai(name)], ["chat", openai.chat(name)], ["messages", anthropic(name)]]) {
    const ask = { model, tools, stopWhen: stepCountIs(5), maxRetries: 0 };
    const whole = await generateText({ ...ask, prompt: "please draw" });
    const stream = streamText({ ...ask, prompt: "please draw two", onError: ({ error }) => { throw error; } });
    const calls = [];
    for await (const part of stream.fullStream) {
      if (part.type === "tool-call") calls.push(part.toolName + " " + part.input.what);
      if (part.type === "error") throw part.error;
    }
    say("ai", { api, model: name, steps: whole.steps.length, text: whole.text, calls, streamed: await stream.text, finish: await stream.finishReason });
  }
}
