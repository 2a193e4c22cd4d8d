import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, createCli } from "../../support/cli";
import { createRowHooks, type WireRow } from "../../support/intercept-rows";
import { FakeToolchain } from "../engine-setup/fake-toolchain";

export const KEY = "sandbox-acme-ci";
const SETTINGS = "version: 1\ndeny:\n  - { value: declared.example, comment: INC-1 }\n";
/** The environment of a pipeline that serves many tenants. */
export const KEYS = { T0_API_KEY: KEY, GLOBEX_KEY: "canary-globex", INITECH_TOKEN: "canary-initech" };

/** The rows that somebody added in the console. */
let clicked: readonly WireRow[] = [];

/** Sets the console's rows for this test. */
export function setConsoleRows(rows: readonly WireRow[]): void {
  clicked = rows;
}

let sandbox: Sandbox;
beforeAll(async () => {
  const asHeld = createRowHooks(
    () => clicked,
    () => [],
  );
  sandbox = await startSandbox({
    scenario: "empty",
    intercept: (request) => (clicked.length === 0 ? undefined : asHeld.intercept(request)),
  });
});
afterAll(async () => {
  await sandbox.close();
});
beforeEach(() => {
  clicked = [];
});

/** A working directory with fake programs that record the environment they are started in. */
export class Machine extends FakeToolchain {
  readonly work = join(this.directory, "work");

  constructor() {
    super();
    this.write("work/settings/t0.yaml", SETTINGS);
    this.write(
      "work/tenants.yaml",
      `version: 1\nproject: fleet\ndefaults: { baseUrl: "${sandbox.url}", allowInsecureHttp: true, key: { environment: "{NAME}_API_KEY" }, settings: "settings/{name}.yaml" }\ntenants: { t0: {} }\n`,
    );
    for (const directory of ["state", "seen"]) mkdirSync(join(this.directory, directory));
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) this.addProgram(host, "");
    const formatEnvironmentDump = (words: string) => `env > "${this.directory}/seen/${words}.$$"`;
    this.addProgram(
      "pulumi",
      `${formatEnvironmentDump("pulumi $1 $2")}
case "$*" in
  version) echo v3.300.0 ;;
  *whoami*) echo '{"url":"file:///state"}' ;;
  *"stack ls"*) echo '[]' ;;
  *"stack export"*) echo '{"version":3,"deployment":{}}' ;;
  *" up "*) [ ! -e "${this.directory}/hang" ] || { echo $$ > "${this.directory}/hanging"; exec sleep 600; } ;;
  *) echo "error: no stack named 'x' found" >&2; exit 255 ;;
esac`,
    );
    this.addProgram("git", `${formatEnvironmentDump("git $1")}\nexit 1`);
  }

  async run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<CliResult> {
    return await createCli(this.work, { ...this.environment, ...environment })(...args);
  }

  get environment(): NodeJS.ProcessEnv {
    return {
      ...this.env,
      PULUMI_BACKEND_URL: `file://${this.directory}/state`,
      PULUMI_CONFIG_PASSPHRASE: "",
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_KEY_VARIABLES: "T0_API_KEY",
      EMAIL_SECURITY_API_KEY: KEY,
      ...KEYS,
    };
  }

  /** The environment of each started program, by the first words of its command. */
  get seen(): ReadonlyMap<string, string> {
    const directory = join(this.directory, "seen");
    return new Map(
      readdirSync(directory).map((name) => [
        name.replace(/\.\d+$/, "").trim(),
        readFileSync(join(directory, name), "utf8"),
      ]),
    );
  }
}
