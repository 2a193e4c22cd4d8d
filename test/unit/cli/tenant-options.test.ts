import { Command } from "commander";
import { expect, it } from "vitest";
import {
  type Selecting,
  selectionOf,
  withSelection,
  withSelectionBesideValues,
} from "../../../provider/cli/tenant-options";

it("selects the same, whether values stand beside the options or not", () => {
  const alone = withSelection(new Command()).argument("[file]");
  const beside = withSelectionBesideValues(new Command()).argument("[values...]");
  alone.parse(["--only", "a,b", "c*", "--label", "ring=canary", "!eu=yes"], { from: "user" });
  beside.parse(["--only", "a,b", "v", "--only", "c*", "--label", "ring=canary", "--label", "!eu=yes", "w"], {
    from: "user",
  });
  const selected = { only: ["a", "b", "c*"], labels: ["ring=canary", "!eu=yes"] };
  expect(selectionOf(alone.opts<Selecting>())).toEqual(selected);
  expect(selectionOf(beside.opts<Selecting>())).toEqual(selected);
  expect(beside.args).toEqual(["v", "w"]);
});

it("takes an empty name for no leave to mean all", () => {
  expect(selectionOf({})).toEqual({});
  for (const only of [[""], [","], []]) expect(() => selectionOf({ only })).toThrow("--only names no tenant");
});
