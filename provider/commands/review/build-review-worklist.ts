import { omitUndefined } from "../../model/omit-undefined";
import { OwnDomains } from "../../model/own-domains";
import { sanitizeLine } from "../../model/text";
import { getElementSource } from "../../settings-files/element-source";
import type { FileLocation } from "../../settings-files/finding";
import { checkSettings } from "../../settings-files/lint";
import { isReviewValid } from "../../settings-files/reviews";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../settings-files/settings-model";
import { findElementSource } from "../../settings-files/source-checks";
import { isOwnFile } from "../../settings-files/tenant-own-file";
import { suggest } from "../suggest/suggest";
import { SuggestContext } from "../suggest/suggest-context";
import { findExternalOwnerReason, findExternalVipReason } from "./person-review-reasons";
import { describeReviewGaps } from "./review-gaps";
import { addReasons, compareReviewItems, type Review, type TenantData } from "./review-items";
import type { ReviewKind } from "./review-kinds";
import type { ReviewItem, ReviewReason } from "./review-schema";
import { findTenantReasons, hasMailSinceReview } from "./tenant-review-reasons";
import {
  createIgnoreMatcher,
  findExpiredAllowReasons,
  findUndeclaredAllows,
  isStillAtTenant,
} from "./undeclared-allows";

export interface ReviewOptions {
  /** The number of days before its expiry at which an item is reported. Default: 30. */
  readonly withinDays?: number;
}

type Declaration = DeclaredEntry | DeclaredVip;

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Returns the settings of a tenant that a person should review, each with reasons and evidence. Items that somebody decided to keep are
 * left out while the decision holds. They return for facts that the decision could not know: mail found malicious or reported on a later
 * day, a later expiry, a broken rule. A decision in a shared file does not cover this tenant's mail. Pure.
 *
 * @param tenantData undefined if the tenant's data was not requested: the review then uses only the files.
 * @throws {OtherTenantError} when the tenant's people have no mailboxes in the files' own domains.
 */
export function buildReviewWorklist(
  settings: Settings,
  tenantData: TenantData | undefined,
  { withinDays = 30 }: ReviewOptions = {},
): Review {
  const { entries, vips, expired, today } = settings;
  const allDeclared: readonly Declaration[] = [...entries, ...vips];
  const reasons = new Map<Declaration, ReviewReason[]>();
  const addReason = (declaration: Declaration, reason: ReviewReason | undefined): void => {
    if (reason === undefined) return;
    const itemReasons = reasons.get(declaration) ?? [];
    const index = itemReasons.findIndex(({ kind }) => kind === reason.kind);
    const { [index]: existing } = itemReasons;
    if (existing === undefined) itemReasons.push(reason);
    // Several policy rules may be broken, so combine them. For other kinds, the first reason has the most detail.
    else if (reason.kind === "policy") {
      itemReasons[index] = { ...reason, evidence: `${existing.evidence} ${reason.evidence}` };
    }
    reasons.set(declaration, itemReasons);
  };
  const isDecided = (declaration: Declaration): boolean => isReviewValid(declaration.reviewed, settings);
  // A sync renews or removes these entries, so the end of their term needs no decision.
  const endsBySync = (declaration: Declaration): boolean => findElementSource(declaration, settings) !== undefined;

  const suggestions =
    tenantData === undefined
      ? []
      : suggest(settings, tenantData.observed, tenantData.base, {
          expiringDays: withinDays,
          maxVips: MAX_TARGETED_MAILBOXES,
        });
  const byLocation = new Map(allDeclared.map((declaration) => [formatLocationKey(declaration.location), declaration]));
  for (const { kind, evidence, place } of suggestions) {
    const declaration = place === undefined ? undefined : byLocation.get(formatLocationKey(place));
    const reasonKind = KIND_BY_SUGGESTION[kind];
    if (declaration === undefined || reasonKind === undefined) continue;
    if (reasonKind === "expiring" && endsBySync(declaration)) continue;
    const isUnreviewed =
      reasonKind === "malicious"
        ? hasMailSinceReview(declaration, settings, tenantData, reasonKind)
        : !isDecided(declaration);
    if (isUnreviewed) addReason(declaration, { kind: reasonKind, evidence });
  }
  const byKey = new Map(allDeclared.map((declaration) => [`${declaration.kind} ${declaration.key}`, declaration]));
  for (const { code, message, subject } of checkSettings(settings)) {
    const declaration = subject === undefined ? undefined : byKey.get(`${subject.kind} ${subject.key}`);
    const reasonKind = code.startsWith("policy-") ? "policy" : KIND_BY_FINDING[code];
    if (declaration === undefined || reasonKind === undefined) continue;
    if (reasonKind === "policy" || !isDecided(declaration))
      addReason(declaration, { kind: reasonKind, evidence: sanitizeLine(`${message}.`) });
  }
  for (const declaration of expired) {
    const isAtTenant =
      tenantData !== undefined && isStillAtTenant(declaration, { settings, observed: tenantData.observed });
    const isReviewedSince = (declaration.reviewed?.on ?? "") > (declaration.expires ?? "") && isDecided(declaration);
    if (!isAtTenant && (isReviewedSince || endsBySync(declaration))) continue;
    const evidence = isAtTenant
      ? `It expired on ${declaration.expires}, and the tenant still has it. If its stack declared it, \`apply --only-expired\` removes it; otherwise, remove it in the console.`
      : `It expired on ${declaration.expires}, and its line no longer has any effect.`;
    addReason(declaration, { kind: "expired", evidence });
  }
  const ownDomains = new OwnDomains(settings.ownDomains);
  for (const declaration of allDeclared) {
    if (isDecided(declaration)) continue;
    if (!endsBySync(declaration)) addReason(declaration, findExpiringReason(declaration, today, withinDays));
    addReason(declaration, findExternalOwnerReason(declaration, ownDomains));
    addReason(declaration, findExternalVipReason(declaration, ownDomains));
  }
  const items = [];
  if (tenantData !== undefined) {
    const context = new SuggestContext(settings, tenantData.observed, tenantData.base);
    for (const declaration of allDeclared)
      for (const reason of findTenantReasons(declaration, context)) addReason(declaration, reason);
    for (const declaration of expired)
      for (const reason of findExpiredAllowReasons(declaration, context)) addReason(declaration, reason);
    items.push(...findUndeclaredAllows(context));
  }
  const isIgnored = createIgnoreMatcher(settings.lists.vips?.ignore);
  const targetedItems = suggestions
    .filter(({ kind, value }) => kind === "vip" && !isIgnored({ value }))
    .map(({ value, evidence }) =>
      addReasons({ list: "vip", value }, [{ kind: "targeted", evidence: `${evidence} ${ADD_VIP_HINT}` }]),
    );
  const declaredItems = [...reasons].map(([declaration, itemReasons]) =>
    addReasons(buildReviewItem(declaration, settings), itemReasons),
  );
  return {
    items: [...declaredItems, ...items, ...targetedItems].sort(compareReviewItems),
    missingEvidence: tenantData?.base.summary.missing.map((missing) => sanitizeLine(missing)) ?? [],
    limitations: [
      ...describeReviewGaps(settings, tenantData),
      ...(targetedItems.length < MAX_TARGETED_MAILBOXES ? [] : [MORE_TARGETED_NOTE]),
    ],
  };
}

const ADD_VIP_HINT =
  "`email-security add vip` adds it. People who match `lists.vips.ignore` in the file aren't listed.";

/** More people than this are too many for one review. */
const MAX_TARGETED_MAILBOXES = 20;
const MORE_TARGETED_NOTE = `Only the ${MAX_TARGETED_MAILBOXES} most targeted people who aren't VIPs are listed.`;

const KIND_BY_SUGGESTION: Readonly<Record<string, ReviewKind>> = {
  "malicious-allow": "malicious",
  "expiring-allow": "expiring",
  shadowed: "shadowed",
};

const KIND_BY_FINDING: Readonly<Record<string, ReviewKind>> = {
  "review-overdue": "due",
  contradicted: "contradicted",
  shadowed: "shadowed",
};

function findExpiringReason({ expires }: Declaration, today: string, withinDays: number): ReviewReason | undefined {
  if (expires === undefined || expires === "never") return undefined;
  const days = Math.round((Date.parse(expires) - Date.parse(today)) / DAY_MS);
  if (days > withinDays) return undefined;
  const dueText = days === 0 ? "today" : days === 1 ? "tomorrow" : `in ${days} days`;
  return { kind: "expiring", evidence: `It expires on ${expires}, ${dueText}, unless you extend it.` };
}

function buildReviewItem(declaration: Declaration, settings: Settings): Omit<ReviewItem, "reasons"> {
  const { location, comment, ticket, owner, expires } = declaration;
  return {
    list: declaration.kind === "vip" ? "vip" : declaration.list,
    value: declaration.kind === "vip" ? declaration.email : declaration.value,
    ...(declaration.kind === "entry" ? { scope: declaration.verdictScope } : {}),
    place: location,
    ...(isOwnFile(location.file, settings) ? {} : { isShared: true }),
    ...omitUndefined({ comment, ticket, owner, expires, source: getElementSource(declaration, settings) }),
  };
}

function formatLocationKey({ file, line, column }: FileLocation): string {
  return `${line}:${column} ${file}`;
}
