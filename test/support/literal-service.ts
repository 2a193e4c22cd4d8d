import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ProviderProcess, type ProviderProcessOptions } from "./provider-process";
import { readRequestText } from "./read-request-body";

/** An allow/deny row as sent over the wire. */
export interface LiteralEntry {
  id: string;
  list: string;
  entry_type: string;
  value: string;
  verdict_scope: string;
  comment: string;
  created_at: string;
  created_by: string;
}

/** A row of the VIP list. */
export interface LiteralVip {
  readonly email: string;
  comment: string;
  readonly source: "manual";
  readonly added_by: string;
  readonly date_added: string;
}

export interface LiteralServiceOptions {
  /** The initial rows. */
  readonly entries?: readonly Partial<LiteralEntry>[];
  /** Mailboxes that somebody added as VIPs before. Every mailbox belongs to the organization. */
  readonly vips?: readonly string[];
  /** Returns the stored form of a value. Default: the value as sent. */
  readonly stored?: (value: string) => string;
  /** Whether a second row with the same text is created instead of refused with 409. Default: false. */
  readonly allowsDuplicates?: boolean;
  /** The number of reads of a list that miss a newly created row. Default: 0. */
  readonly readsBehind?: number;
  /**
   * The number of reads of each list, or of one of the two, that return the rows from before a change or deletion.
   * Default: 0.
   */
  readonly changesBehind?: number | Partial<Record<"allow" | "deny", number>>;
}

/** The body of a write of VIPs. */
interface VipBody {
  readonly emails?: readonly string[];
  readonly email?: string;
  readonly comment?: string;
}

/** A service with the reference's API that compares values and mailboxes literally: another spelling is another row. */
export class LiteralService implements AsyncDisposable {
  readonly url: string;
  readonly entries: LiteralEntry[] = [];
  readonly vips: LiteralVip[] = [];
  /** The writes so far: `POST deny evil.example`, `PATCH ID {"list":"deny"}`, `DELETE ID`. */
  readonly writes: string[] = [];
  /** Called and awaited when a DELETE of an entry arrives, before the service looks up the entry. */
  beforeDelete: (id: string) => void | Promise<void> = () => {};
  /** Whether changes and deletions of an entry are answered with 404 and not executed. */
  answers404 = false;
  /** The number of list reads. */
  reads = 0;
  /** The ids of rows whose deletion is refused with 400. */
  readonly undeletable = new Set<string>();
  readonly #options: LiteralServiceOptions;
  readonly #server: ReturnType<typeof createServer>;
  readonly #hidden = new Map<string, number>();
  /** The rows that the next reads of each list return. */
  #stale: { readonly rows: readonly LiteralEntry[]; readonly remainingChanges: Record<string, number> } | undefined;
  #count = 0;

  private constructor(server: ReturnType<typeof createServer>, options: LiteralServiceOptions) {
    this.#server = server;
    this.#options = options;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const entry of options.entries ?? []) this.#insert(entry);
    for (const email of options.vips ?? []) this.#addVip(email);
  }

  static async start(options: LiteralServiceOptions = {}): Promise<LiteralService> {
    const server = createServer((request, response) => void service.#answer(request, response));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const service = new LiteralService(server, options);
    return service;
  }

  /** Returns the contents of the lists: `deny evil.example`, sorted. */
  listContents(): string[] {
    return this.entries.map(({ list, value }) => `${list} ${value}`).sort();
  }

  /** Hides each existing row from this many more reads of a list. */
  hide(reads: number): void {
    for (const { id } of this.entries) this.#hidden.set(id, reads);
  }

  /** Makes the lists show all writes. */
  catchUp(): void {
    this.#stale = undefined;
  }

  /** Adds a row as somebody does in the console. */
  add(entry: Partial<LiteralEntry>): LiteralEntry {
    return this.#insert(entry);
  }

  #fallBehind(): void {
    const { changesBehind = 0 } = this.#options;
    const rows = this.entries.map((entry) => ({ ...entry }));
    const remainingChanges =
      typeof changesBehind === "number" ? { allow: changesBehind, deny: changesBehind } : { ...changesBehind };
    this.#stale = { rows, remainingChanges };
  }

  #insert(entry: Partial<LiteralEntry>): LiteralEntry {
    this.#count += 1;
    const row: LiteralEntry = {
      id: `row-${this.#count}`,
      list: "deny",
      entry_type: "domain",
      value: "",
      verdict_scope: "global",
      comment: "",
      created_at: `2026-11-0${1 + (this.#count % 9)}T09:00:00Z`,
      created_by: "Dana Reyes (console)",
      ...entry,
    };
    this.entries.push(row);
    return row;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.url);
    const text = await readRequestText(request);
    if (text === undefined) return;
    const body = text === "" ? {} : (JSON.parse(text) as Partial<LiteralEntry> & VipBody);
    if (request.method === "DELETE") await this.beforeDelete(getEntryId(url));
    const [status, answer] = this.#handle(request.method ?? "GET", url, body);
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(answer));
  }

  #addVip(email: string, comment = ""): void {
    const metadata = {
      source: "manual",
      added_by: "Dana Reyes (console)",
      date_added: "2026-11-01T09:00:00Z",
    } as const;
    this.vips.push({ email, comment, ...metadata });
  }

  #changeVips(method: string, path: string, { emails = [], email = "", comment = "" }: VipBody): [number, unknown] {
    const named = method === "PATCH" ? [email] : emails;
    this.writes.push(`${path.endsWith("/remove") ? "REMOVE" : method} ${named.join(" ")}`);
    const there = this.vips.filter((vip) => named.includes(vip.email));
    if (method === "PATCH") {
      for (const vip of there) vip.comment = comment;
      const [row] = there;
      return row === undefined ? [404, { error: "no stored row" }] : [200, { status: 200, results: row }];
    }
    if (path.endsWith("/remove")) {
      for (const vip of there) this.vips.splice(this.vips.indexOf(vip), 1);
      return [200, { status: 200, results: { affected: named.length } }];
    }
    const isThere = (text: string) => there.some((row) => row.email === text);
    const added = named.filter((candidate) => !isThere(candidate));
    for (const item of added) this.#addVip(item, comment);
    return [200, { status: 200, results: { added, already_vip: named.filter(isThere), not_in_org: [] } }];
  }

  #handle(method: string, url: URL, body: Partial<LiteralEntry> & VipBody): [status: number, body: unknown] {
    const buildResponse = (value: unknown, status = 200): [number, unknown] => [status, { status, results: value }];
    if (method !== "GET" && url.pathname.includes("/vip_employees"))
      return this.#changeVips(method, url.pathname, body);
    const id = getEntryId(url);
    const row = this.entries.find((entry) => entry.id === id);
    if (method === "GET") {
      if (url.searchParams.get("page_size") === "200") this.reads += 1;
      return buildResponse(this.#page(url));
    }
    if (method === "POST") return this.#create(body, buildResponse);
    if (row === undefined || this.answers404) return [404, { error: "no such entry" }];
    if (method === "DELETE" && this.undeletable.has(id)) return [400, { error: "can't be deleted now" }];
    this.#fallBehind();
    if (method === "PATCH") {
      this.writes.push(`PATCH ${id} ${JSON.stringify(body)}`);
      Object.assign(row, body);
      return buildResponse(row);
    }
    this.writes.push(`DELETE ${id}`);
    this.entries.splice(this.entries.indexOf(row), 1);
    return buildResponse({ id, deleted: true, deleted_at: "2026-11-25T09:00:00Z", deleted_by: "ci" });
  }

  #create(
    body: Partial<LiteralEntry>,
    results: (value: unknown, status?: number) => [number, unknown],
  ): [number, unknown] {
    this.writes.push(`POST ${body.list} ${body.value}`);
    const value = this.#options.stored?.(body.value ?? "") ?? body.value ?? "";
    const isThere = this.entries.some((entry) => entry.value === value);
    if (isThere && this.#options.allowsDuplicates !== true) return [409, { error: "is there already" }];
    const row = this.#insert({ ...body, value, created_by: "ci" });
    this.#hidden.set(row.id, this.#options.readsBehind ?? 0);
    return results(row, 201);
  }

  #page({ pathname, searchParams }: URL): unknown {
    const [page, size] = [Number(searchParams.get("page") ?? 1), Number(searchParams.get("page_size") ?? 50)];
    const list = searchParams.get("list") ?? "";
    const staleReads = this.#stale?.remainingChanges[list] ?? 0;
    if (this.#stale !== undefined) this.#stale.remainingChanges[list] = staleReads - 1;
    const rows = staleReads > 0 ? (this.#stale?.rows ?? []) : this.entries;
    const entries = rows.filter((row) => row.list === list);
    const listed = entries.filter(({ id }) => {
      const remainingReads = this.#hidden.get(id) ?? 0;
      if (remainingReads > 0) this.#hidden.set(id, remainingReads - 1);
      return remainingReads === 0;
    });
    const visibleRows = pathname.endsWith("/vip_employees") ? this.vips : listed;
    return {
      items: visibleRows.slice((page - 1) * size, page * size),
      page,
      page_size: size,
      total: visibleRows.length,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

function getEntryId({ pathname }: URL): string {
  return decodeURIComponent(/allow_deny_entries\/(.+)$/.exec(pathname)?.[1] ?? "");
}

/** A {@link LiteralService} and a provider process that manages its tenant. */
export interface LiteralTenant extends AsyncDisposable {
  readonly service: LiteralService;
  readonly provider: ProviderProcess;
}

export async function startLiteralTenant(
  options: LiteralServiceOptions = {},
  process: Pick<ProviderProcessOptions, "hasRealPauses"> = {},
): Promise<LiteralTenant> {
  const service = await LiteralService.start(options);
  const provider = await ProviderProcess.start({
    ...process,
    environment: { EMAIL_SECURITY_BASE_URL: service.url, EMAIL_SECURITY_API_KEY: "key" },
  });
  return {
    service,
    provider,
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}
