import { expect, it } from 'vitest';
import { isAddress, isInNetworks, networkOf, parseNetworks } from './network-address.ts';

it('counts the addresses that one client can choose as one network', () => {
  expect(networkOf('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(networkOf('10.0.0.1')).toBe('10.0.0.1');
  expect(networkOf('2001:db8::1')).toBe('2001:db8:0:0::/64');
  expect(networkOf('2001:DB8:0:0:9:8:7:6')).toBe('2001:db8:0:0::/64');
  expect(networkOf('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  expect(networkOf('::1')).toBe('0:0:0:0::/64');
});

it('accepts addresses in full only', () => {
  expect(['10.0.0.1', '::1', '::ffff:1.2.3.4'].every(isAddress)).toBe(true);
  expect(['', 'unknown', '10.0.0', '10.0.0.1:80', '010.0.0.1', '0x7f.1', '1', '[::1]'].some(isAddress)).toBe(false);
});

it('matches an address against networks of its own family', () => {
  const networks = parseNetworks('10.0.0.0/8, 192.0.2.7,fd00::/8') ?? [];
  expect(['10.9.8.7', '::ffff:10.1.1.1', '192.0.2.7', 'fd12::1'].map((one) => isInNetworks(one, networks))).toEqual(
    Array(4).fill(true),
  );
  expect(['11.0.0.1', '192.0.2.8', 'fe80::1', 'unknown'].some((one) => isInNetworks(one, networks))).toBe(false);
});

it('rejects a list with a malformed network', () => {
  for (const text of ['', 'true', '10.0.0.0/33', '::/129', '10.0.0.0/x', '10.0.0.0/8,', '1']) {
    expect([text, parseNetworks(text)]).toEqual([text, undefined]);
  }
});
