import { NotFoundError, ServiceError, type VipEmployeeRow } from "../../client";
import { checkVipEmployee, type ON_DELETE, type VipEmployeeInputs } from "../../settings/arguments";
import { canonicalMailbox } from "../../settings/entry-value";
import { canonicalComment, quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Tenant } from "../../tenant";
import { comparable, comparableComment, describeComment, sameComment } from "./comparable";
import { AutoDetectedError, ExcludedError, NotAppliedError } from "./errors";
import { type Change, changeOf, isDefined, type Lifecycle } from "./lifecycle";

/** What the state holds of a VIP: every argument as it stands, and what the service knows of the person. */
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

/** One VIP employee (reference, section "VIP employees"). Its id is the mailbox in lower case. */
export const vipEmployee: Lifecycle<VipEmployeeInputs, VipEmployeeState> = {
  check: checkVipEmployee,

  complete: (inputs) => inputs as unknown as VipEmployeeInputs,

  key: (inputs) => keyOf(inputs.email),

  identify(inputs) {
    return {
      subject: keyOf(inputs.email),
      property: "email",
      claim: `${canonicalMailbox(inputs.email)} with ${describeComment(inputs.comment)}${inputs.onDelete === "keep" ? ' and onDelete "keep"' : ""}`,
    };
  },

  warn(state, inputs) {
    const sameMailbox =
      comparable(state.email, canonicalMailbox) === comparable(inputs.email, canonicalMailbox);
    if (sameMailbox || state.onDelete === "keep") return [];
    return [
      `Replacing ${state.email} excludes that mailbox for good: automatic detection will never make it a VIP again. To only forget it, set onDelete: "keep" and run \`up\` first.`,
    ];
  },

  diff(state, inputs) {
    return [
      changeOf(
        "email",
        comparable(state.email, canonicalMailbox),
        comparable(inputs.email, canonicalMailbox),
        true,
      ),
      changeOf("comment", comparableComment(state.comment), comparableComment(inputs.comment)),
      changeOf("onDelete", state.onDelete, inputs.onDelete),
    ].filter(isDefined) satisfies readonly Change[];
  },

  async create(inputs, { tenant, say }) {
    const before = await tenant.findVip(inputs.email);
    const row = await ensure(inputs, tenant);
    if (before?.comment !== undefined && !sameComment(before.comment, inputs.comment)) {
      const now = inputs.comment === undefined ? "it has none now" : `it is now ${quote(inputs.comment)}`;
      say(
        `${inputs.email} was a VIP already, with the comment ${quote(before.comment, 500)}; ${now}, as declared.`,
      );
    }
    return { id: canonicalMailbox(inputs.email), state: stateOf(row, inputs) };
  },

  async read(id, state, { tenant }) {
    const email = state.email ?? id;
    // A reading that spans pages may miss a row that another writer's deletion shifted; gone is what two readings miss.
    const row = (await tenant.findVip(email)) ?? (await tenant.findVipAnew(email));
    if (row === undefined) return undefined;
    const fresh = stateOf(row, state);
    const { comment, onDelete } = fresh;
    const inputs: VipEmployeeInputs = {
      email: fresh.email,
      ...(comment === undefined ? {} : { comment }),
      ...(onDelete === undefined ? {} : { onDelete }),
    };
    return { id: canonicalMailbox(fresh.email), state: fresh, inputs: { ...inputs } };
  },

  async update(_id, state, inputs, { tenant }) {
    if (sameComment(state.comment, inputs.comment)) return withArguments(state, inputs);
    try {
      // The answer of the edit has no directory fields; those of the state still hold.
      return { ...directoryFields(state), ...stateOf(await writeComment(inputs, tenant), inputs) };
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // No stored row: gone, or a VIP by automatic detection. What the service lists decides.
      return stateOf(await ensure(inputs, tenant, { storedRow: false }), inputs);
    }
  },

  async delete(_id, state, { tenant, say, isDeclared }) {
    if (state.onDelete === "keep") {
      say(`${state.email} stays a VIP (onDelete: "keep"): only the stack forgets it.`);
      return;
    }
    if (isDeclared(keyOf(state.email))) {
      say(`${state.email} stays a VIP: the program declares it under another name.`);
      return;
    }
    const row = (await tenant.findVip(state.email)) ?? (await tenant.findVipAnew(state.email));
    if (row === undefined) {
      say(`${state.email} was no VIP any more; nothing was written.`);
      return;
    }
    await tenant.removeVip(state.email);
    say(
      `${state.email} is no VIP any more, and stays excluded: automatic detection will never make this mailbox a VIP again. To undo it, declare the VIP again, or add it in the console.`,
    );
  },
};

/**
 * Makes the mailbox a VIP with the declared comment: observes, adds, edits the comment, and reads back. Told that no
 * row is stored for it, it observes anew and does not try the comment before an explicit add.
 */
async function ensure(
  inputs: VipEmployeeInputs,
  tenant: Tenant,
  known: { readonly storedRow: boolean } = { storedRow: true },
): Promise<VipEmployeeRow> {
  const existing = await (known.storedRow ? tenant.findVip(inputs.email) : tenant.findVipAnew(inputs.email));
  const row = existing ?? (await add(inputs, tenant));
  if (sameComment(row.comment, inputs.comment)) return row;
  if (known.storedRow || existing === undefined) {
    try {
      return await writeComment(inputs, tenant);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
  // "An auto-detected employee has no stored row …; that employee must be added explicitly first." (reference)
  await add(inputs, tenant);
  try {
    return await writeComment(inputs, tenant);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    throw new AutoDetectedError(
      `${inputs.email} is a VIP by automatic detection, and the service stores no comment for it (it answered 404 to the comment, before and after the mailbox was added explicitly). It is a VIP all the same. Leave \`comment\` out of the declaration, and keep the reason in a comment of the program.`,
      { cause: error },
    );
  }
}

async function add(inputs: VipEmployeeInputs, tenant: Tenant): Promise<VipEmployeeRow> {
  try {
    await tenant.addVip(inputs.email, inputs.comment);
  } catch (error) {
    if (!(error instanceof ServiceError) || !error.outcomeUnknown) throw error;
    // It may have been done; what the service lists decides, and the first failure is the one to tell.
    const found = await tenant.findVipAnew(inputs.email).catch(() => undefined);
    if (found === undefined) throw error;
    return found;
  }
  const row = await tenant.findVipAnew(inputs.email);
  if (row !== undefined) return row;
  throw new ExcludedError(
    `${inputs.email} was added and the service answered success, but its list does not show it as a VIP: an exclusion of the mailbox still stands. Clear the exclusion in the service's console, then run again.`,
  );
}

/** @throws {NotFoundError} when no row is stored for the mailbox. */
async function writeComment(inputs: VipEmployeeInputs, tenant: Tenant): Promise<VipEmployeeRow> {
  const row = await tenant.editVipComment(inputs.email, inputs.comment ?? "");
  if (sameComment(row.comment, inputs.comment)) return row;
  throw new NotAppliedError(
    `The service answered success to the comment of ${inputs.email}, but holds ${quote(row.comment ?? "")} instead of ${quote(inputs.comment ?? "")}. Run \`pulumi refresh\`, look at it in the console, and run again.`,
  );
}

function stateOf(
  row: VipEmployeeRow,
  written: {
    readonly email: string;
    readonly comment?: string;
    readonly onDelete?: (typeof ON_DELETE)[number];
  },
): VipEmployeeState {
  const comment = sameComment(row.comment, written.comment) ? written.comment : row.comment;
  const optional = withoutUndefined({
    comment: canonicalComment(comment) === "" ? undefined : comment,
    onDelete: written.onDelete,
    source: row.source,
    addedBy: row.added_by,
    dateAdded: row.date_added,
    fullName: row.full_name,
    jobTitle: row.job_title,
    department: row.department,
  });
  return { email: written.email, ...optional };
}

function directoryFields({ fullName, jobTitle, department }: VipEmployeeState): Partial<VipEmployeeState> {
  return withoutUndefined({ fullName, jobTitle, department });
}

/** The state with the arguments that are not the service's. */
function withArguments(state: VipEmployeeState, inputs: VipEmployeeInputs): VipEmployeeState {
  const { onDelete: _before, ...rest } = state;
  return {
    ...rest,
    email: inputs.email,
    ...(inputs.onDelete === undefined ? {} : { onDelete: inputs.onDelete }),
  };
}

function keyOf(email: string): string {
  return `vip:${canonicalMailbox(email)}`;
}
