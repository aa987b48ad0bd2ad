import { randomUUID } from 'node:crypto';
import type { ApiAnswer } from '@odograph/testkit/api-client';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createAccessService } from '../service.ts';

/** A call on an authorization, or a step of the clock. Times in seconds from now. */
type Step =
  | { do: 'wait'; seconds: number }
  | { do: 'issue'; driver: number; from: number; length: number }
  | { do: 'update'; which: number; from: number; length: number }
  | { do: 'suspend'; which: number; until: number }
  | { do: 'resume'; which: number }
  | { do: 'delete'; which: number }
  | { do: 'read'; which: number }
  | { do: 'deleteDriver'; driver: number };

/** An authorization in its simplest form; times in seconds of the test's clock. */
interface ModelAuthorization {
  driver: number;
  from: number;
  until: number;
  suspendedUntil: number;
  revoked: boolean;
}

/** The life cycle of authorizations in its simplest form; `which` counts them in the order of their issue. */
class LifeCycleModel {
  nowSeconds: number;
  readonly #all: ModelAuthorization[] = [];

  constructor(nowSeconds: number) {
    this.nowSeconds = nowSeconds;
  }

  get made(): number {
    return this.#all.length;
  }

  /** Applies a step. @returns the code of the expected failure, or undefined */
  apply(step: Step): string | undefined {
    switch (step.do) {
      case 'wait':
        this.nowSeconds += step.seconds;
        return undefined;
      case 'issue':
        return this.#issue(step);
      case 'deleteDriver':
        for (const one of this.#all) if (one.driver === step.driver) one.revoked = true;
        return undefined;
      default: {
        const one = this.#all[step.which];
        return one === undefined || one.revoked ? 'UNKNOWN_AUTHORIZATION' : this.#change(one, step);
      }
    }
  }

  /** Lists the numbers of the authorizations in each category. */
  lists(): Record<'scheduled' | 'current' | 'expired', number[]> {
    const lists = { scheduled: [], current: [], expired: [] } as ReturnType<LifeCycleModel['lists']>;
    for (const [number, one] of this.#all.entries()) if (!one.revoked) lists[this.#category(one)].push(number);
    return lists;
  }

  /** Lists the unexpired authorizations that the device must refuse, with their state in the key list. */
  listed(): Record<number, 'revoked' | 'suspended'> {
    const entries = [...this.#all.entries()].filter(([, { until }]) => until > this.nowSeconds);
    return Object.fromEntries(
      entries
        .filter(([, { revoked, suspendedUntil }]) => revoked || suspendedUntil > this.nowSeconds)
        .map(([number, { revoked }]) => [number, revoked ? 'revoked' : 'suspended'] as const),
    );
  }

  #category({ from, until }: ModelAuthorization): 'scheduled' | 'current' | 'expired' {
    if (this.nowSeconds < from) return 'scheduled';
    return this.nowSeconds < until ? 'current' : 'expired';
  }

  #periodFailure(from: number, until: number): string | undefined {
    if (until <= from) return 'INVALID_INTERVAL';
    return until <= this.nowSeconds ? 'INVALID_DATE' : undefined;
  }

  #issue({ driver, from, length }: Step & { do: 'issue' }): string | undefined {
    const [start, until] = [this.nowSeconds + from, this.nowSeconds + from + length];
    const failure = this.#periodFailure(start, until);
    if (!failure) this.#all.push({ driver, from: start, until, suspendedUntil: 0, revoked: false });
    return failure;
  }

  #change(one: ModelAuthorization, step: Exclude<Step, { do: 'wait' | 'issue' | 'deleteDriver' }>): string | undefined {
    if (step.do === 'read') return undefined;
    if (step.do === 'delete') {
      one.revoked = true;
      return undefined;
    }
    if (step.do === 'update') {
      const [from, until] = [this.nowSeconds + step.from, this.nowSeconds + step.from + step.length];
      const failure = this.#periodFailure(from, until);
      if (failure) return failure;
      one.revoked = true;
      this.#all.push({ ...one, from, until, revoked: false });
      return undefined;
    }
    const category = this.#category(one);
    if (category === 'expired') return 'AUTHORIZATION_EXPIRED';
    if (category === 'scheduled') return 'AUTHORIZATION_NOT_ACTIVE';
    return step.do === 'suspend' ? this.#suspend(one, this.nowSeconds + step.until) : this.#resume(one);
  }

  #suspend(one: ModelAuthorization, until: number): string | undefined {
    if (until <= this.nowSeconds || until > one.until) return 'INVALID_DATE';
    one.suspendedUntil = until;
    return undefined;
  }

  #resume(one: ModelAuthorization): string | undefined {
    if (one.suspendedUntil <= this.nowSeconds) return 'NOT_SUSPENDED';
    one.suspendedUntil = 0;
    return undefined;
  }
}

const startSeconds = 1_763_712_000;
let nowSeconds = startSeconds;

const platform = await usePlatform([createAccessService(() => new Date(nowSeconds * 1000))]);
const application = await createApplication(platform.db);
const api = platform.as(application.token);

/** One run of the property, with its own vehicle and two drivers. */
class World {
  readonly ids: string[] = [];
  readonly #vehicle: TestVehicle;
  readonly #drivers = [randomUUID(), randomUUID()];

  constructor(vehicle: TestVehicle) {
    this.#vehicle = vehicle;
  }

  /** Performs a step over HTTP. @returns the code of its failure */
  async apply(step: Step): Promise<string | undefined> {
    if (step.do === 'wait') {
      nowSeconds += step.seconds;
      return undefined;
    }
    const { body } = await this.#call(step);
    if (body.authorizationId !== undefined) this.ids.push(body.authorizationId);
    return body.error;
  }

  async #call(step: Exclude<Step, { do: 'wait' }>): Promise<ApiAnswer> {
    const authorizationId = 'which' in step ? (this.ids[step.which] ?? randomUUID()) : '';
    switch (step.do) {
      case 'issue': {
        const request = { vehicleId: this.#vehicle.id, userId: this.#drivers[step.driver], level: 'DRIVE' };
        return api.post('/v1/bluetooth-token', { ...request, ...period(step) });
      }
      case 'update':
        return api.post(`/v1/bluetooth-token/${authorizationId}`, period(step));
      case 'suspend':
        return api.post('/v1/bluetooth-token/invalidate', { authorizationId, until: nowSeconds + step.until });
      case 'resume':
        return api.post('/v1/bluetooth-token/validate', { authorizationId });
      case 'delete':
        return api.delete('/v1/bluetooth-token', { authorizationId });
      case 'read':
        return api.get(`/v1/bluetooth-token/${authorizationId}`);
      case 'deleteDriver':
        return api.delete(`/v1/user/${this.#drivers[step.driver]}`);
    }
  }

  async list(category: string): Promise<number[]> {
    const { body } = await api.get(`/v1/vehicle/${this.#vehicle.id}/authorizations/${category}`);
    const listed = body.authorizations.map((one: { authorizationId: string }) => this.ids.indexOf(one.authorizationId));
    return listed.sort((a: number, b: number) => a - b);
  }

  /** Computes the content of the key list from the rows. */
  async listed(): Promise<Record<number, string>> {
    const now = new Date(nowSeconds * 1000);
    const { rows } = await sql<{ id: string; state: string }>`
      select id, case when revoked_at is null then 'suspended' else 'revoked' end as state from bluetooth_authorization
      where vehicle_id = ${Number(this.#vehicle.id)} and valid_until > ${now}
        and (revoked_at is not null or suspended_until > ${now})`.execute(platform.db);
    return Object.fromEntries(rows.map(({ id, state }) => [this.ids.indexOf(id), state]));
  }
}

const period = ({ from, length }: { from: number; length: number }) => ({
  from: nowSeconds + from,
  until: nowSeconds + from + length,
});

const which = fc.nat({ max: 5 });
const driver = fc.nat({ max: 1 });
/** Small numbers, so that bounds are often met exactly. */
const from = fc.integer({ min: -3, max: 4 });
const length = fc.integer({ min: -1, max: 6 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.integer({ min: 0, max: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('issue' as const), driver, from, length }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('update' as const), which, from, length }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('suspend' as const), which, until: fc.integer({ min: -1, max: 7 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resume' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deleteDriver' as const), driver }) },
);

const issued: Step = { do: 'issue', driver: 0, from: 1, length: 3 };
/** Steps in the second in which an authorization or its suspension begins or ends. */
const atTheBorders: [Step[]][] = [
  [[issued, { do: 'wait', seconds: 1 }, { do: 'suspend', which: 0, until: 3 }]],
  [[issued, { do: 'wait', seconds: 4 }, { do: 'suspend', which: 0, until: 1 }, { do: 'resume', which: 0 }]],
  [[issued, { do: 'wait', seconds: 2 }, { do: 'suspend', which: 0, until: 1 }, { do: 'wait', seconds: 1 }]],
  [
    [
      ...[issued, { do: 'wait', seconds: 2 } as const, { do: 'suspend', which: 0, until: 1 } as const],
      ...[{ do: 'wait', seconds: 1 } as const, { do: 'resume', which: 0 } as const],
    ],
  ],
];

describe('the life cycle of authorizations', () => {
  it('matches a simple model for any calls, in any order and at any times', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 25 }), async (steps) => {
        nowSeconds = startSeconds;
        const world = new World(await createVehicle(platform.db, application));
        const model = new LifeCycleModel(nowSeconds);
        for (const step of steps) {
          const failure = await world.apply(step);
          // No device is connected, so revocations are never confirmed; their effect is the same.
          const seen = failure === 'NOT_ALL_AUTHORIZATIONS_REVOKED' ? undefined : failure;
          expect([step, seen]).toEqual([step, model.apply(step)]);
          expect(world.ids).toHaveLength(model.made);
        }
        const lists = model.lists();
        for (const category of ['scheduled', 'current', 'expired'] as const) {
          expect([category, await world.list(category)]).toEqual([category, lists[category]]);
        }
        expect(await world.listed()).toEqual(model.listed());
      }),
      { numRuns: 30, examples: atTheBorders },
    );
  }, 120_000);
});
