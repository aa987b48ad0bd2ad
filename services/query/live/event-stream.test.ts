import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { BrowserState } from './event-client.fixture.ts';
import { EventStream } from './event-stream.ts';
import { createFleet, row, showAll, showEverywhere } from './fleet.fixture.ts';
import { FleetView } from './fleet-view.ts';
import type { RecentEvent } from './live-updates.ts';

const vehicles = 500;
const command = (n: number): RecentEvent => ({
  id: `${n}`,
  vehicleId: 1,
  event: 'command',
  json: '{}',
  changedAtMs: n,
});

function openStream({ isOnce = false } = {}) {
  const fleet = createFleet(Array.from({ length: vehicles }, (_, n) => row(n + 1)));
  const view = new FleetView(fleet, showAll, showEverywhere, 'START');
  const stream = new EventStream({
    view,
    list: undefined,
    hasMissed: false,
    shows: () => true,
    nextEventId: () => '1-0',
    isOnce,
  });
  return { fleet, stream };
}

/** Reads what the stream holds, as a client that reads as fast as it can. */
function readAll(stream: EventStream): string {
  let text = '';
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) text += chunk;
  return text;
}

describe('a stream whose client does not read', () => {
  it('holds no more after fifty rounds of changes, and then sends only the latest state', () => {
    const { fleet, stream } = openStream();
    const before = readAll(stream);
    let held = 0;
    for (let round = 1; round <= 50; round += 1) {
      const rows = Array.from({ length: vehicles }, (_, n) => row(n + 1, { latitude: round }));
      stream.apply(
        fleet.update(
          rows.map(({ id }) => id),
          rows,
          1000 + round,
        ),
        [],
      );
      if (round === 5) held = stream.readableLength;
    }
    expect(stream.readableLength).toBe(held);
    expect(held).toBeLessThan(256 * 1024);
    const browser = new BrowserState();
    for (const block of (before + readAll(stream)).split('\n\n')) {
      const [, event = '', data] = /^event: (\w+)\n(?:id.*\n)?data: (.*)$/s.exec(block) ?? [];
      if (data !== undefined) browser.apply(event, JSON.parse(data));
    }
    expect(browser.vehicles.size).toBe(vehicles);
    expect([...browser.vehicles.values()].every(({ location }) => location?.latitude === 50)).toBe(true);
  });

  it('is disconnected with more commands than it may hold, and names no position until it has read all', () => {
    const { stream } = openStream();
    stream.apply([], [command(1)]);
    for (let n = 2; n < 500; n += 1) stream.apply([], [command(n)]);
    expect(stream.destroyed).toBe(false);
    const ids = [...readAll(stream).matchAll(/^id: 1-0\nevent: (\w+)|^event: (\w+)\nid: 1-0/gm)];
    expect(ids).toHaveLength(1);
    stream.pause();
    for (let n = 500; n < 15_000; n += 1) stream.apply([], [command(n)]);
    expect(stream.destroyed).toBe(true);
  });

  it('counts the heartbeats that its client missed, and sends one when nothing else was sent', () => {
    const { stream } = openStream();
    readAll(stream);
    expect([stream.heartbeat(), stream.heartbeat()]).toEqual([0, 0]);
    expect(readAll(stream)).toBe(': heartbeat\nid: 1-0\n\n');
  });
});

describe('a stream that is read once', () => {
  it('ends with its position when the client has everything', async () => {
    const { stream } = openStream({ isOnce: true });
    const ended = once(stream, 'end');
    const text = readAll(stream);
    expect(text).toContain('"complete":true');
    expect(text).toMatch(/: up to date\nid: 1-0\n\n$/);
    stream.resume();
    await ended;
    expect(stream.readableEnded).toBe(true);
  });
});
