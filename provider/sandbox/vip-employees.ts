import { z } from "zod";
import { canonicalMailbox } from "./canonical";
import { Refusal } from "./errors";
import type { SandboxBehaviour } from "./options";
import {
  body,
  type Route,
  type RouteAnswer,
  route,
  settingsList,
  settingsPage,
  success,
  window,
} from "./route";
import type { AddVipResult, VipEmployeeStore } from "./store/vip-employees";

const PATH = "/api/v1/settings/vip_employees";

const mailbox = z.string().min(1, "must not be empty");

const listQuery = z.object({
  ...settingsPage,
  q: z.string().optional(),
  sort: z.enum(["asc", "desc"]).default("desc"),
});

const addBody = body({
  emails: z.array(mailbox).min(1, "must hold at least one address"),
  comment: z.string().default(""),
});

const editBody = body({ email: mailbox, comment: z.string() });

const removeBody = body({
  emails: z.array(mailbox).min(1, "must hold 1 to 1000 addresses").max(1000, "must hold 1 to 1000 addresses"),
});

/** The four endpoints of the reference's "VIP employees". */
export function vipEmployeeRoutes(store: VipEmployeeStore, behaviour: Required<SandboxBehaviour>): Route[] {
  return [
    route({
      method: "GET",
      path: PATH,
      summary: "list VIP employees",
      query: listQuery,
      handle: ({ caller, query }) =>
        settingsList(query, store.page(caller.tenantId, { ...query, ...window(query) })),
    }),
    route({
      method: "POST",
      path: PATH,
      summary: "add VIPs",
      body: addBody,
      handle({ caller, at, body: { emails, comment } }) {
        const sent = byMailbox(emails);
        const result = store.add(caller, at, [...sent.keys()], comment, behaviour);
        const echo = (email: string) =>
          behaviour.echoValue === "as-sent" ? (sent.get(email) ?? email) : email;
        return answerToAdd(behaviour, {
          added: result.added.map(echo),
          already_vip: result.already_vip.map(echo),
          not_in_org: result.not_in_org.map(echo),
        });
      },
    }),
    route({
      method: "PATCH",
      path: PATH,
      summary: "edit a VIP comment",
      body: editBody,
      handle: ({ caller, at, body: { email, comment } }) =>
        success(store.editComment(caller, at, comparable(email), comment)),
    }),
    route({
      method: "POST",
      path: `${PATH}/remove`,
      summary: "remove VIPs",
      body: removeBody,
      handle: ({ caller, at, body: { emails } }) =>
        success({ affected: store.remove(caller, at, [...byMailbox(emails).keys()]) }),
    }),
  ];
}

/** The answer to an add; outside the organization, in whichever form the options ask for. */
function answerToAdd(behaviour: Required<SandboxBehaviour>, result: AddVipResult): RouteAnswer {
  if (result.not_in_org.length === 0) return success(result);
  const details = behaviour.notInOrgShape === "top" ? { ...result } : { results: result };
  const status = behaviour.notInOrgStatus;
  if (status === 200) return { status, body: details };
  throw new Refusal(status, `not in the organization: ${result.not_in_org.join(", ")}; nothing was written`, {
    details,
  });
}

/** Every mailbox once, however often and in whatever case it was sent, with the text of the first time. */
function byMailbox(emails: string[]): Map<string, string> {
  const mailboxes = new Map<string, string>();
  for (const email of emails) {
    const key = comparable(email);
    if (!mailboxes.has(key)) mailboxes.set(key, email);
  }
  return mailboxes;
}

/** What is no mailbox at all is still compared: an add finds it outside the organization, a remove excludes it. */
function comparable(email: string): string {
  return canonicalMailbox(email) ?? email.toLowerCase();
}
