import { expect, test } from "vitest";
import { maskCommandLine } from "./command-line.ts";

test.each([
  ["root=UUID=1f-2a ro quiet", "root=UUID=1f-2a ro quiet"],
  ["iommu=pt pci=realloc=off isolcpus=2-7", "iommu=pt pci=realloc=off isolcpus=2-7"],
  ["keymap=de rd.luks.key=/dev/sda1:/k", "keymap=de rd.luks.key=/dev/sda1:/k"],
  [
    "ip=10.0.0.1::10.0.0.254:255.255.255.0 nfsroot=10.1.1.1:/root",
    "ip=***::***:*** nfsroot=***:/root",
  ],
  ["BOOTIF=01-52-54-00-12-34-56 ifname=eth0:52:54:00:12:34:56", "BOOTIF=*** ifname=eth0:***"],
  [
    "BOOT_IMAGE=/vmlinuz-5.15.167.4-wsl systemd.machine_id=ff",
    "BOOT_IMAGE=/vmlinuz-5.15.167.4-wsl systemd.machine_id=***",
  ],
  ["password=hunter2 quiet", "password=*** quiet"],
  ["ROOT_PASSWD=x DB-PASSWORD=y rd.pass=z", "ROOT_PASSWD=*** DB-PASSWORD=*** rd.pass=***"],
  ["k3s.token=K10abc::server:1 secret=1", "k3s.token=*** secret=***"],
  ['"password=two words" quiet', '"password=*** quiet'],
  ['password="two words" quiet', "password=*** quiet"],
  ["inst.ks=https://u:p@host/ks.cfg", "inst.ks=https://***@host/ks.cfg"],
  ["url=https://host/a?X-Amz-Signature=ff&b=1", "url=https://host/a?***"],
  ["ds=nocloud;s=http://h/;password=x;h=n", "ds=nocloud;s=http://h/;password=***;h=n"],
  ["opts=a=1,api_key=x,b=2", "opts=a=1,api_key=***,b=2"],
  ["foo=ghp_abcdefghij", "foo=***"],
  ["x.y=eyJhbGciOi.eyJzdWIi.sig", "x.y=***"],
  ["-- --auth-token=abc --verbose", "-- --auth-token=*** --verbose"],
  ["nosmt mitigations=auto,nosmt", "nosmt mitigations=auto,nosmt"],
  ["security=apparmor author=me tokenizer=on", "security=apparmor author=me tokenizer=on"],
])("%s", (text, shown) => {
  expect(maskCommandLine(text)).toBe(shown);
});
