import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { goTool } from "./go-tool";

const BUCKET = "states";

/**
 * A server of S3's protocol over loopback with one bucket, which it keeps in memory: a real one, of another maker than the
 * client that Pulumi speaks to it with. It asks for no credentials, and the client sends none without having some.
 */
export class S3Server implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #address: string;

  private constructor(child: ChildProcess, address: string) {
    this.#process = child;
    this.#address = address;
  }

  static async start(): Promise<S3Server> {
    const command = await goTool("github.com/johannesboyne/gofakes3", "gofakes3");
    const child = spawn(command, ["-backend", "memory", "-host", "127.0.0.1:0", "-initialbucket", BUCKET], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const lines = createInterface({ input: child.stderr });
    const port = await new Promise<string>((found, failed) => {
      child.once("error", failed);
      child.once("exit", (code) => failed(new Error(`the S3 server ended with ${code}`)));
      lines.on("line", (line) => {
        const port = /using port: (\d+)/.exec(line)?.[1];
        if (port !== undefined) found(port);
      });
    });
    return new S3Server(child, `127.0.0.1:${port}`);
  }

  /** The bucket as a state backend, as Pulumi takes it. */
  get backend(): string {
    return `s3://${BUCKET}?endpoint=${this.#address}&s3ForcePathStyle=true&disableSSL=true&region=eu-central-1`;
  }

  /** The names of all objects that begin so, sorted. */
  async names(prefix = ""): Promise<string[]> {
    const answer = await this.#ask("GET", `?list-type=2&prefix=${encodeURIComponent(prefix)}`);
    const text = await answer.text();
    if (!text.includes("<IsTruncated>false</IsTruncated>")) throw new Error("more objects than one page tells");
    return [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, name = ""]) => name).sort();
  }

  /** All that the bucket holds, by name. */
  async objects(): Promise<Map<string, string>> {
    const names = await this.names();
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
    const gone = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await gone;
  }
}
