import { Command } from "commander";
import { expect, it } from "vitest";
import {
  addRepeatableSelectionOptions,
  addSelectionOptions,
  parseSelection,
  type SelectionOptions,
} from "../../../provider/cli/tenant-options";

it("parses repeated and space-separated selection options alike", () => {
  const alone = addSelectionOptions(new Command()).argument("[file]");
  const beside = addRepeatableSelectionOptions(new Command()).argument("[values...]");
  alone.parse(["--only", "a,b", "c*", "--label", "ring=canary", "!eu=yes"], { from: "user" });
  beside.parse(["--only", "a,b", "v", "--only", "c*", "--label", "ring=canary", "--label", "!eu=yes", "w"], {
    from: "user",
  });
  const selected = { only: ["a", "b", "c*"], labels: ["ring=canary", "!eu=yes"] };
  expect(parseSelection(alone.opts<SelectionOptions>())).toEqual(selected);
  expect(parseSelection(beside.opts<SelectionOptions>())).toEqual(selected);
  expect(beside.args).toEqual(["v", "w"]);
});

it("rejects an empty name in --only", () => {
  expect(parseSelection({})).toEqual({});
  for (const only of [[""], [","], []]) expect(() => parseSelection({ only })).toThrow("--only names no tenant");
});
