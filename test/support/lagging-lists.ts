import type { Sandbox, SandboxHooks, ServiceRequest, ServiceResponse } from "../../provider/sandbox";

/** A service whose lists show a write late, as one with read replicas does. */
export interface LaggingLists extends SandboxHooks {
  /** The sandbox whose lists lag; without it they don't. */
  sandbox?: Sandbox;
  /** How many readings of a list show the state before the writes that follow. Default: 1. */
  staleReads: number;
  /** From now on the lists show all writes. */
  catchUp(): void;
  /** The next readings of a list show nothing of it. */
  hide(list: "allow" | "deny" | "vips", readings: number): void;
}

type Stale = Record<string, { rows: readonly object[]; readsLeft: number }>;

/**
 * Has the first readings of each list after a write show the state before it. It counts readings, so that no test hangs on the
 * clock.
 */
export function laggingLists(staleReads = 1): LaggingLists {
  let stale: Stale = {};
  const lists: LaggingLists = {
    staleReads,
    catchUp() {
      lists.staleReads = 0;
      stale = {};
    },
    hide(list, readings) {
      stale[list] = { rows: [], readsLeft: readings };
    },
    intercept({ method }) {
      const { sandbox } = lists;
      if (method === "GET" || sandbox === undefined || lists.staleReads === 0) return undefined;
      const now = rowsByList(sandbox);
      const isLagging = (name: string) => (stale[name]?.readsLeft ?? 0) > 0;
      stale = Object.fromEntries(
        Object.entries(now).map(([name, rows]) => [
          name,
          { rows: isLagging(name) ? (stale[name]?.rows ?? rows) : rows, readsLeft: lists.staleReads },
        ]),
      );
      return undefined;
    },
    afterHandle(request, response) {
      const state = stale[listOf(request)];
      if (request.method !== "GET" || response.status !== 200 || state === undefined) return undefined;
      if (state.readsLeft === 0) return undefined;
      state.readsLeft -= 1;
      return withRows(response, state.rows);
    },
  };
  return lists;
}

function rowsByList(sandbox: Sandbox): Record<string, readonly object[]> {
  const entries = sandbox.allowDenyEntries("acme");
  return {
    vips: sandbox.vips("acme"),
    allow: entries.filter(({ list }) => list === "allow"),
    deny: entries.filter(({ list }) => list === "deny"),
  };
}

function listOf({ path, query }: ServiceRequest): string {
  // The request by which a run sees whose tenant it is reads no list.
  if (path.endsWith("/vip_employees")) return query["page_size"] === "200" ? "vips" : "";
  return query["list"] ?? "";
}

function withRows(response: ServiceResponse, rows: readonly object[]): ServiceResponse {
  const results = { items: rows, page: 1, page_size: 200, total: rows.length };
  return { ...response, body: { status: 200, results } };
}
