package sdktest

// scenarios are the lines that the client of each script prints.
var scenarios = map[string][]string{
	"openai.mjs": {
		`{"name":"models","ids":` + jsonIDs + `}`,
		`{"name":"model","id":"anthropic/m"}`,
		`{"name":"chat","model":MODEL,"calls":["draw"],"finish":"tool_calls","text":"Done: it is drawn.","tokens":13}`,
		`{"name":"chat stream","model":MODEL,"calls":["draw","draw"],"finish":"tool_calls","text":"Two drawings.","tokens":13}`,
		`{"name":"chat runTools","model":MODEL,"text":"Done: it is drawn."}`,
		`{"name":"responses","model":MODEL,"calls":["draw"],"status":"completed","text":"Done: it is drawn.","tokens":13}`,
		`{"name":"responses stream","model":MODEL,"calls":["draw","draw"],"arguments":["{\"what\":\"cat\"}","{\"what\":\"dog\"}"],"ends":true,"text":"Two drawings."}`,
		`{"name":"responses stored","model":MODEL,"text":"Done: it is drawn.","then":"Done: it is drawn.","previous":true,"same":true,"gone":404}`,
		`{"name":"long","model":MODEL,"status":"incomplete","reason":"max_output_tokens","text":"Once upon","finish":"length"}`,
		`{"name":"error","kind":"NotFoundError","status":404,"code":"model_not_found","param":null}`,
		`{"name":"error","kind":"BadRequestError","status":400,"code":"previous_response_not_found","param":"previous_response_id"}`,
		`{"name":"error","kind":"RateLimitError","status":429,"code":"rate_limit_error","param":null}`,
		`{"name":"error","kind":"BadRequestError","status":400,"code":null,"param":"logprobs"}`,
	},
	"anthropic.mjs": {
		`{"name":"models","ids":` + jsonIDs + `}`,
		`{"name":"messages","model":MODEL,"calls":["draw"],"stop":"tool_use","said":"Let me see.|Drawing.","text":"Done: it is drawn.","end":"end_turn","tokens":20}`,
		`{"name":"stream","model":MODEL,"calls":["draw","draw"],"inputs":["cat","dog"],"deltas":"{\"what\":\"cat\"}{\"what\":\"dog\"}","stop":"tool_use","text":"Two drawings."}`,
		`{"name":"toolRunner","model":MODEL,"stream":false,"text":"Done: it is drawn."}`,
		`{"name":"toolRunner","model":MODEL,"stream":true,"text":"Done: it is drawn."}`,
		`{"name":"more","model":"anthropic/m","thinking":"A greeting.","signed":true,"text":"Hello!","long":"max_tokens","counted":true}`,
		`{"name":"more","model":"gemini/m","thinking":"A greeting.","signed":false,"text":"Hello!","long":"max_tokens","counted":true}`,
		`{"name":"error","kind":"NotFoundError","status":404,"type":"not_found_error"}`,
		`{"name":"error","kind":"BadRequestError","status":400,"type":"invalid_request_error"}`,
		`{"name":"error","kind":"RateLimitError","status":429,"type":"rate_limit_error"}`,
	},
	"ai.mjs": {
		`{"name":"ai","api":"responses","model":MODEL,"steps":2,"text":"Done: it is drawn.","calls":["draw cat","draw dog"],"streamed":"Two drawings.","finish":"stop"}`,
		`{"name":"ai","api":"chat","model":MODEL,"steps":2,"text":"Done: it is drawn.","calls":["draw cat","draw dog"],"streamed":"Two drawings.","finish":"stop"}`,
		`{"name":"ai","api":"messages","model":MODEL,"steps":2,"text":"Done: it is drawn.","calls":["draw cat","draw dog"],"streamed":"Two drawings.","finish":"stop"}`,
	},
	"client_openai.py": {
		`{"name":"chat","model":MODEL,"calls":["draw"],"text":"Done: it is drawn.","tokens":13}`,
		`{"name":"chat stream","model":MODEL,"calls":["draw","draw"],"text":"Two drawings.","tokens":13}`,
		`{"name":"responses","model":MODEL,"calls":["draw"],"text":"Done: it is drawn.","tokens":13}`,
		`{"name":"responses stream","model":MODEL,"calls":["draw","draw"],"text":"Two drawings."}`,
		`{"name":"responses stored","model":MODEL,"text":"Done: it is drawn."}`,
		`{"name":"error","kind":"NotFoundError","status":404,"code":"model_not_found","param":null}`,
		`{"name":"error","kind":"BadRequestError","status":400,"code":"previous_response_not_found","param":"previous_response_id"}`,
		`{"name":"error","kind":"RateLimitError","status":429,"code":"rate_limit_error","param":null}`,
	},
	"client_anthropic.py": {
		`{"name":"models","ids":` + jsonIDs + `,"one":"anthropic/m"}`,
		`{"name":"messages","model":MODEL,"calls":["draw"],"stop":"tool_use","text":"Done: it is drawn."}`,
		`{"name":"stream","model":MODEL,"inputs":["cat","dog"],"text":"Two drawings."}`,
		`{"name":"tool_runner","model":MODEL,"text":"Done: it is drawn.","streamed":"Done: it is drawn."}`,
		`{"name":"count","model":MODEL,"counted":true}`,
		`{"name":"error","kind":"NotFoundError","status":404,"type":"not_found_error"}`,
		`{"name":"error","kind":"RateLimitError","status":429,"type":"rate_limit_error"}`,
	},
	"client_agents.py": {`{"name":"agents","model":MODEL,"text":"Done: it is drawn.","streamed":"Two drawings."}`},
	"client_pydantic_ai.py": {
		`{"name":"pydantic-ai","api":"responses","model":MODEL,"text":"Done: it is drawn.","streamed":"Two drawings."}`,
		`{"name":"pydantic-ai","api":"chat","model":MODEL,"text":"Done: it is drawn.","streamed":"Two drawings."}`,
		`{"name":"pydantic-ai","api":"messages","model":MODEL,"text":"Done: it is drawn.","streamed":"Two drawings."}`,
	},
	"client_langchain.py": {
		`{"name":"langchain","api":"responses","model":MODEL,"text":"Done: it is drawn.","streamed":"Two drawings."}`,
		`{"name":"langchain","api":"chat","model":MODEL,"text":"Done: it is drawn.","streamed":"Two drawings."}`,
		`{"name":"langchain","api":"messages","model":MODEL,"text":"Done: it is drawn.","streamed":"Two drawings."}`,
	},
	"client_litellm.py": {
		`{"name":"litellm","api":"chat","model":MODEL,"text":"Done: it is drawn."}`,
		`{"name":"litellm","api":"messages","model":MODEL,"text":"Done: it is drawn."}`,
		`{"name":"litellm","api":"responses","model":MODEL,"text":"Hello!"}`,
	},
}

const jsonIDs = `["anthropic/m","openai/m","openai-responses/m","gemini/m","ollama/m","prompted/m"]`
