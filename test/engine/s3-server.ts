import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { buildGoTool } from "../support/go-tool";

const BUCKET = "states";

/**
 * An S3-compatible server on loopback with one bucket in memory. It is a real server, from a different vendor than the
 * client in Pulumi. It requires no credentials, and the client sends none unless it has some.
 */
export class S3Server implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #address: string;

  private constructor(child: ChildProcess, address: string) {
    this.#process = child;
    this.#address = address;
  }

  static async start(): Promise<S3Server> {
    const command = await buildGoTool("github.com/johannesboyne/gofakes3", "gofakes3");
    const child = spawn(command, ["-backend", "memory", "-host", "127.0.0.1:0", "-initialbucket", BUCKET], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const lines = createInterface({ input: child.stderr });
    const port = await new Promise<string>((resolvePort, failed) => {
      child.once("error", failed);
      child.once("close", (code) => failed(new Error(`the S3 server ended with ${code}`)));
      lines.on("line", (line) => {
        const port = /using port: (\d+)/.exec(line)?.[1];
        if (port !== undefined) resolvePort(port);
      });
    });
    return new S3Server(child, `127.0.0.1:${port}`);
  }

  /** The bucket's URL as a Pulumi state backend. */
  get backend(): string {
    return `s3://${BUCKET}?endpoint=${this.#address}&s3ForcePathStyle=true&disableSSL=true&region=eu-central-1`;
  }

  /** Returns the sorted names of all objects with this prefix. */
  async listNames(prefix = ""): Promise<string[]> {
    const answer = await this.#ask("GET", `?list-type=2&prefix=${encodeURIComponent(prefix)}`);
    const text = await answer.text();
    if (!text.includes("<IsTruncated>false</IsTruncated>")) throw new Error("more objects than one page tells");
    return [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, name = ""]) => name).sort();
  }

  /** Returns all objects of the bucket by name. */
  async readObjects(): Promise<Map<string, string>> {
    const names = await this.listNames();
    const texts = await Promise.all(names.map(async (name) => await (await this.#ask("GET", name)).text()));
    return new Map(names.map((name, index) => [name, texts[index] ?? ""]));
  }

  async put(name: string, text: string): Promise<void> {
    await this.#ask("PUT", name, text);
  }

  async remove(name: string): Promise<void> {
    await this.#ask("DELETE", name);
  }

  async #ask(method: string, path: string, body?: string): Promise<Response> {
    const answer = await fetch(`http://${this.#address}/${BUCKET}/${path}`, {
      method,
      ...(body === undefined ? {} : { body }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, "close");
    this.#process.kill("SIGKILL");
    await exit;
  }
}
