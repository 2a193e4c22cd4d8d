import "../../resources/compile-cache";
import { existsSync, readFileSync } from "node:fs";
import { all, ComponentResource, type Resource } from "@pulumi/pulumi";
import { type EngineEvent, LocalWorkspace, Stack } from "@pulumi/pulumi/automation";
import { TenantSettings } from "../../gitops/tenant-settings";
import { shrinkIdentity, type TenantIdentity } from "../../model/tenant-identity";
import { TENANT_SETTINGS_TYPE } from "../../model/tenant-settings-type";
import { stripAnsi } from "../../plan/pulumi-cli";
import { startCompileCacheFlush } from "../../resources/compile-cache";
import {
  PLAN_DIGEST_VARIABLE,
  PLAN_FILE_VARIABLE,
  PRECEDING_FILE_VARIABLE,
} from "../../resources/lifecycle/reviewed-plan";
import { IDENTITY_FILE_VARIABLE } from "../../resources/tenant-verifier";
import { MARKER_OUTPUT, type StackMarker } from "../model/stack-marker";
import type { AttachedProvider } from "./attached-provider";
import { isProcessDeath } from "./engine-causes";
import { CliError, EngineCommand } from "./engine-command";
import { buildUpFailure } from "./engine-failure";
import type { EngineRequest, EngineResponse, UpRequest, UpResult } from "./up-request";

/*
 * A process that runs `pulumi up` for one tenant after another, with the tenant's program inside. It serves one tenant at a time, because
 * Pulumi's SDK reports uncaught errors to all programs of a process. Errors and values of one tenant must not reach another.
 * It ends with its parent process.
 */

startCompileCacheFlush();

let currentCommand: EngineCommand | undefined;
/** Whether the current tenant was cancelled. */
let isCancelled = false;
/** Longer than the CLI takes to finish after an interrupt. */
const GRACE_PERIOD_MS = 15_000;

process.on("message", (message: EngineRequest) => {
  if (message.kind === "cancel") cancelCommand();
  else void runUp(message.request).then((result) => sendToParent({ kind: "result", ...result }));
});
process.on("disconnect", () => {
  isCancelled = true;
  // The parent is gone, and with it the rate limiter that every write needs.
  if (currentCommand === undefined) process.exit(1);
  currentCommand.cancel();
  setTimeout(() => {
    currentCommand?.kill();
    process.exit(1);
  }, GRACE_PERIOD_MS);
});
// A killed CLI drops its connections. Its exit code already reports that.
process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});

function cancelCommand(): void {
  isCancelled = true;
  currentCommand?.cancel();
}

function sendToParent(message: EngineResponse): void {
  if (process.connected) process.send?.(message);
}

/**
 * Runs `pulumi up`. Serves dynamic resources from this process if Pulumi's SDK allows it; otherwise, Pulumi's own host serves them. A native provider plugin needs neither.
 */
async function runUp(request: UpRequest): Promise<Omit<EngineResponse, "kind">> {
  isCancelled = false;
  const ProviderClass = request.provider === "dynamic" ? await loadAttachedProvider() : undefined;
  if (ProviderClass === undefined) return { result: await runPulumiUp(request), isUnusable: false };
  let provider: AttachedProvider;
  try {
    provider = await ProviderClass.start(request.environment);
  } catch (error) {
    return { result: buildUpFailure(request.stack, error, []), isUnusable: false };
  }
  const result = isCancelled
    ? buildUpFailure(request.stack, new Error("it was stopped before it started"), [])
    : await runPulumiUp({ ...request, environment: provider.environment });
  const isUnusable = provider.end();
  // After a crash, the state needs a check before a retry.
  const shouldRetry =
    !result.ok && provider.needsPulumiHost && !isUnusable && !isCancelled && !isProcessDeath(result.message);
  return { result: shouldRetry ? await runPulumiUp(request) : result, isUnusable };
}

/** Undefined if Pulumi's SDK lacks the response messages. Pulumi's own host then serves the resources. */
async function loadAttachedProvider(): Promise<typeof AttachedProvider | undefined> {
  try {
    const { AttachedProvider: ProviderClass } = await import("./attached-provider.js");
    return ProviderClass.isSupported ? ProviderClass : undefined;
  } catch {
    return undefined;
  }
}

async function runPulumiUp(request: UpRequest): Promise<UpResult> {
  const { stack, directory, environment, resourceName, today, provider, marker } = request;
  const command = new EngineCommand(request);
  currentCommand = command;
  const errors = new Set<string>();
  try {
    process.chdir(directory);
    const buildProgram = (file: string) => async () => {
      const lists =
        provider === "dynamic"
          ? getListResources(new TenantSettings(resourceName, { file, today }))
          : [new ComponentResource(TENANT_SETTINGS_TYPE, resourceName, { file, today }, {}, true)];
      if (marker === undefined) return {};
      // The tenant's current identity is known only after the lists are written.
      const urnsAfterWrite = all(lists.map(({ urn }) => urn));
      return {
        [MARKER_OUTPUT]: urnsAfterWrite.apply(() => addRecordedIdentity(marker, environment[IDENTITY_FILE_VARIABLE])),
      };
    };
    const workspace = await LocalWorkspace.create({
      workDir: directory,
      pulumiCommand: command.asPulumiCommand,
      program: buildProgram(request.settings),
    });
    const stackHandle = await selectOrCreateStack(request, workspace);
    const onEvent = (event: EngineEvent): void => collectError(event, errors);
    setPlanEnvironment(environment);
    if (request.importSettings !== undefined) {
      await stackHandle.up({ refresh: true, onEvent, program: buildProgram(request.importSettings) });
    }
    const { targets } = request;
    await stackHandle.up(targets === undefined ? { refresh: true, onEvent } : { target: [...targets], onEvent });
    // Pending operations of a killed engine stay in the state. Each later run would warn about them and refresh for them.
    if (request.shouldCheckPending && (await queryPendingOperations(stackHandle))) {
      await stackHandle.refresh({ clearPendingCreates: true, onEvent });
    }
    return { ok: true };
  } catch (error) {
    return buildUpFailure(stack, error, [...errors]);
  } finally {
    currentCommand = undefined;
  }
}

function getListResources({ entries, vips }: TenantSettings): readonly Resource[] {
  return [entries, vips];
}

/**
 * Returns the marker with the identity that the provider recorded after its writes. If it wrote nothing, the identity
 * from the planning stays.
 */
function addRecordedIdentity(marker: StackMarker, file: string | undefined): StackMarker {
  if (file === undefined || !existsSync(file)) return marker;
  const identity = JSON.parse(readFileSync(file, "utf8")) as TenantIdentity;
  return { ...marker, identity: shrinkIdentity({ ...marker.identity, ...identity }) };
}

/** Makes the program in this process enforce the plan that the environment names. */
function setPlanEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const name of [PLAN_FILE_VARIABLE, PLAN_DIGEST_VARIABLE, PRECEDING_FILE_VARIABLE])
    process.env[name] = environment[name] ?? "";
}

/** A stack that was missing at planning time may exist now, created by an interrupted run. */
async function selectOrCreateStack({ stack, isExistingStack }: UpRequest, workspace: LocalWorkspace): Promise<Stack> {
  if (isExistingStack) return await Stack.select(stack, workspace);
  try {
    return await Stack.create(stack, workspace);
  } catch (error) {
    if (!(error instanceof CliError) || !/stack .* already exists/.test(error.stderr)) throw error;
    return await Stack.select(stack, workspace);
  }
}

async function queryPendingOperations(stack: Stack): Promise<boolean> {
  const { pending_operations: pendingOperations } = (await stack.exportStack()).deployment as {
    readonly pending_operations?: readonly unknown[];
  };
  return (pendingOperations ?? []).length > 0;
}

/** The engine reports each error twice, for its resource and for the whole run. Some have Pulumi's own colour codes. */
function collectError({ diagnosticEvent }: EngineEvent, errors: Set<string>): void {
  if (diagnosticEvent?.severity !== "error") return;
  const text = stripAnsi(diagnosticEvent.message.replace(/<\{%[^%]*%\}>/g, "")).trim();
  if (text !== "") errors.add(formatErrorList(text));
}

/** Removes the heading (`2 errors occurred:`) and the bullets from the engine's error list. */
function formatErrorList(text: string): string {
  return text
    .replace(/^\d+ errors? occurred:\s*/gm, "")
    .replace(/^\s*\* /gm, "")
    .replaceAll("\t", "  ");
}
