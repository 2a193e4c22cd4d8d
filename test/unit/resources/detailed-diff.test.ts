import { beforeEach, expect, it } from "vitest";
import { formatKeyPath } from "../../../provider/model/property-path";
import { addDetailedDiff } from "../../../provider/resources/detailed-diff";
import type { PropertyChange } from "../../../provider/resources/lifecycle/lifecycle";

/** Builds messages that behave like those of Pulumi's host, as far as the details need them. */
function buildMessages() {
  return {
    DiffResponse: class {
      changes = 0;
      has = false;
      diffs: string[] = [];
      readonly details = new Map<string, { kind: number | undefined }>();
      setChanges(changes: number) {
        this.changes = changes;
        return this;
      }
      setDiffsList(diffs: string[]) {
        this.diffs = diffs;
      }
      getDetaileddiffMap() {
        return this.details;
      }
      setHasdetaileddiff(has: boolean) {
        this.has = has;
      }
    },
    PropertyDiff: class {
      static readonly Kind = {
        ADD: 0,
        ADD_REPLACE: 1,
        DELETE: 2,
        DELETE_REPLACE: 3,
        UPDATE: 4,
        UPDATE_REPLACE: 5,
      };
      kind: number | undefined;
      setKind(kind: number | undefined) {
        this.kind = kind;
      }
    },
  };
}

type Messages = ReturnType<typeof buildMessages>;

/** Returns the modules of a process in which Pulumi's host has loaded these messages. */
function buildHostModules(exports: unknown, directory = "/app/node_modules/@pulumi/pulumi/"): NodeModule[] {
  const child = { filename: `${directory}proto/provider_pb.js`, exports };
  const main = { filename: `${directory}cmd/dynamic-provider/index.js`, children: [child] };
  return [{ filename: "/app/index.js", children: [] }, main] as unknown as NodeModule[];
}

/** Converts a result to a response, as the host does. */
function buildDiffResponse({ DiffResponse }: Messages, result: { changes?: boolean }) {
  const response = new DiffResponse();
  response.setChanges(result.changes === true ? 2 : 1);
  return response;
}

const plain = { changes: true, replaces: ["value"] };
const changes: PropertyChange[] = [
  { property: formatKeyPath("entries", "a.example"), kind: "add", replace: false },
  { property: "value", kind: "update", replace: true },
];

let known: Messages;
beforeEach(() => {
  known = buildMessages();
});

it("adds details to the host's response", () => {
  const result = addDetailedDiff(plain, changes, buildHostModules(known));
  expect(result).toEqual(plain);
  const response = buildDiffResponse(known, result);
  expect(response).toMatchObject({ changes: 2, has: true, diffs: ["entries", "value"] });
  expect([...response.details]).toEqual([
    ['entries["a.example"]', { kind: 0 }],
    ["value", { kind: 5 }],
  ]);
});

it("finds the messages in Windows paths and pnpm layouts", () => {
  const directory = "C:\\app\\node_modules\\.pnpm\\@pulumi+pulumi@3.270.0\\node_modules\\@pulumi\\pulumi\\";
  const modules = buildHostModules(known, directory).map((module) =>
    Object.assign(module, { filename: module.filename.replaceAll("/", "\\") }),
  );
  for (const child of modules[1]?.children ?? []) child.filename = child.filename.replaceAll("/", "\\");
  expect(buildDiffResponse(known, addDetailedDiff(plain, changes, modules)).has).toBe(true);
});

it("changes only the response for which the result is read", async () => {
  const results = [changes, changes.slice(1)].map((each) => addDetailedDiff(plain, each, buildHostModules(known)));
  const foreign = buildDiffResponse(known, { changes: true });
  const sizes = results.map((result) => buildDiffResponse(known, result).details.size);
  expect(sizes).toEqual([2, 1]);
  expect([foreign.has, buildDiffResponse(known, { changes: true }).has]).toEqual([false, false]);

  // If a host reads the result and continues later, it gets the plain diff, and so does every later caller.
  expect(results[0]?.changes).toBe(true);
  await Promise.resolve();
  expect(buildDiffResponse(known, { changes: true }).has).toBe(false);
});

it("adds no details when nothing changes", () => {
  const same = { changes: false, replaces: [] };
  expect(addDetailedDiff(same, [], buildHostModules(known))).toBe(same);
  expect(addDetailedDiff(plain, [], buildHostModules(known))).toBe(plain);
});

it.each<[string, () => unknown]>([
  ["in no host", () => undefined],
  ["in a host without a DiffResponse", () => ({})],
  ["in a host whose DiffResponse has no setChanges", () => ({ ...buildMessages(), DiffResponse: class {} })],
  ["in a host without a PropertyDiff", () => ({ DiffResponse: buildMessages().DiffResponse })],
  [
    "in a host whose messages can't be changed",
    () => {
      const frozen = buildMessages();
      Object.freeze(frozen.DiffResponse.prototype);
      return frozen;
    },
  ],
])("returns the plain diff %s", (_, exports) => {
  expect(addDetailedDiff(plain, changes, buildHostModules(exports()))).toBe(plain);
});

it("returns the plain diff without a host process", () => {
  expect(addDetailedDiff(plain, changes, [])).toBe(plain);
  expect(addDetailedDiff(plain, changes)).toBe(plain);
});

it("keeps the response intact when adding details fails", () => {
  known.DiffResponse.prototype.getDetaileddiffMap = () => {
    throw new Error("is not known any more");
  };
  expect(buildDiffResponse(known, addDetailedDiff(plain, changes, buildHostModules(known)))).toMatchObject({
    changes: 2,
    has: false,
  });
});

it("escapes only quotes in property paths", () => {
  expect(formatKeyPath("entries", "x@y.example (graymail)")).toBe('entries["x@y.example (graymail)"]');
  expect(formatKeyPath("entries", 'a"b')).toBe('entries["a\\"b"]');
  expect(formatKeyPath("entries", "a\\b")).toBe('entries["a\\b"]');
});

it("omits details when a key can't be written as a path", () => {
  const unreadable: PropertyChange = {
    property: formatKeyPath("entries", "a\\"),
    kind: "add",
    replace: false,
  };
  expect(
    buildDiffResponse(known, addDetailedDiff(plain, [unreadable, ...changes], buildHostModules(known))),
  ).toMatchObject({
    has: false,
    diffs: ["entries", "value"],
  });
});
