import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { readRequestText } from "../../support/read-request-body";

/** An entry as stored by the service. */
export interface NumberedEntry {
  readonly id: string;
  list: string;
  readonly entry_type: string;
  readonly value: string;
  verdict_scope: string;
  comment: string;
}

/**
 * A service with one tenant per key, which numbers each tenant's entries from one, so an id only identifies an entry
 * within its tenant.
 */
export class NumberedTenants implements AsyncDisposable {
  /** The non-read requests, as `DELETE 1` prefixed with the key. */
  readonly writes: string[] = [];
  /** Returns an answer in place of the service's; undefined to let the service answer. */
  intercept: (method: string, url: string) => unknown = () => undefined;
  readonly #tenants = new Map<string, NumberedEntry[]>();
  readonly #server = createServer(async (request, response) => {
    const text = await readRequestText(request);
    if (text === undefined) return;
    const { method = "", url = "", headers } = request;
    this.#answer(method, url, String(headers["x-api-key"]), text === "" ? {} : JSON.parse(text), response);
  });

  static async start(): Promise<NumberedTenants> {
    const service = new NumberedTenants();
    await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  listEntries(key: string): NumberedEntry[] {
    const entries = this.#tenants.get(key) ?? [];
    this.#tenants.set(key, entries);
    return entries;
  }

  /** Adds an entry as a colleague would in the console; returns its id. */
  put(key: string, entry: Pick<NumberedEntry, "list" | "value"> & Partial<NumberedEntry>): string {
    const entries = this.listEntries(key);
    const id = String(Math.max(0, ...entries.map((numberedEntry) => Number(numberedEntry.id))) + 1);
    entries.push({ entry_type: "domain", verdict_scope: "global", comment: "", ...entry, id });
    return id;
  }

  #answer(method: string, url: string, key: string, body: Record<string, string>, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, "http://x");
    const entries = this.listEntries(key);
    const id = pathname.split("/").at(-1) ?? "";
    if (method !== "GET") this.writes.push(`${key} ${method} ${method === "POST" ? body["value"] : id}`);
    const odd = this.intercept(method, url);
    if (odd !== undefined) {
      writeJson(response, 200, odd);
      return;
    }
    if (method === "GET") {
      const items = entries.filter((row) => row.list === searchParams.get("list"));
      writeJson(response, 200, { results: { items, page: 1, page_size: 200, total: items.length } });
      return;
    }
    if (method === "POST") {
      const isThere = entries.some((row) => row.value === body["value"]);
      if (isThere) writeJson(response, 409, { error: "it exists" });
      else {
        const createdItem = this.put(key, body as never);
        writeJson(response, 201, { results: entries.find((row) => row.id === createdItem) });
      }
      return;
    }
    const index = entries.findIndex((row) => row.id === id);
    const row = entries[index];
    if (row === undefined) {
      writeJson(response, 404, { error: "no such entry" });
      return;
    }
    if (method === "PATCH") Object.assign(row, body);
    else entries.splice(index, 1);
    writeJson(response, 200, { results: method === "PATCH" ? row : { id, deleted: true } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function writeJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
