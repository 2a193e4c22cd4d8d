import { credentials, type ServiceError } from "@grpc/grpc-js";
import aliases from "@pulumi/pulumi/proto/alias_pb.js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import { ResourceMonitorClient } from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import monitor from "@pulumi/pulumi/proto/resource_pb.js";
import { type DeclaredLists, readDeclaredLists } from "../plan/declared-lists";
import { dynamicType, nativeType } from "../resources/resource-type";
import { ENTRIES, MEMBERS } from "../settings/list-arguments";
import { keyedContent } from "../settings/list-check";
import { TENANT_SETTINGS_TYPE } from "../settings/tenant-settings-type";
import { propertiesOf, structOf } from "./wire";

/** The component's access to the plugin process. */
interface OwnProcess {
  /** The process's provider instance, as the engine refers to it; the lists belong to its tenant. */
  readonly instance: string;
  /** Resolves when a resource fails and the run ends. */
  readonly ending: Promise<void>;
  /** Called with the declarations of the files before they are registered. */
  readonly found: (lists: DeclaredLists) => void;
  /** Reports information about the files for the review, at the component. */
  readonly tell: (urn: string, lists: DeclaredLists) => void;
}

type ConstructRequest = InstanceType<typeof provider.ConstructRequest>;
type Registration = InstanceType<typeof monitor.RegisterResourceRequest>;

/**
 * Constructs the component `TenantSettings`: reads the settings files and registers what they declare. The names match those of
 * the component of dynamic resources, so plans, rollouts and policies support both.
 *
 * @throws {InvalidArgumentError} (`ERR_INVALID_ARGUMENT`) with every mistake in the arguments.
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) with every mistake in the files; then nothing is registered.
 * @throws {PlanMovedError} (`ERR_PLAN_MOVED`) if the run enforces a plan for something else.
 */
export async function constructTenantSettings(
  request: ConstructRequest,
  { instance, ending, found, tell }: OwnProcess,
): Promise<unknown> {
  const given = propertiesOf(request.getInputs());
  // The engine starts this process in the program's directory.
  const lists = readDeclaredLists(request.getName(), request.getStack(), given);
  found(lists);
  const engine = new ResourceMonitorClient(request.getMonitorendpoint(), credentials.createInsecure(), {
    // Proxy variables of the environment don't apply to loopback.
    "grpc.enable_http_proxy": 0,
    "grpc.max_receive_message_length": MAX_BYTES,
    "grpc.max_send_message_length": MAX_BYTES,
  });
  const component = registered(engine, componentOf(request));
  const complete = component
    .then(async (urn) => {
      tell(urn, lists);
      const registrations = listsOf(request, urn, instance, lists);
      await Promise.all(registrations.map((list) => registered(engine, list)));
      const outputs = new monitor.RegisterResourceOutputsRequest();
      outputs.setUrn(urn);
      outputs.setOutputs(structOf({}));
      await asked((done) => engine.registerResourceOutputs(outputs, done));
    })
    .finally(() => engine.close());
  await Promise.race([complete, ending]);
  const answer = new provider.ConstructResponse();
  answer.setUrn(await component);
  answer.setState(structOf({}));
  return answer;
}

/** The same maximum as Pulumi's own servers. */
const MAX_BYTES = 400 * 1024 * 1024;

/** Registers a resource and returns its URN once it is done, even if it failed: the engine reports failures itself. */
async function registered(engine: ResourceMonitorClient, registration: Registration): Promise<string> {
  const answer = await asked<InstanceType<typeof monitor.RegisterResourceResponse>>((done) =>
    engine.registerResource(registration, done),
  );
  return answer.getUrn();
}

async function asked<Answer>(
  ask: (done: (error: ServiceError | null, answer: Answer) => void) => unknown,
): Promise<Answer> {
  return await new Promise<Answer>((resolve, reject) => {
    ask((error, answer) => (error === null ? resolve(answer) : reject(error)));
  });
}

function componentOf(request: ConstructRequest): Registration {
  const component = new monitor.RegisterResourceRequest();
  component.setType(TENANT_SETTINGS_TYPE);
  component.setName(request.getName());
  component.setParent(request.getParent());
  component.setObject(structOf({}));
  component.setDependenciesList(request.getDependenciesList());
  component.setAliasesList(request.getAliasesList());
  component.setAliasspecs(true);
  component.setDeletedwith(request.getDeletedwith());
  // The engine passes these options of a parent on to its children.
  const [protect, retain] = [request.getProtect(), request.getRetainondelete()];
  if (request.hasProtect() && protect !== undefined) component.setProtect(protect);
  if (request.hasRetainondelete() && retain !== undefined) component.setRetainondelete(retain);
  component.setParentstacktracehandle(request.getStackTraceHandle());
  return component;
}

/** Returns the two lists as maps whose keys name an element in Pulumi's options; each uses the component's provider instance. */
function listsOf(
  request: ConstructRequest,
  parent: string,
  instance: string,
  { entries, vips }: DeclaredLists,
): Registration[] {
  return (
    [
      ["AllowDenyList", { ...entries, entries: keyedContent(ENTRIES, entries.entries) ?? entries.entries }],
      ["VipList", { ...vips, members: keyedContent(MEMBERS, vips.members) ?? vips.members }],
    ] as const
  ).map(([kind, content]) => {
    const list = new monitor.RegisterResourceRequest();
    list.setType(nativeType(kind));
    list.setName(request.getName());
    list.setParent(parent);
    list.setCustom(true);
    list.setObject(structOf(content));
    list.setProvider(instance);
    list.setDependenciesList(request.getDependenciesList());
    list.setParentstacktracehandle(request.getStackTraceHandle());
    // Resources that dynamic providers created from the same files are adopted without a write.
    const spec = new aliases.Alias.Spec();
    spec.setType(dynamicType(kind));
    const before = new aliases.Alias();
    before.setSpec(spec);
    list.setAliasesList([before]);
    list.setAliasspecs(true);
    list.setAcceptsecrets(true);
    list.setSupportspartialvalues(true);
    list.setSupportsresultreporting(true);
    return list;
  });
}
