// Signing in with a token, where the service has users.
import { html, useEffect, useRef, useState } from "./html.js";
import { desk, forgetToken, setToken } from "./api.js";

export function Login({ detail, onDone }) {
  const [token, set] = useState("");
  const [keep, setKeep] = useState(false);
  const [problem, setProblem] = useState(detail || "");
  const input = useRef(null);
  useEffect(() => input.current.focus(), []);
  const enter = async (event) => {
    event.preventDefault();
    setToken(token.trim(), keep);
    try {
      onDone(await desk.about());
    } catch (error) {
      if (error.status === 401) forgetToken();
      setProblem(error.status === 401 ? "This token is not valid; ask for another one." : error.message);
    }
  };
  return html`<main class="failed login" id="work"><h1>Sign in</h1>
    <p>This service has users. A token is made by <code>linnaeus users add NAME --role coder --store FOLDER</code>.</p>
    <form onSubmit=${enter}><label>Token <input type="password" autocomplete="current-password" ref=${input} required value=${token} onInput=${(e) => set(e.target.value)} /></label>
      <label><input type="checkbox" checked=${keep} onChange=${(e) => setKeep(e.target.checked)} /> Stay signed in on this computer</label>
      <button class="primary">Sign in</button></form>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
  </main>`;
}
