import { z } from "zod";
import { validatePositive } from "../../client/parameters";
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
import { ENTRY_LISTS } from "../../model/assumptions";
import { quote } from "../../model/text";
import { camelCaseKeys } from "./camel-case";
import { buildCamelCaseSchema } from "./camel-case-schema";
import { defineFunction, type FunctionDefinition } from "./function-definition";
import { takeFirst } from "./take-first";

/* The functions for reading data, each defined once. A provider supplies the client and returns the result. */

/** The entities whose threats are counted: users or groups. */
export const ENTITY_TYPES = ["user", "group"] as const;

const noArguments = z.strictObject({});
const periodArguments = z.strictObject({ days: buildPositiveSchema().exactOptional() });
const windowArguments = z.strictObject({
  minutesAgo: buildPositiveSchema().exactOptional(),
  limit: buildPositiveSchema().exactOptional(),
});
const messageArguments = z.strictObject({ internetMessageId: buildStringSchema() });

const threatsResult = z.object({ threats: z.array(buildCamelCaseSchema(threat)) });
const reportsResult = z.object({ reports: z.array(buildCamelCaseSchema(phishingReport)) });

export const getAllowDenyEntries = defineFunction({
  args: z.strictObject({ list: buildChoiceSchema(ENTRY_LISTS).exactOptional() }),
  result: z.object({ entries: z.array(buildCamelCaseSchema(allowDenyEntry)) }),
  async read(client, args) {
    const lists = args.list === undefined ? ENTRY_LISTS : [args.list];
    const rows = await Promise.all(lists.map(async (list) => await client.allowDenyEntries.readAll(list)));
    return { entries: camelCaseKeys(rows.flat()) };
  },
});

export const getVipEmployees = defineFunction({
  args: noArguments,
  result: z.object({ vipEmployees: z.array(buildCamelCaseSchema(vipEmployee)) }),
  read: async (client) => ({ vipEmployees: camelCaseKeys(await client.vipEmployees.readAll()) }),
});

export const getThreats = defineFunction({
  args: windowArguments,
  result: threatsResult,
  read: async (client, args) => ({
    threats: camelCaseKeys(await takeFirst(client.threats.iterate(buildLookBackQuery(args)), args.limit)),
  }),
});

export const getThreatsByInternetMessageId = defineFunction({
  args: messageArguments,
  result: threatsResult,
  read: async (client, { internetMessageId }) => ({
    threats: camelCaseKeys(await client.threats.byInternetMessageId(internetMessageId)),
  }),
});

export const getPhishingReports = defineFunction({
  args: windowArguments,
  result: reportsResult,
  read: async (client, args) => ({
    reports: camelCaseKeys(await takeFirst(client.phishingReports.iterate(buildLookBackQuery(args)), args.limit)),
  }),
});

export const getPhishingReport = defineFunction({
  args: z.strictObject({ id: buildStringSchema() }),
  result: buildCamelCaseSchema(phishingReportDetail),
  read: async (client, { id }) => camelCaseKeys(await client.phishingReports.get(id)),
});

export const getPhishingReportsByReportInternetMessageId = defineFunction({
  args: messageArguments,
  result: reportsResult,
  read: async (client, { internetMessageId }) => ({
    reports: camelCaseKeys(await client.phishingReports.byReportInternetMessageId(internetMessageId)),
  }),
});

export const getMeanTimeToAnalyze = defineFunction({
  args: periodArguments,
  result: z.object({ seconds: z.number().optional() as z.ZodType<number | undefined> }),
  read: async (client, args) => ({ seconds: await client.phishingReports.meanTimeToAnalyze(args) }),
});

export const getThreatsOverTime = defineFunction({
  args: periodArguments,
  result: z.object({ days: z.array(buildCamelCaseSchema(threatsOnDay)) }),
  read: async (client, args) => ({
    days: camelCaseKeys(await takeFirst(client.metrics.iterateThreatsOverTime(args))),
  }),
});

export const getTopTargetedEntities = defineFunction({
  args: periodArguments.extend({ entityType: buildChoiceSchema(ENTITY_TYPES).exactOptional() }),
  result: z.object({ entities: z.array(buildCamelCaseSchema(targetedEntity)) }),
  async read(client, { entityType, ...days }) {
    const entityFilter = entityType === undefined ? {} : { entity_type: entityType };
    return {
      entities: camelCaseKeys(await client.metrics.topTargetedEntities({ ...days, ...entityFilter })),
    };
  },
});

export const getTopThreatTypes = defineFunction({
  args: periodArguments,
  result: z.object({ types: z.array(buildCamelCaseSchema(threatTypeCount)) }),
  read: async (client, args) => ({ types: camelCaseKeys(await client.metrics.topThreatTypes(args)) }),
});

export const getHighlightedThreats = defineFunction({
  args: periodArguments,
  result: threatsResult,
  read: async (client, args) => ({ threats: camelCaseKeys(await client.metrics.highlightedThreats(args)) }),
});

export const getHoursSaved = defineFunction({
  args: periodArguments,
  result: buildCamelCaseSchema(hoursSaved),
  read: async (client, args) => ({ hoursSaved: await client.metrics.hoursSaved(args) }),
});

export const getProtectedInboxes = defineFunction({
  args: periodArguments,
  result: buildCamelCaseSchema(protectedInboxes),
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

/** Converts the look-back window to the client's query. */
function buildLookBackQuery({ minutesAgo }: z.output<typeof windowArguments>): { minutes_ago?: number } {
  return minutesAgo === undefined ? {} : { minutes_ago: minutesAgo };
}

function buildPositiveSchema() {
  const buildPositiveError = ({ input }: { readonly input?: unknown }) => validatePositive(input);
  return z.int({ error: buildPositiveError }).min(1, { error: buildPositiveError });
}

function buildStringSchema() {
  return z.string({ error: ({ input }) => `must be a string, not ${quote(input)}` });
}

function buildChoiceSchema<const Values extends readonly string[]>(values: Values) {
  const choicesText = values.map((value) => `"${value}"`).join(" or ");
  return z.enum(values, { error: ({ input }) => `must be ${choicesText}, not ${quote(input)}` });
}
