import "../../resources/compile-cache";
import { existsSync, readFileSync } from "node:fs";
import { all, ComponentResource, type Resource } from "@pulumi/pulumi";
import { type EngineEvent, LocalWorkspace, Stack } from "@pulumi/pulumi/automation";
import { TenantSettings } from "../../gitops/tenant-settings";
import { withoutColour } from "../../plan/pulumi";
import { keepCompiled } from "../../resources/compile-cache";
import { PLAN_DIGEST, PLAN_FILE, PLAN_FIRST } from "../../resources/lifecycle/reviewed-plan";
import { IDENTITY_FILE } from "../../resources/same-tenant";
import { shrinkIdentity, type TenantIdentity } from "../../settings/tenant-identity";
import { TENANT_SETTINGS_TYPE } from "../../settings/tenant-settings-type";
import { MARKER_OUTPUT, type StackMarker } from "../model/stack-marker";
import { hasDied } from "./engine-causes";
import { CliError, EngineCommand } from "./engine-command";
import { failedUp } from "./engine-failure";
import type { ServedProvider } from "./served-provider";
import type { FromEngineProcess, ToEngineProcess, UpRequest, UpResult } from "./up-request";

/*
 * A process that runs `pulumi up` for one tenant after the other, with the tenant's program inside. One tenant at a time, so
 * that no error and no value of one can get to another: Pulumi's SDK tells what nobody caught to all programs of a process.
 * It ends with the process that started it.
 */

keepCompiled();

let current: EngineCommand | undefined;
/** Whether the tenant that is under way is to be left as it is. */
let isCancelled = false;
/** Longer than the CLI takes to end what it is at when it is asked to. */
const GRACE_MS = 15_000;

process.on("message", (message: ToEngineProcess) => {
  if (message.kind === "cancel") cancel();
  else void up(message.request).then((ended) => tell({ kind: "result", ...ended }));
});
process.on("disconnect", () => {
  isCancelled = true;
  // Whoever wanted the result is gone, and with it every permit to write.
  if (current === undefined) process.exit(1);
  current.cancel();
  setTimeout(() => {
    current?.kill();
    process.exit(1);
  }, GRACE_MS);
});
// A CLI that was killed takes its connections with it; that is told by its exit code.
process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});

function cancel(): void {
  isCancelled = true;
  current?.cancel();
}

function tell(message: FromEngineProcess): void {
  if (process.connected) process.send?.(message);
}

/** Runs it with the provider of the dynamic resources in this process, or with Pulumi's own host of them where only that will do. */
async function up(request: UpRequest): Promise<Omit<FromEngineProcess, "kind">> {
  isCancelled = false;
  const Served = request.front === "dynamic" ? await loadServedProvider() : undefined;
  if (Served === undefined) return { result: await upWith(request), isSpent: false };
  let provider: ServedProvider;
  try {
    provider = await Served.start(request.environment);
  } catch (error) {
    return { result: failedUp(request.stack, error, []), isSpent: false };
  }
  const result = isCancelled
    ? failedUp(request.stack, new Error("it was stopped before it began"), [])
    : await upWith({ ...request, environment: provider.environment });
  const isSpent = provider.end();
  // What an engine that died has left is to be looked at first.
  const isAgain = !result.ok && provider.isForeign && !isSpent && !isCancelled && !hasDied(result.message);
  return { result: isAgain ? await upWith(request) : result, isSpent };
}

/** Undefined if Pulumi's SDK lacks the messages that it answers with: Pulumi's own host then serves the resources. */
async function loadServedProvider(): Promise<typeof ServedProvider | undefined> {
  try {
    const { ServedProvider: Served } = await import("./served-provider.js");
    return Served.isPossible ? Served : undefined;
  } catch {
    return undefined;
  }
}

async function upWith(request: UpRequest): Promise<UpResult> {
  const { stack, folder, environment, resource, today, front, marker } = request;
  const command = new EngineCommand(request);
  current = command;
  const errors = new Set<string>();
  try {
    process.chdir(folder);
    const programOf = (file: string) => async () => {
      const lists =
        front === "dynamic"
          ? listsOf(new TenantSettings(resource, { file, today }))
          : [new ComponentResource(TENANT_SETTINGS_TYPE, resource, { file, today }, {}, true)];
      if (marker === undefined) return {};
      // Only once the lists are written it is known what identifies the tenant now.
      const written = all(lists.map(({ urn }) => urn));
      return { [MARKER_OUTPUT]: written.apply(() => withIdentity(marker, environment[IDENTITY_FILE])) };
    };
    const workspace = await LocalWorkspace.create({
      workDir: folder,
      pulumiCommand: command.asPulumiCommand,
      program: programOf(request.settings),
    });
    const handle = await selectOrCreate(request, workspace);
    const onEvent = (event: EngineEvent): void => take(event, errors);
    holdTo(environment);
    if (request.first !== undefined) {
      await handle.up({ refresh: true, onEvent, program: programOf(request.first) });
    }
    const { targets } = request;
    await handle.up(targets === undefined ? { refresh: true, onEvent } : { target: [...targets], onEvent });
    // What an engine was killed in stays in the state, where it would be warned of, and run for, ever after.
    if (request.mayBePending && (await hasPending(handle))) {
      await handle.refresh({ clearPendingCreates: true, onEvent });
    }
    return { ok: true };
  } catch (error) {
    return failedUp(stack, error, [...errors]);
  } finally {
    current = undefined;
  }
}

function listsOf({ entries, vips }: TenantSettings): readonly Resource[] {
  return [entries, vips];
}

/** The marker with what the provider found after its writes; where it wrote nothing, with what the planning read. */
function withIdentity(marker: StackMarker, file: string | undefined): StackMarker {
  if (file === undefined || !existsSync(file)) return marker;
  const identity = JSON.parse(readFileSync(file, "utf8")) as TenantIdentity;
  return { ...marker, identity: shrinkIdentity({ ...marker.identity, ...identity }) };
}

/** Holds the program of this process to the plan that the environment names. */
function holdTo(environment: Readonly<Record<string, string>>): void {
  for (const name of [PLAN_FILE, PLAN_DIGEST, PLAN_FIRST]) process.env[name] = environment[name] ?? "";
}

/** One that was not there when the rollout was planned may have been made since, by a run that was cut short. */
async function selectOrCreate({ stack, isThere }: UpRequest, workspace: LocalWorkspace): Promise<Stack> {
  if (isThere) return await Stack.select(stack, workspace);
  try {
    return await Stack.create(stack, workspace);
  } catch (error) {
    if (!(error instanceof CliError) || !/stack .* already exists/.test(error.stderr)) throw error;
    return await Stack.select(stack, workspace);
  }
}

async function hasPending(stack: Stack): Promise<boolean> {
  const { pending_operations: pending } = (await stack.exportStack()).deployment as {
    readonly pending_operations?: readonly unknown[];
  };
  return (pending ?? []).length > 0;
}

/** The engine tells each error twice, at its resource and for the whole; and some with Pulumi's own colours. */
function take({ diagnosticEvent }: EngineEvent, errors: Set<string>): void {
  if (diagnosticEvent?.severity !== "error") return;
  const text = withoutColour(diagnosticEvent.message.replace(/<\{%[^%]*%\}>/g, "")).trim();
  if (text !== "") errors.add(plainList(text));
}

/** The engine's own list of errors, `2 errors occurred:` and a tab and a star before each, as lines. */
function plainList(text: string): string {
  return text
    .replace(/^\d+ errors? occurred:\s*/gm, "")
    .replace(/^\s*\* /gm, "")
    .replaceAll("\t", "  ");
}
