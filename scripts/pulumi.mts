/**
 * Runs the Pulumi CLI found during setup, with the user's arguments, in the user's directory:
 *
 *   npm run pulumi -- up
 */
import { spawn } from "node:child_process";
import { requireEngine } from "pulumi-email-security/engine";

const engine = await requireEngine({ log: console.error });

// The CLI handles Ctrl-C itself: it finishes the current step. This process only waits for it.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});

const child = spawn(engine.command, process.argv.slice(2), {
  // npm runs scripts in the root and passes the user's directory in INIT_CWD.
  cwd: process.env["INIT_CWD"] ?? process.cwd(),
  env: engine.environment(),
  stdio: "inherit",
});
child.once("error", (error) => {
  console.error(`${engine.command} could not be started: ${error.message}`);
  process.exitCode = 1;
});
child.once("exit", (code) => {
  process.exitCode = code ?? 1;
});
