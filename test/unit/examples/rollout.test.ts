import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { CronJob } from "kubernetes-models/batch/v1/CronJob";
import { Job } from "kubernetes-models/batch/v1/Job";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PersistentVolumeClaim } from "kubernetes-models/v1/PersistentVolumeClaim";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { assignWaves } from "../../../provider/rollout/targets/assign-waves";
import { readTargets } from "../../../provider/rollout/targets/read-targets";
import { selectTargets } from "../../../provider/rollout/targets/select-targets";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { runActionlint } from "../../support/actionlint";
import type { Workflow } from "../../support/pipeline-files";

const DIRECTORY = "examples/rollout";
const KUBERNETES = join(DIRECTORY, "kubernetes");
const KINDS = { CronJob, Deployment, Job, NetworkPolicy, PersistentVolumeClaim };

/** A Kubernetes manifest, limited to the fields that the tests read. */
interface KubernetesManifest {
  readonly kind: keyof typeof KINDS;
  readonly metadata: { readonly namespace?: string };
  readonly spec: Template & { readonly jobTemplate?: { readonly spec: Template } };
}

interface Template {
  readonly template?: { readonly spec: PodSpec };
}

interface PodSpec {
  readonly securityContext: unknown;
  readonly containers: readonly { readonly args: readonly string[]; readonly securityContext: unknown }[];
}

interface CacheStep {
  readonly key?: string;
  readonly "restore-keys"?: string;
}

const manifests = readdirSync(KUBERNETES).map((file): [string, KubernetesManifest] => [
  file,
  parse(readFileSync(join(KUBERNETES, file), "utf8")) as KubernetesManifest,
]);

describe("targets file of the rollout example", () => {
  const { targets, waves, findings } = readTargets(join(DIRECTORY, "tenants.yaml"));

  it("gives every tenant valid settings", () => {
    expect(findings).toEqual([]);
    const assigned = assignWaves(waves, targets).waves;
    expect(assigned.map(({ name, tenants }) => [name, tenants])).toEqual([
      ["canary", ["acme"]],
      ["rest", ["globex", "initech"]],
    ]);
    for (const { name, settings, key } of targets) {
      expect(readSettings(settings).findings).toEqual([]);
      expect(key).toEqual({ from: "file", path: `/run/secrets/tenants/${name}` });
    }
  });

  it("puts every tenant in exactly one shard of the matrix", () => {
    const github = parse(readFileSync(join(DIRECTORY, ".github/workflows/rollout-matrix.yml"), "utf8"));
    const gitlab = parse(readFileSync(join(DIRECTORY, ".gitlab-ci.yml"), "utf8"));
    const regions: string[] = github.jobs.rollout.strategy.matrix.region;
    expect(gitlab.rollout.parallel.matrix).toEqual([{ REGION: regions }]);
    const nightly = parse(readFileSync(join(DIRECTORY, ".github/workflows/nightly.yml"), "utf8"));
    expect(nightly.jobs.reconcile.strategy.matrix.region).toEqual(regions);
    const shards = regions.map((region) => selectTargets(targets, { labels: [`region=${region}`] }));
    expect(shards.flat().map(({ name }) => name)).toEqual(targets.map(({ name }) => name));
    expect(assignWaves(waves, shards[1] ?? []).waves.flatMap(({ tenants }) => tenants)).toEqual(["initech"]);
  });
});

describe("pipeline configuration of the rollout example", () => {
  it("passes actionlint", async () => {
    expect(await runActionlint(DIRECTORY)).toEqual([]);
  });

  it("grants each job minimal permissions", () => {
    for (const name of ["nightly", "rollout-matrix"] as const) {
      const { permissions, jobs } = parse(
        readFileSync(join(DIRECTORY, `.github/workflows/${name}.yml`), "utf8"),
      ) as Workflow;
      expect(permissions).toEqual({});
      for (const [job, { permissions: own, environment, steps, ...rest }] of Object.entries(jobs)) {
        expect(rest["timeout-minutes"], job).toBeGreaterThan(0);
        expect(own, job).toBeDefined();
        const hasSecrets = JSON.stringify(steps).includes("secrets.");
        expect({ job, has: hasSecrets }).toEqual({ job, has: typeof environment === "string" });
        if (hasSecrets) expect(own, job).toEqual({ contents: "read" });
      }
    }
  });

  it("serializes rollouts of a region without blocking on a nightly run", () => {
    const [nightly, matrix] = ["nightly", "rollout-matrix"].map(
      (name) => parse(readFileSync(join(DIRECTORY, `.github/workflows/${name}.yml`), "utf8")) as Workflow,
    );
    expect(matrix?.jobs["rollout"]).toMatchObject({
      concurrency: { group: `rollout-\${{ matrix.region }}`, "cancel-in-progress": false },
    });
    const reconcile = nightly?.jobs["reconcile"];
    expect(reconcile).toMatchObject({
      concurrency: {
        group: `\${{ needs.turn.outputs.free == 'yes' && 'rollout' || 'nightly' }}-\${{ matrix.region }}`,
        "cancel-in-progress": false,
      },
    });
    const changing = reconcile?.steps.filter(({ run = "" }) => /rollout (?:tenants|prune)/.test(run)) ?? [];
    expect(changing).toHaveLength(3);
    for (const step of changing) expect(step.if).toContain("needs.turn.outputs.free == 'yes'");
    const gitlab = parse(readFileSync(join(DIRECTORY, ".gitlab-ci.yml"), "utf8"));
    expect([gitlab.rollout.resource_group, gitlab.reconcile.extends]).toEqual(["rollout-$REGION", "rollout"]);
  });

  it.each(["nightly", "rollout-matrix"])("restores no journal of a region with a longer name: %s", (name) => {
    const text = readFileSync(join(DIRECTORY, `.github/workflows/${name}.yml`), "utf8");
    const { jobs } = parse(text) as Record<"jobs", Record<string, { steps: { with?: CacheStep }[] }>>;
    const steps = Object.values(jobs).flatMap((job) => job.steps.map((step) => step.with ?? {}));
    const restored = steps.flatMap(({ "restore-keys": prefix = "" }) =>
      prefix.includes("matrix.region") ? [prefix.replaceAll(/\$\{\{.*?\}\}/g, "us")] : [],
    );
    const saved = steps.flatMap(({ key = "" }) =>
      key.includes("matrix.region") ? [key.replace(/\$\{\{.*?\}\}/, "us-gov").replaceAll(/\$\{\{.*?\}\}/g, "1")] : [],
    );
    expect([restored.length, saved.length]).toEqual([1, 2]);
    for (const prefix of restored)
      for (const key of saved) {
        expect(key.startsWith(prefix)).toBe(false);
        expect(key.replace("us-gov", "us").startsWith(prefix)).toBe(true);
      }
  });

  it("matches GitLab's schema", () => {
    const schema = JSON.parse(readFileSync("test/fixtures/gitlab/gitlab-ci.schema.json", "utf8")) as object;
    const ajv = new Ajv({ strict: false, allErrors: true });
    addFormats(ajv);
    const isValid = ajv.validate(schema, parse(readFileSync(join(DIRECTORY, ".gitlab-ci.yml"), "utf8")));
    expect(ajv.errors).toBeNull();
    expect(isValid).toBe(true);
  });
});

describe("Kubernetes manifests", () => {
  it.each(manifests)("validates %s against Kubernetes' schema", (_, manifest) => {
    new KINDS[manifest.kind](manifest as never).validate();
    // The namespace is left to the person who applies it.
    expect(manifest.metadata).not.toHaveProperty("namespace");
  });

  it("fails validation with a wrong type or an unknown field", () => {
    const [, worker] = manifests.find(([file]) => file === "workers.yaml") ?? [];
    const wrong = { ...worker, spec: { ...worker?.spec, replicas: "three" } };
    expect(() => new Deployment(wrong as never).validate()).toThrow(/replicas/);
    expect(
      findTypeErrors([["wrong.yaml", { ...worker, spec: { ...worker?.spec, replica: 3 } } as KubernetesManifest]]),
    ).toEqual([expect.stringContaining("'\"replica\"' does not exist")]);
  });

  it("uses no field unknown to Kubernetes", () => {
    expect(findTypeErrors(manifests)).toEqual([]);
  });

  it.each(manifests.flatMap(([file, { spec }]) => listPodSpecs(spec).map((pod): [string, PodSpec] => [file, pod])))(
    "runs %s as non-root with a read-only root file system",
    (_, { securityContext: own, containers }) => {
      expect(own).toMatchObject({ runAsNonRoot: true });
      expect(containers).not.toEqual([]);
      for (const { securityContext } of containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      }
    },
  );
});

function listPodSpecs({ template, jobTemplate }: KubernetesManifest["spec"]): PodSpec[] {
  const pod = (template ?? jobTemplate?.spec.template)?.spec;
  return pod === undefined ? [] : [pod];
}

/** Returns the compiler's errors for manifests as values of their types. Schemas alone accept unknown fields. */
function findTypeErrors(all: readonly [string, KubernetesManifest][]): string[] {
  const apiVersions: Readonly<Record<KubernetesManifest["kind"], string>> = {
    CronJob: "batch/v1",
    Deployment: "apps/v1",
    Job: "batch/v1",
    NetworkPolicy: "networking.k8s.io/v1",
    PersistentVolumeClaim: "v1",
  };
  const file = resolve("test/unit/examples/manifests-in-memory.mts");
  const source = all
    .map(
      ([, manifest], index) =>
        `import type { I${manifest.kind} as Kind${index} } from "kubernetes-models/${apiVersions[manifest.kind]}/${manifest.kind}";\n` +
        `export const manifest${index}: Kind${index} = ${JSON.stringify(manifest)};\n`,
    )
    .join("");
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    types: [],
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (name) => name === file || fileExists.call(host, name);
  host.readFile = (name) => (name === file ? source : readFile.call(host, name));
  host.getSourceFile = (name, version, ...rest) =>
    name === file ? ts.createSourceFile(name, source, version) : getSourceFile.call(host, name, version, ...rest);
  const program = ts.createProgram([file], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}
