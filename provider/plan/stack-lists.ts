import { z } from "zod";
import type { EncodedList } from "../model/encoded-list";
import { TENANT_SETTINGS_TYPE } from "../model/tenant-settings-type";
import { quote } from "../model/text";
import { getUrnName, getUrnTypes, parseResourceKind } from "../resources/resource-type";
import { removeKeyVariables } from "../system/child-environment";
import type { StackList, StackLists } from "./desired-state";
import { formatPulumiOutput, PulumiError, type PulumiOptions, parsePulumiJson, runPulumi } from "./pulumi-cli";

const exportedStackSchema = z.object({
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
export async function readStackLists(
  stack: string,
  resource: string | undefined,
  options: PulumiOptions = {},
): Promise<StackLists> {
  // Reading the state needs no API key.
  const state = await exportStack(stack, { baseEnvironment: removeKeyVariables(process.env), ...options });
  if (state !== undefined) return parseStackLists(state, stack, resource);
  throw new PulumiError(
    `There is no stack ${quote(stack)} here; \`pulumi stack ls --all\` lists the existing ones. Specify one with --stack; or, if this one is intended, create it: \`pulumi stack init ${stack}\`.`,
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
  const result = await runPulumi(["stack", "export", "--stack", stack], options);
  const label = `The state of the stack ${quote(stack)}`;
  if (result.code === 0) return parsePulumiJson(result.stdout, label) ?? {};
  // The Automation API recognizes this message in the same way.
  if (/no stack named.*found/.test(result.stderr)) return undefined;
  const loginHint = /PULUMI_ACCESS_TOKEN must be set/.test(result.stderr)
    ? " Pulumi isn't logged in: run `pulumi login --local`, or log in to the team's state backend."
    : "";
  throw new PulumiError(`${label} can't be read.${loginHint} Output of Pulumi:\n${formatPulumiOutput(result)}`);
}

export function parseStackLists(state: unknown, stack: string, resource: string | undefined): StackLists {
  const parsed = exportedStackSchema.safeParse(state);
  if (!parsed.success) throw new PulumiError(`The state of the stack ${quote(stack)} has an unknown format.`);
  const resources = (parsed.data.deployment?.resources ?? []).filter((resourceItem) => resourceItem.delete !== true);
  const componentNames = resources
    .filter(({ type }) => type === TENANT_SETTINGS_TYPE)
    .map(({ urn }) => getUrnName(urn));
  const name = resource ?? componentNames[0];
  if (resource === undefined && componentNames.length > 1) {
    throw new PulumiError(
      `The stack ${quote(stack)} has several TenantSettings (${componentNames.map((resourceItem) => quote(resourceItem)).join(", ")}); specify one with --resource.`,
    );
  }
  const findKnownList = (kind: "AllowDenyList" | "VipList", property: string): StackList => {
    const listResource = resources.find(
      ({ urn, type }) =>
        parseResourceKind(type) === kind &&
        getUrnTypes(urn).at(-2) === TENANT_SETTINGS_TYPE &&
        getUrnName(urn) === name,
    );
    const { [property]: content = {}, people: fingerprint, ...options } = listResource?.outputs ?? {};
    const confirmedRemovals = listResource?.inputs?.["confirmRemovals"];
    return {
      content: isEncodedList(content) ? content : {},
      exists: listResource !== undefined,
      ...(listResource === undefined ? {} : { urn: listResource.urn }),
      ...(typeof confirmedRemovals === "number" ? { lastConfirmedRemovals: confirmedRemovals } : {}),
      ...(listResource === undefined ? {} : { options }),
      ...(typeof fingerprint === "string" ? { fingerprint } : {}),
    };
  };
  return { entries: findKnownList("AllowDenyList", "entries"), vips: findKnownList("VipList", "members") };
}

/** Returns whether a property is an encoded list, and not a secret or unknown value. */
export function isEncodedList(content: unknown): content is EncodedList {
  return (
    typeof content === "object" &&
    content !== null &&
    !Array.isArray(content) &&
    Object.values(content).every((text) => typeof text === "string")
  );
}
