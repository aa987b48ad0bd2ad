import { type EventCursor, startOf } from '@odograph/event-list/cursor';
import { awaitEvents } from '@odograph/event-list/event-list.fixture';
import { type EventRequest, findEventHead, type PlatformEvent, readEvents } from '@odograph/event-list/read-events';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import { beforeEach, expect, it } from 'vitest';
import { endCommands } from '../webhooks.fixture.ts';
import { SharedLists } from './shared-lists.ts';

const db = useDatabase();
let applicationId: number;
let vehicles: TestVehicle[];
let head: EventCursor;
let requests: EventRequest[];
let lists: SharedLists;

beforeEach(async () => {
  const application = await createApplication(db);
  applicationId = application.id;
  vehicles = [await createVehicle(db, application), await createVehicle(db, application)];
  await awaitEvents(db, applicationId);
  head = await findEventHead(db, applicationId);
  requests = [];
  lists = new SharedLists((request) => {
    requests.push(request);
    return readEvents(db, request);
  });
});

/** Ends three commands of each vehicle, the numbers of which begin with `first`. */
async function endThree(first: number): Promise<void> {
  for (const vehicle of vehicles) await endCommands(db, vehicle, 3, first);
  await awaitEvents(db, applicationId);
}

const follow = (...followed: (TestVehicle | undefined)[]) => {
  const types = new Set(['command.ended'] as const);
  const vehicleIds = followed.map((vehicle) => Number(vehicle?.id));
  return lists.follow({ applicationId, types, ...(followed.length > 0 && { vehicleIds }) });
};

/** The vehicles of events, as indexes, with the numbers of their commands. */
const shown = (events: readonly PlatformEvent[]) =>
  events.map(({ vehicleId, json }) => [
    vehicles.findIndex(({ id }) => Number(id) === vehicleId),
    Number(JSON.parse(json).data.status),
  ]);
const three = (vehicle: number, first: number) => [0, 1, 2].map((number) => [vehicle, first + number]);

it('reads a page once for all webhooks at a cursor, and shows each the events of its vehicles', async () => {
  const followed = [follow(vehicles[0]), follow(vehicles[1]), follow(vehicles[0], vehicles[1]), follow()];
  let cursors = followed.map(() => head);
  for (const first of [0, 3]) {
    await endThree(first);
    const pages = await Promise.all(followed.map((list, index) => list.read(cursors[index] ?? head)));
    const [one, other] = [three(0, first), three(1, first)];
    const all = [...one, ...other];
    expect(pages.map(({ events }) => shown(events))).toEqual([one, other, all, all]);
    cursors = pages.map(({ next }) => next);
  }
  expect(requests).toHaveLength(2);
});

it('shows a webhook that is ahead only the events behind its cursor', async () => {
  const ahead = follow();
  await endThree(0);
  const { next } = await ahead.read(head);
  await endThree(3);
  const [behindPage, aheadPage] = await Promise.all([follow().read(head), ahead.read(next)]);
  const rest = [...three(0, 3), ...three(1, 3)];
  expect(shown(behindPage.events)).toEqual([...three(0, 0), ...three(1, 0), ...rest]);
  expect(shown(aheadPage.events)).toEqual(rest);
  expect(requests).toHaveLength(2);
});

it('shows a webhook that begins while a page is read the events of its vehicles', async () => {
  await endThree(0);
  const reading = follow(vehicles[0]).read(head);
  const { events } = await follow(vehicles[1]).read(head);
  expect(shown(events)).toEqual(three(1, 0));
  expect(shown((await reading).events)).toEqual(three(0, 0));
  const ids = vehicles.map(({ id }) => Number(id));
  expect(requests.map(({ vehicleIds }) => vehicleIds)).toEqual([ids.slice(0, 1), ids]);
});

it('shows a webhook that is closed before a page is read the events of its vehicles', async () => {
  await endThree(0);
  const list = follow(vehicles[0]);
  list.close();
  expect(shown((await list.read(head)).events)).toEqual(three(0, 0));
});

it('reads without the vehicles of the others for a webhook that is behind', async () => {
  const [narrow, wide] = [follow(vehicles[0]), follow()];
  await endThree(0);
  const { next } = await wide.read(head);
  await endThree(3);
  await wide.read(next);
  expect(shown((await narrow.read(head)).events)).toEqual([...three(0, 0), ...three(0, 3)]);
  expect(requests.map(({ vehicleIds }) => vehicleIds)).toEqual([undefined, undefined, [Number(vehicles[0]?.id)]]);
});

it('fails only for the webhook whose next events were deleted', async () => {
  await endThree(0);
  const [expired, other] = [follow(), follow()];
  const [failed, read] = await Promise.allSettled([expired.read(startOf(head.epoch, 0n)), other.read(head)]);
  expect(failed).toMatchObject({ reason: { details: { reason: 'EXPIRED' } } });
  expect(read.status === 'fulfilled' && shown(read.value.events)).toEqual([...three(0, 0), ...three(1, 0)]);
});
