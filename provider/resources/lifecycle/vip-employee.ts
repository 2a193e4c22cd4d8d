import { z } from "zod";
import { NotFoundError, type VipEmployeeRow } from "../../client";
import { checkVipEmployee, type ON_DELETE, type VipEmployeeInputs } from "../../settings/arguments";
import { comparable, sameComment } from "../../settings/comparable";
import { declaredValues, isSentAlike, VIP_FIELDS, valuesOf, withArguments } from "../../settings/entry-fields";
import { canonicalMailbox, parseMailbox } from "../../settings/entry-value";
import { canonicalComment, harmless, printable, quote } from "../../settings/text";
import { UNKNOWN } from "../../settings/unknown";
import { withoutUndefined } from "../../settings/without-undefined";
import { readConfirmed } from "../../tenant";
import { NotImportableError } from "./errors";
import { holdVipToPlan, isHeld } from "./held-to-plan";
import { declarationOf, fieldChanges, isDefined, type Lifecycle } from "./lifecycle";
import { sayVipTwins } from "./twins";
import { declaredVip, ensureVip, keyOfVip, writeComment } from "./vip-writes";

/** The state of a VIP: the actual values of all arguments, and the service's data about the person. */
export interface VipEmployeeState {
  readonly email: string;
  readonly comment?: string;
  readonly onDelete?: (typeof ON_DELETE)[number];
  readonly source?: string;
  readonly addedBy?: string;
  readonly dateAdded?: string;
  readonly fullName?: string;
  readonly jobTitle?: string;
  readonly department?: string;
}

/** The lifecycle of one VIP employee (API reference, section "VIP employees"). Its id is the mailbox in lower case. */
export const vipEmployee: Lifecycle<VipEmployeeInputs, VipEmployeeState> = {
  check: (raw) => checkVipEmployee(raw),

  complete: (inputs) => inputs as unknown as VipEmployeeInputs,

  declare: (inputs) => declarationOf(declaredVip(inputs, "email")),

  warn(state, inputs) {
    const isSameMailbox = comparable(state.email, canonicalMailbox) === comparable(inputs.email, canonicalMailbox);
    if (isSameMailbox || state.onDelete === "keep") return [];
    return [
      `Replacing ${state.email} excludes that mailbox for good: automatic detection will never make it a VIP again. To only forget it, set onDelete: "keep" and run \`up\` first.`,
    ];
  },

  diff(state, inputs) {
    return fieldChanges(VIP_FIELDS, state, inputs);
  },

  ids: (_id, state) => [keyOfVip(state.email)],

  foresee(inputs, before) {
    if (before !== undefined && isVipUnchanged(before.state, inputs))
      return withArguments(VIP_FIELDS, before.state, inputs);
    return withoutUndefined({
      ...valuesOf(VIP_FIELDS, { ...inputs }),
      ...(before !== undefined && isStoredVip(before.state) ? pickStoredFields(before.state) : UNKNOWN_STORED_FIELDS),
      ...(before !== undefined && hasServiceFields(before.state)
        ? pickDirectoryFields(before.state)
        : UNKNOWN_DIRECTORY_FIELDS),
    });
  },

  async create(inputs, context) {
    const { tenant, say, hold } = context;
    const isInState = context.isManaged?.(keyOfVip(inputs.email)) === true;
    // The list may still show one that an earlier run removed.
    const before = await readConfirmed(
      tenant,
      "vips",
      () => tenant.findVip(inputs.email),
      (row) => row !== undefined && !isInState && (isHeld(context) || sameComment(row.comment, inputs.comment)),
    );
    if (isHeld(context)) await holdVipToPlan(inputs.email, inputs, context);
    await context.confirmTenant("vips");
    await sayVipTwins([inputs.email], context);
    const row = await ensureVip(inputs, tenant, { isInState });
    hold([keyOfVip(inputs.email)]);
    if (before?.comment !== undefined && !sameComment(before.comment, inputs.comment)) {
      const commentText = inputs.comment === undefined ? "it has none now" : `it is now ${quote(inputs.comment)}`;
      say(
        `${inputs.email} was a VIP already, with the comment ${quote(before.comment, 500)}; ${commentText}, as declared.`,
      );
    }
    return { id: canonicalMailbox(inputs.email), state: buildVipState(row, inputs) };
  },

  async lookUp(importId, { tenant }) {
    const mailbox = parseMailbox(importId.trim());
    if (!mailbox.ok) {
      const reason = mailbox.reason.replace(/^is /, "it is ");
      throw new NotImportableError(
        `${quote(importId)} names no VIP: ${reason}. A VIP is imported by its mailbox. Nothing was imported.`,
      );
    }
    const row = await tenant.findVipSurely(mailbox.value);
    if (row === undefined) return undefined;
    const comment = canonicalComment(row.comment);
    const email = mailbox.value;
    const inputs = withoutUndefined({ email, comment: comment === "" ? undefined : comment });
    return { id: email, state: buildVipState(row, inputs), inputs };
  },

  query: z.strictObject({}),

  async list(_query, { tenant, say }) {
    const rows = await tenant.allVips();
    const mailboxes = rows.flatMap(({ email = "" }) => {
      const mailbox = parseMailbox(canonicalMailbox(email));
      return mailbox.ok ? [mailbox.value] : [];
    });
    if (mailboxes.length < rows.length) {
      say("Left out: VIPs without a mailbox by which a program could name them.");
    }
    return mailboxes.map((mailbox) => ({ id: mailbox, name: mailbox }));
  },

  async read(id, state, context) {
    const email = state.email ?? id;
    // The state that a program passes together with an id may contain only the mailbox.
    const matchesState = (candidate: VipEmployeeRow) =>
      !hasServiceFields(state) || sameComment(state.comment, buildVipState(candidate, state).comment);
    const row = await context.tenant.findVipSurely(email, { isAsInState: matchesState });
    await context.confirmTenant("vips");
    if (row === undefined) return undefined;
    await sayVipTwins([email], context);
    const freshState = buildVipState(row, state);
    const inputs = declaredValues(VIP_FIELDS, { ...freshState });
    return { id: canonicalMailbox(freshState.email), state: freshState, inputs };
  },

  async update(_id, state, inputs, context) {
    const { tenant } = context;
    if (isHeld(context)) {
      await tenant.findVipSurely(inputs.email);
      await holdVipToPlan(inputs.email, inputs, context);
    }
    if (isVipUnchanged(state, inputs)) return withArguments(VIP_FIELDS, state, inputs);
    await context.confirmTenant("vips");
    if (!hasServiceFields(state)) return buildVipState(await ensureVip(inputs, tenant, { isInState: true }), inputs);
    try {
      // The response to the edit has no directory fields, so those of the state are kept.
      return { ...pickDirectoryFields(state), ...buildVipState(await writeComment(inputs, tenant), inputs) };
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // There is no stored row: the VIP is gone or automatically detected. The service's list decides.
      return buildVipState(await ensureVip(inputs, tenant, { storedRow: false, isInState: true }), inputs);
    }
  },

  async delete(_id, state, context) {
    const { tenant, say, isDeclared, isHeldElsewhere } = context;
    if (state.onDelete === "keep") {
      say(`${state.email} stays a VIP (onDelete: "keep"): only the stack forgets it.`);
      return;
    }
    if (isDeclared(keyOfVip(state.email))) {
      say(`${state.email} stays a VIP: the program declares it.`);
      return;
    }
    if (isHeldElsewhere(keyOfVip(state.email))) {
      say(
        `${state.email} stays a VIP: another Provider of the program manages it, by another key or address of this tenant. Where that is another tenant, remove it here in the console.`,
      );
      return;
    }
    const row = await tenant.findVipSurely(state.email);
    await context.confirmTenant("vips", { removes: true });
    if (row === undefined) {
      say(`${state.email} was no VIP any more; nothing was written.`);
      return;
    }
    if (isHeld(context)) await holdVipToPlan(state.email, undefined, context);
    await tenant.removeVip(state.email);
    say(
      `${state.email} is no VIP any more, and stays excluded: automatic detection will never make this mailbox a VIP again. To undo it, declare the VIP again, or add it in the console.`,
    );
  },
};

function buildVipState(
  row: VipEmployeeRow,
  declared: {
    readonly email: string;
    readonly comment?: string;
    readonly onDelete?: (typeof ON_DELETE)[number];
  },
): VipEmployeeState {
  const comment = sameComment(row.comment, declared.comment) ? declared.comment : harmless(row.comment ?? "");
  const sanitizeOptional = (text: string | undefined) => (text === undefined ? undefined : printable(text));
  const optionalFields = withoutUndefined({
    comment: canonicalComment(comment) === "" ? undefined : comment,
    onDelete: declared.onDelete,
    source: sanitizeOptional(row.source),
    addedBy: sanitizeOptional(row.added_by),
    dateAdded: sanitizeOptional(row.date_added),
    fullName: sanitizeOptional(row.full_name),
    jobTitle: sanitizeOptional(row.job_title),
    department: sanitizeOptional(row.department),
  });
  return { email: declared.email, ...optionalFields };
}

/**
 * Whether the state holds the service's data about a VIP. If a run added the VIP but failed to read it back, the state
 * only holds the values sent.
 */
function hasServiceFields({ source, addedBy, dateAdded }: VipEmployeeState): boolean {
  return [source, addedBy, dateAdded].some(isDefined);
}

/** Whether the arguments match the state in all fields that the service stores. Unknown values don't match. */
function isVipUnchanged(state: VipEmployeeState, inputs: VipEmployeeInputs): boolean {
  return hasServiceFields(state) && isSentAlike(VIP_FIELDS, { ...state }, { ...inputs });
}

/** Whether the service stores a row for the VIP: somebody added it, or commented on a detected one. */
function isStoredVip({ addedBy, comment, source }: VipEmployeeState): boolean {
  return Boolean(addedBy || comment) || source === "manual";
}

function pickStoredFields({ source, addedBy, dateAdded }: VipEmployeeState): Partial<VipEmployeeState> {
  return withoutUndefined({ source, addedBy, dateAdded });
}

/** Values that only the service knows: about the stored row, and about the person. */
const UNKNOWN_STORED_FIELDS = { source: UNKNOWN, addedBy: UNKNOWN, dateAdded: UNKNOWN };
const UNKNOWN_DIRECTORY_FIELDS = { fullName: UNKNOWN, jobTitle: UNKNOWN, department: UNKNOWN };

function pickDirectoryFields({ fullName, jobTitle, department }: VipEmployeeState): Partial<VipEmployeeState> {
  return withoutUndefined({ fullName, jobTitle, department });
}
