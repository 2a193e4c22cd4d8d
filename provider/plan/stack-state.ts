import { z } from "zod";
import { withoutKeys } from "../machine/child-environment";
import { nameInUrn, resourceKind, typesInUrn } from "../resources/resource-type";
import type { KeyedList } from "../settings/keyed-list";
import { TENANT_SETTINGS_TYPE } from "../settings/tenant-settings-type";
import { quote } from "../settings/text";
import type { KnownList, KnownLists } from "./desired";
import { jsonOf, PulumiError, type PulumiOptions, runPulumi, toldBy } from "./pulumi";

const exported = z.object({
  deployment: z
    .object({
      resources: z
        .array(
          z.object({
            urn: z.string(),
            type: z.string(),
            inputs: z.record(z.string(), z.unknown()).optional(),
            outputs: z.record(z.string(), z.unknown()).optional(),
            delete: z.boolean().optional(),
          }),
        )
        .nullish(),
    })
    .nullish(),
});

/**
 * Reads the lists of a stack's `TenantSettings`: what the last run declared. Empty for a stack without runs.
 *
 * @param resource the name of the `TenantSettings`, if the stack has several.
 * @throws {PulumiError} if the stack doesn't exist, or has several and none was named.
 */
export async function readStackState(
  stack: string,
  resource: string | undefined,
  options: PulumiOptions = {},
): Promise<KnownLists> {
  // Reading the state needs no API key.
  const state = await exportStack(stack, { base: withoutKeys(process.env), ...options });
  if (state !== undefined) return knownLists(state, stack, resource);
  throw new PulumiError(
    `There is no stack ${quote(stack)} here; \`pulumi stack ls --all\` shows those there are. Name one with --stack; or, if this one is meant, make it: \`pulumi stack init ${stack}\`.`,
  );
}

/**
 * Exports the state of a stack, as `pulumi stack export` prints it; undefined if the stack doesn't exist.
 *
 * @throws {PulumiError} if it can't be read.
 */
export async function exportStack(
  stack: string,
  options: PulumiOptions = {},
): Promise<NonNullable<unknown> | undefined> {
  const run = await runPulumi(["stack", "export", "--stack", stack], options);
  const what = `The state of the stack ${quote(stack)}`;
  if (run.code === 0) return jsonOf(run.stdout, what) ?? {};
  // The Automation API recognizes this message in the same way.
  if (/no stack named.*found/.test(run.stderr)) return undefined;
  const login = /PULUMI_ACCESS_TOKEN must be set/.test(run.stderr)
    ? " Pulumi is logged in nowhere: run `pulumi login --local`, or log in to where the team's state is."
    : "";
  throw new PulumiError(`${what} can't be read.${login} Pulumi says:\n${toldBy(run)}`);
}

/** Parses the lists from an exported state; see {@link readStackState}. */
export function knownLists(state: unknown, stack: string, resource: string | undefined): KnownLists {
  const parsed = exported.safeParse(state);
  if (!parsed.success)
    throw new PulumiError(`The state of the stack ${quote(stack)} has another form than is known.`);
  const resources = (parsed.data.deployment?.resources ?? []).filter((one) => one.delete !== true);
  const components = resources
    .filter(({ type }) => type === TENANT_SETTINGS_TYPE)
    .map(({ urn }) => nameInUrn(urn));
  const name = resource ?? components[0];
  if (resource === undefined && components.length > 1) {
    throw new PulumiError(
      `The stack ${quote(stack)} has several TenantSettings (${components.map((one) => quote(one)).join(", ")}); say which is meant with --resource.`,
    );
  }
  const listOf = (kind: "AllowDenyList" | "VipList", property: string): KnownList => {
    const found = resources.find(
      ({ urn, type }) =>
        resourceKind(type) === kind &&
        typesInUrn(urn).at(-2) === TENANT_SETTINGS_TYPE &&
        nameInUrn(urn) === name,
    );
    const { [property]: content = {}, people: fingerprint, ...options } = found?.outputs ?? {};
    const confirmed = found?.inputs?.["confirmRemovals"];
    return {
      content: isKeyed(content) ? content : {},
      isThere: found !== undefined,
      ...(found === undefined ? {} : { urn: found.urn }),
      ...(typeof confirmed === "number" ? { confirmedBefore: confirmed } : {}),
      ...(found === undefined ? {} : { options }),
      ...(typeof fingerprint === "string" ? { fingerprint } : {}),
    };
  };
  return { entries: listOf("AllowDenyList", "entries"), vips: listOf("VipList", "members") };
}

/** Returns whether a property is an encoded list, and not a secret or unknown value. */
export function isKeyed(content: unknown): content is KeyedList {
  return (
    typeof content === "object" &&
    content !== null &&
    !Array.isArray(content) &&
    Object.values(content).every((text) => typeof text === "string")
  );
}
