import { credentials, type ServiceError } from "@grpc/grpc-js";
import aliases from "@pulumi/pulumi/proto/alias_pb.js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import { ResourceMonitorClient } from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import monitor from "@pulumi/pulumi/proto/resource_pb.js";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../model/list-arguments";
import { encodeListContent } from "../model/list-check";
import { TENANT_SETTINGS_TYPE } from "../model/tenant-settings-type";
import { type DeclaredListArguments, readDeclaredListArguments } from "../plan/declared-list-arguments";
import { getDynamicType, getNativeType } from "../resources/resource-type";
import { decodeProperties, encodeProperties } from "./wire";

interface PluginContext {
  /** The reference of this process's provider instance, as the engine writes it. The lists belong to its tenant. */
  readonly providerReference: string;
  /** Resolves when a resource has failed, which ends the run. */
  readonly runEnd: Promise<void>;
  readonly onDeclared: (lists: DeclaredListArguments) => void;
  readonly logDeclared: (urn: string, lists: DeclaredListArguments) => void;
}

type ConstructRequest = InstanceType<typeof provider.ConstructRequest>;
type Registration = InstanceType<typeof monitor.RegisterResourceRequest>;

/**
 * Constructs the component `TenantSettings`: reads the settings files and registers their declarations with the engine.
 * The names are those of the component of dynamic resources, so that plans, rollouts and policies support both.
 *
 * @throws {InvalidArgumentError} (`ERR_INVALID_ARGUMENT`) with all invalid arguments.
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) with all mistakes in the files; then nothing is registered.
 * @throws {PlanStaleError} (`ERR_PLAN_STALE`) if the run enforces a plan of another stack or of a different desired
 * state.
 */
export async function constructTenantSettings(
  request: ConstructRequest,
  { providerReference, runEnd, onDeclared, logDeclared }: PluginContext,
): Promise<unknown> {
  const inputs = decodeProperties(request.getInputs());
  // The engine started this process in the program's directory.
  const lists = readDeclaredListArguments(request.getName(), request.getStack(), inputs);
  onDeclared(lists);
  const engine = new ResourceMonitorClient(request.getMonitorendpoint(), credentials.createInsecure(), {
    // The environment's proxy must not be used for the engine.
    "grpc.enable_http_proxy": 0,
    "grpc.max_receive_message_length": MAX_BYTES,
    "grpc.max_send_message_length": MAX_BYTES,
  });
  const component = registerResource(engine, buildComponentRegistration(request));
  const complete = component
    .then(async (urn) => {
      logDeclared(urn, lists);
      const registrations = buildLists(request, urn, providerReference, lists);
      await Promise.all(registrations.map((list) => registerResource(engine, list)));
      const outputs = new monitor.RegisterResourceOutputsRequest();
      outputs.setUrn(urn);
      outputs.setOutputs(encodeProperties({}));
      await callEngine((done) => engine.registerResourceOutputs(outputs, done));
    })
    .finally(() => engine.close());
  await Promise.race([complete, runEnd]);
  const response = new provider.ConstructResponse();
  response.setUrn(await component);
  response.setState(encodeProperties({}));
  return response;
}

/** The message size limit of Pulumi's own servers. */
const MAX_BYTES = 400 * 1024 * 1024;

/**
 * Registers a resource. Returns its URN at the end of the registration, even after a failure, which the engine reports
 * itself.
 */
async function registerResource(engine: ResourceMonitorClient, registration: Registration): Promise<string> {
  const response = await callEngine<InstanceType<typeof monitor.RegisterResourceResponse>>((done) =>
    engine.registerResource(registration, done),
  );
  return response.getUrn();
}

async function callEngine<Answer>(
  call: (done: (error: ServiceError | null, response: Answer) => void) => unknown,
): Promise<Answer> {
  return await new Promise<Answer>((resolve, reject) => {
    call((error, response) => (error === null ? resolve(response) : reject(error)));
  });
}

function buildComponentRegistration(request: ConstructRequest): Registration {
  const component = new monitor.RegisterResourceRequest();
  component.setType(TENANT_SETTINGS_TYPE);
  component.setName(request.getName());
  component.setParent(request.getParent());
  component.setObject(encodeProperties({}));
  component.setDependenciesList(request.getDependenciesList());
  component.setAliasesList(request.getAliasesList());
  component.setAliasspecs(true);
  component.setDeletedwith(request.getDeletedwith());
  // The engine passes these options of a parent on to its children.
  const [protect, retainOnDelete] = [request.getProtect(), request.getRetainondelete()];
  if (request.hasProtect() && protect !== undefined) component.setProtect(protect);
  if (request.hasRetainondelete() && retainOnDelete !== undefined) component.setRetainondelete(retainOnDelete);
  component.setParentstacktracehandle(request.getStackTraceHandle());
  return component;
}

/**
 * Builds the two lists as maps, whose keys identify elements in Pulumi's options. Both use the component's provider
 * instance.
 */
function buildLists(
  request: ConstructRequest,
  parent: string,
  instance: string,
  { entries, vips }: DeclaredListArguments,
): Registration[] {
  return (
    [
      [
        "AllowDenyList",
        { ...entries, entries: encodeListContent(ENTRY_LIST_KIND, entries.entries) ?? entries.entries },
      ],
      ["VipList", { ...vips, members: encodeListContent(VIP_LIST_KIND, vips.members) ?? vips.members }],
    ] as const
  ).map(([kind, content]) => {
    const list = new monitor.RegisterResourceRequest();
    list.setType(getNativeType(kind));
    list.setName(request.getName());
    list.setParent(parent);
    list.setCustom(true);
    list.setObject(encodeProperties(content));
    list.setProvider(instance);
    list.setDependenciesList(request.getDependenciesList());
    list.setParentstacktracehandle(request.getStackTraceHandle());
    // Adopts dynamic resources for the same files without a write to the service.
    const spec = new aliases.Alias.Spec();
    spec.setType(getDynamicType(kind));
    const previousAlias = new aliases.Alias();
    previousAlias.setSpec(spec);
    list.setAliasesList([previousAlias]);
    list.setAliasspecs(true);
    list.setAcceptsecrets(true);
    list.setSupportspartialvalues(true);
    list.setSupportsresultreporting(true);
    return list;
  });
}
