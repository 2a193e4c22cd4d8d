import { delimiter, dirname } from "node:path";
import { isLoopback } from "../../client/base-url";
import { EmailSecurityError } from "../../model/email-security-error";
import { quoteShellWord } from "../../model/shell-word";
import { quote } from "../../model/text";
import { formatLineLocation } from "../../settings-files/finding";
import type { Target } from "../model/target";
import type { Wave } from "../model/wave";
import { fillPlaceholders, restorePlaceholders } from "./placeholders";
import { type DisallowedItem, PERMISSION_VARIABLES, RunPermissions } from "./run-permissions";

type Environment = Readonly<Record<string, string | undefined>>;

/** A targets file or a journal requests something that the run doesn't allow. Nothing was run, and no key was read or sent. */
export class NotAllowedError extends EmailSecurityError {
  constructor(message: string) {
    super("ERR_ROLLOUT_NOT_ALLOWED", message);
  }
}

interface RequestedItem extends DisallowedItem {
  readonly target?: Target;
  readonly origin: string;
}

/**
 * Checks everything that tenants and waves request against the permissions of the run, before anything is run, read or
 * sent. Reports all refusals at once.
 *
 * @param source the file that makes the requests, as shown in errors: the targets file.
 * @throws {NotAllowedError} (`ERR_ROLLOUT_NOT_ALLOWED`) that explains how to allow them.
 * @throws {ConfigurationError} if the permissions can't be read.
 */
export function assertRunPermissions(
  source: string,
  targets: readonly Target[],
  waves: readonly Pick<Wave, "name" | "health">[],
  environment: Environment,
): void {
  const permissions = new RunPermissions(environment);
  const disallowedItems: readonly RequestedItem[] = [
    ...targets.flatMap((target) =>
      permissions.validateTarget(target).map(
        (item): RequestedItem => ({
          ...item,
          target,
          origin: `${quote(target.name)} (${formatLineLocation(target.place)})`,
        }),
      ),
    ),
    ...waves.flatMap(({ name, health }) =>
      (health === undefined ? [] : permissions.validateHealthCheck(health)).map(
        (item): RequestedItem => ({ ...item, origin: `the health of the wave ${quote(name)}` }),
      ),
    ),
  ];
  if (disallowedItems.length === 0) return;
  throw new NotAllowedError(
    [
      `This run does not allow the following, which ${quote(source, 300)} requires. Nothing was run, and no key was read or sent.`,
      ...formatDisallowed(disallowedItems),
      "A change to that file must not decide this. If all of this is intended, set it where the run starts:",
      ...Object.keys(PERMISSION_VARIABLES).flatMap((kind) =>
        formatAllowSetting(kind as DisallowedItem["kind"], disallowedItems, targets, environment),
      ),
    ].join("\n"),
  );
}

const MAX_ITEMS = 20;
const MAX_TENANTS = 3;

function formatDisallowed(disallowedItems: readonly RequestedItem[]): readonly string[] {
  // Requests that differ only in the tenant's name are shown once.
  const groups = [
    ...Map.groupBy(disallowedItems, ({ description, target }) =>
      restorePlaceholders(description, target?.name ?? "{}"),
    ),
  ];
  const lines = groups.slice(0, MAX_ITEMS).map(([description, group]) => {
    const [first] = group;
    const owners = group.slice(0, MAX_TENANTS).map(({ origin }) => origin);
    const suffix = group.length > MAX_TENANTS ? ` and ${group.length - MAX_TENANTS} more` : "";
    return `  ${group.length === 1 ? first?.description : description}, for ${owners.join(", ")}${suffix}`;
  });
  return groups.length > MAX_ITEMS ? [...lines, `  … and ${groups.length - MAX_ITEMS} more`] : lines;
}

/** Builds the complete line that allows the refused requests, in addition to those that are allowed now. */
function formatAllowSetting(
  kind: DisallowedItem["kind"],
  disallowedItems: readonly RequestedItem[],
  targets: readonly Target[],
  environment: Environment,
): readonly string[] {
  const disallowedOfKind = disallowedItems.filter((item) => item.kind === kind);
  if (disallowedOfKind.length === 0) return [];
  const variable = PERMISSION_VARIABLES[kind];
  const requestedValues = disallowedOfKind.map(({ value }) => value);
  const currentValue = environment[variable] ?? "";
  const formatSetting = (separator: string, values: readonly string[]): readonly string[] => {
    const combinedValue = [...(currentValue.trim() === "" ? [] : [currentValue]), ...new Set(values)].join(separator);
    return [`  ${variable}=${quoteShellWord(combinedValue)}`];
  };
  switch (kind) {
    case "service": {
      // This machine is allowed by default, but any explicit setting has to name it.
      const localAddresses = targets
        .map(({ baseUrl }) => baseUrl)
        .filter((item) => isLocalAddress(item) && currentValue.trim() === "");
      return formatSetting(",", [...localAddresses, ...requestedValues]);
    }
    case "environment":
      return formatSetting(",", requestedValues);
    case "file":
      return formatSetting(delimiter, generalizePaths(requestedValues));
    case "command":
      return formatSetting("\n", generalizeCommands(disallowedOfKind));
  }
}

function isLocalAddress(address: string): boolean {
  return isLoopback(URL.parse(address)?.hostname ?? "");
}

/** Names the directory for several files in it, but only the file itself for a single one. */
function generalizePaths(files: readonly string[]): readonly string[] {
  return [...Map.groupBy(new Set(files), (file) => dirname(file))].flatMap(([directory, directoryFiles]) =>
    directoryFiles.length > 1 && dirname(directory) !== directory ? [directory] : directoryFiles,
  );
}

/** Merges commands of several tenants that differ only in the tenant's name. */
function generalizeCommands(disallowedOfKind: readonly RequestedItem[]): readonly string[] {
  const groups = Map.groupBy(disallowedOfKind, ({ value, target }) => {
    if (target === undefined) return value;
    const generalCommand = restorePlaceholders(value, target.name);
    return fillPlaceholders(generalCommand, target.name) === value ? generalCommand : value;
  });
  return [...groups].flatMap(([generalCommand, group]) => {
    const exactCommands = [...new Set(group.map(({ value }) => value))];
    return exactCommands.length > 1 ? [generalCommand] : exactCommands;
  });
}
