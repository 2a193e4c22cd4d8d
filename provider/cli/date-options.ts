import { InvalidArgumentError, Option } from "commander";
import { parseTermDays } from "../model/expiry-term";
import { parseDate } from "./option-parsers";

export function createWithinOption(): Option {
  return new Option("--within <term>", "Show what expires within this time: 30d, 6w")
    .argParser((text) => {
      const days = parseTermDays(text);
      if (days === undefined) throw new InvalidArgumentError("Give days as 30d, or weeks as 6w.");
      return days;
    })
    .default(30, "30d");
}

export function createTodayOption(): Option {
  return new Option("--today <date>", "Evaluate `expires` as of this day (default: today, UTC)").argParser(parseDate);
}
