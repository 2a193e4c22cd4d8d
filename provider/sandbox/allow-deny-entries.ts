import { z } from "zod";
import { canonicalValue, entryTypes } from "./canonical";
import type { SandboxBehaviour } from "./options";
import { body, type Route, route, settingsList, settingsPage, success, window } from "./route";
import type { AllowDenyEntryStore } from "./store/allow-deny-entries";

const PATH = "/api/v1/settings/allow_deny_entries";

const list = z.enum(["allow", "deny"]);
const verdictScope = z.enum(["global", "graymail"]);

const listQuery = z.object({ ...settingsPage, list: list.optional(), q: z.string().optional() });

const createBody = body({
  list,
  entry_type: z.enum(entryTypes),
  value: z.string(),
  verdict_scope: verdictScope.default("global"),
  comment: z.string().default(""),
}).transform((draft, context) => {
  const canonical_value = canonicalValue(draft.entry_type, draft.value);
  if (canonical_value !== undefined) return { ...draft, canonical_value };
  context.addIssue({
    code: "custom",
    path: ["value"],
    message: `${JSON.stringify(draft.value)} is no valid ${draft.entry_type}`,
  });
  return z.NEVER;
});

const updateBody = body(
  { list: list.optional(), verdict_scope: verdictScope.optional(), comment: z.string().optional() },
  "can't be changed; only list, verdict_scope and comment are mutable",
);

/** The four endpoints of the reference's "Allow/deny list". */
export function allowDenyEntryRoutes(
  store: AllowDenyEntryStore,
  behaviour: Required<SandboxBehaviour>,
  newId: () => string,
): Route[] {
  return [
    route({
      method: "GET",
      path: PATH,
      summary: "list allow/deny entries",
      query: listQuery,
      handle: ({ caller, query }) =>
        settingsList(query, store.page(caller.tenantId, { ...query, ...window(query) })),
    }),
    route({
      method: "POST",
      path: PATH,
      summary: "create an entry",
      body: createBody,
      handle({ caller, at, body: draft }) {
        const value = behaviour.echoValue === "as-sent" ? draft.value : draft.canonical_value;
        return success(store.create(caller, at, { ...draft, value, id: newId() }), 201);
      },
    }),
    route({
      method: "PATCH",
      path: `${PATH}/{id}`,
      summary: "update an entry",
      body: updateBody,
      handle: ({ caller, at, params, body: changes }) =>
        success(store.update(caller, at, params["id"] ?? "", changes)),
    }),
    route({
      method: "DELETE",
      path: `${PATH}/{id}`,
      summary: "delete an entry",
      handle({ caller, at, params }) {
        const id = params["id"] ?? "";
        store.delete(caller, at, id);
        return success({ deleted: true, deleted_at: at, deleted_by: caller.keyLabel, id });
      },
    }),
  ];
}
