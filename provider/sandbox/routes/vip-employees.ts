import { z } from "zod";
import type { SandboxBehaviour } from "../contract/behaviour";
import { parseCanonicalMailbox } from "../contract/canonical";
import { SandboxHttpError } from "../contract/errors";
import {
  addVipResponseSchema,
  removeVipResponseSchema,
  type SandboxAddVipResult,
  vipEmployeeResponseSchema,
  vipStoredRowResponseSchema,
} from "../contract/schemas";
import type { VipEmployeeStore } from "../store/vip-employees";
import {
  buildBodySchema,
  buildEnvelopeSchema,
  buildSettingsListResponse,
  buildSettingsListSchema,
  buildSuccessResponse,
  defineRoute,
  errorBodySchema,
  type Route,
  settingsPageShape,
  toLimitOffset,
} from "./route";

const PATH = "/api/v1/settings/vip_employees";
const section = "VIP employees";

const mailbox = z.string().min(1, "must not be empty");

const listQuery = z.object({
  ...settingsPageShape,
  q: z
    .string()
    .optional()
    .describe("free-text match across email, full name, job title, department, comment and the adder's name"),
  sort: z.enum(["asc", "desc"]).default("desc").describe("order by date added"),
});

const addBody = buildBodySchema({
  emails: z.array(mailbox).min(1, "must contain at least one address"),
  comment: z.string().default(""),
}).meta({ examples: [{ emails: ["mei.chen@acme.example"], comment: "On call" }] });

const editBody = buildBodySchema({ email: mailbox, comment: z.string() }).meta({
  examples: [{ email: "marcus.bell@acme.example", comment: "Approves supplier bank changes" }],
});

const removeBody = buildBodySchema({
  emails: z.array(mailbox).min(1, "must contain 1 to 1000 addresses").max(1000, "must contain 1 to 1000 addresses"),
});

const addResponseSchema = buildEnvelopeSchema(addVipResponseSchema);
const flatAddResponseSchema = z.object({ status: z.literal(200), ...addVipResponseSchema.shape });
type AddVipResponse = z.infer<typeof addResponseSchema> | z.infer<typeof flatAddResponseSchema>;

export function vipEmployeeRoutes(store: VipEmployeeStore, behaviour: Required<SandboxBehaviour>): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: PATH,
      section,
      summary: "list VIP employees",
      description:
        "returns a page of the caller's VIP list, both employees detected automatically from job title and department and those added manually. Rows without a mailbox are returned last.",
      query: listQuery,
      getResponseSchema: () => buildSettingsListSchema(vipEmployeeResponseSchema),
      handle: ({ caller, query }) =>
        buildSettingsListResponse(query, store.page(caller.tenantId, { ...query, ...toLimitOffset(query) })),
    }),
    defineRoute({
      method: "POST",
      path: PATH,
      section,
      summary: "add VIPs",
      description:
        "Marks the mailboxes as VIP. Every address must belong to the organization. If any does not, nothing is written and the addresses are returned in `not_in_org`. Addresses already listed go to `already_vip` and are not an error. Audit-logged.",
      body: addBody,
      getResponseSchema: (): z.ZodType<AddVipResponse> =>
        behaviour.notInOrgStatus === 200 && behaviour.notInOrgShape === "top"
          ? z.union([addResponseSchema, flatAddResponseSchema])
          : addResponseSchema,
      errorResponses: buildNotInOrgErrors(behaviour),
      handle({ caller, at, body: { emails, comment } }) {
        const sentByMailbox = indexByMailbox(emails);
        const result = store.add(caller, at, [...sentByMailbox.keys()], comment, behaviour);
        const toEchoedValue = (email: string) =>
          behaviour.echoValue === "as-sent" ? (sentByMailbox.get(email) ?? email) : email;
        return buildAddResponse(behaviour, {
          added: result.added.map(toEchoedValue),
          already_vip: result.already_vip.map(toEchoedValue),
          not_in_org: result.not_in_org.map(toEchoedValue),
        });
      },
    }),
    defineRoute({
      method: "PATCH",
      path: PATH,
      section,
      summary: "edit a VIP comment",
      description: "Replaces the note stored against a manually added VIP. Audit-logged.",
      body: editBody,
      getResponseSchema: () => buildEnvelopeSchema(vipStoredRowResponseSchema),
      errorResponses: { 404: { condition: "no VIP, or an auto-detected VIP with no stored row" } },
      handle: ({ caller, at, body: { email, comment } }) =>
        buildSuccessResponse(store.editComment(caller, at, toComparableMailbox(email), comment)),
    }),
    defineRoute({
      method: "POST",
      path: `${PATH}/remove`,
      section,
      summary: "remove VIPs",
      description:
        "Writes an exclusion for each mailbox meaning never treat it as a VIP, which stops automatic detection from re-adding it. Removing a mailbox that is not currently a VIP still succeeds and still writes an exclusion. Addresses are not checked against the directory. Audit-logged.",
      body: removeBody,
      getResponseSchema: () => buildEnvelopeSchema(removeVipResponseSchema),
      handle: ({ caller, at, body: { emails } }) =>
        buildSuccessResponse({ affected: store.remove(caller, at, [...indexByMailbox(emails).keys()]) }),
    }),
  ];
}

/** Builds the response to an add. If a mailbox is outside the organization, the options determine its form. */
function buildAddResponse(behaviour: Required<SandboxBehaviour>, result: SandboxAddVipResult): AddVipResponse {
  if (result.not_in_org.length === 0) return buildSuccessResponse(result);
  const details = behaviour.notInOrgShape === "top" ? { ...result } : { results: result };
  const status = behaviour.notInOrgStatus;
  if (status === 200) return { status, ...details };
  throw new SandboxHttpError(status, `not in the organization: ${result.not_in_org.join(", ")}; nothing was written`, {
    details,
  });
}

/** Describes the error response for mailboxes outside the organization, in addition to that for an invalid body. */
function buildNotInOrgErrors({ notInOrgStatus, notInOrgShape }: Required<SandboxBehaviour>) {
  if (notInOrgStatus === 200) return {};
  const buildResponseBody = () => {
    const details = notInOrgShape === "top" ? addVipResponseSchema.shape : { results: addVipResponseSchema };
    const errorSchema = z.object({ error: z.string(), ...details }).meta({ id: "NotInOrganization" });
    return notInOrgStatus === 400 ? z.union([errorBodySchema, errorSchema]) : errorSchema;
  };
  return {
    [notInOrgStatus]: {
      condition: "an address outside the organization: nothing was written",
      body: buildResponseBody,
    },
  };
}

/** Maps each canonical mailbox to the first spelling in the request. */
function indexByMailbox(emails: string[]): Map<string, string> {
  const mailboxes = new Map<string, string>();
  for (const email of emails) {
    const key = toComparableMailbox(email);
    if (!mailboxes.has(key)) mailboxes.set(key, email);
  }
  return mailboxes;
}

/**
 * Returns the form for comparison, even for an invalid mailbox: an add reports it as outside the organization, a remove
 * excludes it.
 */
function toComparableMailbox(email: string): string {
  return parseCanonicalMailbox(email) ?? email.toLowerCase();
}
