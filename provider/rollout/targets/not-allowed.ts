import { delimiter, dirname } from "node:path";
import { isLoopback } from "../../client/address";
import { lineText } from "../../files/finding";
import { EmailSecurityError } from "../../settings/email-security-error";
import { shellWord } from "../../settings/shell-word";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";
import type { Wave } from "../model/wave";
import { ALLOWING, Allowed, type Refused } from "./allowed";
import { named, unnamed } from "./placeholders";

type Environment = Readonly<Record<string, string | undefined>>;

/** A targets file or a journal requests something that the run doesn't allow. Nothing was run, and no key was read or sent. */
export class NotAllowedError extends EmailSecurityError {
  constructor(message: string) {
    super("ERR_ROLLOUT_NOT_ALLOWED", message);
  }
}

/** A refused request, and its origin. */
interface Asked extends Refused {
  /** The tenant; absent: a wave makes the request. */
  readonly target?: Target;
  /** The description of a single origin. */
  readonly of: string;
}

/**
 * Checks everything that tenants and waves request against the permissions of the run, before anything is run, read or sent. Reports all
 * refusals at once.
 *
 * @param source the file that makes the requests, as people call it: the targets file.
 * @throws {NotAllowedError} (`ERR_ROLLOUT_NOT_ALLOWED`) that explains how to allow them.
 * @throws {ConfigurationError} if the permissions can't be read.
 */
export function refuseNotAllowed(
  source: string,
  targets: readonly Target[],
  waves: readonly Pick<Wave, "name" | "health">[],
  environment: Environment,
): void {
  const allowed = new Allowed(environment);
  const asked: readonly Asked[] = [
    ...targets.flatMap((target) =>
      allowed
        .refusedOf(target)
        .map((one): Asked => ({ ...one, target, of: `${quote(target.name)} (${lineText(target.place)})` })),
    ),
    ...waves.flatMap(({ name, health }) =>
      (health === undefined ? [] : allowed.refusedHealth(health)).map(
        (one): Asked => ({ ...one, of: `the health of the wave ${quote(name)}` }),
      ),
    ),
  ];
  if (asked.length === 0) return;
  throw new NotAllowedError(
    [
      `This run does not allow what ${quote(source, 300)} asks for. Nothing was run, and no key was read or sent.`,
      ...toldOf(asked),
      "Whoever changes that file must not decide it. If all of this is meant, set where the run is started:",
      ...Object.keys(ALLOWING).flatMap((by) => settingFor(by as Refused["by"], asked, targets, environment)),
    ].join("\n"),
  );
}

/** The maximum number of refusals to show, and of tenants for each. */
const SHOWN = 20;
const SHOWN_TENANTS = 3;

function toldOf(asked: readonly Asked[]): readonly string[] {
  // Requests that differ only in the tenant's name are shown once.
  const groups = [...Map.groupBy(asked, ({ told, target }) => unnamed(told, target?.name ?? "{}"))];
  const lines = groups.slice(0, SHOWN).map(([told, group]) => {
    const [first] = group;
    const whose = group.slice(0, SHOWN_TENANTS).map(({ of }) => of);
    const more = group.length > SHOWN_TENANTS ? ` and ${group.length - SHOWN_TENANTS} more` : "";
    return `  ${group.length === 1 ? first?.told : told}, for ${whose.join(", ")}${more}`;
  });
  return groups.length > SHOWN ? [...lines, `  … and ${groups.length - SHOWN} more`] : lines;
}

/** Builds the complete line that allows the refused requests, in addition to those that are allowed now. */
function settingFor(
  by: Refused["by"],
  asked: readonly Asked[],
  targets: readonly Target[],
  environment: Environment,
): readonly string[] {
  const refused = asked.filter((one) => one.by === by);
  if (refused.length === 0) return [];
  const variable = ALLOWING[by];
  const wanted = refused.map(({ what }) => what);
  const given = environment[variable] ?? "";
  const joined = (separator: string, values: readonly string[]): readonly string[] => {
    const all = [...(given.trim() === "" ? [] : [given]), ...new Set(values)].join(separator);
    return [`  ${variable}=${shellWord(all)}`];
  };
  switch (by) {
    case "service": {
      // This machine is allowed by default, but any explicit setting has to name it.
      const here = targets.map(({ baseUrl }) => baseUrl).filter((one) => isHere(one) && given.trim() === "");
      return joined(",", [...here, ...wanted]);
    }
    case "environment":
      return joined(",", wanted);
    case "file":
      return joined(delimiter, placesFor(wanted));
    case "command":
      return joined("\n", commandsFor(refused));
  }
}

function isHere(address: string): boolean {
  return isLoopback(URL.parse(address)?.hostname ?? "");
}

/** Names the directory for several files in it, but only the file itself for a single one. */
function placesFor(files: readonly string[]): readonly string[] {
  return [...Map.groupBy(new Set(files), (file) => dirname(file))].flatMap(([folder, some]) =>
    some.length > 1 && dirname(folder) !== folder ? [folder] : some,
  );
}

/** Merges commands of several tenants that differ only in the tenant's name. */
function commandsFor(refused: readonly Asked[]): readonly string[] {
  const groups = Map.groupBy(refused, ({ what, target }) => {
    if (target === undefined) return what;
    const general = unnamed(what, target.name);
    return named(general, target.name) === what ? general : what;
  });
  return [...groups].flatMap(([general, group]) => {
    const exact = [...new Set(group.map(({ what }) => what))];
    return exact.length > 1 ? [general] : exact;
  });
}
