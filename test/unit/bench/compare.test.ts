import { describe, expect, it } from "vitest";
import { compareMeasurements, type SavedMeasurements } from "../../bench/compare";
import type { Measurement } from "../../bench/measurement";

const FACTS = {
  date: "2026-11-01",
  commit: "0123abcde",
  cpu: "cpu",
  cores: 2,
  memoryGb: 24,
  system: "Linux",
  node: "24",
  pulumi: "3",
};

function buildMeasurements(
  ...runs: readonly (readonly [peer: string, measured: Partial<Measurement>])[]
): SavedMeasurements {
  const completeMeasurement = (measured: Partial<Measurement>): Measurement => ({
    operation: "refresh",
    count: 5_000,
    ...measured,
  });
  return { facts: FACTS, observations: runs.map(([peer, measured]) => ({ peer, ...completeMeasurement(measured) })) };
}

const getFloor = (): string => "floor";

function listSlowerRows(before: SavedMeasurements, now: SavedMeasurements): readonly string[] {
  return compareMeasurements(before, now, getFloor).worse;
}

describe("comparison with an earlier benchmark", () => {
  const before = buildMeasurements(["list", { seconds: 2 }], ["list", { seconds: 2.4 }]);

  it("reports an operation slower than every earlier run by over a tenth", () => {
    const now = buildMeasurements(["list", { seconds: 2.6 }], ["list", { seconds: 2.8 }]);
    expect(listSlowerRows(before, now)).toEqual(["list: refresh of 5,000: time 2.70 s, and 2.20 s before"]);
  });

  it("ignores differences that overlap or stay within a tenth", () => {
    expect(listSlowerRows(before, buildMeasurements(["list", { seconds: 2.3 }], ["list", { seconds: 3.4 }]))).toEqual(
      [],
    );
    const even = buildMeasurements(["list", { seconds: 2 }]);
    expect(listSlowerRows(even, buildMeasurements(["list", { seconds: 2.19 }]))).toEqual([]);
    expect(listSlowerRows(even, buildMeasurements(["list", { seconds: 2.21 }]))).toHaveLength(1);
  });

  it("blames only the floor when the whole machine is slower", () => {
    const quick = buildMeasurements(["floor", { seconds: 1 }], ["list", { seconds: 2 }]);
    expect(listSlowerRows(quick, buildMeasurements(["floor", { seconds: 2 }], ["list", { seconds: 4 }]))).toEqual([
      "floor: refresh of 5,000: time 2.00 s, and 1.00 s before",
    ]);
    expect(listSlowerRows(quick, buildMeasurements(["floor", { seconds: 0.5 }], ["list", { seconds: 2 }]))).toEqual([
      "list: refresh of 5,000: time 2.00 s, 4.00 ×, and 2.00 s, 2.00 × before",
    ]);
  });

  it("reports only slowdowns beyond the floor's noise", () => {
    const measureSeconds = (floors: readonly number[], seconds: number): SavedMeasurements =>
      buildMeasurements(
        ...floors.map((floor) => ["floor", { seconds: floor }] as const),
        ["list", { seconds }],
        ["list", { seconds: seconds + 0.05 }],
      );
    const was = measureSeconds([1, 1.3], 2);
    expect(listSlowerRows(was, measureSeconds([1, 1], 2))).toEqual([]);
    expect(listSlowerRows(was, measureSeconds([1, 1.02], 2.2))).toEqual([
      "list: refresh of 5,000: time 2.23 s, 2.20 ×, and 2.02 s, 1.76 × before",
    ]);
  });

  it("compares memory approximately", () => {
    const measureReads = (reads: number, compactBytes: number, peakBytes: number): SavedMeasurements =>
      buildMeasurements([
        "list",
        { requests: { reads, writes: 1 }, stateAnEntry: { compactBytes, fileBytes: 1 }, peakBytes },
      ]);
    expect(listSlowerRows(measureReads(26, 100, 100e6), measureReads(26, 100, 114e6))).toEqual([]);
    expect(listSlowerRows(measureReads(26, 100, 100e6), measureReads(27, 102, 116e6))).toEqual([
      "list: refresh of 5,000: reads 27, and 26 before",
      "list: refresh of 5,000: bytes of state per entry 102, and 100 before",
      "list: refresh of 5,000: peak of memory, MB 116, and 100 before",
    ]);
    expect(listSlowerRows(measureReads(26, 100, 100e6), measureReads(20, 90, 50e6))).toEqual([]);
  });

  it("lists only time regressions for remeasurement", () => {
    const now = buildMeasurements(["list", { seconds: 2.6 }], ["vips", { requests: { reads: 3, writes: 0 } }]);
    const was = buildMeasurements(["list", { seconds: 2 }], ["vips", { requests: { reads: 2, writes: 0 } }]);
    const { worse, slower } = compareMeasurements(was, now, getFloor);
    expect(worse).toHaveLength(2);
    expect([...slower]).toEqual(["list"]);
  });

  it("omits operations measured only once", () => {
    const { text } = compareMeasurements(
      before,
      buildMeasurements(["list", { seconds: 2 }], ["vips", { seconds: 9 }]),
      getFloor,
    );
    expect(text).toContain("0123abcde, 2026-11-01");
    expect(text).toContain("list: refresh of 5,000");
    expect(text).not.toContain("vips");
  });
});
