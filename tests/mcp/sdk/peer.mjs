// peer.mjs ADA DIRECTORY SESSION: speaks to `ada mcp DIRECTORY` with the protocol's own client, which holds every message against
// its schemas. Prints what it got as one JSON object.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Installed into the build directory, so not found from here.
const require = createRequire(pathToFileURL(process.cwd() + "/"));
const { Client } = await import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/client/index.js")));
const { StdioClientTransport } = await import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/client/stdio.js")));

const [ada, directory, session] = process.argv.slice(2);
const client = new Client({ name: "peer", version: "1.0.0" });
const transport = new StdioClientTransport({ command: ada, args: ["mcp", directory] });
const errors = [];
client.onerror = (error) => errors.push(String(error));
await client.connect(transport);

const answers = { server: client.getServerVersion(), capabilities: client.getServerCapabilities(),
		  version: transport.protocolVersion ?? null, instructions: client.getInstructions(), errors };
await client.ping();
answers.tools = (await client.listTools()).tools;
answers.sessions = await client.callTool({ name: "list_sessions", arguments: {} });
answers.report = await client.callTool({ name: "report", arguments: { session } });
answers.failed = await client.callTool({ name: "report", arguments: { session, from: "never" } });
answers.together = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(
	(limit) => client.callTool({ name: "dump", arguments: { session, limit } })));
answers.refused = await client.callTool({ name: "nothing" }).catch((error) => ({ code: error.code, message: error.message }));

const abort = new AbortController();
const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
const cancelled = client.callTool({ name: "query", arguments: { sql: endless, timeout: 3600 } }, undefined, { signal: abort.signal })
	.then(() => "answered", () => "cancelled");
await client.ping();
abort.abort("enough");
answers.cancelled = await cancelled;
await client.ping();
const pid = transport.pid;
await client.close();
try {
	process.kill(pid, 0);
	answers.ended = false;
} catch {
	answers.ended = true;
}
process.stdout.write(JSON.stringify(answers) + "\n");
