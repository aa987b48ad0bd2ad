import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '@odograph/contracts/failures';
import type { KeptAnswers, KeyedRequest } from '@odograph/contracts/idempotency';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import Type from 'typebox';
import { isConnectionLoss } from './outage.ts';
import { sendJson } from './paging.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a request whose answer is kept. */
    keyed?: KeyedRequest;
  }
}

/** The header of requests that create something. */
export const IdempotencyKey = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'a repeated request with the same key answers as the first one, and creates nothing; kept for 24 hours',
    }),
  ),
});

/** How long a repeated request waits for the answer of the first one. */
const waitMs = 5000;
const pollMs = 100;

/** Marks an answer as that of an earlier request with the same key. */
export function markReplayed(reply: FastifyReply): void {
  reply.header('idempotency-replayed', 'true');
}

function principalOf({ caller, operator }: FastifyRequest): string {
  if (operator !== undefined) return JSON.stringify({ operator: operator.name, apiKey: operator.apiKey?.id });
  const { applicationId, userId, operatorName, apiKey } = caller;
  return JSON.stringify({ applicationId, userId, operatorName, apiKey: apiKey?.id });
}

function keyedRequest(request: FastifyRequest, key: string): KeyedRequest {
  const { url } = request.routeOptions;
  return { principal: principalOf(request), key, content: JSON.stringify([url, request.params, request.body]) };
}

/**
 * Claims the key of a request.
 * @returns the answer of the first request with the key; undefined when it is this one
 * @throws Failure IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_KEY_IN_USE
 */
async function findAnswer(kept: KeptAnswers, keyed: KeyedRequest): Promise<string | undefined> {
  for (const startMs = performance.now(); performance.now() - startMs < waitMs; await delay(pollMs)) {
    const first = await kept.claim(keyed);
    if (first === undefined) return undefined;
    if (!first.isSame) throw new Failure('IDEMPOTENCY_KEY_REUSED');
    if (first.answer !== undefined) return first.answer;
  }
  // Also when the process of the first request stopped: whether it created something is unknown.
  throw new Failure('IDEMPOTENCY_KEY_IN_USE');
}

function sendAgain(reply: FastifyReply, answer: string): FastifyReply {
  const [status, body] = JSON.parse(answer) as [status: number, body: string];
  markReplayed(reply);
  return sendJson(reply.code(status), body);
}

/**
 * Lets a POST take an idempotency key: the answer of a request that succeeds is kept for its repetitions. Routes that
 * declare headers treat the key themselves.
 */
export function takeKeys(route: RouteOptions, kept: KeptAnswers): void {
  if (route.method !== 'POST' || route.schema?.headers !== undefined) return;
  route.schema = { ...route.schema, headers: IdempotencyKey };
  const { handler } = route;
  route.handler = async function handleOnce(request, reply) {
    const key = (request.headers as { 'idempotency-key'?: string })['idempotency-key'];
    if (key === undefined) return handler.call(this, request, reply);
    const keyed = keyedRequest(request, key);
    const answer = await findAnswer(kept, keyed);
    if (answer !== undefined) return sendAgain(reply, answer);
    request.keyed = keyed;
    try {
      return await handler.call(this, request, reply);
    } catch (error) {
      // It may have been carried out; a repetition gets IDEMPOTENCY_KEY_IN_USE.
      if (error instanceof Error && isConnectionLoss(error)) throw error;
      await kept.release(keyed).catch((err: unknown) => request.log.warn({ err }, 'idempotency key not released'));
      throw error;
    }
  };
  route.onSend = [
    ...[route.onSend ?? []].flat(),
    async ({ keyed, log }: FastifyRequest, { statusCode }: FastifyReply, payload: unknown) => {
      if (keyed === undefined || statusCode >= 400) return;
      const answer = JSON.stringify([statusCode, typeof payload === 'string' ? payload : '']);
      // The request has succeeded; a repetition gets IDEMPOTENCY_KEY_IN_USE.
      await kept.keep(keyed, answer).catch((err: unknown) => log.error({ err }, 'answer not kept'));
    },
  ];
}
