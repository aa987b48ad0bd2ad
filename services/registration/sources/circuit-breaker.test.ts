import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from './circuit-breaker.ts';

function openCircuit() {
  const clock = { nowMs: 0 };
  const circuit = new CircuitBreaker({ failures: 2, pauseMs: 1000, now: () => clock.nowMs });
  for (const _ of [1, 2]) {
    expect(circuit.allows()).toBe(true);
    circuit.failed();
  }
  return { circuit, clock };
}

describe('CircuitBreaker', () => {
  it('opens after consecutive failures only', () => {
    expect(openCircuit().circuit.allows()).toBe(false);
    const circuit = new CircuitBreaker({ failures: 2, pauseMs: 1000, now: () => 0 });
    circuit.failed();
    circuit.succeeded();
    circuit.failed();
    expect(circuit.allows()).toBe(true);
  });

  it('allows a single trial call after the pause', () => {
    const { circuit, clock } = openCircuit();
    clock.nowMs = 999;
    expect(circuit.allows()).toBe(false);
    clock.nowMs = 1000;
    expect([circuit.allows(), circuit.allows()]).toEqual([true, false]);
    circuit.failed();
    expect(circuit.allows()).toBe(false);
    clock.nowMs = 2000;
    expect(circuit.allows()).toBe(true);
    circuit.succeeded();
    expect([circuit.allows(), circuit.allows()]).toEqual([true, true]);
  });

  it('allows another trial call when the first one was not made', () => {
    const { circuit, clock } = openCircuit();
    clock.nowMs = 1000;
    expect(circuit.allows()).toBe(true);
    circuit.abandoned();
    expect(circuit.allows()).toBe(true);
  });
});
