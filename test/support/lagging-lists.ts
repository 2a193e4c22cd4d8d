import type { Sandbox, SandboxHooks, ServiceRequest, ServiceResponse } from "../../provider/sandbox";

/** A service whose lists show writes late, like one with read replicas. */
export interface LaggingLists extends SandboxHooks {
  /** The sandbox whose lists lag; without it they don't lag. */
  sandbox?: Sandbox;
  /** The number of reads of a list that return the rows from before later writes. Default: 1. */
  staleReads: number;
  /** Makes the lists show all writes from now on. */
  catchUp(): void;
  /** Makes the next reads of a list return nothing. */
  hide(list: "allow" | "deny" | "vips", readings: number): void;
}

type StaleLists = Record<string, { rows: readonly object[]; readsLeft: number }>;

/**
 * Makes the first reads of each list after a write return the rows from before it. Counts reads, so that no test
 * depends on the clock.
 */
export function createLaggingLists(staleReads = 1): LaggingLists {
  let stale: StaleLists = {};
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
      const now = groupRowsByList(sandbox);
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
      const state = stale[getListName(request)];
      if (request.method !== "GET" || response.status !== 200 || state === undefined) return undefined;
      if (state.readsLeft === 0) return undefined;
      state.readsLeft -= 1;
      return replaceRows(response, state.rows);
    },
  };
  return lists;
}

function groupRowsByList(sandbox: Sandbox): Record<string, readonly object[]> {
  const entries = sandbox.allowDenyEntries("acme");
  return {
    vips: sandbox.vips("acme"),
    allow: entries.filter(({ list }) => list === "allow"),
    deny: entries.filter(({ list }) => list === "deny"),
  };
}

function getListName({ path, query }: ServiceRequest): string {
  // The request that identifies a run's tenant doesn't count as a read of the list.
  if (path.endsWith("/vip_employees")) return query["page_size"] === "200" ? "vips" : "";
  return query["list"] ?? "";
}

function replaceRows(response: ServiceResponse, rows: readonly object[]): ServiceResponse {
  const results = { items: rows, page: 1, page_size: 200, total: rows.length };
  return { ...response, body: { status: 200, results } };
}
