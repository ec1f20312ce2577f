// Exceptions over native frames, promises, JIT-compiled loops, child processes, compression; ends by throwing.
const { execFileSync } = require("child_process");
const crypto = require("crypto");
const zlib = require("zlib");
let caught = 0;
for (let i = 0; i < 2000; i++) {
  try { JSON.parse("{" + i); } catch (error) { caught += error instanceof SyntaxError; }
}
console.log("caught", caught);
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
console.log("fib", fib(24));
console.log([..."zyx"].sort().join(""), "a-b".replace(/(\w)-(\w)/, (_, a, b) => b + a));
console.log(crypto.createHash("sha256").update(zlib.deflateSync(Buffer.alloc(100000, "x"))).digest("hex").slice(0, 16));
console.log(execFileSync("echo", ["from a child"]).toString().trim());
(async () => {
  await Promise.all([1, 2, 3].map((n) => new Promise((done) => setTimeout(done, n))));
  try { await Promise.reject(new Error("rejected")); } catch (error) { console.log(error.message); }
  (function dive(n) { if (n) dive(n - 1); else throw new TypeError("at the end"); })(20);
})().catch((error) => { process.exitCode = 4; console.error(error.message); throw error; });
