/** A call on an authorization, or a step of the clock. Times in seconds from now. */
export type Step =
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
export class LifeCycleModel {
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
