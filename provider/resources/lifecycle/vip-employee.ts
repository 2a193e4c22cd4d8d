import { z } from "zod";
import { NotFoundError, type VipEmployeeRow } from "../../client";
import { checkVipEmployee, type ON_DELETE, type VipEmployeeInputs } from "../../model/arguments";
import { toComparable } from "../../model/compare-arguments";
import {
  applyArguments,
  areSentFieldsEqual,
  isSameEntryState,
  pickDeclaredValues,
  pickEntryState,
  pickRowValues,
  pickUnsentValues,
  pickValues,
  VIP_FIELD_DEFINITIONS,
} from "../../model/entry-fields";
import { canonicalizeMailbox, parseMailbox } from "../../model/entry-value";
import { omitUndefined } from "../../model/omit-undefined";
import { quote, sanitizeLine } from "../../model/text";
import { UNKNOWN } from "../../model/unknown-value";
import { readConfirmed } from "../../tenant";
import { logVipDuplicates } from "./duplicate-rows";
import { enforcePlanForVip, isPlanEnforced } from "./enforce-plan";
import { NotImportableError } from "./errors";
import { buildFieldChanges, buildSingleDeclaration, isDefined, type Lifecycle } from "./lifecycle";
import { buildVipDeclaration, buildVipDeclarationKey, ensureVip, writeVipComment } from "./vip-writes";

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
export const vipEmployeeLifecycle: Lifecycle<VipEmployeeInputs, VipEmployeeState> = {
  check: (raw) => checkVipEmployee(raw),

  complete: (inputs) => inputs as unknown as VipEmployeeInputs,

  declare: (inputs) => buildSingleDeclaration(buildVipDeclaration(inputs, "email")),

  warn(state, inputs, isDeclared) {
    const isSameMailbox =
      toComparable(state.email, canonicalizeMailbox) === toComparable(inputs.email, canonicalizeMailbox);
    const isKept = state.onDelete === "keep" || isDeclared(buildVipDeclarationKey(state.email));
    if (isSameMailbox || isKept) return [];
    return [
      `Replacing ${state.email} excludes that mailbox permanently: automatic detection will never make it a VIP again. To only remove it from the state, set onDelete: "keep" and run \`up\` first.`,
    ];
  },

  diff(state, inputs) {
    return buildFieldChanges(VIP_FIELD_DEFINITIONS, state, inputs);
  },

  getManagedIds: (_id, state) => [buildVipDeclarationKey(state.email)],

  preview(inputs, before) {
    if (before !== undefined && isVipUnchanged(before.state, inputs))
      return applyArguments(VIP_FIELD_DEFINITIONS, before.state, inputs);
    return omitUndefined({
      ...pickValues(VIP_FIELD_DEFINITIONS, { ...inputs }),
      ...(before !== undefined && isStoredVip(before.state) ? pickStoredFields(before.state) : UNKNOWN_STORED_FIELDS),
      ...(before !== undefined && hasServiceFields(before.state)
        ? pickDirectoryFields(before.state)
        : UNKNOWN_DIRECTORY_FIELDS),
    });
  },

  async create(inputs, context) {
    const { tenant, log, shareManagedIds } = context;
    const isInState = context.isManaged?.(buildVipDeclarationKey(inputs.email)) === true;
    // The list may still show a VIP that an earlier run removed.
    const before = await readConfirmed(
      tenant,
      "vips",
      () => tenant.findVip(inputs.email),
      (row) => row !== undefined && !isInState && (isPlanEnforced(context) || isSameEntryState(row, inputs)),
    );
    if (isPlanEnforced(context)) await enforcePlanForVip(inputs.email, inputs, context);
    await context.confirmTenant("vips");
    await logVipDuplicates([inputs.email], context);
    const row = await ensureVip(inputs, tenant, { isInState });
    shareManagedIds([buildVipDeclarationKey(inputs.email)]);
    if (before?.comment !== undefined && !isSameEntryState(before, inputs)) {
      const commentText = inputs.comment === undefined ? "it has none now" : `it is now ${quote(inputs.comment)}`;
      log(
        `${inputs.email} was already a VIP, with the comment ${quote(before.comment, 500)}; ${commentText}, as declared.`,
      );
    }
    return { id: canonicalizeMailbox(inputs.email), state: buildVipState(row, inputs) };
  },

  async lookUp(importId, { tenant }) {
    const mailbox = parseMailbox(importId.trim());
    if (!mailbox.ok) {
      const reason = mailbox.reason.replace(/^is /, "it is ");
      throw new NotImportableError(
        `${quote(importId)} doesn't identify a VIP: ${reason}. Import a VIP by its mailbox. Nothing was imported.`,
      );
    }
    const row = await tenant.findVipConfirmed(mailbox.value);
    if (row === undefined) return undefined;
    const email = mailbox.value;
    const inputs = { email, ...pickEntryState(row) };
    return { id: email, state: buildVipState(row, inputs), inputs };
  },

  querySchema: z.strictObject({}),

  async list(_query, { tenant, log }) {
    const rows = await tenant.readAllVips();
    const mailboxes = rows.flatMap(({ email = "" }) => {
      const mailbox = parseMailbox(canonicalizeMailbox(email));
      return mailbox.ok ? [mailbox.value] : [];
    });
    if (mailboxes.length < rows.length) {
      log("Omitted: VIPs without a mailbox that a program could declare.");
    }
    return mailboxes.map((mailbox) => ({ id: mailbox, name: mailbox }));
  },

  async read(id, state, context) {
    const email = state.email ?? id;
    // The state that a program passes together with an id may contain only the mailbox.
    const matchesState = (candidate: VipEmployeeRow) =>
      !hasServiceFields(state) || isSameEntryState(state, buildVipState(candidate, state));
    const row = await context.tenant.findVipConfirmed(email, { matchesState });
    await context.confirmTenant("vips");
    if (row === undefined) return undefined;
    await logVipDuplicates([email], context);
    const freshState = buildVipState(row, state);
    const inputs = pickDeclaredValues(VIP_FIELD_DEFINITIONS, { ...freshState });
    return { id: canonicalizeMailbox(freshState.email), state: freshState, inputs };
  },

  async update(_id, state, inputs, context) {
    const { tenant } = context;
    if (isPlanEnforced(context)) {
      await tenant.findVipConfirmed(inputs.email);
      await enforcePlanForVip(inputs.email, inputs, context);
    }
    if (isVipUnchanged(state, inputs)) return applyArguments(VIP_FIELD_DEFINITIONS, state, inputs);
    await context.confirmTenant("vips");
    if (!hasServiceFields(state)) return buildVipState(await ensureVip(inputs, tenant, { isInState: true }), inputs);
    try {
      // The response to the edit has no directory fields, so those of the state are kept.
      return {
        ...pickDirectoryFields(state),
        ...buildVipState(await writeVipComment(inputs, tenant), inputs),
      };
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // The service stores no row: the VIP is gone or automatically detected. The service's list decides.
      return buildVipState(await ensureVip(inputs, tenant, { storedRow: false, isInState: true }), inputs);
    }
  },

  async delete(_id, state, context) {
    const { tenant, log, isDeclared, isManagedElsewhere } = context;
    if (state.onDelete === "keep") {
      log(`${state.email} stays a VIP (onDelete: "keep"): it is only removed from the stack's state.`);
      return;
    }
    if (isDeclared(buildVipDeclarationKey(state.email))) {
      log(`${state.email} stays a VIP: the program declares it.`);
      return;
    }
    if (isManagedElsewhere(buildVipDeclarationKey(state.email))) {
      log(
        `${state.email} stays a VIP: another Provider of the program manages it, with another key or address of this tenant. If that is another tenant, remove it here in the console.`,
      );
      return;
    }
    const row = await tenant.findVipConfirmed(state.email);
    await context.confirmTenant("vips", { isRemoval: true });
    if (row === undefined) {
      log(`${state.email} was no longer a VIP; nothing was written.`);
      return;
    }
    if (isPlanEnforced(context)) await enforcePlanForVip(state.email, undefined, context);
    await tenant.removeVip(state.email);
    log(
      `${state.email} is no longer a VIP, and stays excluded: automatic detection will never make this mailbox a VIP again. To undo it, declare the VIP again, or add it in the console.`,
    );
  },
};

function buildVipState(row: VipEmployeeRow, declared: VipEmployeeInputs): VipEmployeeState {
  const sanitizeOptional = (text: string | undefined) => (text === undefined ? undefined : sanitizeLine(text));
  // The declared mailbox stays, even if it is an alias of the row's.
  const { email } = declared;
  return {
    email,
    ...pickRowValues(VIP_FIELD_DEFINITIONS, { ...row, email }, { ...declared }),
    ...pickUnsentValues(VIP_FIELD_DEFINITIONS, { ...declared }),
    ...omitUndefined({
      source: sanitizeOptional(row.source),
      addedBy: sanitizeOptional(row.added_by),
      dateAdded: sanitizeOptional(row.date_added),
      fullName: sanitizeOptional(row.full_name),
      jobTitle: sanitizeOptional(row.job_title),
      department: sanitizeOptional(row.department),
    }),
  };
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
  return hasServiceFields(state) && areSentFieldsEqual(VIP_FIELD_DEFINITIONS, { ...state }, { ...inputs });
}

/** Whether the service stores a row for the VIP: somebody added it, or commented on a detected one. */
function isStoredVip({ addedBy, comment, source }: VipEmployeeState): boolean {
  return Boolean(addedBy || comment) || source === "manual";
}

function pickStoredFields({ source, addedBy, dateAdded }: VipEmployeeState): Partial<VipEmployeeState> {
  return omitUndefined({ source, addedBy, dateAdded });
}

/** Values that only the service knows: about the stored row, and about the person. */
const UNKNOWN_STORED_FIELDS = { source: UNKNOWN, addedBy: UNKNOWN, dateAdded: UNKNOWN };
const UNKNOWN_DIRECTORY_FIELDS = { fullName: UNKNOWN, jobTitle: UNKNOWN, department: UNKNOWN };

function pickDirectoryFields({ fullName, jobTitle, department }: VipEmployeeState): Partial<VipEmployeeState> {
  return omitUndefined({ fullName, jobTitle, department });
}
