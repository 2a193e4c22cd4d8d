import { z } from "zod";
import { positiveRefusal } from "../../client/parameters";
import {
  allowDenyEntry,
  hoursSaved,
  phishingReport,
  phishingReportDetail,
  protectedInboxes,
  targetedEntity,
  threat,
  threatsOnDay,
  threatTypeCount,
  vipEmployee,
} from "../../client/schemas";
import { LISTS } from "../../settings/assumptions";
import { quote } from "../../settings/text";
import { camelCased } from "./camel-case";
import { camelCasedSchema } from "./camel-cased-schema";
import { defineFunction, type FunctionDefinition } from "./function-definition";
import { take } from "./take";

/*
 * What a program can read. Each function stands here once; a front brings the client, and tells what came back.
 */

/** Whom threats are counted for: users or groups. */
export const ENTITY_TYPES = ["user", "group"] as const;

const none = z.strictObject({});
const period = z.strictObject({ days: positive().exactOptional() });
const window = z.strictObject({ minutesAgo: positive().exactOptional(), limit: positive().exactOptional() });
const message = z.strictObject({ internetMessageId: text() });

const threats = z.object({ threats: z.array(camelCasedSchema(threat)) });
const reports = z.object({ reports: z.array(camelCasedSchema(phishingReport)) });

export const getAllowDenyEntries = defineFunction({
  args: z.strictObject({ list: oneOf(LISTS).exactOptional() }),
  result: z.object({ entries: z.array(camelCasedSchema(allowDenyEntry)) }),
  async read(client, args) {
    const lists = args.list === undefined ? LISTS : [args.list];
    const rows = await Promise.all(lists.map(async (list) => await client.allowDenyEntries.readAll(list)));
    return { entries: camelCased(rows.flat()) };
  },
});

export const getVipEmployees = defineFunction({
  args: none,
  result: z.object({ vipEmployees: z.array(camelCasedSchema(vipEmployee)) }),
  read: async (client) => ({ vipEmployees: camelCased(await client.vipEmployees.readAll()) }),
});

export const getThreats = defineFunction({
  args: window,
  result: threats,
  read: async (client, args) => ({
    threats: camelCased(await take(client.threats.iterate(lookBack(args)), args.limit)),
  }),
});

export const getThreatsByInternetMessageId = defineFunction({
  args: message,
  result: threats,
  read: async (client, { internetMessageId }) => ({
    threats: camelCased(await client.threats.byInternetMessageId(internetMessageId)),
  }),
});

export const getPhishingReports = defineFunction({
  args: window,
  result: reports,
  read: async (client, args) => ({
    reports: camelCased(await take(client.phishingReports.iterate(lookBack(args)), args.limit)),
  }),
});

export const getPhishingReport = defineFunction({
  args: z.strictObject({ id: text() }),
  result: camelCasedSchema(phishingReportDetail),
  read: async (client, { id }) => camelCased(await client.phishingReports.get(id)),
});

export const getPhishingReportsByReportInternetMessageId = defineFunction({
  args: message,
  result: reports,
  read: async (client, { internetMessageId }) => ({
    reports: camelCased(await client.phishingReports.byReportInternetMessageId(internetMessageId)),
  }),
});

export const getMeanTimeToAnalyze = defineFunction({
  args: period,
  result: z.object({ seconds: z.number().optional() as z.ZodType<number | undefined> }),
  read: async (client, args) => ({ seconds: await client.phishingReports.meanTimeToAnalyze(args) }),
});

export const getThreatsOverTime = defineFunction({
  args: period,
  result: z.object({ days: z.array(camelCasedSchema(threatsOnDay)) }),
  read: async (client, args) => ({
    days: camelCased(await take(client.metrics.iterateThreatsOverTime(args))),
  }),
});

export const getTopTargetedEntities = defineFunction({
  args: period.extend({ entityType: oneOf(ENTITY_TYPES).exactOptional() }),
  result: z.object({ entities: z.array(camelCasedSchema(targetedEntity)) }),
  async read(client, { entityType, ...days }) {
    const whom = entityType === undefined ? {} : { entity_type: entityType };
    return { entities: camelCased(await client.metrics.topTargetedEntities({ ...days, ...whom })) };
  },
});

export const getTopThreatTypes = defineFunction({
  args: period,
  result: z.object({ types: z.array(camelCasedSchema(threatTypeCount)) }),
  read: async (client, args) => ({ types: camelCased(await client.metrics.topThreatTypes(args)) }),
});

export const getHighlightedThreats = defineFunction({
  args: period,
  result: threats,
  read: async (client, args) => ({ threats: camelCased(await client.metrics.highlightedThreats(args)) }),
});

export const getHoursSaved = defineFunction({
  args: period,
  result: camelCasedSchema(hoursSaved),
  read: async (client, args) => ({ hoursSaved: await client.metrics.hoursSaved(args) }),
});

export const getProtectedInboxes = defineFunction({
  args: period,
  result: camelCasedSchema(protectedInboxes),
  read: async (client, args) => ({ protectedInboxes: await client.metrics.protectedInboxes(args) }),
});

/** All functions, by name. */
export const definitions: Readonly<Record<string, FunctionDefinition<object, object>>> = {
  getAllowDenyEntries,
  getHighlightedThreats,
  getHoursSaved,
  getMeanTimeToAnalyze,
  getPhishingReport,
  getPhishingReports,
  getPhishingReportsByReportInternetMessageId,
  getProtectedInboxes,
  getThreats,
  getThreatsByInternetMessageId,
  getThreatsOverTime,
  getTopTargetedEntities,
  getTopThreatTypes,
  getVipEmployees,
};

/** The look-back window of a list, as the client takes it. */
function lookBack({ minutesAgo }: z.output<typeof window>): { minutes_ago?: number } {
  return minutesAgo === undefined ? {} : { minutes_ago: minutesAgo };
}

function positive() {
  const error = ({ input }: { readonly input?: unknown }) => positiveRefusal(input);
  return z.int({ error }).min(1, { error });
}

function text() {
  return z.string({ error: ({ input }) => `must be a text, not ${quote(input)}` });
}

function oneOf<const Values extends readonly string[]>(values: Values) {
  const known = values.map((value) => `"${value}"`).join(" or ");
  return z.enum(values, { error: ({ input }) => `must be ${known}, not ${quote(input)}` });
}
