import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../model/list-arguments";
import type { Pattern } from "../model/list-pattern";
import { parseValidPatterns } from "../model/list-protection";
import { quote } from "../model/text";
import { getExpiryDate, NO_EXPIRY } from "./expiry-date";
import { formatDeclarationName } from "./file-declarations";
import { type FileLocation, type Finding, formatLineLocation } from "./finding";
import { buildOverrideFinding, type OptionDemand } from "./policy-override";
import type { DeclaredEntry, DeclaredVip } from "./settings-model";
import type { OptionPath } from "./settings-schema";

/** Reports an included declaration that this file removes; an error if it is protected. */
export function checkDeclarationRemoval(
  declaration: DeclaredEntry | DeclaredVip,
  location: FileLocation,
  demands: readonly OptionDemand[],
): readonly Finding[] {
  const protection = getProtection(declaration, demands);
  // Removing an allow doesn't weaken anything.
  if (protection.demands.length === 0 && declaration.kind === "entry" && declaration.list === "allow") return [];
  const text = `${describeDeclaration(declaration)}, declared at ${formatLineLocation(declaration.location)}, is removed here`;
  return [buildDeclarationOverride(text, declaration, location, protection)];
}

/** Reports weaker settings in an override of an included declaration. */
export function checkDeclarationOverride(
  declaration: DeclaredEntry | DeclaredVip,
  inherited: DeclaredEntry | DeclaredVip,
  demands: readonly OptionDemand[],
): readonly Finding[] {
  const findings: Finding[] = [];
  const protection = getProtection(inherited, demands);
  const isAllow = declaration.kind === "entry" && declaration.list === "allow";
  const [expiry, inheritedExpiry] = [getExpiryDate(declaration), getExpiryDate(inherited)];
  const formatExpiryDay = (day: string): string => (day === NO_EXPIRY ? "without an expiry date" : `until ${day}`);
  if (isAllow ? expiry > inheritedExpiry : expiry < inheritedExpiry) {
    const text = `${describeDeclaration(declaration)} is declared ${formatExpiryDay(expiry)} here, but ${formatExpiryDay(inheritedExpiry)} at ${formatLineLocation(inherited.location)}`;
    findings.push(
      buildDeclarationOverride(
        text,
        declaration,
        declaration.location,
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
    const text = `${describeDeclaration(declaration)} has \`acceptRisk\` here, but not at ${formatLineLocation(inherited.location)}`;
    findings.push(buildDeclarationOverride(text, declaration, declaration.location, { ...protection, demands: [] }));
  }
  return findings;
}

function buildDeclarationOverride(
  text: string,
  { kind, key }: DeclaredEntry | DeclaredVip,
  location: FileLocation,
  { path, demands }: ReturnType<typeof getProtection>,
): Finding {
  const [demand] = demands;
  const message = demand === undefined ? text : `${text}, and is protected at ${formatLineLocation(demand.location)}`;
  return buildOverrideFinding(message, path, location, demands, { kind, key });
}

/** Returns the `protect` demands of included files that match a declaration. */
function getProtection(
  declaration: DeclaredEntry | DeclaredVip,
  demands: readonly OptionDemand[],
): { readonly path: OptionPath; readonly demands: readonly OptionDemand[] } {
  const [kind, path] =
    declaration.kind === "entry"
      ? ([ENTRY_LIST_KIND, "lists.entries.protect"] as const)
      : ([VIP_LIST_KIND, "lists.vips.protect"] as const);
  const coversDeclaration = (demand: OptionDemand): boolean =>
    getDemandPatterns(demand).some((pattern) =>
      pattern.matches(kind.getPatternTarget(declaration.key, declaration.text)),
    );
  return { path, demands: demands.filter((demand) => demand.path === path && coversDeclaration(demand)) };
}

const patternCache = new WeakMap<OptionDemand, readonly Pattern[]>();

/** Returns the protect patterns of a demand, parsed once. */
function getDemandPatterns(demand: OptionDemand): readonly Pattern[] {
  const demandPatterns = patternCache.get(demand) ?? parseValidPatterns(demand.value as readonly string[]);
  patternCache.set(demand, demandPatterns);
  return demandPatterns;
}

function describeDeclaration(declaration: DeclaredEntry | DeclaredVip): string {
  return declaration.kind === "vip"
    ? `the VIP ${quote(declaration.email)}`
    : `the ${declaration.list} of ${quote(formatDeclarationName(declaration))}`;
}
