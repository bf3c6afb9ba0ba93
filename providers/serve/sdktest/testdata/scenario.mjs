// What the clients for Node share: the URL of the bridge, the models that it serves, and the schema of the tool
// draw, which is the client's; double is the bridge's. Each scenario prints a line of JSON.
export const [base, ...models] = process.argv.slice(2);
export const say = (name, value) => console.log(JSON.stringify({ name, ...value }));
export const schema = { type: "object", properties: { what: { type: "string" } }, required: ["what"] };
