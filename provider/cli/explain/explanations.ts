import { nearestName } from "../../settings/nearest-name";
import type { Explanation } from "./explanation";
import { FILE_ERRORS } from "./file-errors";
import { PULUMI_ERRORS } from "./pulumi-errors";
import { ROLLOUT_ERRORS } from "./rollout-errors";
import { SANDBOX_ERRORS } from "./sandbox-errors";
import { CONFIGURATION_ERRORS, SERVICE_ERRORS } from "./service-errors";
import { TENANT_ERRORS } from "./tenant-errors";

/** All codes of errors, with what is told of each: `email-security explain` and the documentation are made of it. */
export const EXPLANATIONS = {
  ...CONFIGURATION_ERRORS,
  ...SERVICE_ERRORS,
  ...TENANT_ERRORS,
  ...FILE_ERRORS,
  ...ROLLOUT_ERRORS,
  ...PULUMI_ERRORS,
  ...SANDBOX_ERRORS,
};

/** A code that this package's errors have. */
export type ErrorCode = keyof typeof EXPLANATIONS;

/** What codes are about, in the order in which they are listed. */
export const GROUPS: readonly { readonly title: string; readonly codes: readonly ErrorCode[] }[] = [
  { title: "Configuration and arguments", codes: codesOf(CONFIGURATION_ERRORS) },
  { title: "The service, and the way to it", codes: codesOf(SERVICE_ERRORS) },
  { title: "Resources at their tenant", codes: codesOf(TENANT_ERRORS) },
  { title: "Settings files, plans and exports", codes: codesOf(FILE_ERRORS) },
  { title: "Rollouts", codes: codesOf(ROLLOUT_ERRORS) },
  { title: "Pulumi and its stacks", codes: codesOf(PULUMI_ERRORS) },
  { title: "The sandbox", codes: codesOf(SANDBOX_ERRORS) },
];

function codesOf<Code extends string>(errors: Readonly<Record<Code, Explanation>>): Code[] {
  return Object.keys(errors) as Code[];
}

/** A code as somebody writes it: in lower case too, in brackets, without `ERR_`. Undefined where there is no such code. */
export function codeOf(written: string): ErrorCode | undefined {
  const code = fullCode(written);
  return Object.hasOwn(EXPLANATIONS, code) ? (code as ErrorCode) : undefined;
}

/** The code that a misspelt one was meant for; undefined where none is near. */
export function nearestCode(written: string): ErrorCode | undefined {
  const short = (code: string): string => code.replace(/^ERR_/, "");
  const codes = Object.keys(EXPLANATIONS).map(short);
  const near = nearestName(short(fullCode(written)), codes);
  return near === undefined ? undefined : codeOf(near);
}

function fullCode(written: string): string {
  const bare = written
    .trim()
    .replace(/^\[|\]$/g, "")
    .toUpperCase()
    .replace(/[-\s]/g, "_");
  return bare.startsWith("ERR_") ? bare : `ERR_${bare}`;
}
