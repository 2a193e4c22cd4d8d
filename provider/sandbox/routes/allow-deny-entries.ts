import { z } from "zod";
import type { SandboxBehaviour } from "../contract/behaviour";
import { entryTypes, parseCanonicalValue } from "../contract/canonical";
import { allowDenyEntryResponseSchema, deleteEntryResponseSchema } from "../contract/schemas";
import type { AllowDenyEntryStore } from "../store/allow-deny-entries";
import {
  buildBodySchema,
  buildEnvelopeSchema,
  buildSettingsListResponse,
  buildSettingsListSchema,
  buildSuccessResponse,
  defineRoute,
  type Route,
  settingsPageShape,
  toLimitOffset,
} from "./route";

const PATH = "/api/v1/settings/allow_deny_entries";
const section = "Allow/deny list";
const params = { id: "the entry id" };
const unknownEntry = { condition: "the resource does not exist" };
const collision = { condition: "the value is already on the list, or on the opposite list" };

const list = z.enum(["allow", "deny"]);
const verdictScope = z.enum(["global", "graymail"]);

const listQuery = z.object({
  ...settingsPageShape,
  list: list.optional().describe("filters the entries"),
  q: z.string().optional().describe("a substring match on the identifier value"),
});

const createBody = buildBodySchema({
  list,
  entry_type: z.enum(entryTypes),
  value: z.string().describe("a domain, IP or email address"),
  verdict_scope: verdictScope.default("global"),
  comment: z.string().default(""),
})
  .meta({
    examples: [{ list: "deny", entry_type: "domain", value: "phish.example", comment: "Wave of May" }],
  })
  .transform((draft, context) => {
    const canonical_value = parseCanonicalValue(draft.entry_type, draft.value);
    if (canonical_value !== undefined) return { ...draft, canonical_value };
    context.addIssue({
      code: "custom",
      path: ["value"],
      message: `${JSON.stringify(draft.value)} isn't a valid ${draft.entry_type}`,
    });
    return z.NEVER;
  });

const updateBody = buildBodySchema(
  { list: list.optional(), verdict_scope: verdictScope.optional(), comment: z.string().optional() },
  "can't be changed; only list, verdict_scope and comment are mutable",
);

export function allowDenyEntryRoutes(
  store: AllowDenyEntryStore,
  behaviour: Required<SandboxBehaviour>,
  newId: () => string,
): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: PATH,
      section,
      summary: "list allow/deny entries",
      description: "returns a page of the tenant's entries",
      query: listQuery,
      getResponseSchema: () => buildSettingsListSchema(allowDenyEntryResponseSchema),
      handle: ({ caller, query }) =>
        buildSettingsListResponse(query, store.page(caller.tenantId, { ...query, ...toLimitOffset(query) })),
    }),
    defineRoute({
      method: "POST",
      path: PATH,
      section,
      summary: "create an entry",
      description: "Adds the entry to the tenant's allow or deny list.",
      body: createBody,
      getResponseSchema: () => buildEnvelopeSchema(allowDenyEntryResponseSchema, 201),
      errorResponses: { 409: collision },
      handle({ caller, at, body: draft }) {
        const value = behaviour.echoValue === "as-sent" ? draft.value : draft.canonical_value;
        return { status: 201, results: store.create(caller, at, { ...draft, value, id: newId() }) };
      },
    }),
    defineRoute({
      method: "PATCH",
      path: `${PATH}/{id}`,
      section,
      summary: "update an entry",
      description: "only list, verdict_scope and comment are mutable. Omitted fields stay unchanged.",
      params,
      body: updateBody,
      getResponseSchema: () => buildEnvelopeSchema(allowDenyEntryResponseSchema),
      errorResponses: { 404: unknownEntry, 409: collision },
      handle: ({ caller, at, params, body: changes }) =>
        buildSuccessResponse(store.update(caller, at, params["id"] ?? "", changes)),
    }),
    defineRoute({
      method: "DELETE",
      path: `${PATH}/{id}`,
      section,
      summary: "delete an entry",
      description: "Removes the entry. It must belong to the caller's tenant.",
      params,
      getResponseSchema: () => buildEnvelopeSchema(deleteEntryResponseSchema),
      errorResponses: { 404: unknownEntry },
      handle({ caller, at, params }) {
        const id = params["id"] ?? "";
        store.delete(caller, at, id);
        return buildSuccessResponse({ deleted: true, deleted_at: at, deleted_by: caller.keyLabel, id });
      },
    }),
  ];
}
