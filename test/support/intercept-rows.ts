import type { SandboxOptions } from "../../provider/sandbox";

/** A list row as sent over the wire. */
export type WireRow = Readonly<Record<string, unknown>>;

/**
 * Creates hooks for a service whose lists return these rows, page by page, and that handles writes as usual. If `rows`
 * is a function, it is called for each request.
 */
export function createRowHooks(
  entries: readonly WireRow[] | (() => readonly WireRow[]),
  vips: readonly WireRow[] | (() => readonly WireRow[]),
): SandboxOptions & Pick<Required<SandboxOptions>, "intercept"> {
  return {
    intercept: ({ method, path, query }) => {
      if (method !== "GET") return undefined;
      const isOfList = (row: WireRow): boolean => {
        // Rows with an unknown list are returned with the deny list.
        const list = row["list"] === "allow" ? "allow" : "deny";
        return query["list"] === undefined || list === query["list"];
      };
      const rows = path.endsWith("/vip_employees") ? resolveRows(vips) : resolveRows(entries).filter(isOfList);
      const [page, size] = [Number(query["page"] ?? 1), Number(query["page_size"] ?? 50)];
      const items = rows.slice((page - 1) * size, page * size);
      return {
        status: 200,
        body: { status: "success", results: { items, page, page_size: size, total: rows.length } },
      };
    },
  };
}

function resolveRows(rows: readonly WireRow[] | (() => readonly WireRow[])): readonly WireRow[] {
  return typeof rows === "function" ? rows() : rows;
}
