// How one gets in: the visit of a page of the bridge.
import { html, useEffect, useRef, useState } from "./html.js";
import { enter, read } from "./api.js";

// Visit shows what children makes once the operator is let in, and before it how to get in. children gets out, which
// says why somebody is out again. reads is a resource that only those who are in can read.
export function Visit({ reads, children }) {
	const [inside, setInside] = useState(null); // null while that is not known
	const [why, setWhy] = useState("");
	useEffect(() => {
		const query = new URLSearchParams(location.search), ticket = query.get("ticket");
		query.delete("ticket");
		if (ticket) history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
		(async () => {
			try {
				if (ticket) await enter({ ticket });
			} catch (e) {
				setWhy(e.message);
			}
			setInside(await read(reads).then(() => true, () => false));
		})();
	}, []);
	if (inside === null) return html`<main key="wait" class="wait"><p role="status">…</p></main>`;
	if (!inside) return html`<${Entry} key=${why} why=${why} done=${() => setInside(true)} />`;
	return children((text) => { setWhy(text); setInside(false); });
}

function Entry({ why, done }) {
	const [error, setError] = useState(why);
	const field = useRef(null);
	useEffect(() => field.current.focus(), []);
	const submit = async (e) => {
		e.preventDefault();
		try {
			await enter({ token: new FormData(e.target).get("token") });
			done();
		} catch (fault) {
			setError(fault.message);
		}
	};
	return html`<main class="entry"><form class="card" onSubmit=${submit}>
		<h1>mcpbridge</h1>
		${error && html`<p class="failed" role="alert">${error}</p>`}
		<p>Run this where the bridge runs, and open the address that it prints:</p>
		<pre>mcpbridge open</pre>
		<label for="token">Or enter the token of <b>operator</b>:</label>
		<input ref=${field} id="token" name="token" type="password" autocomplete="current-password" required />
		<p><button class="primary">Sign in</button></p>
	</form></main>`;
}
