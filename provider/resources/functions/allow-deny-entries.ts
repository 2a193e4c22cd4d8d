import type * as pulumi from "@pulumi/pulumi";
import type { AllowDenyEntryRow, List } from "../../client";
import type { CamelCased } from "./camel-case";
import { createDataFunction, type FunctionOptions } from "./data-function";
import * as definitions from "./definitions";
import type { OutputArgs } from "./output-args";

/** The arguments of {@link getAllowDenyEntries}. */
export interface GetAllowDenyEntriesArgs {
  /** The list: `"allow"` or `"deny"`. Default: both, the allow list first. */
  readonly list?: List;
}

/** The result of {@link getAllowDenyEntries}. */
export interface GetAllowDenyEntriesResult {
  /** The entries of the list, or of both. */
  readonly entries: CamelCased<AllowDenyEntryRow>[];
}

const allowDenyEntries = createDataFunction<GetAllowDenyEntriesArgs, GetAllowDenyEntriesResult>(
  definitions.getAllowDenyEntries,
);

/** Returns the entries of the tenant's allow/deny list: `GET /api/v1/settings/allow_deny_entries`. */
export function getAllowDenyEntries(
  args: GetAllowDenyEntriesArgs = {},
  opts?: FunctionOptions,
): Promise<GetAllowDenyEntriesResult> {
  return allowDenyEntries.plain(args, opts);
}

/** {@link getAllowDenyEntries} as an output: `GET /api/v1/settings/allow_deny_entries`. */
export function getAllowDenyEntriesOutput(
  args: OutputArgs<GetAllowDenyEntriesArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetAllowDenyEntriesResult> {
  return allowDenyEntries.output(args, opts);
}
