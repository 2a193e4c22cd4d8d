import { expect, it } from "vitest";
import { refang } from "../../../provider/model/refang";

it.each([
  ["evil.example", "evil.example", false],
  ["  EVIL.example ", "evil.example", false],
  ["hxxps://evil[.]example/path", "evil.example", true],
  ["hXXp://www[.]evil[.]example", "www.evil.example", true],
  ["evil(.)example", "evil.example", true],
  ["evil[dot]example", "evil.example", true],
  ["user[@]evil[.]example", "user@evil.example", true],
  ["user[at]evil[dot]example", "user@evil.example", true],
  ["https://evil.example:8443/x", "evil.example", true],
  ['"Name" <User@evil.example>', "user@evil.example", true],
  ["mailto:user@evil.example?subject=x", "user@evil.example", true],
  ["https://your-bank.example@evil.example/login", "evil.example", true],
  ["@evil.example", "evil.example", true],
  ["192.0.2[.]7", "192.0.2.7", true],
  ["https://video.com/@channel.name", "video.com", true],
  ["first.last/office@mail.com", "first.last/office@mail.com", false],
  ["/c=de/s=someone@mail.com", "/c=de/s=someone@mail.com", false],
  ["evil.example,", "evil.example", true],
])("parses %s", (originalText, canonical, isCorrected) => {
  expect(refang(originalText)).toMatchObject({ ok: true, value: { canonical, isCorrected, originalText } });
});

it.each([
  "",
  "no value",
  "192.0.2.0/24",
  "user@evil.example/path",
  "user[@]evil.example/path",
  "http://",
  "--pr",
  "video.com/@channel.name",
  "www.video.co.uk/watch?by=someone@mail.com",
  "192.0.2.7/login#someone@mail.com",
  "evil.example\tphish",
  "evil.example\nother.example",
  "evil.example\r\nother.example\r\n",
  "hxxps://evil.example/a\thxxps://other.example/b",
  "hxxps://evil.example/a hxxps://other.example/b",
  "user@evil.example\n<user@other.example>",
])("rejects %o", (written) => {
  expect(refang(written).ok).toBe(false);
});
