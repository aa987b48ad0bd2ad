import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { failures } from '@odograph/contracts/failures';
import { EventClient } from '@odograph/query/live/event-client.fixture';
import type { TestApplication, TestVehicle } from '@odograph/testkit/fixtures';
import { scale } from './scale.fixture.ts';

const pauseMs = scale.isFullLength ? 250 : 1000;
/** A vehicle holds at most 2,000 bookings that have not ended; a run takes 30 minutes. */
const bookingPauseMs = 1000;
/** Each IDEMPOTENCY_KEY_IN_USE takes 5 s; by then the process of the first request has stopped. */
const maxInUse = 4;

/** A decisive answer: neither a failure of the platform nor one of the network. */
interface Decision {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of any shape
  readonly body: any;
}

/** Clients of the HTTP interface that record the answers they receive. */
export class ApiClients {
  /** Idempotency keys of commands, with their answers. */
  readonly commands = new Map<string, Decision>();
  /** Ids of bookings that were answered with 200. */
  readonly bookings = new Set<string>();
  /** Vehicle and start of bookings whose request never got a decisive answer: each may exist once. */
  readonly uncertain = new Set<string>();
  reads = 0;
  /** Answers that name no failure of the interface, or show data of another application. */
  readonly faults: string[] = [];
  readonly #httpUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  #isRunning = true;
  readonly #done: Promise<unknown>;

  /** Starts clients of an application: for each vehicle one that locks it, one that books it and one that reads it. */
  constructor(
    httpUrl: string,
    application: TestApplication,
    vehicles: readonly TestVehicle[],
    foreignVehicle: TestVehicle,
  ) {
    this.#httpUrl = httpUrl;
    this.#headers = { 'x-service-token': application.token, 'content-type': 'application/json' };
    this.#done = Promise.all([
      ...vehicles.flatMap((vehicle) => [
        this.#repeat(() => this.#lock(vehicle)),
        this.#repeat(() => this.#read(vehicle, foreignVehicle)),
        this.#repeat((turn) => this.#book(vehicle, turn), bookingPauseMs),
      ]),
      this.#watch(new Set(vehicles.map(({ id }) => id))),
    ]);
  }

  /** Stops after the requests in flight. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#done;
  }

  async #repeat(act: (turn: number) => Promise<void>, everyMs = pauseMs): Promise<void> {
    for (let turn = 0; this.#isRunning; turn += 1) {
      await act(turn);
      await delay(everyMs);
    }
  }

  /** Repeats a request until its answer is decisive, or its key stays in use. */
  async #ask(method: 'GET' | 'POST', path: string, body?: object, key = randomUUID()): Promise<Decision> {
    for (let inUse = 0; ; ) {
      const decision = await this.#attempt(method, path, body, key);
      if (decision?.body.error === 'IDEMPOTENCY_KEY_IN_USE') inUse += 1;
      else if (decision) return decision;
      if (decision && inUse === maxInUse) return decision;
      await delay(pauseMs);
    }
  }

  async #attempt(method: string, path: string, body: object | undefined, key: string): Promise<Decision | undefined> {
    const headers = { ...this.#headers, 'idempotency-key': key };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${this.#httpUrl}${path}`, init)
      .then(async (response) => ({ response, text: await response.text() }))
      .catch(() => undefined);
    // If no server is available, the load balancer answers 502, 503 or 504 without JSON.
    if (!answer?.response.headers.get('content-type')?.includes('json')) return undefined;
    const { status } = answer.response;
    const decision = { status, body: JSON.parse(answer.text) };
    if (status < 300) return decision;
    const known = failures[decision.body.error as keyof typeof failures]?.[0];
    if (known !== status) this.faults.push(`${method} ${path}: ${status} ${answer.text}`);
    return status === 503 ? undefined : decision;
  }

  async #lock(vehicle: TestVehicle): Promise<void> {
    const key = randomUUID();
    const decision = await this.#ask('POST', '/v1/vehicle/lock', { vehicleId: vehicle.id }, key);
    this.commands.set(key, decision);
    if (![200, 504].includes(decision.status)) this.faults.push(`lock: ${JSON.stringify(decision)}`);
  }

  async #read(vehicle: TestVehicle, foreign: TestVehicle): Promise<void> {
    const interval = `from=${Math.floor(Date.now() / 1000) - 60}&until=9999999999`;
    const own = await this.#ask('GET', `/v1/vehicle/${vehicle.id}/history?${interval}`);
    if (own.status !== 200) this.faults.push(`history: ${JSON.stringify(own)}`);
    const other = await this.#ask('GET', `/v1/vehicle/${foreign.id}/history?${interval}`);
    if (other.body.error !== 'UNKNOWN_VEHICLE') this.faults.push(`history of another application: ${other.status}`);
    this.reads += 2;
  }

  async #book(vehicle: TestVehicle, turn: number): Promise<void> {
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const booking = { type: 'BOOKING', driver: 'driver-1', from: at(1 + 2 * turn), until: at(2 + 2 * turn) };
    const decision = await this.#ask('POST', `/v1/vehicle/${vehicle.id}/booking`, booking);
    if (decision.status === 200) this.bookings.add(decision.body.bookingId);
    else if (decision.body.error === 'IDEMPOTENCY_KEY_IN_USE')
      this.uncertain.add(`${vehicle.id} ${Date.parse(booking.from)}`);
    else this.faults.push(`booking: ${JSON.stringify(decision)}`);
  }

  /** Keeps a live stream open, which must show no vehicle of another application. */
  async #watch(ownIds: ReadonlySet<string>): Promise<void> {
    const stream = new EventClient(this.#httpUrl, '', this.#headers);
    while (this.#isRunning) {
      await stream.open().catch(() => undefined);
      while (this.#isRunning && stream.status === 200 && !stream.hasEnded) await delay(pauseMs);
      await delay(pauseMs);
    }
    stream.close();
    const foreign = [...stream.state.vehicles.keys()].filter((id) => !ownIds.has(id));
    if (foreign.length > 0) this.faults.push(`stream shows ${foreign.join()}`);
    if (stream.state.vehicles.size === 0) this.faults.push('the stream showed nothing');
  }
}
