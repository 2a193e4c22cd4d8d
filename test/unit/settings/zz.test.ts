import { test } from "vitest";
import { parseEntryValue, parseMailbox } from "../../../provider/settings/entry-value";
import { checkAllowDenyEntry, checkVipEmployee } from "../../../provider/settings/arguments";
const L="a".repeat(63);
test("x", () => {
  const out: string[] = [];
  for (const t of ["EVIL.Example.","bücher.example","XN--BCHER-KVA.example","com","_dmarc.evil.example","2001:DB8::1","::ffff:192.0.2.1","::ffff:c000:201","::192.0.2.1","0:0:0:0:0:0:0:1",
   "Eve@Evil.Example","jürgen@bücher.example","ｅｖｉｌ.example","", "  ", " evil.example", "evil.example\n","evil\u200b.example","\u200b","\uFEFFevil.example","https://evil.example/login?x=1","hxxps://evil[.]example/a","hxxp[:]//evil[.]example","evil[.]example","evil(dot)example","evil[.]example[.]com","1[.]2[.]3[.]4","eve[at]evil[.]example","*.evil.example",".evil.example","*@evil.example","@evil.example","a*b@evil.example","Eve <eve@evil.example>","<eve@evil.example>","mailto:eve@evil.example?subject=hi","eve@evil.example,","eve@","@","a@b@c.example","eve@localhost","eve@com","localhost","evil","evil..example","-evil.example","evil-.example","evil.123","evil.ex_ample","evil.example/path","evil.example?x","evil.example:8080","192.0.2.1:80","[2001:db8::1]:443","[2001:db8::1]","http://[2001:db8::1]/","192.0.2.0/24","192.0.2.1/32","2001:db8::/32","2001:db8::1/128","192.0.2.0/255.255.255.0","192.0.2.1-192.0.2.9","192.0.2.1-9","192.0.2","256.0.0.1","010.0.0.1","0x7f.1","3232235777","192.0.2.1.","192.0.2.*","fe80::1%eth0","fe80::1%en-0","2001:db8::g","1::2::3","a.example, b.example","a.example b.example","evil。example","❤.example",L+"a.example",`${L}.${L}.${L}.${L}.example`,"a".repeat(65)+"@evil.example","é".repeat(33)+"@evil.example",".eve@evil.example","eve..x@evil.example","\"eve x\"@evil.example","eve@[192.0.2.1]","eve@192.0.2.1","https://good.example@evil.example/","good.example@evil.example/login","http://010.0.0.1/","https://192.0.2.1/24","x".repeat(200),"xn--zz\u0000"]) {
    const p = parseEntryValue(t); out.push(JSON.stringify(t).slice(0,60).padEnd(45)+" "+(p.ok?`OK ${p.value.entryType} ${p.value.canonical}`:p.reason));
  }
  out.push("--- mailboxes");
  for (const t of [""," ","eve","Eve <eve@evil.example>","*@evil.example","@evil.example","eve[@]evil[.]example","https://evil.example/","mailto:eve@evil.example","evil.example","eve@bücher.example."," eve@evil.example"]) {
    const p = parseMailbox(t); out.push(JSON.stringify(t).padEnd(45)+" "+(p.ok?`OK ${p.value}`:p.reason));
  }
  out.push("--- arguments");
  const circle: Record<string, unknown> = {}; circle["me"]=circle;
  for (const a of [{}, {list:"block",value:5,entryType:"url",verdictScope:7,comment:{a:1},adopt:"yes",lsit:1,entry_type:"ip"},{list:null,value:"hxxp://evil[.]example"},{list:1n,value:circle,verdictScope:""},{list:"allow",value:"evil.example",entryType:"ip"},JSON.parse('{"__proto__":{"list":"allow"},"value":"com"}')]) out.push(JSON.stringify(checkAllowDenyEntry(a as never).failures,null,1));
  for (const a of [{},{email:3,onDelete:"drop",comment:5,e_mail:"x"},{email:"eve"}]) out.push(JSON.stringify(checkVipEmployee(a as never).failures,null,1));
  console.log(out.join("\n"));
});
