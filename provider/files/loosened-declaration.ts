import { ENTRIES, MEMBERS } from "../settings/list-arguments";
import { readPatterns } from "../settings/list-safeguards";
import type { Pattern } from "../settings/pattern";
import { quote } from "../settings/text";
import { nameOf } from "./declared-in-file";
import { type Finding, lineText, type Place } from "./finding";
import { type Demand, loosening } from "./loosening";
import type { Declared, DeclaredEntry, DeclaredVip } from "./settings";
import type { OptionPath } from "./settings-schema";

/** Reports an included declaration that this file removes; an error if it is protected. */
export function endLoosened(
  declaration: DeclaredEntry | DeclaredVip,
  location: Place,
  demands: readonly Demand[],
): readonly Finding[] {
  const protection = getProtection(declaration, demands);
  // Removing an allow doesn't weaken anything.
  if (protection.demands.length === 0 && declaration.kind === "entry" && declaration.list === "allow") return [];
  const text = `${describeDeclaration(declaration)}, as ${lineText(declaration.place)} declares it, is declared no more here`;
  return [buildDeclarationOverride(text, declaration, location, protection)];
}

/** Reports weaker settings in an override of an included declaration. */
export function overrideLoosened(
  declaration: DeclaredEntry | DeclaredVip,
  inherited: DeclaredEntry | DeclaredVip,
  demands: readonly Demand[],
): readonly Finding[] {
  const findings: Finding[] = [];
  const protection = getProtection(inherited, demands);
  const isAllow = declaration.kind === "entry" && declaration.list === "allow";
  const [expiry, inheritedExpiry] = [getExpiryDate(declaration), getExpiryDate(inherited)];
  const formatExpiry = (day: string): string => (day === NO_END ? "without end" : `until ${day}`);
  if (isAllow ? expiry > inheritedExpiry : expiry < inheritedExpiry) {
    const text = `${describeDeclaration(declaration)} is declared ${formatExpiry(expiry)} here, and ${formatExpiry(inheritedExpiry)} at ${lineText(inherited.place)}`;
    findings.push(
      buildDeclarationOverride(
        text,
        declaration,
        declaration.place,
        isAllow ? { ...protection, demands: [] } : protection,
      ),
    );
  }
  if (
    declaration.kind === "entry" &&
    inherited.kind === "entry" &&
    declaration.acceptRisk !== undefined &&
    inherited.acceptRisk === undefined
  ) {
    const text = `${describeDeclaration(declaration)} has an \`acceptRisk\` here, and none at ${lineText(inherited.place)}`;
    findings.push(buildDeclarationOverride(text, declaration, declaration.place, { ...protection, demands: [] }));
  }
  return findings;
}

function buildDeclarationOverride(
  text: string,
  { kind, key }: DeclaredEntry | DeclaredVip,
  location: Place,
  { path, demands }: ReturnType<typeof getProtection>,
): Finding {
  const [demand] = demands;
  const message = demand === undefined ? text : `${text}, and is protected at ${lineText(demand.place)}`;
  return loosening(message, path, location, demands, { kind, key });
}

/** Returns the `protect` demands of included files that match a declaration. */
function getProtection(
  declaration: DeclaredEntry | DeclaredVip,
  demands: readonly Demand[],
): { readonly path: OptionPath; readonly demands: readonly Demand[] } {
  const [kind, path] =
    declaration.kind === "entry"
      ? ([ENTRIES, "lists.entries.protect"] as const)
      : ([MEMBERS, "lists.vips.protect"] as const);
  const coversDeclaration = (demand: Demand): boolean =>
    getDemandPatterns(demand).some((pattern) => pattern.matches(kind.target(declaration.key, declaration.text)));
  return { path, demands: demands.filter((demand) => demand.path === path && coversDeclaration(demand)) };
}

const patternCache = new WeakMap<Demand, readonly Pattern[]>();

/** Returns the protect patterns of a demand, parsed once. */
function getDemandPatterns(demand: Demand): readonly Pattern[] {
  const demandPatterns = patternCache.get(demand) ?? readPatterns(demand.value as readonly string[]);
  patternCache.set(demand, demandPatterns);
  return demandPatterns;
}

const NO_END = "9999-12-31";

function getExpiryDate({ expires }: Declared): string {
  return expires === undefined || expires === "never" ? NO_END : expires;
}

function describeDeclaration(declaration: DeclaredEntry | DeclaredVip): string {
  return declaration.kind === "vip"
    ? `the VIP ${quote(declaration.email)}`
    : `the ${declaration.list} of ${quote(nameOf(declaration))}`;
}
