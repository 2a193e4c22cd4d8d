import { describe, expect, it } from "vitest";
import { readPreview } from "../../../provider/plan/preview";

/*
 * The JSON of `pulumi preview --json --show-sames`, as observed from the engine.
 * test/engine/tenant-settings.slow.test.ts verifies that a real one is read.
 */

const TYPE = "pulumi-nodejs:dynamic/email-security:";
const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
const DEFAULT = "urn:pulumi:dev::p::pulumi:providers:pulumi-nodejs::default::82e844a1";
const buildResourceUrn = (kind: string, name: string): string => `urn:pulumi:dev::p::${TYPE}${kind}::${name}`;

interface StepOptions {
  readonly kind?: string;
  readonly name?: string;
  readonly op?: string;
  readonly inputs?: object;
  readonly old?: object;
  readonly provider?: string;
}

function buildStep({
  kind = "AllowDenyList",
  name = "list",
  op = "update",
  inputs,
  old,
  provider = DEFAULT,
}: StepOptions) {
  const type = `${TYPE}${kind}`;
  return {
    op,
    urn: buildResourceUrn(kind, name),
    ...(inputs === undefined
      ? {}
      : {
          newState: {
            type,
            provider,
            inputs: { __provider: "code", ...inputs },
            sourcePosition: "project:///index.ts#7,3",
          },
        }),
    ...(old === undefined ? {} : { oldState: { type, provider, inputs: old, outputs: { ...old, tenant: "host" } } }),
  };
}

const readSteps = (steps: readonly object[], diagnostics: readonly object[] = [], provider?: string) =>
  readPreview(JSON.stringify({ steps, diagnostics, changeSummary: {}, duration: 1 }), [], provider);

describe("preview", () => {
  it("reads the native provider plugin's resources alike", () => {
    const inputs = { entries: { "a.example": "deny: INC-1" } };
    const steps = [buildStep({ inputs, old: { entries: {} } })];
    const native = JSON.parse(
      JSON.stringify(steps)
        .replaceAll(TYPE, "email-security:index:")
        .replaceAll("pulumi-nodejs::default", "email-security::default_0_1_0"),
    ) as object[];
    expect(readSteps(native)).toEqual(readSteps(steps));
    expect(readSteps(native).desired.lists).toHaveLength(1);
  });

  it("reads declared content and state of lists and single resources", () => {
    const { desired, blockers } = readSteps([
      buildStep({
        inputs: { entries: { "a.example": "deny: INC-1" }, mode: "exclusive" },
        old: { entries: { "b.example": "deny" } },
      }),
      buildStep({
        kind: "VipList",
        name: "board",
        op: "same",
        inputs: { members: { "x@a.example": "" } },
        old: { members: { "x@a.example": "" } },
      }),
      buildStep({
        kind: "AllowDenyEntry",
        name: "one",
        op: "create",
        inputs: { list: "allow", value: "Bücher.example", comment: "c" },
      }),
      buildStep({
        kind: "VipEmployee",
        name: "ceo",
        op: "delete",
        old: { email: "ceo@a.example", onDelete: "keep" },
      }),
    ]);
    expect(blockers).toEqual([]);
    expect(
      desired.lists.map(({ kind, isWholeList, declared, stackContent, options }) => ({
        kind,
        isWhole: isWholeList,
        declared,
        known: stackContent,
        options,
      })),
    ).toEqual([
      {
        kind: "entry",
        isWhole: true,
        declared: { "a.example": "deny: INC-1" },
        known: { "b.example": "deny" },
        options: { mode: "exclusive" },
      },
      {
        kind: "vip",
        isWhole: true,
        declared: { "x@a.example": "" },
        known: { "x@a.example": "" },
        options: {},
      },
      {
        kind: "entry",
        isWhole: false,
        declared: { "xn--bcher-kva.example": "allow: c" },
        known: {},
        options: {},
      },
      {
        kind: "vip",
        isWhole: false,
        declared: {},
        known: { "ceo@a.example": "" },
        options: { onDelete: "keep" },
      },
    ]);
    expect(desired.lists[0]?.location).toEqual({ file: "index.ts", line: 7, column: 3 });
  });

  it("uses a resource's last step, not its refresh step", () => {
    const { desired } = readSteps([
      buildStep({ op: "refresh", inputs: { entries: { "old.example": "deny" } } }),
      buildStep({ inputs: { entries: { "new.example": "deny" } }, old: { entries: {} } }),
    ]);
    expect(desired.lists.map(({ declared }) => declared)).toEqual([{ "new.example": "deny" }]);
  });

  it("covers only the tenant of the environment or the named Provider", () => {
    const other = "urn:pulumi:dev::p::pulumi:providers:pulumi-nodejs::globex::1234";
    const steps = [
      buildStep({ name: "mine", inputs: { entries: { "a.example": "deny" } } }),
      buildStep({ name: "theirs", inputs: { entries: { "b.example": "deny" } }, provider: other }),
    ];
    expect(readSteps(steps).desired.lists.map(({ resource }) => resource)).toEqual(["mine"]);
    expect(readSteps(steps, [], "globex").desired.lists.map(({ resource }) => resource)).toEqual(["theirs"]);
    expect(() => readSteps(steps, [], "initech")).toThrow(
      'No resource of the preview belongs to the Provider "initech"',
    );
  });

  it("accepts resource and Provider names that contain ::", () => {
    const other = "urn:pulumi:dev::p::pulumi:providers:pulumi-nodejs::of::globex::1234";
    const steps = [buildStep({ name: "my::list", inputs: { entries: { "a.example": "deny" } }, provider: other })];
    const { lists } = readSteps(steps, [], "of::globex").desired;
    expect(lists.map(({ resource, declared }) => [resource, declared])).toEqual([
      ["my::list", { "a.example": "deny" }],
    ]);
  });

  it("reports an engine refusal as a blocker without color codes", () => {
    const message = "error: \u001b[31mentries would lose 9 of 10 entries\u001b[0m\n";
    const { blockers } = readSteps(
      [],
      [{ urn: buildResourceUrn("AllowDenyList", "list"), severity: "error", message }],
    );
    expect(blockers).toEqual([{ code: "preview", message: "entries would lose 9 of 10 entries" }]);
  });

  it.each([
    ["is a stream of events", '{"sequence":0}\n{"sequence":1}', "PULUMI_ENABLE_STREAMING_JSON_PREVIEW"],
    ["invalid JSON", "error: no stack", "isn't valid JSON"],
    ["is another document", "[]", "has an unknown format"],
  ])("throws when it %s", (_label, text, message) => {
    expect(() => readPreview(text, [])).toThrow(message);
  });

  it("throws when the program failed", () => {
    const diagnostics = [{ severity: "error", message: "error: Running program failed: TSError" }];
    expect(() => readSteps([], diagnostics)).toThrow("The preview failed: Running program failed: TSError");
  });

  it.each([
    ["all of a list is secret", "AllowDenyList", { entries: "[secret]" }],
    ["a comment of a list is secret", "VipList", { members: { "a@a.example": "[secret]" } }],
    ["a list is not known yet", "AllowDenyList", { entries: UNKNOWN }],
    ["a value is not known yet", "AllowDenyEntry", { list: "deny", value: UNKNOWN }],
    ["a comment is secret", "AllowDenyEntry", { list: "deny", value: "a.example", comment: "[secret]" }],
    ["a mailbox is not known yet", "VipEmployee", { email: UNKNOWN }],
  ])("throws when %s", (_label, kind, inputs) => {
    expect(() => readSteps([buildStep({ kind, inputs })])).toThrow("it isn't in the preview");
  });
});
