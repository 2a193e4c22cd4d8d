import { readFileSync } from "node:fs";
import { ConfigurationError } from "../client";
import type { PlanOptions } from "../gitops/plan-tenant";
import { omitUndefined } from "../model/omit-undefined";
import type { Plan } from "../plan/plan";
import { NO_STACK_CONFIG, readOwnDomainNames } from "../resources/configuration";
import { connectToTenant } from "./connect-to-tenant";
import { findDefaultSettingsFile } from "./default-settings-file";
import type { PlanInputOptions } from "./plan-options";
import { readStdin } from "./standard-input";

export async function createPlanFromOptions(file: string | undefined, inputOptions: PlanInputOptions): Promise<Plan> {
  const { planFiles, planPreview } = await import("../gitops/plan-tenant.js");
  const { fromPreview } = inputOptions;
  if (fromPreview !== undefined && file !== undefined) {
    throw new ConfigurationError("Give a settings file or --from-preview, not both.");
  }
  if (fromPreview === undefined && inputOptions.provider !== undefined) {
    throw new ConfigurationError(
      "--provider requires --from-preview; a settings file has only the tenant of the environment.",
    );
  }
  const client = connectToTenant();
  const { stack, resource, name, today, days, evidence, maxPages, provider } = inputOptions;
  const options: PlanOptions & { provider?: string } = {
    client,
    days: evidence ? days : 0,
    log: (line) => console.error(line),
    ownDomains: readOwnDomainNames(NO_STACK_CONFIG, process.env),
    accepting: { environment: process.env },
    ...omitUndefined({ stack, resource, name, today, maxPages, provider }),
  };
  try {
    if (fromPreview === undefined) return await planFiles(file ?? (await findDefaultSettingsFile()), options);
    const text = await readPreviewInput(fromPreview, stack);
    const previewSource = typeof fromPreview === "string" && fromPreview !== "-" ? fromPreview : "pulumi preview";
    return await planPreview(text, previewSource, readOwnDomainNames(NO_STACK_CONFIG, process.env), options);
  } finally {
    await client.close();
  }
}

/** Larger than the preview of any program. */
const MAX_PREVIEW_BYTES = 256 * 1024 * 1024;

async function readPreviewInput(previewSource: string | true, stack: string | undefined): Promise<string> {
  if (typeof previewSource === "string") {
    try {
      return previewSource === "-"
        ? readStdin(MAX_PREVIEW_BYTES).toString("utf8")
        : readFileSync(previewSource, "utf8");
    } catch (cause) {
      throw new ConfigurationError(`The preview can't be read: ${(cause as Error).message}`, { cause });
    }
  }
  const { PulumiError, runPulumi, formatPulumiOutput } = await import("../plan/pulumi-cli.js");
  const stackArguments = stack === undefined ? [] : ["--stack", stack];
  const result = await runPulumi(["preview", "--json", "--show-sames", "--refresh", ...stackArguments], {
    log: (line) => console.error(line),
    timeoutMs: 10 * 60_000,
  });
  // The JSON contains the errors of the program.
  if (result.stdout.trim() === "") throw new PulumiError(`\`pulumi preview\` failed:\n${formatPulumiOutput(result)}`);
  return result.stdout;
}
