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

const noArguments = z.strictObject({});
const periodArguments = z.strictObject({ days: buildPositiveSchema().exactOptional() });
const windowArguments = z.strictObject({
  minutesAgo: buildPositiveSchema().exactOptional(),
  limit: buildPositiveSchema().exactOptional(),
});
const messageArguments = z.strictObject({ internetMessageId: buildTextSchema() });

const threatsResult = z.object({ threats: z.array(camelCasedSchema(threat)) });
const reportsResult = z.object({ reports: z.array(camelCasedSchema(phishingReport)) });

export const getAllowDenyEntries = defineFunction({
  args: z.strictObject({ list: buildChoiceSchema(LISTS).exactOptional() }),
  result: z.object({ entries: z.array(camelCasedSchema(allowDenyEntry)) }),
  async read(client, args) {
    const lists = args.list === undefined ? LISTS : [args.list];
    const rows = await Promise.all(lists.map(async (list) => await client.allowDenyEntries.readAll(list)));
    return { entries: camelCased(rows.flat()) };
  },
});

export const getVipEmployees = defineFunction({
  args: noArguments,
  result: z.object({ vipEmployees: z.array(camelCasedSchema(vipEmployee)) }),
  read: async (client) => ({ vipEmployees: camelCased(await client.vipEmployees.readAll()) }),
});

export const getThreats = defineFunction({
  args: windowArguments,
  result: threatsResult,
  read: async (client, args) => ({
    threats: camelCased(await take(client.threats.iterate(buildLookBackQuery(args)), args.limit)),
  }),
});

export const getThreatsByInternetMessageId = defineFunction({
  args: messageArguments,
  result: threatsResult,
  read: async (client, { internetMessageId }) => ({
    threats: camelCased(await client.threats.byInternetMessageId(internetMessageId)),
  }),
});

export const getPhishingReports = defineFunction({
  args: windowArguments,
  result: reportsResult,
  read: async (client, args) => ({
    reports: camelCased(await take(client.phishingReports.iterate(buildLookBackQuery(args)), args.limit)),
  }),
});

export const getPhishingReport = defineFunction({
  args: z.strictObject({ id: buildTextSchema() }),
  result: camelCasedSchema(phishingReportDetail),
  read: async (client, { id }) => camelCased(await client.phishingReports.get(id)),
});

export const getPhishingReportsByReportInternetMessageId = defineFunction({
  args: messageArguments,
  result: reportsResult,
  read: async (client, { internetMessageId }) => ({
    reports: camelCased(await client.phishingReports.byReportInternetMessageId(internetMessageId)),
  }),
});

export const getMeanTimeToAnalyze = defineFunction({
  args: periodArguments,
  result: z.object({ seconds: z.number().optional() as z.ZodType<number | undefined> }),
  read: async (client, args) => ({ seconds: await client.phishingReports.meanTimeToAnalyze(args) }),
});

export const getThreatsOverTime = defineFunction({
  args: periodArguments,
  result: z.object({ days: z.array(camelCasedSchema(threatsOnDay)) }),
  read: async (client, args) => ({
    days: camelCased(await take(client.metrics.iterateThreatsOverTime(args))),
  }),
});

export const getTopTargetedEntities = defineFunction({
  args: periodArguments.extend({ entityType: buildChoiceSchema(ENTITY_TYPES).exactOptional() }),
  result: z.object({ entities: z.array(camelCasedSchema(targetedEntity)) }),
  async read(client, { entityType, ...days }) {
    const entityFilter = entityType === undefined ? {} : { entity_type: entityType };
    return { entities: camelCased(await client.metrics.topTargetedEntities({ ...days, ...entityFilter })) };
  },
});

export const getTopThreatTypes = defineFunction({
  args: periodArguments,
  result: z.object({ types: z.array(camelCasedSchema(threatTypeCount)) }),
  read: async (client, args) => ({ types: camelCased(await client.metrics.topThreatTypes(args)) }),
});

export const getHighlightedThreats = defineFunction({
  args: periodArguments,
  result: threatsResult,
  read: async (client, args) => ({ threats: camelCased(await client.metrics.highlightedThreats(args)) }),
});

export const getHoursSaved = defineFunction({
  args: periodArguments,
  result: camelCasedSchema(hoursSaved),
  read: async (client, args) => ({ hoursSaved: await client.metrics.hoursSaved(args) }),
});

export const getProtectedInboxes = defineFunction({
  args: periodArguments,
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
function buildLookBackQuery({ minutesAgo }: z.output<typeof windowArguments>): { minutes_ago?: number } {
  return minutesAgo === undefined ? {} : { minutes_ago: minutesAgo };
}

function buildPositiveSchema() {
  const error = ({ input }: { readonly input?: unknown }) => positiveRefusal(input);
  return z.int({ error }).min(1, { error });
}

function buildTextSchema() {
  return z.string({ error: ({ input }) => `must be a text, not ${quote(input)}` });
}

function buildChoiceSchema<const Values extends readonly string[]>(values: Values) {
  const choicesText = values.map((value) => `"${value}"`).join(" or ");
  return z.enum(values, { error: ({ input }) => `must be ${choicesText}, not ${quote(input)}` });
}
