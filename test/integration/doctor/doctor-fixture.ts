import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Diagnosis } from "../../../provider/commands/doctor/run-checks";
import { COMMAND } from "../../support/command-process";
import { Canary } from "../../support/leak-canary";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory } from "../../support/test-directory";

export const KEY = "sandbox-acme-ci";
export const canary = new Canary();
export const HOUR_MS = 3_600_000;

/** The results of `email-security doctor`, run in its own process and directory. */
export class Examination {
  readonly code: number | null;
  readonly output: string;
  readonly checks: readonly Diagnosis[];

  private constructor(code: number | null, stdout: string, stderr: string) {
    this.code = code;
    this.output = stdout + stderr;
    this.checks = stdout.startsWith("{") ? (JSON.parse(stdout) as { checks: Diagnosis[] }).checks : [];
  }

  static async run(
    environment: Record<string, string>,
    { files = {}, args = ["--format", "json"] }: { files?: Record<string, string>; args?: string[] } = {},
  ): Promise<Examination> {
    using directory = createTestDirectory();
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(directory.path, path, ".."), { recursive: true });
      await writeFile(join(directory.path, path), text);
    }
    const child = spawn(process.execPath, [COMMAND, "doctor", ...args], {
      cwd: directory.path,
      // Excludes the developer's own tenant, proxy and account.
      env: { ...runEnvironment(), PULUMI_HOME: join(directory.path, ".pulumi"), NO_COLOR: "1", ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    const [code] = (await once(child, "close")) as [number | null];
    return new Examination(code, stdout, stderr);
  }

  findCheck(name: string): Diagnosis | undefined {
    return this.checks.find(({ check }) => check === name);
  }

  /** Returns the names of the checks with this status, in order. */
  with(status: Diagnosis["status"]): string[] {
    return this.checks.filter((check) => check.status === status).map(({ check }) => check);
  }
}

/** Starts a service in which one listener handles every request. */
export async function startServer(listener: RequestListener, certificate?: { cert: string; key: string }) {
  const server = certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${certificate === undefined ? "http" : "https"}://localhost:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export const createListener =
  (status: number, headers: Record<string, string>, body: string): RequestListener =>
  (_request, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };

export const settings = { "settings/acme.yaml": "version: 1\ndeny: [evil.example]\n" };
