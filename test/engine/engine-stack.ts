import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HandlerName } from "../../provider/resources/serialized-provider";
import { EngineProject, type StackResource } from "../support/engine-project";
import type { Declaration } from "../support/model/program";
import type { ModelStack, StackItem, StackRun, StackRunOptions } from "../support/model/stack";

/** Declares the resources listed in `resources.json`; each depends on all previous ones unless `parallel` is set. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import * as settings from "pulumi-email-security";
const { resources, parallel } = JSON.parse(readFileSync("resources.json", "utf8"));
const before: any[] = [];
for (const { kind, name, args } of resources) {
  const Kind = (settings as any)[kind[0].toUpperCase() + kind.slice(1)];
  before.push(new Kind(name, args, parallel ? {} : { dependsOn: [...before] }));
}
`;

/** A stack of the real engine. */
export class EngineStack implements ModelStack {
  readonly #project: EngineProject;
  /** The state since the last command that may have changed it; undefined if it has to be read again. */
  #lastItems: readonly StackItem[] | undefined;

  private constructor(project: EngineProject) {
    this.#project = project;
  }

  static async create(access: { readonly url: string; readonly apiKey: string }): Promise<EngineStack> {
    const project = await EngineProject.create({
      program: PROGRAM,
      environment: { EMAIL_SECURITY_BASE_URL: access.url, EMAIL_SECURITY_API_KEY: access.apiKey },
    });
    return new EngineStack(project);
  }

  async up(resources: readonly Declaration[], { refresh, preview, parallel }: StackRunOptions): Promise<StackRun> {
    const file = join(this.#project.directory, "resources.json");
    await writeFile(file, JSON.stringify({ resources, parallel }));
    let refreshed: readonly StackItem[] | undefined;
    if (refresh) {
      // A separate refresh, so that its resulting state can be inspected.
      this.#lastItems = undefined;
      const { code, output } = await this.#project.run("refresh", "--yes", "--skip-preview");
      if (code !== 0) return { result: "failed", messages: [output], steps: [], refreshed };
      refreshed = await this.listResources();
    }
    this.#lastItems = undefined;
    const { code, output } = await this.#project.run("up", "--yes", ...(preview ? [] : ["--skip-preview"]));
    const steps = output
      .split("\n")
      .filter((line) => /email-security:/.test(line) && /\b(creat|updat|delet|replac)(ed|ing)\b/.test(line));
    if (code === 0) return { result: "ok", messages: [], steps, refreshed };
    const isRefused = !/\b(creat|updat|delet)ing failed\b/.test(output);
    return { result: isRefused ? "refused" : "failed", messages: [output], steps, refreshed };
  }

  async listResources(): Promise<readonly StackItem[]> {
    this.#lastItems ??= (await this.#project.exportState()).resources.map(parseHeld);
    return this.#lastItems;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#project[Symbol.asyncDispose]();
  }
}

function parseHeld(resource: StackResource & { readonly delete?: boolean }): StackItem {
  const { urn, type, id = "", outputs = {} } = resource;
  const kind = type.slice(type.lastIndexOf(":") + 1);
  return {
    kind: (kind.charAt(0).toLowerCase() + kind.slice(1)) as HandlerName,
    name: urn.slice(urn.lastIndexOf("::") + 2),
    id,
    outputs,
    isReplaced: resource.delete === true,
  };
}
